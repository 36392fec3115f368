"""Draws a picture for each page of `docs/algorithms/`: `python docs/pictures/algorithms/draw.py`.

Names after it draw only those; `--to FOLDER` draws elsewhere, `--png` draws what can be looked at.
What is shown is what the operators hold: each module runs them over a few records.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import arrivals
import objects
import plans
import synopses
import windows
from style import save, settings

DRAWINGS = {
    name: drawing
    for module in (windows, arrivals, synopses, objects, plans)
    for name, drawing in module.DRAWINGS.items()
}


def draw(name: str, folder: Path, ending: str = "svg") -> Path:
    """Draw one picture into the folder."""
    file = folder / f"{name}.{ending}"
    with settings():
        save(DRAWINGS[name](), file)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the algorithms.")
    parser.add_argument("names", nargs="*", help="which ones; all of them by default")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent, help="the folder")
    parser.add_argument("--png", action="store_true", help="PNG instead of SVG")
    told = parser.parse_args()
    for name in told.names or DRAWINGS:
        draw(name, told.to, "png" if told.png else "svg")


if __name__ == "__main__":
    main()
