"""Chen et al. 2013: `python papers/chen_multi/run.py [--quick | --full] [--out FOLDER]`.

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
from papers.chen_multi import claims, example, experiments, golden, pictures  # noqa: E402
from papers.jin2008.stream import sightings  # noqa: E402

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    shrunk = "" if chosen.shrink == 1 else f" (windows divided by {chosen.shrink})"
    obtained: dict[str, Any] = {
        "size": size,
        "machine": machine(),
        "sets": chosen.sets,
        "horizon": chosen.horizon,
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "exact": experiments.exact(chosen, say),
        "plans": experiments.plans(chosen, say),
        "planning": experiments.planning(chosen, say),
        "synthetic": experiments.single(chosen, "synthetic", say),
        "gaussian": experiments.gaussian(chosen, say),
        "icebergs": experiments.single(chosen, "icebergs", say),
        "streams": experiments.several(chosen, say),
        "seismic": experiments.seismic(chosen, say),
        "engine_latency": experiments.engine_latency(chosen, say),
    }
    real = "seismic recording" if obtained["seismic"] else "no seismic recording at hand"
    obtained["stream"] = f"synthetic{shrunk}; {sightings()[0]}; {real}"
    return obtained


PAPER = reproduction.Paper(
    title="Chen et al. 2013: many queries over one uncertain stream",
    home=HERE,
    obtain=obtain,
    golden=golden.golden,
    judge=claims.verdicts,
    draw=pictures.draw,
    pictures={
        "example.png": "Query Example 1",
        "queries.png": "Over the number of queries",
        "tuples.png": "Over the window",
        "k.png": "Over k",
        "gaussian.png": "Uniform and normal sets",
        "icebergs.png": "Icebergs",
        "streams.png": "Several streams",
        "seismic.png": "Seismic streams",
        "planning.png": "Planning",
        "ratios.png": "Table 9, and GREEDY against DP",
    },
    preface="Of Chen et al., cost, throughput and latency are judged twice. `Walks` go through"
    " whole windows, as the paper computes; they were written for this report and are no part of"
    " Crestline. `Engine` is Crestline itself, which looks at no more records than it must.",
)

if __name__ == "__main__":
    reproduction.command(PAPER)
