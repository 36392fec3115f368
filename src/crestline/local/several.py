"""The queries on one stream: one read, expressions worked out once, structures that are shared.

Queries that rank the same records in the same way are one bundle (``planner.shared``) with one
engine. The others have engines of their own and share the scan and the expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from crestline.core.errors import PlanError, StateError
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.local.engine import Engine
from crestline.local.gate import REJECTS
from crestline.local.metrics import Metrics
from crestline.local.projection import Expressions
from crestline.local.views import Named
from crestline.planner import Bundle, arrange
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.shared import sharing_key


class Several:
    """The run of queries over one stream; ``push`` batches, take tables, ``finish``."""

    def __init__(
        self, queries: Mapping[str, Query], schema: pa.Schema, *, typed: bool = True,
        strict: bool = False,
    ) -> None:  # fmt: skip
        self.schema, self._typed, self._strict = schema, typed, strict
        self._engines = [self._engine(bundle) for bundle in arrange(queries)]
        #: What became of queries that were removed.
        self._removed: list[pa.Table] = []
        self._settle()

    def _engine(self, bundle: Bundle) -> Engine:
        return Engine(bundle, self.schema, typed=self._typed, strict=self._strict)

    def _settle(self) -> None:
        self._expressions: Expressions | None = None
        if len(self._engines) > 1:
            self._expressions = Expressions([engine.projection for engine in self._engines])

    @property
    def queries(self) -> dict[str, Query]:
        return {n: query for engine in self._engines for n, query in engine.fold.queries.items()}

    @property
    def columns(self) -> list[str]:
        """The columns of the stream that are needed, as the stream spells them."""
        every = (name for engine in self._engines for name in engine.projection.columns)
        return list(dict.fromkeys(every))

    def schema_of(self, name: str) -> pa.Schema:
        """Of every table of a query's results."""
        return self._of(name).fold.schema(name)

    def metrics(self, name: str) -> Metrics:
        return self._of(name).fold.metrics_of(name)

    @property
    def rows_in(self) -> int:
        return max((engine.metrics.rows_in for engine in self._engines), default=0)

    def _of(self, name: str) -> Engine:
        for engine in self._engines:
            if name in engine.fold.queries:
                return engine
        raise PlanError(f"there is no query {name}: there are {', '.join(self.queries) or 'none'}")

    @property
    def plans(self) -> list[str]:
        """What was planned anew while the queries ran, in sentences."""
        return [sentence for engine in self._engines for sentence in engine.fold.plans]

    # -- records ------------------------------------------------------------------------------

    def push(self, batch: pa.Table | pa.RecordBatch) -> Iterator[Named]:
        """Take records in; yield the result rows that fall due because of them."""
        computed = None if self._expressions is None else self._expressions(batch)
        for engine in self._engines:
            yield from engine.push(batch, self._expressions, computed)

    def finish(self) -> Iterator[Named]:
        """The end of a bounded stream: yield what is still due."""
        for engine in self._engines:
            yield from engine.finish()

    def add_rejects(self, rejected: pa.Table) -> None:
        """Records that the source itself could not read."""
        for engine in self._engines:
            engine.rejects.add_table(rejected)
            engine.metrics.rejected = dict(engine.rejects.counts)

    def take_rejects(self, silent: frozenset[str] = frozenset()) -> pa.Table:
        """The records set aside since the last call; a bundle tells of each once, and one of
        ``silent`` queries of none."""
        taken = [
            rejects
            for engine in self._engines
            if (rejects := engine.rejects.take()) and not silent.issuperset(engine.fold.queries)
        ]
        removed, self._removed = self._removed, []
        return pa.concat_tables([REJECTS.empty_table(), *removed, *taken])

    # -- queries that come and go -------------------------------------------------------------

    def add(self, name: str, query: Query) -> tuple[list[str], int | None]:
        """Answer one query more from now on: with whom it shares, and from which event time on it
        sees records (None: all that are pushed from now on)."""
        key = sharing_key(query)
        if key is not None and not (counts_rows(query.window) or _at_arrivals(query)):
            for engine in self._engines:
                others = engine.fold.queries
                if key == sharing_key(next(iter(others.values()))):
                    return list(others), engine.fold.join(name, query)
        self._engines.append(self._engine(Bundle.of({name: query})))
        self._settle()
        return [], None

    def remove(self, name: str) -> None:
        """Answer a query no more."""
        engine = self._of(name)
        if len(engine.fold.queries) > 1:
            engine.fold.leave(name)
            return
        self._removed.append(engine.rejects.take())
        self._engines.remove(engine)
        self._settle()

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All there is to know, for ``core.state.pack``."""
        return {
            "typed": self._typed,
            "schema": self.schema.serialize().to_pybytes(),
            "engines": {str(i): engine.state() for i, engine in enumerate(self._engines)},
        }

    @classmethod
    def from_state(
        cls, queries: Mapping[str, Query], state: dict[str, Any], *, strict: bool = False
    ) -> Several:
        """The one whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["schema"]))
        several = cls({}, schema, typed=state["typed"], strict=strict)
        left = dict(queries)
        for known in state["engines"].values():
            mine = {name: left.pop(name) for name in known["queries"] if name in left}
            if len(mine) < len(known["queries"]):
                raise StateError(
                    "this state belongs to other queries: resume it with the same text, which had"
                    f" {', '.join(known['queries'])}"
                )
            shared = "agenda" in known["fold"] or "asks" in known["fold"]["operator"]
            bundle = Bundle.shared(mine) if shared else Bundle.of(mine)
            several._engines.append(Engine.from_state(bundle, known, strict=strict))
        if left:
            raise StateError(f"this state knows nothing of {', '.join(left)}: add it afterwards")
        several._settle()
        return several


def _at_arrivals(query: Query) -> bool:
    return reports_every_arrival(query.window) and query.frequency is None


__all__ = ["Several"]
