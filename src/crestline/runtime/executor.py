"""A stream's records, folded into the little that must be kept; the results, as they fall due.

One query, or several that share an operator (``planner.shared``): they see the same records in the
same order, and differ in when they are answered, in how many records and how they are told.

The operator holds numbers, this holds the columns of the records that the operator keeps (and of
those shown last, for EMIT CHANGES), in one table whose row numbers are the operator's ids.

There are two ways in. ``push`` takes records as they arrive in one process and judges each of them
late or not; in a bounded run without LATENESS none is late. The other way is ``core.distributed``:
records are gathered near their source, merged where their partitions live, and results fall due at
a watermark that somebody else knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import SourceError
from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.state import pack, unpack
from crestline.core.tables import table_bytes, table_from
from crestline.core.window import RangeWindow, UnboundedWindow, counts_rows
from crestline.kernels.common.order import find_late, is_ascending
from crestline.language import Query
from crestline.planner import Bundle, Plan, SharedPlan
from crestline.planner.shared import demand_of
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidates import CandidateTable
from crestline.runtime.fitting import retyped
from crestline.runtime.joining import begin_after, converted, shared, told_changes
from crestline.runtime.lateness import delay_of
from crestline.runtime.metrics import Clock, Metrics, WindowCount, WindowSample
from crestline.runtime.observations import ObservationEncoder, of_objects
from crestline.runtime.partitions import Partitions
from crestline.runtime.rejects import Rejects
from crestline.runtime.reorder import Reorder
from crestline.runtime.revisions import Revisions
from crestline.runtime.roles import Carried, Number, Role, partition_role
from crestline.runtime.rows import ChangeLog
from crestline.runtime.uncertainty import UncertaintyEncoder, refuse_rules_above_one, uncertain
from crestline.runtime.views import Named, Views
from crestline.sharing import SharedAgenda
from crestline.types import Ints

#: Result rows that one step may produce, roughly, where every few records give some.
_PORTION = 1 << 20
#: The table of kept records is compacted when it has this many rows more than it needs.
_SLACK = 8192


class BundleExecutor:
    """The run of a bundle of queries over admitted records whose columns play the roles in
    ``roles``."""

    def __init__(
        self,
        bundle: Bundle,
        roles: pa.Schema,
        *,
        rejects: Rejects,
        texts: frozenset[str] = frozenset(),
        shard: bool = False,
        bounded: bool = False,
    ) -> None:
        """A ``shard`` sees some of the objects of a query with COMBINE; its rows are to be merged
        with those of the others (``runtime.shards``). In a ``bounded`` run without LATENESS no
        record is late: see ``sources.horizon``."""
        plan = bundle.plan
        query = plan.query
        self.plan, self.query, self.roles = plan, query, roles
        self.texts = texts
        self.metrics = Metrics()
        self.rejects = rejects
        self.shard = shard
        self._views = Views(bundle.queries, roles, shard=shard)
        self._rows = self._views.rows
        self._agenda: SharedAgenda | None = None
        self._operator: Operator
        if isinstance(plan, SharedPlan):
            self._agenda = plan.agenda()
            self._operator = plan.operator_with(self._agenda)
        else:
            self._operator = plan.operator(shard=shard)
        self._partitions = Partitions(self._rows.partition_schema)
        self._latest = LONG_AGO
        self.bounded = bounded
        #: Whether every record counts, in whatever order.
        self.none_late = bounded and query.lateness is None and query.window.on is not None
        self._horizon = LONG_AGO  # where none is late: no record to come is before
        self._counted = counts_rows(query.window)
        self._sightings = None
        if query.combine is not None:
            self._sightings = ObservationEncoder(query, query.k + shard)
        ordered = self._counted or self._sightings is not None
        ordered |= self.none_late and query.window.panes.on_arrival
        self._reorder = Reorder(query) if ordered and query.window.on else None
        self._kept = CandidateTable(query, roles, texts)
        self._doubts = None if query.probability is None else UncertaintyEncoder(query, roles)
        self._revisions: Revisions | None = None
        if isinstance(plan, Plan) and query.late == "REVISE":
            self._revisions = Revisions(plan)
        width = query.window.width if isinstance(query.window, RangeWindow) else None
        self._window_count = WindowCount(width)
        self._window_sample: WindowSample | None = None
        if self.none_late and self._reorder is None and width is not None:
            self._window_sample = WindowSample(width)
        self._step: int | None = None  # the last window end that was passed, in slides
        self._arrived = 0  # merged records, for their order
        self._merged: list[AdmittedBatch] = []  # merged records that wait to be counted

    @property
    def queries(self) -> dict[str, Query]:
        """The queries that are answered, by name."""
        return self._views.queries

    def schema(self, name: str) -> pa.Schema:
        """Of every table of a query's results."""
        return self._rows.schema(self.queries[name].emit)

    def metrics_of(self, name: str) -> Metrics:
        """The counts of one query: its own results, and what is common to all that share."""
        rows = self._views.result_rows.get(name, 0)
        return replace(self.metrics, result_rows=rows, sharing=len(self.queries))

    # -- in one process -----------------------------------------------------------------------

    def check(self, admitted: AdmittedBatch) -> None:
        """Raise SourceError if these records cannot be taken in."""
        if self._sightings is not None:
            self._sightings.check(admitted)

    def push(self, admitted: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Named]:
        """Take records in, in the order of their arrival; yield the result rows that fall due. No
        record to come is before the ``horizon``: where none is late, results are due up to it."""
        return self._timed_steps(self._process(admitted, horizon))

    def finish(self) -> Iterator[Named]:
        """The end of a bounded stream: yield what is still due."""
        return self._timed_steps(self._flush())

    def _timed_steps(self, steps: Iterator[Named]) -> Iterator[Named]:
        """The steps' tables that hold anything, counted; the consumer's time is not ours."""
        while True:
            with Clock(self.metrics):
                found = next(steps, None)
                if found is None:  # between two pushes: while one is handled, its records wait
                    self.metrics.keeps(self._records_kept())
                self.metrics.rejected = dict(self.rejects.counts)
                self.metrics.approximation = self._operator.notes()
                known = len(self._partitions)
                self.metrics.partitions = max(self.metrics.partitions, known)
                if self._doubts is not None:
                    self._count_false_promises()
            if found is None:
                return
            name, table = found
            if table.num_rows:
                self.metrics.result_rows += table.num_rows
                self._views.count(name, table.num_rows)
                yield found

    def _process(self, admitted: AdmittedBatch, horizon: int) -> Iterator[Named]:
        latest = self._latest
        if self._revisions is not None:
            yield from self._process_revising(admitted)
            return
        if self.none_late:
            self._move_horizon(admitted, horizon)
        elif admitted.time is not None:
            admitted = self._drop_late(admitted)
        if self._reorder is not None and not self._due_in_order(admitted):
            yield from self._release(admitted, self._watermark)
            return
        if len(admitted) == 0:
            return
        waits = self.none_late and self._reorder is None
        for part in self._portions(admitted):
            self._observe(part)
            self._count_window(part)
            if part.time is not None:  # not yet that of the parts to come
                latest = max(latest, int(part.time.max()))
            until = self._due_until(None if waits else latest)
            if self._passes_a_window_end(until):
                yield from self._advance(until)
            else:
                self._compact()

    def _release(self, admitted: AdmittedBatch | None, watermark: int | None) -> Iterator[Named]:
        """Let records wait for their turn; the results of those whose turn it is (None: all)."""
        assert self._reorder is not None
        for released in self._reorder.release(admitted, watermark):
            if self._counted:
                yield from self._count(released)
                continue
            for part in self._portions(released):
                self._observe(part)
                self._count_window(part)
                assert part.time is not None
                # Those to come are not earlier.
                yield from self._advance(int(part.time[-1]) - self.query.window.panes.on_arrival)
        if self._counted:
            return
        until = self._due_until()
        if watermark is not None and until is not None and self._passes_a_window_end(until):
            yield from self._advance(until)

    @property
    def watermark(self) -> int | None:
        """Records before this time are late; None without an event time, or before any record."""
        if self.query.window.on is None or self._latest == LONG_AGO:
            return None
        return self._watermark

    @property
    def _watermark(self) -> int:
        """No record that counts will be before this time."""
        if self.none_late:
            return min(self._horizon, self._latest)
        return self._latest - self.query.delay

    def _move_horizon(self, admitted: AdmittedBatch, horizon: int) -> None:
        """Where none is late: note the times of a batch and the earliest time still to come."""
        times = admitted.time
        assert times is not None
        if len(times):
            if times.min() < self._horizon:
                raise SourceError(
                    f"stream {self.query.stream!r}: the event times of its parquet files are not"
                    " what the statistics in the files say: write the files again, or give the"
                    " query a LATENESS, which does without the statistics"
                )
            self._latest = max(self._latest, int(times.max()))
        self._horizon = max(self._horizon, horizon)

    def _due_in_order(self, admitted: AdmittedBatch) -> bool:
        """Whether records that were to be put in order are so already and need not wait."""
        if self._counted or self._sightings is not None or not self.none_late:
            return False
        times = admitted.time
        assert times is not None and self._reorder is not None
        nobody_waits = len(self._reorder) == 0
        return nobody_waits and self._horizon >= self._latest and is_ascending(times)

    def _passes_a_window_end(self, until: int | None) -> bool:
        """Whether anything can be due that was not before: most small batches bring nothing."""
        if self.none_late and self._horizon == LONG_AGO:
            return False
        panes = self.query.window.panes
        if until is None or panes.on_arrival:
            return True
        step = until // (panes.length * panes.slide)
        passed, self._step = step != self._step, step
        return passed

    def _flush(self) -> Iterator[Named]:
        if self._reorder is not None:
            yield from self._release(None, None)
        if self._window_sample is not None and not self._window_sample.in_order:
            self.metrics.window_records_peak = self._window_sample.peak()
        if not self._counted and self.query.window.on is not None and self._latest > LONG_AGO:
            if self._revisions is not None:
                yield from self._corrections()
            if isinstance(self.plan, SharedPlan):
                self._break_ties()
                yield from self._tell(shared(self._operator).finish(self._latest))
            else:
                yield from self._advance(self._last_due())

    def _count(self, admitted: AdmittedBatch) -> Iterator[Named]:
        """Records that count in this order, and the results they bring."""
        for part in self._portions(admitted):
            self._observe(part)
            self._count_window(part)
            yield from self._advance(None)

    def _portions(self, admitted: AdmittedBatch) -> Iterator[AdmittedBatch]:
        """Pieces small enough where results come with every few records."""
        if self._counted or self.query.window.panes.on_arrival:
            rows = max(1, int(_PORTION / self._views.rows_a_record))
        else:
            rows = max(1, len(admitted))
        for start in range(0, len(admitted), rows):
            yield admitted.slice(start, min(start + rows, len(admitted)))

    def _drop_late(self, admitted: AdmittedBatch) -> AdmittedBatch:
        times = admitted.time
        assert times is not None
        if len(times) and times[0] >= self._watermark and is_ascending(times):
            self._latest = max(self._latest, int(times[-1]))
            return admitted
        latest = self._latest
        late, count, self._latest = find_late(times, latest, self.query.delay)
        if count:
            self.metrics.rows_late += count
            self._note_delay(delay_of(times, late, latest))
            reject_late(self.rejects, admitted.take(np.flatnonzero(late)))
            admitted = admitted.take(np.flatnonzero(~late))
        return admitted

    def _note_delay(self, delay: int) -> None:
        self.metrics.lateness_needed = max(self.metrics.lateness_needed, delay)

    def _observe(self, admitted: AdmittedBatch) -> None:
        partition = self._partition_codes(admitted)
        time = None if self._counted else admitted.time
        first, doubt = len(self._kept), None
        if self._sightings is not None:
            admitted, sighting = self._sightings.of(admitted)
            self._sightings.tell(self._operator)
            partition = self._partition_codes(admitted)
            time = None if self._counted else admitted.time
            objects = of_objects(self._operator)
            batch = Batch(admitted.score, time, partition, first, observations=sighting)
            places = objects.observe(batch)
        elif self._doubts is None:
            places = self._operator.observe(Batch(admitted.score, time, partition, first))
        else:
            doubt = self._doubts.of(admitted)
            batch = Batch(admitted.score, time, partition, first, doubt)
            places = self._operator.observe(batch)
        codes = np.zeros(len(places), np.int64) if partition is None else partition[places]
        self._kept.append(admitted, codes, places)
        if self._sightings is not None:
            self._set_repeats_aside()
        if self._revisions is not None and admitted.time is not None:
            doubt = None if doubt is None else doubt.take(places)
            self._revisions.remember(admitted.time[places], codes, admitted.score[places], doubt)

    def _partition_codes(self, admitted: AdmittedBatch) -> Ints | None:
        count = len(self.query.partition_by)
        if count == 0:
            return None
        return self._partitions.encode(
            [admitted.columns.column(partition_role(i)) for i in range(count)]
        )

    # -- on many machines: see core.distributed -----------------------------------------------

    @property
    def _gathers_all(self) -> bool:
        """Whether no record can be left out near its source: where it stands is known only when all
        are together, or every arrival brings a result, or what it counts depends on others."""
        every_arrival = self.query.window.panes.on_arrival
        return self._counted or every_arrival or self._sightings is not None

    def fold(self, admitted: AdmittedBatch) -> None:
        if not self._gathers_all:
            self._observe(admitted)
            self._compact()
            return
        codes = self._partition_codes(admitted)
        everything = np.arange(len(admitted))
        zeros = np.zeros(len(admitted), np.int64)
        self._kept.append(admitted, zeros if codes is None else codes, everything)

    def gathered(self) -> pa.Table:
        table = self._kept.table
        if not self._gathers_all:
            if self._doubts is not None:
                self._prune()
            table = table.take(np.sort(self._operator.ids()))
        codes = table.column(Number.PARTITION)
        table = table.drop_columns([Number.PARTITION])
        for i, column in enumerate(self._partitions.table().columns):
            table = table.append_column(partition_role(i), column.take(codes))
        return table

    def merge(self, gathered: pa.Table) -> None:
        if gathered.num_rows == 0:
            return
        order = np.lexsort(
            [np.asarray(gathered.column(n).to_numpy()) for n in (Number.ROW, Carried.CHUNK)]
        )
        gathered = gathered.take(order)
        rows = range(self._arrived, self._arrived + len(order))
        self._arrived += len(order)
        time = None
        if self.query.window.on is not None:
            time = np.asarray(gathered.column(Number.TIME).to_numpy())
        score = np.asarray(gathered.column(Number.SCORE).to_numpy())
        probability = None
        if self._doubts is not None:
            probability = np.asarray(gathered.column(Number.PROBABILITY).to_numpy())
        admitted = AdmittedBatch(gathered, rows, score, time, probability)
        if time is not None and (late := time < self.late_before).any():
            self._set_late_aside(admitted.take(np.flatnonzero(late)))
            admitted = admitted.take(np.flatnonzero(~late))
        self.check(admitted)
        if self._counted or self._reorder is not None:
            self._merged.append(admitted)
        elif len(admitted):
            self._observe(admitted)

    @property
    def latest(self) -> int:
        """The largest event time so far."""
        return self._latest

    @property
    def late_before(self) -> int:
        """Records before this time belong to results that are out. The lateness is judged between
        rounds only: nobody knows which of two records of a round came first."""
        if self._latest == LONG_AGO or self.none_late:
            return LONG_AGO
        watermark = self._watermark
        panes = self.query.window.panes
        if self._counted or panes.on_arrival or self._sightings is not None:
            return watermark
        slide = panes.length * panes.slide
        return watermark // slide * slide

    def _set_late_aside(self, late: AdmittedBatch) -> None:
        assert late.time is not None
        self._note_delay(self._latest - int(late.time.min()))
        if self._revisions is not None:
            self._revisions.hold(late)
            return
        if self._gathers_all:
            self.metrics.rows_late += len(late)  # else whoever left records out counts them
        kind = self.roles.field(Role.TIME).type
        columns = pa.table({Role.TIME: late.columns.column(Number.TIME).cast(_MOMENT).cast(kind)})
        reject_late(self.rejects, AdmittedBatch(columns, late.rows, late.score, late.time))

    def due(self, latest: int | None) -> Iterator[Named]:
        return self._timed_steps(self._fall_due(latest))

    def _fall_due(self, latest: int | None) -> Iterator[Named]:
        if latest is not None:
            self._latest = max(self._latest, latest)
        if self._counted and self._reorder is None:
            yield from self._count(self._take_merged() or AdmittedBatch.nothing())
            return
        if self._reorder is not None:
            yield from self._release(self._take_merged(), self._watermark)
            return
        until = self._due_until()
        assert until is not None
        if self._latest == LONG_AGO:
            return
        revisions = self._revisions
        if revisions is not None:
            if revisions.falls_due(until):
                yield from self._corrections()
                yield from self._advance(until)
        elif self._passes_a_window_end(until):
            yield from self._advance(until)
        else:
            self._compact()

    def _take_merged(self) -> AdmittedBatch | None:
        """The merged records, in the order in which they arrived."""
        merged, self._merged = self._merged, []
        together: AdmittedBatch | None = None
        for admitted in merged:
            together = admitted if together is None else together.plus(admitted)
        return together

    def to_bytes(self) -> bytes:
        return pack(self.state())

    def from_bytes(self, state: bytes) -> Self:
        bundle = Bundle(self.queries, self.plan)
        fold = type(self)(
            bundle, self.roles, rejects=self.rejects, texts=self.texts, shard=self.shard
        )
        fold.restore(unpack(state))
        return fold

    # -- out ----------------------------------------------------------------------------------

    def _due_until(self, latest: int | None = None) -> int | None:
        """How far the watermark lets us report: window ends, or for each arrival its time."""
        if self._counted:
            return None
        watermark = self._watermark if latest is None else latest - self.query.delay
        return watermark - 1 if self.query.window.panes.on_arrival else watermark

    def _last_due(self) -> int:
        """The last window end of a bounded run: the first multiple after the last event."""
        window = self.query.window
        assert isinstance(window, RangeWindow | UnboundedWindow)
        if window.slide is None:
            return self._latest
        return (self._latest // window.slide + 1) * window.slide

    def _advance(self, until: int | None) -> Iterator[Named]:
        self._break_ties()
        yield from self._tell(self._operator.advance_gradually(until))
        if self._revisions is not None and until is not None:
            self._revisions.reported_until = max(self._revisions.reported_until, until)
        self._compact()
        self._forget_partitions()

    def _tell(self, portions: Iterator[Snapshots]) -> Iterator[Named]:
        for reported in portions:
            if self._sightings is not None:
                reported = self._sightings.settled(reported, self._kept.table)
                self._set_repeats_aside()
            yield from self._views.tables(reported, self._kept.table, self._partitions)

    def _set_repeats_aside(self) -> None:
        repeats = of_objects(self._operator).take_repeats()
        if len(repeats):
            known = self._kept.table.take(repeats)
            rows = np.asarray(known.column(Number.ROW).to_numpy())
            self.rejects.add(rows, Role.OBJECT, "repeat", known.column(Role.OBJECT))

    def _break_ties(self) -> None:
        if self._sightings is not None:
            return  # objects tie by what their values make together
        revised = self._revisions is not None
        ties = self._kept.ties(np.arange(len(self._kept)) if revised else self._operator.ids())
        if ties is None:
            return
        self._operator.set_ties(ties)
        if self._revisions is not None:
            self._revisions.ties = ties

    def _prune(self) -> None:
        """Let an uncertain operator forget what cannot matter: it waits until ties are known."""
        self._break_ties()
        uncertain(self._operator).prune()

    # -- late records that correct the past ---------------------------------------------------

    def _process_revising(self, admitted: AdmittedBatch) -> Iterator[Named]:
        """As ``_process``; late records wait until a next result falls due, then correct."""
        revisions = self._revisions
        assert revisions is not None and admitted.time is not None
        latest = self._latest
        self._count_window(admitted)
        late, count, self._latest = find_late(admitted.time, latest, self.query.delay)
        if count:
            self._note_delay(delay_of(admitted.time, late, latest))
        if not late.any() and not revisions.pending:
            self._observe(admitted)
            yield from self._advance(self._due_until())
            return
        # A result falls due where the watermark passes a window end: cut the batch there.
        running = np.maximum(np.maximum.accumulate(admitted.time), latest)
        slide = revisions.slide
        step = (running - self.query.delay) // slide
        known = (latest - self.query.delay) // slide
        cuts = np.flatnonzero(np.diff(step, prepend=known)) + 1
        start = 0
        for stop in [*cuts.tolist(), len(admitted)]:
            places = np.arange(start, stop)
            start = stop
            if len(places) == 0:
                continue
            mine = late[places]
            if mine.any():
                self.metrics.rows_late += int(mine.sum())
                revisions.hold(admitted.take(places[mine]))
            if not mine.all():
                self._observe(admitted.take(places[~mine]))
            self._latest = int(running[stop - 1])
            until = self._due_until()
            assert until is not None
            if revisions.falls_due(until):
                yield from self._corrections()
                yield from self._advance(until)

    def _corrections(self) -> Iterator[Named]:
        """Take the late records in, replay what they touch and report what came out different."""
        revisions = self._revisions
        assert revisions is not None
        if not revisions.pending:
            return
        held = revisions.take_held()
        known = revisions.count
        # Late records join the kept ones; the running operator is replaced by the replayed one.
        running, self._operator = self._operator, revisions.catcher()
        self._observe(held)
        self._operator = running
        self._break_ties()
        operator, reported, revision = revisions.replay(known)
        if self._doubts is not None:
            uncertain(operator).overfull += uncertain(running).overfull
        self._operator = operator
        if len(reported):
            tables = self._views.tables(reported, self._kept.table, self._partitions, revision)
            yield from tables

    # -- queries that come and go -------------------------------------------------------------

    def join(self, name: str, query: Query) -> int | None:
        """Answer one query more with what is kept for the others; ``sharing_key`` says that it can
        be. It sees the records from the time on that is returned, or all (None)."""
        plan = SharedPlan({**self.queries, name: query})
        if not isinstance(self.plan, SharedPlan):
            self._share(SharedPlan(self.queries))
        begin = None if self._latest == LONG_AGO else begin_after(self._latest, plan)
        since = LONG_AGO if begin is None else begin
        if self._agenda is not None:
            self._agenda.add(name, plan.ask(name).slide)
            if query.frequency is not None:
                assert self._agenda.schedule is not None
                self._agenda.schedule.add(demand_of(name, query), begin or 0)
        shared(self._operator).add(plan.ask(name, since))
        self._views.add(name, query)
        self._take_plan(plan)
        return begin

    def leave(self, name: str) -> None:
        """Answer a query no more; others must stay."""
        number = self._views.remove(name)
        if self._agenda is not None:
            self._agenda.remove(number)
            schedule = self._agenda.schedule
            if schedule is not None and any(d.name == name for d in schedule.demands):
                schedule.remove(name, max(self._latest, schedule.last_change))
        shared(self._operator).remove(number)
        self._take_plan(SharedPlan(self.queries))

    def _take_plan(self, plan: SharedPlan) -> None:
        self.plan, self.query, self._step = plan, plan.query, None

    def _share(self, plan: SharedPlan) -> None:
        """Go on with an operator that others can join."""
        self._take_plan(plan)
        self._agenda = plan.agenda()
        self._break_ties()
        known = self._operator
        doubt = None if self._doubts is None else self._doubts.of_kept(self._kept.table)
        operator = plan.operator_with(self._agenda)
        self._operator = converted(operator, known.ids(), self._kept, doubt)
        self._break_ties()
        if self._latest > LONG_AGO:
            for _ in self._operator.advance_gradually(self._due_until()):
                pass  # all of this has been told

    @property
    def plans(self) -> list[str]:
        """What was planned anew while the queries ran, in sentences."""
        schedule = None if self._agenda is None else self._agenda.schedule
        return [] if schedule is None else told_changes(schedule)

    # -- memory, metrics, state ---------------------------------------------------------------

    @property
    def _log(self) -> ChangeLog | None:
        return self._views.log

    def _compact(self, slack: int = _SLACK) -> None:
        """Forget the columns of records that nobody refers to any more."""
        if self._doubts is not None and uncertain(self._operator).crowded:
            self._prune()
        if self._revisions is not None:
            return  # any pane may have to be looked at again
        needed = self._operator.candidates + (0 if self._log is None else len(self._log.shown))
        if len(self._kept) <= 2 * needed + slack:
            return
        used = np.zeros(len(self._kept), np.bool_)
        used[self._operator.ids()] = True
        if self._log is not None:
            used[self._log.shown] = True
        places = self._kept.keep_only(np.flatnonzero(used))
        self._operator.rename(places)
        if self._log is not None:
            self._log.rename(places)
        if self._doubts is not None and self._doubts.outgrown(len(self._kept)):
            self._renumber(self._doubts)

    def _renumber(self, doubts: UncertaintyEncoder) -> None:
        """Number rules and groups anew, from the records that are kept."""
        rule, group = doubts.renumber(self._kept.table)
        uncertain(self._operator).set_codes(rule, group)
        if self._revisions is not None:
            self._revisions.set_codes(rule, group)

    def _forget_partitions(self, slack: int = _SLACK) -> None:
        """Forget partitions of which nothing is left, so that keys that come and go do not pile
        up."""
        known = len(self._partitions)
        if known <= slack or self._revisions is not None:
            return
        live = self._operator.live_partitions()
        if live is None:
            return
        if self._log is not None:
            live |= self._log.showing(len(live))
        kept = np.flatnonzero(live)
        if known <= 2 * len(kept) + slack:
            return
        self._compact(slack=0)
        places = np.full(known, -1)
        places[kept] = np.arange(len(kept))
        self._operator.keep_partitions(kept)
        self._kept.rename_partitions(places)
        if self._log is not None:
            self._log.keep_partitions(kept)
        values = self._partitions.table().take(kept)
        self._partitions = Partitions(self._rows.partition_schema, values)

    def _count_false_promises(self) -> None:
        self.metrics.rules_above_one = uncertain(self._operator).overfull
        if self.rejects.strict:
            refuse_rules_above_one(self.query, self.metrics.rules_above_one)

    def _records_kept(self) -> int:
        if self._revisions is not None:
            return len(self._kept)
        waiting = 0 if self._reorder is None else len(self._reorder)
        return self._operator.candidates + waiting

    def _count_window(self, admitted: AdmittedBatch) -> None:
        if self._counted or admitted.time is None:
            panes = self.query.window.panes
            inside = self.metrics.rows_in
            if not panes.unbounded:
                most = panes.width * panes.length * max(1, len(self._partitions))
                inside = min(inside, most)
        elif len(admitted):
            if self._window_sample is not None:
                self._window_sample.add(admitted.time)
            first, last = int(admitted.time.min()), int(admitted.time.max())
            inside = self._window_count.add(first, last, len(admitted))
        else:
            return
        peak = max(self.metrics.window_records_peak, inside)
        self.metrics.window_records_peak = peak

    def state(self) -> dict[str, Any]:
        """All there is to know, for ``core.state.pack``."""
        self._compact(slack=0)
        self._forget_partitions(slack=64)
        state: dict[str, Any] = {
            "queries": self._views.texts(),
            "latest": int(self._latest),
            "arrived": self._arrived,
            "kept": self._kept.state(),
            "operator": self._operator.state(),
            "metrics": self.metrics.as_dict() | {"seconds": 0.0},
            "result_rows": dict(self._views.result_rows),
        }
        if self._agenda is not None:
            state["agenda"] = self._agenda.state()
        if self._sightings is not None:
            state["streams"] = self._sightings.state()
        if self.query.partition_by:
            state["partitions"] = table_bytes(self._partitions.table())
        if self._log is not None:
            state["log"] = self._log.state()
        if self._reorder is not None:
            state["reorder"] = self._reorder.state()
        if self._revisions is not None:
            state["revisions"] = self._revisions.state()
        return state

    def take_over(self, other: BundleExecutor) -> None:
        """Go on where another stopped whose columns had narrower types; KeptMisfit if one of its
        values does not fit. The other one stays as it is."""
        state = unpack(pack(other.state()))
        state["kept"] = table_bytes(self._kept.retyped(table_from(state["kept"])))
        if "partitions" in state:
            values = retyped(table_from(state["partitions"]), self._rows.partition_schema)
            state["partitions"] = table_bytes(values)
        for held in (state.get("reorder"), state.get("revisions", {}).get("held")):
            if held:
                held["columns"] = table_bytes(retyped(table_from(held["columns"]), self.roles))
        self.restore(state)
        self.metrics.seconds = other.metrics.seconds
        self._horizon = other._horizon

    def restore(self, state: dict[str, Any]) -> None:
        """Become the one whose ``state()`` this was; StateError if it can be none."""
        with sound.reading(pa.ArrowException):
            self._restore(state)
            self._sound()

    def _restore(self, state: dict[str, Any]) -> None:
        self._views.restore(state["queries"], state["result_rows"])
        self._latest, self._arrived = state["latest"], state["arrived"]
        sound.moments("latest", np.array([self._latest]))
        sound.like(self._arrived, 0, "arrived")
        self._kept.restore(state["kept"])
        if isinstance(self.plan, SharedPlan):
            if self._agenda is not None:
                self._agenda = SharedAgenda.from_state(state["agenda"])
                queries = self.queries
                demands = [demand_of(n, q) for n, q in queries.items() if q.frequency is not None]
                self._agenda.check({n: self.plan.ask(n).slide for n in queries}, demands)
            self._check_asks(self.plan, state["operator"]["asks"], state["queries"])
            model = self._operator.state()
            if "bands" in model:
                model["bands"] = {}
            sound.like(state["operator"], model, "operator")
            self._operator = self.plan.restored(state["operator"], self._agenda)
        else:
            fresh = self._operator.state()
            sound.like(state["operator"], fresh, "operator", same=_SETTINGS)
            self._operator = type(self._operator).from_state(state["operator"])
        counts = self.metrics.as_dict()
        sound.like(state["metrics"], counts | {"rejected": {}, "approximation": {}}, "metrics")
        for counted in (state["metrics"]["rejected"], state["result_rows"]):
            sound.like(counted, dict.fromkeys(counted, 0), "counts")
        for name, value in state["metrics"].items():
            setattr(self.metrics, name, value)
        self.rejects.counts = dict(self.metrics.rejected)
        if "partitions" in state:
            values = table_from(state["partitions"])
            self._partitions = Partitions(self._rows.partition_schema, values)
        if not self.query.partition_by:
            _check_partitions(state["operator"], 1)
        else:
            _check_partitions(state["operator"], len(self._partitions))
        if self._log is not None:
            self._log.restore(state["log"])
        if self._reorder is not None:
            self._reorder.restore(state["reorder"])
        if self._sightings is not None:
            self._sightings.restore(state["streams"])
        if self._revisions is not None:
            self._revisions.restore(state["revisions"])
        if self._doubts is not None:
            self._renumber(self._doubts)

    def _check_asks(self, plan: SharedPlan, given: list[Any], texts: list[Any]) -> None:
        """Refuse asks that are not those of the queries; since when they see records may differ."""
        asked = [asdict(plan.ask(each[0])) for each in texts if each is not None]
        found = [dict(ask) for ask in given if ask is not None]
        for ask in (*asked, *found):
            sound.like(ask.pop("since"), 0, "since")
        sound.require(found == asked, "asks belong to other queries")

    def _sound(self) -> None:
        """Refuse what refers to records or partitions that are not there."""
        kept, parts = len(self._kept), len(self._partitions)
        if not self.query.partition_by:
            parts = 1
        sound.within("operator: ids", self._operator.ids(), 0, kept)
        whose = np.asarray(self._kept.table.column(Number.PARTITION).to_numpy())
        sound.within("kept: partitions", whose, 0, parts)
        live = self._operator.live_partitions()
        if live is not None:
            sound.require(len(live) <= parts, "the operator knows partitions without values")
        waits = [] if self._reorder is None else self._reorder.parts()
        if self._revisions is not None and self._revisions.held is not None:
            waits.append(self._revisions.held)
        fits = all(held.fits(self.roles) for held in waits)
        sound.require(fits, "waiting records have other columns")
        if self._log is not None:
            self._log.check(parts, kept)
        if self._revisions is not None:
            self._revisions.check(parts, kept)


_MOMENT = pa.timestamp("us")
#: What an operator was told; the query says it again.
_SETTINGS = frozenset(
    (
        "k", "window", "slide", "only_changes", "options", "semantics", "threshold", "summed",
        "exclusive", "combination", "weights", "trusting", "exact_counts", "hope",
    )
)  # fmt: skip


def _check_partitions(operator: dict[str, Any], known: int) -> None:
    """Refuse an operator that knows more partitions than have values."""
    for band in operator.get("bands", {}).values():
        _check_partitions(band, known)
    if "arrays" in operator:
        sound.within("operator: partitions", operator["arrays"]["partition"], 0, known)
    for pairs in operator.get("pairs", {}).values():
        sound.within("operator: partitions", pairs[:, 0], 0, known)
    if isinstance(counts := operator.get("counts"), np.ndarray):
        sound.require(len(counts) <= known, "the operator knows partitions without values")
    if isinstance(parts := operator.get("partitions"), dict):
        sound.within("operator: partitions", np.array([*map(int, parts)], np.int64), 0, known)


def reject_late(rejects: Rejects, late: AdmittedBatch) -> None:
    rejects.add(np.asarray(late.rows), Role.TIME, "late", late.columns.column(Role.TIME))
