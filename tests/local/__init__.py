"""The in-process engine against the oracle, and against hostile and real input."""
