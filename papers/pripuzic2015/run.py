"""Pripuzic et al. 2015: run everything that `obtained.json` and the pictures show."""

from __future__ import annotations

from papers.pripuzic2015 import (
    claims,
    errors,
    example,
    experiments,
    golden,
    many,
    pictures,
    queries,
    sizes,
    stream,
)
from papers.reproduction import Obtained, Paper, Say


def obtain(size: str, say: Say) -> Obtained:
    """Run everything and return the figures."""
    chosen = sizes.SIZES[size]
    tables, steps = example.tables(), example.steps()
    steps["table_iii_grid"] = many.table_iii()
    say("compiling (not timed)")
    experiments.warm_up()
    many.warm_up()
    return {
        "stream": stream.stations()[0],
        "tables": tables,
        "example": {"steps": steps, "agreement": example.agreement(steps, tables)},
        "refused": example.refused(),
        "errors": errors.random_order(chosen, say),
        "fewer_candidates": errors.fewer_candidates(chosen, say),
        "in_order": errors.in_order(chosen, say),
        "exact": errors.exactness(chosen, say),
        "queries": queries.obtain(say),
        "kept": experiments.kept(chosen, say),
        "by_k": experiments.by_k(chosen, say),
        "by_n": experiments.by_n(chosen, say),
        "by_buffer": experiments.by_buffer(chosen, say),
        "by_gamma": experiments.by_gamma(chosen, say),
        "by_queries": many.by_queries(chosen, say),
        "by_dimensions": many.by_dimensions(chosen, say),
        "by_kind": many.by_kind(chosen, say),
        "many_by_k": many.many_by_k(chosen, say),
        "by_resolution": many.by_resolution(chosen, say),
        "stored": many.stored(chosen, say),
    }


PAPER = Paper.of("pripuzic2015", obtain, (golden, claims, pictures), minutes=35)
