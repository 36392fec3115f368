"""Kernels, compiled before a large batch.

Before a large batch, the same queries process a few of its records as plain Python. The kernels
that were called are then compiled for these types, on all cores at once. Kernels that this misses
are compiled when they are called. ``runtime.rehearsal`` does the same ahead of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.kernels.jit import store, tiers
from crestline.kernels.jit.tiers import Rehearsal
from crestline.language import Query
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.places import place_of
from crestline.planner.standing import standing_kind

if TYPE_CHECKING:
    from crestline.kernels.jit.workshop import Progress

#: Records of a batch for which compiling pays, and how many of them a rehearsal takes.
MANY, FEW = 20_000, 2_500
#: Queries of one kind that a rehearsal takes.
_ALIKE = 4


class Playable(Protocol):
    """A run of queries over one stream: ``runtime.stream_run``."""

    def push(self, batch: pa.Table | pa.RecordBatch, /) -> Iterator[Any]:
        """Take a batch in; yield result rows."""

    def finish(self) -> Iterator[Any]:
        """End the stream; yield result rows."""


def prepare(
    queries: Mapping[str, Query], batch: pa.Table | pa.RecordBatch,
    run_of: Callable[[Mapping[str, Query]], Playable],
) -> None:  # fmt: skip
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
            play(run_of(queries), batch.slice(0, FEW))
        compile_noted(rehearsal, tiers.tell)
        store.note(key)


def _few_of_each(queries: Mapping[str, Query]) -> dict[str, Query]:
    """As many queries of each kind as it takes for them to share what they share."""
    kinds: dict[Any, list[str]] = {}
    for name, query in queries.items():
        kinds.setdefault((_key(query), query.stream.casefold()), []).append(name)
    names = {name for alike in kinds.values() for name in alike[:_ALIKE]}
    return {name: query for name, query in queries.items() if name in names}


def play(run: Playable, batch: pa.Table | pa.RecordBatch) -> None:
    """Run a stream of two batches from its beginning to its end."""
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


__all__ = ["FEW", "MANY", "compile_noted", "play", "prepare"]
