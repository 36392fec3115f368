"""Haghani et al. 2009: run everything that `obtained.json` and the pictures show."""

from __future__ import annotations

from papers.haghani2009 import claims, example, experiments, golden, pictures, stream
from papers.reproduction import Obtained, Paper, Say


def obtain(size: str, say: Say) -> Obtained:
    """Run everything and return the figures."""
    chosen = experiments.SIZES[size]
    say("the examples")
    steps = example.steps()
    return {
        "stream": f"synthetic, C = {stream.RECENT}; {stream.recording()}, in chunks of"
        f" {stream.CHUNK:g} seconds, in place of the paper's requests to web servers",
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


PAPER = Paper.of("haghani2009", obtain, (golden, claims, pictures), minutes=12)
