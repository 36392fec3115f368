"""Yang et al. 2011: run everything that `obtained.json` and the pictures show."""

from __future__ import annotations

from papers.reproduction import Obtained, Paper, Say
from papers.yang2011_mintopk import claims, example, experiments, golden, pictures, stream


def obtain(size: str, say: Say) -> Obtained:
    """Run everything and return the figures."""
    chosen = experiments.SIZES[size]
    trades = stream.trades()
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    return {
        "stream": trades.name,
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "kept": experiments.kept(chosen, say),
        "by_k": experiments.by_k(chosen, trades, say),
        "by_window": experiments.by_window(chosen, trades, say),
        "by_slide": experiments.by_slide(chosen, trades, say),
        "by_arrival": experiments.by_arrival(chosen, trades, say),
        "recomputed": experiments.recomputed(chosen, say),
        "held": experiments.held(chosen, trades, say),
    }


PAPER = Paper.of("yang2011_mintopk", obtain, (golden, claims, pictures), minutes=6)
