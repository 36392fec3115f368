"""Jin et al. 2008: `python papers/jin2008/run.py [--quick | --full] [--out FOLDER]`.

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
from papers.jin2008 import claims, example, experiments, golden, pictures, stream  # noqa: E402

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": f"{chosen.records:,} synthetic records, and as many drawn from"
        f" {stream.sightings()[0]}",
        "machine": machine(),
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "exact": experiments.exact(chosen, say),
        "compact": experiments.compact(chosen, say),
        "segments": experiments.segments(chosen, say),
        "synthetic": {"Pk-topk": experiments.costs(chosen, "synthetic", "Pk-topk", say)},
        "icebergs": {
            meaning: experiments.costs(chosen, "icebergs", meaning, say)
            for meaning in example.MEANINGS
        },
    }
    return obtained


PAPER = reproduction.Paper(
    title="Jin et al. 2008: uncertain streams",
    home=HERE,
    obtain=obtain,
    golden=golden.golden,
    judge=claims.verdicts,
    draw=pictures.draw,
    pictures={
        "example.png": "The examples",
        "compact.png": "Sizes of compact sets for growing k",
        "space.png": "Space for growing k and windows",
        "time.png": "Time a record for growing k and windows",
        "meanings.png": "Space and time under the other meanings",
        "segments.png": "Segments for growing windows",
    },
)

if __name__ == "__main__":
    reproduction.command(PAPER)
