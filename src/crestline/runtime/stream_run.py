"""The queries on one stream: one read, expressions worked out once, structures that are shared.

Queries that rank the same records in the same way are one bundle (``planner.shared``) with one
engine. The others have engines of their own and share the scan and the expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.core.errors import PlanError, StateError
from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import REJECTS
from crestline.core.window import counts_rows
from crestline.language import Query, in_full
from crestline.planner import Bundle, arrange
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.shared import sharing_key
from crestline.runtime.bundle_run import Admission, BundleRun
from crestline.runtime.conforming import Uses, conformed, settled, widened
from crestline.runtime.fitting import CandidateMisfit
from crestline.runtime.metrics import Metrics
from crestline.runtime.projection import Expressions
from crestline.runtime.rehearsal import MANY, prepare
from crestline.runtime.views import Named


@dataclass(slots=True)
class Batch:
    """A batch that a run has admitted, and what the run becomes if it takes the batch in."""

    schema: pa.Schema
    typed: bool
    engines: list[BundleRun]
    admissions: list[Admission]
    #: Of columns that have widened, in sentences.
    notes: list[str]


class StreamRun:
    """The run of queries over one stream; ``push`` batches, take tables, ``finish``."""

    def __init__(
        self, queries: Mapping[str, Query], schema: pa.Schema, *, typed: bool = True,
        strict: bool = False, bounded: bool = False, keep_rejects: int | None = None,
        variants: Sequence[pa.Schema] = (),
    ) -> None:  # fmt: skip
        """A ``bounded`` stream is there as a whole: without LATENESS no record of it is late.
        ``variants`` are schemas that batches are known to have beside ``schema``."""
        self._typed, self._strict, self._bounded = typed, strict, bounded
        self._keep_rejects = keep_rejects
        self._prepared = False  # for many records
        queries = in_full(queries, schema.names)
        uses = Uses.of(queries.values(), schema)
        self.schema = settled(schema, uses)
        for variant in variants:
            self.schema = widened(self.schema, variant, schema.names, uses)
        self._engines = [self._engine(bundle) for bundle in arrange(queries)]
        #: What became of queries that were removed.
        self._removed: list[pa.Table] = []
        #: Which columns have widened, in sentences.
        self.notes: list[str] = []
        self._settle()

    def _engine(self, bundle: Bundle) -> BundleRun:
        return BundleRun(
            bundle, self.schema, typed=self._typed, strict=self._strict, bounded=self._bounded,
            keep_rejects=self._keep_rejects,
        )  # fmt: skip

    def _settle(self) -> None:
        """Be ready for the engines that there are now."""
        self._expressions: Expressions | None = None
        if len(self._engines) > 1:
            self._expressions = Expressions([engine.projection for engine in self._engines])
        self._columns = _columns_of(self._engines)
        self._uses = Uses.of(self.queries.values(), self.schema)

    @property
    def queries(self) -> dict[str, Query]:
        return {n: query for engine in self._engines for n, query in engine.fold.queries.items()}

    @property
    def columns(self) -> list[str]:
        """The columns of the stream that are needed, as the stream spells them."""
        return self._columns

    @property
    def event_times(self) -> list[str]:
        """The columns of the stream that are event times of queries."""
        every = (engine.event_time for engine in self._engines)
        return list(dict.fromkeys(name for name in every if name is not None))

    def schema_of(self, name: str) -> pa.Schema:
        """Of every table of a query's results."""
        return self._of(name).fold.schema(name)

    def metrics(self, name: str) -> Metrics:
        return self._of(name).fold.metrics_of(name)

    def watermark(self, name: str) -> int | None:
        """Up to when the query's stream is known to be complete, if it has event times."""
        return self._of(name).fold.watermark

    @property
    def rows_in(self) -> int:
        return max((engine.metrics.rows_in for engine in self._engines), default=0)

    @property
    def rows_late(self) -> int:
        return max((engine.metrics.rows_late for engine in self._engines), default=0)

    def _of(self, name: str) -> BundleRun:
        for engine in self._engines:
            if name in engine.fold.queries:
                return engine
        raise PlanError(f"there is no query {name}: there are {', '.join(self.queries) or 'none'}")

    @property
    def plans(self) -> list[str]:
        """What was planned anew while the queries ran, in sentences."""
        return [sentence for engine in self._engines for sentence in engine.fold.plans]

    # -- records ------------------------------------------------------------------------------

    def push(
        self, batch: pa.Table | pa.RecordBatch, horizons: Mapping[str, int] | None = None
    ) -> Iterator[Named]:
        """Take records in; yield the result rows that fall due because of them. ``horizons`` tells,
        by columns of event times, before which time no record is to come."""
        return self.take(self.admit(batch, self._typed), horizons)

    def admit(self, batch: pa.Table | pa.RecordBatch, typed: bool) -> Batch:
        """Look at a batch for all queries. Nothing has changed if it is refused, and nothing but
        the rejects if it is not taken in: see ``reject_marks``."""
        if batch.num_rows >= MANY and not self._prepared:
            prepare(self.queries, batch, typed)
            self._prepared = True
        marks = self.reject_marks()
        try:
            return self._admit(batch, typed)
        except BaseException:
            self.return_rejects_to(marks)
            raise

    def _admit(self, batch: pa.Table | pa.RecordBatch, typed: bool) -> Batch:
        admitted = self._ready_for(batch.schema, typed)
        batch, misfits = conformed(batch, admitted.schema, self._columns, self._uses)
        computed = None if self._expressions is None else self._expressions(batch)
        admitted.admissions = [
            engine.admit(batch, misfits, self._expressions, computed) for engine in admitted.engines
        ]
        return admitted

    def take(self, batch: Batch, horizons: Mapping[str, int] | None = None) -> Iterator[Named]:
        """Take an admitted batch in; yield the result rows that fall due because of it."""
        known = {} if horizons is None else horizons
        if batch.engines is not self._engines:
            self._engines, self.schema, self._typed = batch.engines, batch.schema, batch.typed
            self.notes += batch.notes
            self._settle()
        for engine, admission in zip(batch.engines, batch.admissions, strict=True):
            horizon = known.get(engine.event_time or "", LONG_AGO)
            yield from engine.take(admission, horizon)

    def reject_marks(self) -> list[Any]:
        """Where the rejects stand, for ``return_rejects_to``."""
        return [engine.rejects.mark() for engine in self._engines]

    def return_rejects_to(self, marks: list[Any]) -> None:
        """Forget what was set aside since."""
        for engine, mark in zip(self._engines, marks, strict=True):
            engine.rejects.return_to(mark)

    def _ready_for(self, given: pa.Schema, typed: bool) -> Batch:
        """What the run is with the types that batches of this schema need."""
        same = Batch(self.schema, self._typed, self._engines, [], [])
        wanted = widened(self.schema, given, self._columns, self._uses)
        if wanted.equals(self.schema):
            return same
        typed = typed and self._typed
        try:
            return self._widened(wanted, typed)
        except CandidateMisfit:  # widen what can be, column by column
            schema = self.schema
        for place, field in enumerate(wanted):
            if field.type == schema.field(place).type:
                continue
            try:
                same = self._widened(schema.set(place, field), typed)
                schema = same.schema
            except CandidateMisfit:
                continue
        return same

    def _widened(self, schema: pa.Schema, typed: bool) -> Batch:
        engines = [engine.widened(schema, typed) for engine in self._engines]
        notes = [
            f"the column {field.name} is {field.type} from now on, and was {before.type}"
            for before, field in zip(self.schema, schema, strict=True)
            if before.type != field.type and not pa.types.is_null(before.type)
        ]
        return Batch(schema, typed, engines, [], notes)

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
        query = in_full({name: query}, self.schema.names)[name]
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
        cls, queries: Mapping[str, Query], state: dict[str, Any], *, strict: bool = False,
        keep_rejects: int | None = None,
    ) -> StreamRun:  # fmt: skip
        """The one whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["schema"]))
        several = cls({}, schema, typed=state["typed"], strict=strict, keep_rejects=keep_rejects)
        left = in_full(queries, schema.names)  # the columns that * has had all along
        for known in state["engines"].values():
            mine = {name: left.pop(name) for name in known["queries"] if name in left}
            if len(mine) < len(known["queries"]):
                raise StateError(
                    "this state belongs to other queries: resume it with the same text, which had"
                    f" {', '.join(known['queries'])}"
                )
            shared = "agenda" in known["fold"] or "asks" in known["fold"]["operator"]
            bundle = Bundle.shared(mine) if shared else Bundle.of(mine)
            several._engines.append(
                BundleRun.from_state(bundle, known, strict=strict, keep_rejects=keep_rejects)
            )
        if left:
            raise StateError(f"this state knows nothing of {', '.join(left)}: add it afterwards")
        several._settle()
        return several


def _columns_of(engines: list[BundleRun]) -> list[str]:
    every = (name for engine in engines for name in engine.projection.columns)
    return list(dict.fromkeys(every))


def _at_arrivals(query: Query) -> bool:
    return reports_every_arrival(query.window) and query.frequency is None


__all__ = ["Batch", "StreamRun"]
