"""Pripuzic et al. 2015: `python papers/pripuzic2015/run.py [--quick | --full] [--out FOLDER]`.

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
from papers.pripuzic2015 import (  # noqa: E402
    claims,
    errors,
    example,
    experiments,
    golden,
    many,
    pictures,
    sizes,
    stream,
)

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = sizes.SIZES[size]
    tables, steps = example.tables(), example.steps()
    steps["table_iii_grid"] = many.table_iii()
    say("compiling (not timed)")
    experiments.warm_up()
    many.warm_up()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": stream.stations()[0],
        "machine": machine(),
        "tables": tables,
        "example": {"steps": steps, "agreement": example.agreement(steps, tables)},
        "refused": example.refused(),
        "errors": errors.random_order(chosen, say),
        "fewer_candidates": errors.fewer_candidates(chosen, say),
        "in_order": errors.in_order(chosen, say),
        "exact": errors.exactness(chosen, say),
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
    return obtained


PAPER = reproduction.Paper(
    title="Pripuzic et al. 2015: a result after every arrival",
    home=HERE,
    obtain=obtain,
    golden=golden.golden,
    judge=claims.verdicts,
    draw=pictures.draw,
    pictures={
        "example.png": "The running example",
        "errors.png": "Errors of PA in random order",
        "in_order.png": "Results missed on streams in order of time",
        "kept.png": "Records kept by SA and RA",
        "by_k.png": "Cost of one query for growing k",
        "by_parameter.png": "Cost of one query for growing windows, buffers and gamma",
        "space.png": "References and records kept for growing k",
        "many.png": "Cost of many queries for growing numbers and dimensions",
        "many_by_kind.png": "Cost of many queries on all streams",
    },
)

if __name__ == "__main__":
    reproduction.command(PAPER)
