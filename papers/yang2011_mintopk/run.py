"""Yang et al. 2011: `python papers/yang2011_mintopk/run.py [--quick | --full] [--out FOLDER]`.

Writes `obtained.json` and the pictures; `crestline reproduce` writes a report as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if not __package__:  # run as a script
    sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.measure import machine  # noqa: E402
from papers.yang2011_mintopk import claims, example, experiments, golden, pictures, stream  # noqa: E402

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
        "recomputed": experiments.recomputed(chosen, say),
        "held": experiments.held(chosen, trades, say),
    }
    return obtained


PAPER = reproduction.Paper(
    title="Yang et al. 2011: MinTopk",
    home=HERE,
    obtain=obtain,
    golden=golden.golden,
    judge=claims.verdicts,
    draw=pictures.draw,
    pictures={
        "example.png": "The running example",
        "kept.png": "Records kept",
        "by_k.png": "CPU time and records kept for growing k",
        "by_window.png": "Growing windows",
        "by_slide.png": "Slides of many lengths",
        "by_arrival.png": "Uneven arrival",
    },
)

if __name__ == "__main__":
    reproduction.command(PAPER)
