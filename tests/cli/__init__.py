"""The command line, inside this process and as a process of its own."""
