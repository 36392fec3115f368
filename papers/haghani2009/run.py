"""Haghani et al. 2009: `python papers/haghani2009/run.py [--quick | --full] [--out FOLDER]`.

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
from papers.haghani2009 import claims, example, experiments, golden, pictures, stream  # noqa: E402

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    say("the examples")
    steps = example.steps()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": f"synthetic, C = {stream.RECENT}; {stream.recording()}, in chunks of"
        f" {stream.CHUNK:g} seconds, in place of the paper's requests to web servers",
        "machine": machine(),
        "evaluations": chosen.evaluations,
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "exact": experiments.exact(chosen, say),
        "skylines": experiments.skylines(chosen, say),
        "tables": experiments.tables(chosen, say),
        "weights": experiments.weighted(chosen, say),
        "growth": experiments.growth(chosen, say),
        "real": experiments.real(chosen, say),
        "memory": experiments.memory(chosen, say),
    }
    return obtained


PAPER = reproduction.Paper(
    title="Haghani et al. 2009: incomplete streams",
    home=HERE,
    obtain=obtain,
    golden=golden.golden,
    judge=claims.verdicts,
    draw=pictures.draw,
    pictures={
        "example.png": "Scores of the flows, instances, Figure 2",
        "skylines.png": "Skylines by number of points and by interval",
        "tables.png": "Tables 1 and 2",
        "windows.png": "By window",
        "xi.png": "By xi",
        "real.png": "Tables 3 and 4",
    },
)

if __name__ == "__main__":
    reproduction.command(PAPER)
