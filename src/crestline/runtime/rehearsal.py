"""Kernels, compiled ahead of time: ``crestline warm`` and the workers of a cluster.

The queries that the algorithms of the catalogue declare process small streams as plain Python. The
kernels that were called are then compiled, as before a large batch (``runtime.preparing``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from crestline.kernels.jit import store, tiers
from crestline.kernels.jit.tiers import Rehearsal
from crestline.language import Query, parse, parse_all
from crestline.planner import Plan, plan
from crestline.planner.catalogue import CATALOGUE, reports_every_arrival
from crestline.runtime.preparing import FEW, MANY, compile_noted, play
from crestline.runtime.stream_run import StreamRun

if TYPE_CHECKING:
    from crestline.kernels.jit.workshop import Progress

#: The families of queries. Queries that share an operator are a family of their own.
FAMILIES = ("steps", "arrivals", "uncertain", "incomplete", "shared")


def family_of(query: Query, shares: bool) -> str:
    """Which family's kernels a query calls."""
    if query.combine is not None:
        return "incomplete"
    if query.probability is not None:
        return "uncertain"
    if shares:
        return "shared"
    return "arrivals" if reports_every_arrival(query.window) else "steps"


def warm_for(plans: Iterable[Plan], records: int) -> None:
    """Compile all kernels that the queries of these plans may call, if so many records are worth
    it. One process of a machine compiles, the others wait for it."""
    if records >= MANY:
        warm(families_of(plans))


def families_of(plans: Iterable[Plan]) -> list[str]:
    """The families whose kernels the queries of these plans call."""
    return list(dict.fromkeys(family_of(plan.query, plan.shared) for plan in plans))


def warm(families: Iterable[str] = FAMILIES, progress: Progress | None = None) -> dict[str, int]:
    """Compile all kernels of families; return how many of each were not compiled before."""
    tiers.expect_many()
    compiled = dict.fromkeys(families, 0)
    for family in compiled:
        if family in _warmed or store.folder() is None or store.is_noted(family):
            _warmed.add(family)
            continue
        with tiers.waiting():
            compiled[family] = compile_noted(rehearsed(family), progress)
            store.note(family)
    return compiled


#: Families whose kernels this process has compiled or found compiled.
_warmed: set[str] = set()


def rehearsed(family: str) -> Rehearsal:
    """The calls of the queries that the algorithms of the catalogue declare for a family."""
    with tiers.rehearsing() as rehearsal:
        for algorithm in CATALOGUE:
            for text in algorithm.rehearsals:
                queries = {str(n): query for n, query in enumerate(parse_all(text))}
                query = queries["0"]
                ours = family_of(query, len(queries) > 1) == family
                if not (ours and algorithm.supports(query.window)):
                    continue
                usual = algorithm.plans or plan(query).algorithm is algorithm
                if not usual:
                    queries = {"0": parse(f"{text} USING {algorithm.name}")}
                for records in _streams(family, usual):
                    play(StreamRun(queries, records.schema), records)
    return rehearsal


def _streams(family: str, usual: bool) -> Iterator[pa.Table]:
    """A short stream and, for default algorithms, one out of order and a long one: some kernels are
    called for those only."""
    yield _records(120, 0)
    if usual:
        yield _records(120, 3)
        yield _records(120 if family in ("uncertain", "incomplete") else FEW, 0)


def _records(count: int, delay: int) -> pa.Table:
    """A stream with a few records that are late by so many seconds."""
    number = np.arange(count)
    seconds = number // 2 - np.where(number % 17 == 5, delay, 0)
    return pa.table(
        {
            "id": number % 40, "ts": (1_000_000 * seconds).astype("datetime64[us]"),
            "x": number * 7 % 10 / 1.0, "p": np.full(count, 0.3), "grp": number % 2,
            "y": number // 3, "way": pa.array(np.array(["a", "b"])[number // 40 % 2]),
        }
    )  # fmt: skip


__all__ = ["FAMILIES", "families_of", "family_of", "rehearsed", "warm", "warm_for"]
