"""Runs a bundle of queries over the records of one stream: records in, result rows out.

The life of a record, once the gate has admitted it:

1. ``Turns`` decide when it counts and when results fall due; ``Lateness`` rejects it if it is late.
2. ``Candidates`` give it to the operator, as the numbers that the ``Encoder`` of its family makes,
   and store its columns if the operator keeps it.
3. When results are due, the operator reports snapshots, and ``Views`` turn them into the rows of
   each query.
4. What no result can need any more is forgotten.

A bundle is one query, or several that share an operator (``planner.shared``): they see the same
records in the same order, and differ in k, in their windows and in what they emit.

In one process records are pushed in order of arrival. On many machines (``core.distributed``) they
are gathered near their source, merged in rounds where their partitions live, and results fall due
by a watermark that all machines share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa

from crestline.core.sentinels import LONG_AGO
from crestline.core.state import pack, unpack
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.planner import Bundle, Plan
from crestline.runtime import joining, saved
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidates import Candidates
from crestline.runtime.encoders import encoder_for
from crestline.runtime.gathering import in_arrival_order
from crestline.runtime.lateness import Lateness
from crestline.runtime.metrics import Clock, Metrics
from crestline.runtime.rejects import Rejects
from crestline.runtime.revisions import Revisions
from crestline.runtime.turns import ArrivalTurns, TimeTurns, Turn, Turns
from crestline.runtime.views import Named, Views
from crestline.runtime.watermark import Watermark
from crestline.runtime.window_meter import WindowMeter


class BundleExecutor:
    """Runs a bundle over admitted records.

    Parameters
    ----------
    bundle
        The queries and their plan.
    roles
        The columns of records, by role (``runtime.roles``).
    rejects
        Where late records and repeats go.
    texts
        Roles whose values are texts that the gate reads as numbers.
    shard
        The run sees some of the objects of a query with COMBINE; its rows are to be merged with
        those of others (``runtime.shards``).
    bounded
        The stream is there as a whole: without LATENESS no record is late.
    """

    def __init__(
        self, bundle: Bundle, roles: pa.Schema, *, rejects: Rejects,
        texts: frozenset[str] = frozenset(), shard: bool = False, bounded: bool = False,
    ) -> None:  # fmt: skip
        self.plan: Plan = bundle.plan
        self.roles, self.texts, self.shard, self.bounded = roles, texts, shard, bounded
        self.rejects, self.metrics = rejects, Metrics()
        own_scores = self.plan.standing is not None
        self.views = Views(bundle.queries, roles, shard=shard, own_scores=own_scores)
        query, operator = self.query, self.plan.make_operator(shard=shard)
        encoder = encoder_for(self.plan, roles, operator, rejects, shard=shard)
        partitions = self.views.rows.partition_schema
        self.candidates = Candidates(
            query, roles, texts, partitions, encoder, forgets=query.late != "REVISE"
        )
        in_order = counts_rows(query.window) or encoder.in_order
        #: Whether the best of a pane can be told near the source, without all other records.
        self._prunes = not (in_order or query.window.panes.on_arrival)
        self.watermark = Watermark(query, bounded=bounded, in_order=in_order)
        self.turns = self._choose_turns(in_order)
        self.arrived = 0  # records that were merged

    def _choose_turns(self, in_order: bool) -> Turns:
        """How records take turns: chosen once."""
        query, watermark = self.query, self.watermark
        lateness = Lateness(
            watermark, self.metrics, self.rejects, self.roles, counts_merged=not self._prunes
        )
        by_time = in_order or (watermark.none_late and watermark.on_arrival)
        by_time = by_time and query.window.on is not None
        any_order = watermark.none_late and not by_time
        meter = WindowMeter(query, self.metrics, self.candidates, any_order=any_order)
        if query.late == "REVISE":
            return Revisions(self.queries, self.plan, lateness, meter, self.candidates)
        # Standing queries report in portions by themselves.
        queries = self.queries if self.plan.standing is None else {}
        if by_time:
            return TimeTurns(queries, query, lateness, meter, waits=in_order)
        return ArrivalTurns(queries, query, lateness, meter)

    # -- what is known ------------------------------------------------------------------------

    @property
    def query(self) -> Query:
        """The query, or what the queries have in common."""
        return self.plan.query

    @property
    def queries(self) -> dict[str, Query]:
        """The queries that are answered, by name."""
        return self.views.queries

    @property
    def latest(self) -> int:
        """The largest event time so far."""
        return self.watermark.latest

    @property
    def late_before(self) -> int:
        """Records before this time belong to results that are out."""
        return self.watermark.late_before

    def schema(self, name: str) -> pa.Schema:
        """The columns of every table of a query's results."""
        return self.views.rows.schema(self.queries[name].emit)

    def metrics_of(self, name: str) -> Metrics:
        """The counts of one query: its own results, and what is common to all that share."""
        rows = self.views.result_rows.get(name, 0)
        filtered = self.metrics.rows_filtered + self.candidates.encoder.filtered(name)
        return replace(
            self.metrics, result_rows=rows, rows_filtered=filtered, sharing=len(self.queries)
        )

    @property
    def filtered(self) -> dict[str, int]:
        """How many records the condition that a query has for itself left out, by query."""
        return {name: self.candidates.encoder.filtered(name) for name in self.queries}

    # -- the life of a record -----------------------------------------------------------------

    def check(self, records: AdmittedBatch) -> None:
        """Raise SourceError if these records cannot be taken in."""
        self.candidates.encoder.check(records)

    def push(self, records: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Named]:
        """Take records in, in order of arrival; yield the result rows that fall due. No record to
        come is before ``horizon``: where none is late, results are due up to it."""
        return self._measured(self._run(self.turns.push(records, horizon)))

    def finish(self) -> Iterator[Named]:
        """End a bounded stream; yield the result rows that are still due."""
        return self._measured(self._run(self.turns.flush()))

    def _run(self, turns: Iterator[Turn]) -> Iterator[Named]:
        for turn in turns:
            if turn.records is not None:
                self.candidates.observe(turn.records)
            if turn.due:
                yield from self._correct()
                yield from self._report(turn)
            else:
                self.candidates.compact(self.views.log)

    def _correct(self) -> Iterator[Named]:
        """Report again what late records have changed."""
        for snapshots, revisions in self.turns.corrections():
            yield from self.views.tables(snapshots, self.candidates, revisions)

    def _report(self, turn: Turn) -> Iterator[Named]:
        """Report what is due by a turn."""
        candidates = self.candidates
        candidates.break_ties()
        if turn.last:
            assert turn.until is not None
            due = self.plan.finish(candidates.operator, self.latest, turn.until)
        else:
            due = candidates.operator.advance_gradually(turn.until)
        for snapshots in due:
            snapshots = candidates.encoder.settle(snapshots, candidates.table)
            yield from self.views.tables(snapshots, candidates)
        candidates.compact(self.views.log)
        candidates.forget_partitions(self.views.log)

    def _measured(self, tables: Iterator[Named]) -> Iterator[Named]:
        """The tables that hold rows, counted; the time that their consumer takes is not ours."""
        while True:
            with Clock(self.metrics):
                named = next(tables, None)
                self._count(finished=named is None)
            if named is None:
                return
            name, table = named
            if table.num_rows:
                self.metrics.result_rows += table.num_rows
                self.views.count(name, table.num_rows)
                yield named

    def _count(self, *, finished: bool) -> None:
        metrics, candidates = self.metrics, self.candidates
        if finished:  # while records are handled, more of them wait
            metrics.keeps(candidates.count + self.turns.waiting)
        metrics.rejected = dict(self.rejects.counts)
        metrics.approximation = candidates.operator.notes()
        metrics.partitions = max(metrics.partitions, len(candidates.partitions))
        candidates.encoder.count(metrics)

    # -- on many machines: see core.distributed -----------------------------------------------

    def fold(self, records: AdmittedBatch) -> None:
        """Near the source: take a batch in, keep what can still matter, report nothing."""
        if self._prunes:
            self.candidates.observe(records)
            self.candidates.compact(self.views.log)
        else:
            self.candidates.store(records)

    def gathered(self) -> pa.Table:
        """Near the source: the records that were kept."""
        return self.candidates.gathered(pruned=self._prunes)

    def merge(self, gathered: pa.Table) -> None:
        """Take in what was gathered elsewhere; it counts at the next ``due``."""
        if gathered.num_rows:
            records = in_arrival_order(gathered, self.arrived)
            self.arrived += gathered.num_rows
            self.check(self.turns.merge(records))

    def due(self, latest: int | None) -> Iterator[Named]:
        """Yield the result rows that fall due once ``latest`` is the largest event time of all."""
        return self._measured(self._run(self.turns.due(latest)))

    # -- queries that come and go -------------------------------------------------------------

    def join(self, name: str, query: Query, *, computed: bool = False) -> int | None:
        """Answer one more query with what is kept for the others, if their ``sharing_key`` is the
        same. It sees the records since the time that is returned; None: all that come. Scores of a
        standing query may have to be ``computed``."""
        return joining.join(self, name, query, computed=computed)

    def leave(self, name: str) -> None:
        """Answer a query no more; others must stay."""
        joining.leave(self, name)

    def follow(self, plan: Plan) -> None:
        """Run by this plan from now on."""
        self.plan = plan
        self.watermark.follow(plan.query)

    @property
    def plans(self) -> list[str]:
        """How results were planned again while the queries ran, in sentences."""
        return joining.schedule_changes(self.candidates.operator) if self.plan.shared else []

    # -- state: see runtime.saved ---------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The whole state, for ``core.state.pack``."""
        return saved.state_of(self)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from ``state()``; StateError if it is none of this bundle."""
        saved.restore(self, state)

    def take_over(self, other: BundleExecutor) -> None:
        """Continue where another stopped whose columns had narrower types; CandidateMisfit if one
        of its values does not fit. The other one stays as it is."""
        saved.take_over(self, other)

    def to_bytes(self) -> bytes:
        """The whole state, versioned and checked."""
        return pack(self.state())

    def from_bytes(self, state: bytes) -> Self:
        """An executor of the same bundle that continues from ``to_bytes()``."""
        executor = type(self)(
            Bundle(self.queries, self.plan), self.roles, rejects=self.rejects, texts=self.texts,
            shard=self.shard, bounded=self.bounded,
        )  # fmt: skip
        executor.restore(unpack(state))
        return executor


__all__ = ["BundleExecutor"]
