"""How files of each format are laid out, and how Spark is told to read them."""
