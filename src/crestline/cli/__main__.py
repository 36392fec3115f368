"""``python -m crestline.cli``: the same as ``crestline``."""

from crestline.cli import main

if __name__ == "__main__":
    main()
