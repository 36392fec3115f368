"""Jin et al. 2008: run everything that `obtained.json` and the pictures show."""

from __future__ import annotations

from papers.jin2008 import claims, example, experiments, golden, pictures, stream
from papers.reproduction import Obtained, Paper, Say


def obtain(size: str, say: Say) -> Obtained:
    """Run everything and return the figures."""
    chosen = experiments.SIZES[size]
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    return {
        "stream": f"{chosen.records:,} synthetic records, and as many drawn from"
        f" {stream.sightings()[0]}",
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


PAPER = Paper.of("jin2008", obtain, (golden, claims, pictures), minutes=23)
