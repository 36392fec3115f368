"""Chen et al. 2013: run everything that `obtained.json` and the pictures show."""

from __future__ import annotations

from papers.chen_multi import (
    claims,
    definitions,
    exactness,
    example,
    experiments,
    golden,
    pictures,
    planning,
    sizes,
)
from papers.jin2008.stream import sightings
from papers.reproduction import Obtained, Paper, Say


def obtain(size: str, say: Say) -> Obtained:
    """Run everything and return the figures."""
    chosen = sizes.SIZES[size]
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    shrunk = "" if chosen.shrink == 1 else f" (windows divided by {chosen.shrink})"
    obtained: Obtained = {
        "sets": chosen.sets,
        "horizon": chosen.horizon,
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "definitions": definitions.definitions(),
        "printed": definitions.printed(),
        "exact": exactness.exact(chosen, say),
        "plans": planning.plans(chosen, say),
        "planning": planning.planning(chosen, say),
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


PAPER = Paper.of(
    "chen_multi",
    obtain,
    (golden, claims, pictures),
    minutes=42,
    preface="Of Chen et al., cost, throughput and latency are judged twice. `Walks` go through"
    " whole windows, as the paper computes; they were written for this report and are no part of"
    " Crestline. `Engine` is Crestline itself, which looks at no more records than it must.",
)
