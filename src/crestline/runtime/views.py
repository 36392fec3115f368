"""What each query of a bundle shows of the snapshots that their operator reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.errors import StateError
from crestline.core.snapshots import Snapshots
from crestline.language import Query
from crestline.language.query import EMISSIONS
from crestline.runtime.candidates import Candidates
from crestline.runtime.partitions import Partitions
from crestline.runtime.rows import RowBuilder
from crestline.runtime.shown import ShownLog
from crestline.types import Ints

#: A query's name and some of its result rows.
Named = tuple[str, pa.Table]


class Views:
    """The queries by their numbers. The number of a removed query is not used again."""

    def __init__(
        self, queries: Mapping[str, Query], roles: pa.Schema, *, shard: bool = False,
        own_scores: bool = False,
    ) -> None:  # fmt: skip
        self._numbered: list[tuple[str, Query] | None] = list(queries.items())
        self.rows = RowBuilder(queries, roles, shard=shard, own_scores=own_scores)
        #: How many rows each query was shown.
        self.result_rows: dict[str, int] = {}
        first = next(iter(queries.values()))
        self._changing_numbers = 3 if first.combine is not None else 0
        if first.probability is not None or own_scores:
            self._changing_numbers = 1
        self.log = ShownLog(self._changing_numbers)
        #: The queries that were not removed, by name.
        self.queries: dict[str, Query] = {}
        self._prepare()

    def _prepare(self) -> None:
        """Be ready for the queries that there are now."""
        self.rows.set_queries(self._numbered)
        self.queries = dict(filter(None, self._numbered))
        emits = [None if entry is None else entry[1].emit for entry in self._numbered]
        #: What each query emits, as its place in EMISSIONS; -1 for a removed one.
        self._emits = np.array([-1 if e is None else EMISSIONS.index(e) for e in emits])
        self.log.follow(emits)

    def add(self, name: str, query: Query) -> int:
        """Add a query; return its number, the next one."""
        self._numbered.append((name, query))
        self._prepare()
        return len(self._numbered) - 1

    def remove(self, name: str) -> int:
        """Remove a query; return its number."""
        number = next(
            i for i, entry in enumerate(self._numbered) if entry is not None and entry[0] == name
        )
        self._numbered[number] = None
        self.log.forget(number)
        self._prepare()
        return number

    def count(self, name: str, rows: int) -> None:
        """Count rows that a query was shown."""
        self.result_rows[name] = self.result_rows.get(name, 0) + rows

    # -- rows ---------------------------------------------------------------------------------

    def tables(
        self, snapshots: Snapshots, candidates: Candidates, revisions: Ints | None = None
    ) -> Iterator[Named]:
        """The rows that snapshots bring, query by query; ``revisions`` has one number each."""
        if len(snapshots) == 0:
            return
        columns, partitions = candidates.table.columns, candidates.partitions
        if len(snapshots.id) > columns.num_rows:
            columns = columns.combine_chunks()  # looking rows up in one piece is quicker
        number = np.zeros(1, np.int64) if snapshots.query is None else snapshots.query
        emits = self._emits[number]
        for emission in np.unique(emits):
            part = snapshots
            if (emits != emission).any():
                part = snapshots.ordered(np.flatnonzero(emits == emission))
            yield from self._emitted(EMISSIONS[emission], part, columns, partitions, revisions)

    def _emitted(
        self, emit: str, snapshots: Snapshots, columns: pa.Table, partitions: Partitions,
        revisions: Ints | None,
    ) -> Iterator[Named]:  # fmt: skip
        """The rows of the queries that emit the same."""
        if emit == "SNAPSHOTS":
            yield from self._split(*self.rows.snapshots(snapshots, columns, partitions, revisions))
        elif emit == "CHANGES":
            assert self.log.changes is not None
            count = max(1, len(partitions))
            changed = self.log.changes.changes(snapshots, count, columns.num_rows)
            yield from self._split(*self.rows.changes(changed, columns, partitions))
        else:
            assert self.log.entries is not None
            entered = self.log.entries.entries(snapshots, columns.num_rows)
            yield from self._split(*self.rows.changes(entered, columns, partitions))

    def _split(self, table: pa.Table, numbers: Ints | None) -> Iterator[Named]:
        """A table cut where one query's rows end and another's begin."""
        if numbers is None or len(self._numbered) == 1:
            yield self._name(0), table
            return
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, stop in zip(cuts, cuts[1:], strict=False):
            if stop > start:
                yield self._name(int(numbers[start])), table.slice(start, stop - start)

    def _name(self, number: int) -> str:
        entry = self._numbered[number]
        assert entry is not None
        return entry[0]

    # -- state --------------------------------------------------------------------------------

    def texts(self) -> list[Any]:
        """Names and texts of the queries by number, for ``restore``."""
        return [None if entry is None else [entry[0], _text(entry[1])] for entry in self._numbered]

    def restore(self, texts: list[Any], result_rows: dict[str, int]) -> None:
        """Continue from ``texts()``; StateError if the queries are others."""
        saved = dict(filter(None, texts))
        sound.require(saved, "it answers no query")
        if saved != {name: _text(query) for name, query in self.queries.items()}:
            raise StateError(
                "this state belongs to another query: resume it with the same text, which was\n"
                + ";\n\n".join(saved.values())
            )
        sound.require(list(saved) == list(self.queries), "its queries have other numbers")
        names = [None if entry is None else entry[0] for entry in texts]
        self._numbered = [None if name is None else (name, self.queries[name]) for name in names]
        self.result_rows = dict(result_rows)
        self.log = ShownLog(self._changing_numbers)
        self._prepare()


def _text(query: Query) -> str:
    """The query without its name, which may be part of the text or not."""
    return str(replace(query, name=None))


__all__ = ["Named", "Views"]
