"""Reproduce Yang et al. 2011: `python papers/yang2011_mintopk/run.py [--quick] [--out FOLDER]`.

Writes `obtained.json`, `obtained.md` and the pictures, by default beside this file (a quick run:
into a temporary folder). `--full` takes more slides and windows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if str(HERE.parents[1]) not in sys.path:  # so that the file runs as a script from anywhere
    sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.measure import machine  # noqa: E402
from papers.yang2011_mintopk import claims, example, experiments, pictures, stream  # noqa: E402

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    trades = stream.trades()
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": trades.name,
        "machine": machine(),
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "kept": experiments.kept(chosen, say),
        "by_k": experiments.by_k(chosen, trades, say),
        "by_window": experiments.by_window(chosen, trades, say),
        "by_slide": experiments.by_slide(chosen, trades, say),
        "by_arrival": experiments.by_arrival(chosen, trades, say),
    }
    return obtained | {"claims": claims.verdicts(obtained)}


def write(obtained: dict[str, Any], folder: Path) -> None:
    reproduction.write(obtained, obtained["stream"], pictures.draw, folder)


if __name__ == "__main__":
    reproduction.command("Yang et al. 2011 (MinTopk)", HERE, obtain, write)
