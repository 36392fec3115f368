"""Films `crestline demo` into `live.gif`: `python docs/pictures/live.py` (needs tmux and Spark).

The terminal is tmux's. Its screen is read ten times a second, as text with colours, and every new
screen becomes a frame, drawn in the font that matplotlib brings along.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont
from rich.color import ColorTriplet
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).resolve().parent
COLUMNS, ROWS = 92, 23
SECONDS = 30
#: Seconds between two looks, at most so many frames, and how long the last one stays.
GLANCE, MOST, REST = 0.1, 40, 3.0
SIZE, MARGIN = 13, 14
INK, PAPER = ColorTriplet(225, 225, 225), ColorTriplet(24, 26, 31)

_TMUX = ("tmux", "-L", "crestline-film")


def filmed() -> list[tuple[float, str]]:
    """The screens of a run, with the seconds at which they came."""
    command = shlex.join([sys.executable, "-m", "crestline.cli", "demo", "--seconds", str(SECONDS)])
    start = ["new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-s", "film", command]
    subprocess.run([*_TMUX, *start], check=True)
    screens: list[tuple[float, str]] = []
    while True:
        shot = subprocess.run(
            [*_TMUX, "capture-pane", "-e", "-p", "-t", "film"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if shot.returncode:  # the run is over, and its terminal gone
            return screens
        if not screens or screens[-1][1] != shot.stdout:
            screens.append((time.monotonic(), shot.stdout))
        time.sleep(GLANCE)


def chosen(screens: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Those with a result, evenly spread, each with the seconds that it stays."""
    shown = [one for one in screens if "records kept" in one[1]]
    some = shown[:: max(1, -(-len(shown) // MOST))]
    stay = [later[0] - sooner[0] for sooner, later in pairwise(some)]
    return [(seconds, text) for seconds, (_, text) in zip([*stay, REST], some, strict=True)]


def drawn(screen: str) -> Image.Image:
    """One screen as a picture."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [
        ImageFont.truetype(str(folder / name), SIZE)
        for name in ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
    ]
    wide, high = fonts[0].getlength("M"), SIZE + 5
    size = (round(COLUMNS * wide) + 2 * MARGIN, ROWS * high + 2 * MARGIN)
    image = Image.new("RGB", size, tuple(PAPER))
    pen = ImageDraw.Draw(image)
    console = Console(width=COLUMNS, color_system="truecolor")
    for row, line in enumerate(screen.splitlines()[:ROWS]):
        text = Text.from_ansi(line)
        for column, letter in enumerate(text.plain):
            style = text.get_style_at_offset(console, column)
            own = style.color is not None and not style.color.is_default
            colour = style.color.get_truecolor(MONOKAI) if own else INK
            if style.dim:
                colour = ColorTriplet(*((a + b) // 2 for a, b in zip(colour, PAPER, strict=True)))
            at = (MARGIN + column * wide, MARGIN + row * high)
            pen.text(at, letter, fill=tuple(colour), font=fonts[bool(style.bold)])
    return image


def main() -> None:
    stays, screens = zip(*chosen(filmed()), strict=True)
    first, *others = [drawn(screen).quantize(64, Image.Quantize.MAXCOVERAGE) for screen in screens]
    first.save(
        HERE / "live.gif",
        save_all=True,
        append_images=others,
        duration=[max(80, round(1000 * seconds)) for seconds in stays],
        loop=0,
        optimize=True,
    )
    print(f"{len(screens)} frames in {HERE / 'live.gif'}")


if __name__ == "__main__":
    main()
