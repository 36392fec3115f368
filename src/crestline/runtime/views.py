"""How the queries that share an operator see what it reports: each its own rows, under its name."""

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
from crestline.runtime.partitions import Partitions
from crestline.runtime.rows import ChangeLog, RowBuilder
from crestline.types import Ints

#: A query's name and some of its result rows.
Named = tuple[str, pa.Table]


class Views:
    """The queries by their numbers; one that was removed leaves its number."""

    def __init__(
        self, queries: Mapping[str, Query], roles: pa.Schema, *, shard: bool = False
    ) -> None:
        self._queries: list[tuple[str, Query] | None] = list(queries.items())
        self.rows = RowBuilder(queries, roles, shard=shard)
        self.result_rows: dict[str, int] = {}
        first = next(iter(queries.values()))
        self._changing_numbers = 3 if first.combine is not None else 0
        if first.probability is not None:
            self._changing_numbers = 1
        self.log: ChangeLog | None = None
        #: Those that were not removed, by name.
        self.queries: dict[str, Query] = {}
        self._see()

    def _see(self) -> None:
        """Be ready for the queries that there are now."""
        self.rows.set_queries(self._queries)
        known = [query for query in self._queries if query is not None]
        self.queries = dict(known)
        self._changing = np.array(
            [query is not None and query[1].emit == "CHANGES" for query in self._queries], np.bool_
        )
        if self._changing.any() and self.log is None:
            self.log = ChangeLog(changing=self._changing_numbers, queries=len(self._queries))
        elif self.log is not None and self.log.queries < len(self._queries):
            self.log.ask_for(len(self._queries))
        #: Result rows that a record brings where results come with every few of them.
        self.rows_a_record = sum(query.k / (query.window.slide or 1) for _, query in known)

    def add(self, name: str, query: Query) -> None:
        """One query more, with the next number."""
        self._queries.append((name, query))
        self._see()

    def remove(self, name: str) -> int:
        """A query less; its number."""
        number = next(i for i, known in enumerate(self._queries) if known and known[0] == name)
        self._queries[number] = None
        if self.log is not None:
            self.log.forget(number)
        self._see()
        return number

    def count(self, name: str, rows: int) -> None:
        self.result_rows[name] = self.result_rows.get(name, 0) + rows

    # -- rows ---------------------------------------------------------------------------------

    def tables(
        self,
        reported: Snapshots,
        kept: pa.Table,
        partitions: Partitions,
        revision: Ints | None = None,
    ) -> Iterator[Named]:
        """The rows that snapshots bring, query by query."""
        if len(reported) == 0:
            return
        if len(reported.id) > kept.num_rows:
            kept = kept.combine_chunks()  # looking rows up in one piece is quicker
        asker = np.zeros(1, np.int64) if reported.ask is None else reported.ask
        changes = self._changing[asker]
        if changes.all():
            yield from self._changes(reported, kept, partitions)
        elif not changes.any():
            yield from self._apart(*self.rows.snapshots(reported, kept, partitions, revision))
        else:
            some = reported.ordered(np.flatnonzero(~changes))
            yield from self._apart(*self.rows.snapshots(some, kept, partitions, revision))
            some = reported.ordered(np.flatnonzero(changes))
            yield from self._changes(some, kept, partitions)

    def _changes(
        self, reported: Snapshots, kept: pa.Table, partitions: Partitions
    ) -> Iterator[Named]:
        assert self.log is not None
        changes = self.log.changes(reported, max(1, len(partitions)), kept.num_rows)
        yield from self._apart(*self.rows.changes(changes, kept, partitions))

    def _apart(self, table: pa.Table, whose: Ints | None) -> Iterator[Named]:
        """A table cut where one query's rows end and another's begin."""
        if whose is None or len(self._queries) == 1:
            yield self._name(0), table
            return
        cuts = [0, *(np.flatnonzero(np.diff(whose)) + 1).tolist(), len(whose)]
        for start, stop in zip(cuts, cuts[1:], strict=False):
            if stop > start:
                yield self._name(int(whose[start])), table.slice(start, stop - start)

    def _name(self, number: int) -> str:
        known = self._queries[number]
        assert known is not None
        return known[0]

    # -- state --------------------------------------------------------------------------------

    def texts(self) -> list[Any]:
        """Names and texts of the queries by number, for ``restore``."""
        return [None if known is None else [known[0], _text(known[1])] for known in self._queries]

    def restore(self, texts: list[Any], result_rows: dict[str, int]) -> None:
        """Become the one whose ``texts()`` these were; StateError if the queries are others."""
        known = dict(filter(None, texts))
        sound.require(known, "it answers no query")
        if known != {name: _text(query) for name, query in self.queries.items()}:
            raise StateError(
                "this state belongs to another query: resume it with the same text, which was\n"
                + ";\n\n".join(known.values())
            )
        mine = self.queries
        self._queries = [None if each is None else (each[0], mine[each[0]]) for each in texts]
        self.result_rows = dict(result_rows)
        if self.log is not None:
            self.log = None
        self._see()


def _text(query: Query) -> str:
    """The query without its name, which may be given in the text or otherwise."""
    return str(replace(query, name=None))


__all__ = ["Named", "Views"]
