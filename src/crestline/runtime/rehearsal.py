"""Kernels, compiled before many records come.

Before a large batch, the same queries process a few of its records as plain Python. The kernels
that were called are then compiled for these types, on all cores at once. Kernels that this misses
are compiled when they are called. ``warm`` does the same ahead of time, with queries that together
call all kernels of a family.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import CrestlineError, PlanError
from crestline.kernels.jit import store, tiers
from crestline.kernels.jit.tiers import Rehearsal
from crestline.language import Query, parse_all
from crestline.language.query import SEMANTICS
from crestline.planner import arrange
from crestline.planner.catalogue import CATALOGUE, reports_every_arrival

if TYPE_CHECKING:
    from crestline.kernels.jit.workshop import Progress

#: Records of a batch for which compiling pays, and how many of them a rehearsal takes.
MANY, _FEW = 20_000, 2_500


def prepare(queries: Mapping[str, Query], batch: pa.Table | pa.RecordBatch, typed: bool) -> None:
    """Compile the kernels that queries need for a large batch, unless that is done or disabled."""
    tiers.expect_many()
    if tiers.mode() != "auto" or store.folder() is None:
        return
    key = repr([_key(query) for query in queries.values()]) + repr(batch.schema.types)
    if store.is_noted(key):
        return
    with tiers.waiting():
        with tiers.rehearsing() as rehearsal, suppress(CrestlineError):
            _play(queries, batch.slice(0, _FEW), typed)
        compile_noted(rehearsal, tiers.tell)
        store.note(key)


def _play(queries: Mapping[str, Query], batch: pa.Table | pa.RecordBatch, typed: bool) -> None:
    from crestline.runtime.stream_run import StreamRun

    run = StreamRun(queries, batch.schema, typed=typed)
    half = batch.num_rows // 2
    for part in (batch.slice(0, half), batch.slice(half)):
        for _ in run.push(part):
            pass
    for _ in run.finish():
        pass


def compile_noted(rehearsal: Rehearsal, progress: Progress | None = None) -> int:
    """Compile the kernels that a rehearsal noted; return how many were not compiled before."""
    from crestline.kernels.jit.workshop import compile_all

    return compile_all(rehearsal.variants, rehearsal.pointed, progress)


def _key(query: Query) -> tuple[Any, ...]:
    """The parts of a query that mostly decide which kernels it calls."""
    probability, combine = query.probability, query.combine
    return (
        query.using, type(query.window).__name__, query.window.on is None,
        reports_every_arrival(query.window), bool(query.partition_by), query.emit,
        query.approximate, combine and combine.function, query.late, query.frequency is None,
        probability and (probability.semantics, probability.exclusive_by is None, query.summed),
    )  # fmt: skip


# -- ahead of time --------------------------------------------------------------------------------

#: The families of queries. Queries that share an operator are a family of their own.
FAMILIES = ("steps", "arrivals", "uncertain", "incomplete", "shared")
#: The algorithms of each, by the families of the catalogue.
_ALGORITHMS = {
    "steps": ("certain",), "arrivals": ("certain", "arrival"), "uncertain": ("uncertain",),
    "incomplete": ("incomplete",),
}  # fmt: skip
_STEPS = ("RANGE 20 SECONDS SLIDE 5 SECONDS ON ts", "ROWS 20 SLIDE 5", "ROWS 20 SLIDE 5 ON ts")
_ARRIVALS = ("RANGE 20 SECONDS ON ts", "ROWS 20")


def family_of(query: Query, shares: bool) -> str:
    """Which family's kernels a query calls."""
    if query.combine is not None:
        return "incomplete"
    if query.probability is not None:
        return "uncertain"
    if shares:
        return "shared"
    return "arrivals" if reports_every_arrival(query.window) else "steps"


def warm_for(queries: Mapping[str, Query], records: int) -> None:
    """Compile all kernels that the queries may call, if so many records are worth it. One process
    of a machine compiles, the others wait for it."""
    if records < MANY:
        return
    plans = [bundle.plan for bundle in arrange(queries)]
    warm(dict.fromkeys(family_of(plan.query, plan.shared) for plan in plans))


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
    """The calls of queries that together call all kernels of a family."""
    with tiers.rehearsing() as rehearsal:
        for text in _texts(family):
            queries = {str(n): query for n, query in enumerate(parse_all(text))}
            with suppress(PlanError):  # not every algorithm suits every query
                for records in _streams(text):
                    _play(queries, records, typed=True)
    return rehearsal


def _streams(text: str) -> Iterator[pa.Table]:
    """A short stream and, for default algorithms, one out of order and a long one: some kernels are
    called for those only."""
    yield _records(120, 0)
    if "USING" not in text:
        yield _records(120, 3)
        yield _records(120 if "PROBABILITY" in text or "COMBINE" in text else _FEW, 0)


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


def _texts(family: str) -> Iterator[str]:
    windows = {"steps": _STEPS, "arrivals": _ARRIVALS}.get(family, _STEPS + _ARRIVALS)
    ending = {
        "uncertain": " WITH PROBABILITY p EXCLUSIVE BY y ORDER BY x",
        "incomplete": " COMBINE SUM(x) ACROSS way IN ('a', 'b') OBJECT id VALUES BETWEEN 0 AND 9",
    }.get(family, " ORDER BY x DESC")
    heads = [
        f"SELECT TOP 2 id FROM s [{window}]{partition}{ending} EMIT {emit}"
        for window in windows
        for partition in ("", " PARTITION BY grp")
        for emit in ("SNAPSHOTS", "CHANGES")
    ]
    if family == "shared":
        for head in heads:
            yield f"{head}; {head.replace('TOP 2', 'TOP 3')}"
        return
    for head in heads:
        yield head
        for entry in CATALOGUE:
            if entry.family in _ALGORITHMS[family] and entry.name != "NAIVE":  # it has no kernels
                yield f"{head} USING {entry.name}"
    if family == "uncertain":
        numbers = {"PT_K": "PT_K(0.5)", "PRF": "PRF(0.5)"}
        for exclusive in ("", " EXCLUSIVE BY y"):
            single = [
                f"SELECT TOP {k} id FROM s [{_STEPS[0]}] WITH PROBABILITY p{exclusive}"
                f" AS {numbers.get(name, name)} ORDER BY x"
                for name in SEMANTICS
                for k in (2, 3)
            ]
            yield from single
            yield "; ".join(single)
            yield f"{single[0].partition(' AS ')[0]} BY SUM OF PROBABILITY ORDER BY x"


__all__ = [
    "FAMILIES",
    "MANY",
    "compile_noted",
    "family_of",
    "prepare",
    "rehearsed",
    "warm",
    "warm_for",
]
