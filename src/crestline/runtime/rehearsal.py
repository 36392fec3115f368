"""Kernels, compiled before many records come.

Before a large batch, the same queries process a few of its records as plain Python. The kernels
that were called are then compiled for these types, on all cores at once. Kernels that this misses
are compiled when they are called. ``warm`` does the same ahead of time, with the queries that the
algorithms of the catalogue declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.kernels.jit import store, tiers
from crestline.kernels.jit.tiers import Rehearsal
from crestline.language import Query, parse, parse_all
from crestline.planner import arrange, plan
from crestline.planner.catalogue import CATALOGUE, reports_every_arrival
from crestline.planner.standing import place_of, standing_kind

if TYPE_CHECKING:
    from crestline.kernels.jit.workshop import Progress

#: Records of a batch for which compiling pays, and how many of them a rehearsal takes.
MANY, _FEW = 20_000, 2_500
#: Queries of one kind that a rehearsal takes.
_ALIKE = 4


def prepare(queries: Mapping[str, Query], batch: pa.Table | pa.RecordBatch, typed: bool) -> None:
    """Compile the kernels that queries need for a large batch, unless that is done or disabled."""
    tiers.expect_many()
    if tiers.mode() != "auto" or store.folder() is None:
        return
    queries = _few_of_each(queries)
    key = repr([_key(query) for query in queries.values()]) + repr(batch.schema.types)
    if store.is_noted(key):
        return
    with tiers.waiting():
        with tiers.rehearsing() as rehearsal, suppress(CrestlineError):
            _play(queries, batch.slice(0, _FEW), typed)
        compile_noted(rehearsal, tiers.tell)
        store.note(key)


def _few_of_each(queries: Mapping[str, Query]) -> dict[str, Query]:
    """As many queries of each kind as it takes for them to share what they share."""
    kinds: dict[Any, list[str]] = {}
    for name, query in queries.items():
        kinds.setdefault((_key(query), query.stream.casefold()), []).append(name)
    names = {name for alike in kinds.values() for name in alike[:_ALIKE]}
    return {name: query for name, query in queries.items() if name in names}


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
        _ranks_by(query), query.approximate, combine and combine.function, query.late,
        query.frequency is None,
        probability and (probability.semantics, probability.exclusive_by is None, query.summed),
    )  # fmt: skip


def _ranks_by(query: Query) -> str | None:
    """What a standing query is placed by."""
    place = place_of(query) if standing_kind(query) is not None else None
    return None if place is None else place.kind


# -- ahead of time --------------------------------------------------------------------------------

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


def warm_for(queries: Mapping[str, Query], records: int) -> None:
    """Compile all kernels that the queries may call, if so many records are worth it. One process
    of a machine compiles, the others wait for it."""
    if records >= MANY:
        warm(families_of(queries))


def families_of(queries: Mapping[str, Query]) -> list[str]:
    """The families whose kernels the queries call."""
    plans = [bundle.plan for bundle in arrange(queries)]
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
                    _play(queries, records, typed=True)
    return rehearsal


def _streams(family: str, usual: bool) -> Iterator[pa.Table]:
    """A short stream and, for default algorithms, one out of order and a long one: some kernels are
    called for those only."""
    yield _records(120, 0)
    if usual:
        yield _records(120, 3)
        yield _records(120 if family in ("uncertain", "incomplete") else _FEW, 0)


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


__all__ = [
    "FAMILIES",
    "MANY",
    "compile_noted",
    "families_of",
    "family_of",
    "prepare",
    "rehearsed",
    "warm",
    "warm_for",
]
