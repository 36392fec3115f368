"""What operators are built of."""
