"""Reproduce Jin et al. 2008: `python papers/jin2008/run.py [--quick] [--out FOLDER]`.

Writes `obtained.json`, `obtained.md` and the pictures, by default beside this file (a quick run:
into a temporary folder). `--full` measures longer and for larger k.
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
from papers.jin2008 import claims, example, experiments, pictures, stream  # noqa: E402

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
    return obtained | {"claims": claims.verdicts(obtained)}


def write(obtained: dict[str, Any], folder: Path) -> None:
    reproduction.write(obtained, obtained["stream"], pictures.draw, folder)


if __name__ == "__main__":
    reproduction.command("Jin et al. 2008", HERE, obtain, write)
