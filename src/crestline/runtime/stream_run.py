"""The queries on one stream: one read, each expression computed once, structures that are shared.

Queries that rank the same records in the same way are one bundle (``planner.shared``) with one
``BundleRun``. All bundles share the scan and the expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from crestline.core import sound
from crestline.core.errors import PlanError, StateError
from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import REJECTS
from crestline.core.window import counts_rows
from crestline.language import Query, in_full
from crestline.planner import Bundle, Standing, StandingPlan
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.shared import sharing_key
from crestline.runtime.bundle_run import Admission, BundleRun
from crestline.runtime.conforming import Uses, conformed, settled, widened
from crestline.runtime.fitting import CandidateMisfit
from crestline.runtime.metrics import Metrics
from crestline.runtime.preparing import MANY, prepare
from crestline.runtime.projection import Expressions
from crestline.runtime.standing import arranged, standing_on
from crestline.runtime.views import Named


@dataclass(slots=True)
class AdmittedByAll:
    """A batch that all bundles have admitted, and what the run becomes if it takes the batch in."""

    schema: pa.Schema
    typed: bool
    bundles: list[BundleRun]
    admissions: list[Admission]
    #: Which columns have widened, in sentences.
    notes: list[str]


class StreamRun:
    """The run of queries over one stream: ``push`` batches, take tables, ``finish``."""

    def __init__(
        self, queries: Mapping[str, Query], schema: pa.Schema, *, typed: bool = True,
        strict: bool = False, bounded: bool = False, keep_rejects: int | None = None,
        variants: Sequence[pa.Schema] = (),
    ) -> None:  # fmt: skip
        """A ``bounded`` stream is there as a whole: without LATENESS no record of it is late.
        ``variants`` are schemas that batches are known to have beside ``schema``."""
        self._typed, self._strict, self._bounded = typed, strict, bounded
        self._keep_rejects = keep_rejects
        self._compiled = False  # for many records
        queries = in_full(queries, schema.names)
        uses = Uses.of(queries.values(), schema)
        self.schema = settled(schema, uses)
        for variant in variants:
            self.schema = widened(self.schema, variant, schema.names, uses)
        bundles = arranged(queries, self.schema, bounded=bounded)
        self._bundles = [self._run_of(bundle) for bundle in bundles]
        #: Rejects of bundles that were removed.
        self._removed: list[pa.Table] = []
        #: Which columns have widened, in sentences.
        self.notes: list[str] = []
        self._prepare()

    def _run_of(self, bundle: Bundle) -> BundleRun:
        return BundleRun(
            bundle, self.schema, typed=self._typed, strict=self._strict, bounded=self._bounded,
            keep_rejects=self._keep_rejects,
        )  # fmt: skip

    def _prepare(self) -> None:
        """Be ready for the bundles that there are now."""
        projections = [bundle.projection for bundle in self._bundles]
        self._expressions = Expressions(projections) if len(projections) > 1 else None
        columns = (name for projection in projections for name in projection.columns)
        self._columns = list(dict.fromkeys(columns))
        self._uses = Uses.of(self.queries.values(), self.schema)

    @property
    def queries(self) -> dict[str, Query]:
        """The queries that are answered, by name."""
        return {n: q for bundle in self._bundles for n, q in bundle.executor.queries.items()}

    @property
    def columns(self) -> list[str]:
        """The columns of the stream that are needed, as the stream spells them."""
        return self._columns

    @property
    def event_times(self) -> list[str]:
        """The columns of event times whose order decides when results come."""
        columns = (bundle.event_time for bundle in self._bundles)
        return list(dict.fromkeys(name for name in columns if name is not None))

    def schema_of(self, name: str) -> pa.Schema:
        """The columns of every table of a query's results."""
        return self._bundle_of(name).executor.schema(name)

    def metrics(self, name: str) -> Metrics:
        """The counts of one query."""
        return self._bundle_of(name).executor.metrics_of(name)

    def watermark(self, name: str) -> int | None:
        """The time up to which the query's stream is complete, if it has event times."""
        watermark = self._bundle_of(name).executor.watermark
        return watermark.value if watermark.started else None

    @property
    def rows_in(self) -> int:
        return max((bundle.metrics.rows_in for bundle in self._bundles), default=0)

    @property
    def rows_late(self) -> int:
        return max((bundle.metrics.rows_late for bundle in self._bundles), default=0)

    @property
    def plans(self) -> list[str]:
        """How results were planned again while the queries ran, in sentences."""
        return [sentence for bundle in self._bundles for sentence in bundle.executor.plans]

    def _bundle_of(self, name: str) -> BundleRun:
        for bundle in self._bundles:
            if name in bundle.executor.queries:
                return bundle
        raise PlanError(f"there is no query {name}: there are {', '.join(self.queries) or 'none'}")

    # -- records ------------------------------------------------------------------------------

    def push(
        self, batch: pa.Table | pa.RecordBatch, horizons: Mapping[str, int] | None = None
    ) -> Iterator[Named]:
        """Take a batch in; yield the result rows that fall due. ``horizons`` has, by column of
        event times, a time before which no record is to come."""
        return self.take(self.admit(batch, self._typed), horizons)

    def admit(self, batch: pa.Table | pa.RecordBatch, typed: bool) -> AdmittedByAll:
        """Show a batch to all bundles. If one refuses it, nothing has changed. If it is not taken
        in afterwards, only rejects have been added: see ``reject_marks``."""
        if batch.num_rows >= MANY and not self._compiled:
            prepare(self.queries, batch, partial(StreamRun, schema=batch.schema, typed=typed))
            self._compiled = True
        marks = self.reject_marks()
        try:
            admitted = self._ready_for(batch.schema, typed)
            batch, misfits = conformed(batch, admitted.schema, self._columns, self._uses)
            computed = None if self._expressions is None else self._expressions(batch)
            admitted.admissions = [
                bundle.admit(batch, misfits, self._expressions, computed)
                for bundle in admitted.bundles
            ]
        except BaseException:
            self.return_rejects_to(marks)
            raise
        return admitted

    def take(
        self, batch: AdmittedByAll, horizons: Mapping[str, int] | None = None
    ) -> Iterator[Named]:
        """Take an admitted batch in; yield the result rows that fall due."""
        if batch.bundles is not self._bundles:
            self._bundles, self.schema, self._typed = batch.bundles, batch.schema, batch.typed
            self.notes += batch.notes
            self._prepare()
        for bundle, admission in zip(batch.bundles, batch.admissions, strict=True):
            horizon = (horizons or {}).get(bundle.event_time or "", LONG_AGO)
            yield from bundle.take(admission, horizon)

    def finish(self) -> Iterator[Named]:
        """End a bounded stream; yield the result rows that are still due."""
        for bundle in self._bundles:
            yield from bundle.finish()

    # -- types that widen ---------------------------------------------------------------------

    def _ready_for(self, schema: pa.Schema, typed: bool) -> AdmittedByAll:
        """What the run becomes with the types that batches of this schema need."""
        same = AdmittedByAll(self.schema, self._typed, self._bundles, [], [])
        wanted = widened(self.schema, schema, self._columns, self._uses)
        if wanted.equals(self.schema):
            return same
        typed = typed and self._typed
        try:
            return self._widened(wanted, typed)
        except CandidateMisfit:  # widen the columns that can be, one by one
            reached = self.schema
        for index, field in enumerate(wanted):
            if field.type == reached.field(index).type:
                continue
            try:
                same = self._widened(reached.set(index, field), typed)
                reached = same.schema
            except CandidateMisfit:
                continue
        return same

    def _widened(self, schema: pa.Schema, typed: bool) -> AdmittedByAll:
        bundles = [bundle.widened(schema, typed) for bundle in self._bundles]
        notes = [
            f"the column {field.name} is {field.type} from now on, and was {before.type}"
            for before, field in zip(self.schema, schema, strict=True)
            if before.type != field.type and not pa.types.is_null(before.type)
        ]
        return AdmittedByAll(schema, typed, bundles, [], notes)

    # -- rejects ------------------------------------------------------------------------------

    def reject_marks(self) -> list[Any]:
        """How many rejects each bundle has, for ``return_rejects_to``."""
        return [bundle.rejects.mark() for bundle in self._bundles]

    def return_rejects_to(self, marks: list[Any]) -> None:
        """Forget the rejects since these marks."""
        for bundle, mark in zip(self._bundles, marks, strict=True):
            bundle.rejects.return_to(mark)

    def add_rejects(self, rejected: pa.Table) -> None:
        """Add records that the source itself could not read."""
        for bundle in self._bundles:
            bundle.rejects.add_table(rejected)
            bundle.metrics.rejected = dict(bundle.rejects.counts)

    def take_rejects(self, silent: frozenset[str] = frozenset()) -> pa.Table:
        """Return the rejects since the last call, once per bundle; none of a bundle whose queries
        are all ``silent``."""
        taken = [
            rejects
            for bundle in self._bundles
            if (rejects := bundle.rejects.take()) and not silent.issuperset(bundle.executor.queries)
        ]
        removed, self._removed = self._removed, []
        return pa.concat_tables([REJECTS.empty_table(), *removed, *taken])

    # -- queries that come and go -------------------------------------------------------------

    def add(self, name: str, query: Query) -> tuple[list[str], int | None]:
        """Answer one more query. Return the queries that it shares with, and the event time since
        which it sees records (None: it sees all that are pushed from now on)."""
        query = in_full({name: query}, self.schema.names)[name]
        standing = standing_on({name: query}, self.schema, bounded=self._bounded)
        if standing.key(name, query) is not None:
            return self._stand(name, query, standing), None
        key = sharing_key(query)
        at_arrivals = reports_every_arrival(query.window) and query.frequency is None
        if key is not None and not (counts_rows(query.window) or at_arrivals):
            for bundle in self._bundles:
                others = bundle.executor.queries
                if key == sharing_key(next(iter(others.values()))):
                    return list(others), bundle.join(name, query)
        self._bundles.append(self._run_of(Bundle.of({name: query})))
        self._prepare()
        return [], None

    def _stand(self, name: str, query: Query, standing: Standing) -> list[str]:
        """Answer one more query at every arrival; return the queries that it shares with. The first
        one of its kind runs alone, the second begins a structure that the others join."""
        key, computed = standing.key(name, query), name in standing.computed
        others: list[str] = []
        for bundle in self._bundles:
            names = list(bundle.executor.queries)
            if key not in (standing.key(n, bundle.executor.queries[n]) for n in names):
                continue
            plan, operator = bundle.executor.plan, bundle.executor.candidates.operator
            if plan.standing is not None and plan.standing.accepts(query, operator):
                bundle.join(name, query, computed=computed)
                self._prepare()
                return names
            others += names
        one = {name: query}
        alone = Bundle.standing(one, standing.computed) if others else Bundle.of(one)
        self._bundles.append(self._run_of(alone))
        self._prepare()
        return []

    def remove(self, name: str) -> None:
        """Answer a query no more."""
        bundle = self._bundle_of(name)
        if len(bundle.executor.queries) > 1:
            bundle.leave(name)
            self._prepare()
            return
        self._removed.append(bundle.rejects.take())
        self._bundles.remove(bundle)
        self._prepare()

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The whole state, for ``core.state.pack``."""
        return {
            "typed": self._typed,
            "schema": self.schema.serialize().to_pybytes(),
            "bundles": {str(i): bundle.state() for i, bundle in enumerate(self._bundles)},
        }

    @classmethod
    def from_state(
        cls, queries: Mapping[str, Query], state: dict[str, Any], *, strict: bool = False,
        keep_rejects: int | None = None,
    ) -> StreamRun:  # fmt: skip
        """The run of these queries whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["schema"]))
        run = cls({}, schema, typed=state["typed"], strict=strict, keep_rejects=keep_rejects)
        left = in_full(queries, schema.names)  # the columns that * has had all along
        for saved in state["bundles"].values():
            bundle = _bundle_of(saved, left)
            run._bundles.append(
                BundleRun.from_state(bundle, saved, strict=strict, keep_rejects=keep_rejects)
            )
            left = {name: query for name, query in left.items() if name not in bundle.queries}
        if left:
            raise StateError(f"this state knows nothing of {', '.join(left)}: add it afterwards")
        run._prepare()
        return run


def _bundle_of(saved: dict[str, Any], queries: Mapping[str, Query]) -> Bundle:
    """The bundle whose state this is, of some of the queries."""
    names = saved["queries"]
    bundled = {name: queries[name] for name in names if name in queries}
    if len(bundled) < len(names):
        raise StateError(
            f"this state belongs to other queries: resume it with the same text, which had"
            f" {', '.join(names)}"
        )
    if saved["standing"] is not None:
        return Bundle(bundled, StandingPlan.from_state(bundled, saved["standing"]))
    if not saved["shared"]:
        return Bundle.of(bundled)
    sound.require(None not in map(sharing_key, bundled.values()), "queries cannot share")
    return Bundle.shared(bundled)


__all__ = ["AdmittedByAll", "StreamRun"]
