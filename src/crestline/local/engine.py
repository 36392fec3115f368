"""One query over one stream: records in, result rows out.

The operator holds numbers, this engine holds the columns of the records that the operator keeps
(and of those shown last, for EMIT CHANGES), in one table whose row numbers are the operator's ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import CrestlineError, StateError
from crestline.core.operator import Reported
from crestline.core.window import RangeWindow, UnboundedWindow, counts_rows
from crestline.kernels.order import find_late, is_ascending
from crestline.local.gate import Admitted, Gate, Rejects, table_bytes, table_from
from crestline.local.kept import Kept
from crestline.local.metrics import Clock, Metrics, WindowCount
from crestline.local.partitions import Partitions
from crestline.local.projection import Projection
from crestline.local.reorder import Reorder
from crestline.local.revise import Revisions
from crestline.local.rows import ChangeLog, RowBuilder
from crestline.planner import Plan
from crestline.types import Ints

_LONG_AGO = -(1 << 62)
#: Result rows that one step of the engine may produce, roughly, where every few records give some.
_PORTION = 1 << 20
#: The table of kept records is compacted when it has this many rows more than it needs.
_SLACK = 8192


class Engine:
    """The run of a plan; ``push`` batches, take tables, ``finish`` for a bounded stream's end."""

    def __init__(
        self, plan: Plan, schema: pa.Schema, *, name: str, typed: bool = True, strict: bool = False
    ) -> None:
        query = plan.query
        self.plan, self.query, self.name = plan, query, name
        self.typed, self.stream_schema = typed, schema
        self.projection = Projection(query, schema, typed)
        self.metrics = Metrics()
        self.rejects = Rejects(query, strict)
        self._gate = Gate(query, self.projection.texts, self.rejects)
        self._rows = RowBuilder(query, name, self.projection.schema)
        self._operator = plan.operator()
        self._partitions = Partitions(self._rows.partition_schema)
        self._latest = _LONG_AGO
        self._counted = counts_rows(query.window)
        self._reorder = Reorder(query) if self._counted and query.window.on else None
        self._kept = Kept(query, self.projection.schema, self.projection.texts)
        self._log: ChangeLog | None = None
        if query.emit == "CHANGES":
            self._log = ChangeLog()
        self._revisions = Revisions(plan) if query.late == "REVISE" else None
        width = query.window.width if isinstance(query.window, RangeWindow) else None
        self._window_count = WindowCount(width)
        self._step: int | None = None  # the last window end that was passed, in slides
        self._finished = False

    @property
    def schema(self) -> pa.Schema:
        """Of every table of results."""
        return self._rows.schema

    # -- in -----------------------------------------------------------------------------------

    def push(self, batch: pa.Table | pa.RecordBatch) -> Iterator[pa.Table]:
        """Take records in; yield the result rows that fall due because of them."""
        if self._finished:
            raise CrestlineError("this run is finished: open a new one to push more")
        with Clock(self.metrics):
            first_row = self.metrics.rows_in
            self.metrics.rows_in += batch.num_rows
            admitted, filtered = self._gate.admit(self.projection(batch), first_row)
            self.metrics.rows_filtered += filtered
        yield from self._timed_steps(self._process(admitted))

    def finish(self) -> Iterator[pa.Table]:
        """The end of a bounded stream: yield what is still due."""
        if not self._finished:
            yield from self._timed_steps(self._flush())
            self._finished = True

    def _timed_steps(self, steps: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The steps' tables that hold anything, counted; the consumer's time is not ours."""
        while True:
            with Clock(self.metrics):
                table = next(steps, None)
                self.metrics.keeps(self._records_kept())
                self.metrics.rejected = dict(self.rejects.counts)
                self.metrics.partitions = len(self._partitions)
            if table is None:
                return
            if table.num_rows:
                self.metrics.result_rows += table.num_rows
                yield table

    def _process(self, admitted: Admitted) -> Iterator[pa.Table]:
        if self._reorder is not None:
            admitted = self._drop_late(admitted)
            admitted = self._reorder.release(admitted, self._latest - self.query.lateness)
        elif admitted.time is not None:
            if self._revisions is not None:
                yield from self._process_revising(admitted)
                return
            admitted = self._drop_late(admitted)
        if len(admitted) == 0:
            return
        for part in self._portions(admitted):
            self._observe(part)
            until = self._due_until()
            if self._passes_a_window_end(until):
                yield from self._advance(until)
            else:
                self._compact()

    def _passes_a_window_end(self, until: int | None) -> bool:
        """Whether anything can be due that was not before: most small batches bring nothing."""
        panes = self.query.window.panes
        if until is None or panes.on_arrival:
            return True
        step = until // (panes.length * panes.slide)
        passed, self._step = step != self._step, step
        return passed

    def _flush(self) -> Iterator[pa.Table]:
        if self._reorder is not None:
            for part in self._portions(self._reorder.release(None, None)):
                self._observe(part)
                yield from self._advance(None)
        elif self.query.window.on is not None and self._latest > _LONG_AGO:
            if self._revisions is not None:
                yield from self._corrections()
            yield from self._advance(self._last_due())

    def _portions(self, admitted: Admitted) -> Iterator[Admitted]:
        """Pieces small enough where results come with every few records."""
        panes = self.query.window.panes
        if self._counted:
            rows = max(1, _PORTION * panes.length * panes.slide // self.query.k)
        elif panes.on_arrival:
            rows = max(1, _PORTION // self.query.k)
        else:
            rows = len(admitted)
        for start in range(0, len(admitted), rows):
            yield admitted.slice(start, min(start + rows, len(admitted)))

    def _drop_late(self, admitted: Admitted) -> Admitted:
        times = admitted.time
        assert times is not None
        if len(times) and times[0] >= self._latest - self.query.lateness and is_ascending(times):
            self._latest = max(self._latest, int(times[-1]))
            return admitted
        late, count, self._latest = find_late(times, self._latest, self.query.lateness)
        if count:
            self.metrics.rows_late += count
            self._reject_late(admitted.take(np.flatnonzero(late)))
            admitted = admitted.take(np.flatnonzero(~late))
        return admitted

    def _reject_late(self, late: Admitted) -> None:
        self.rejects.add(np.asarray(late.rows), "time", "late", late.columns.column("time"))

    def _observe(self, admitted: Admitted) -> None:
        partition: Ints | None = None
        if self.query.partition_by:
            columns = [
                admitted.columns.column(f"p{i}") for i in range(len(self.query.partition_by))
            ]
            partition = self._partitions.encode(columns)
        time = None if self._counted else admitted.time
        first = len(self._kept)
        places = self._operator.observe(admitted.score, time, partition, number_from=first)
        codes = np.zeros(len(places), np.int64) if partition is None else partition[places]
        self._kept.append(admitted, codes, places)
        if self._revisions is not None and admitted.time is not None:
            self._revisions.remember(admitted.time[places], codes, admitted.score[places])
        self._count_window(admitted)

    # -- out ----------------------------------------------------------------------------------

    def _due_until(self) -> int | None:
        """How far the watermark lets us report: window ends, or for each arrival its time."""
        if self._counted:
            return None
        watermark = self._latest - self.query.lateness
        return watermark - 1 if self.query.window.panes.on_arrival else watermark

    def _last_due(self) -> int:
        """The last window end of a bounded run: the first multiple after the last event."""
        window = self.query.window
        assert isinstance(window, RangeWindow | UnboundedWindow)
        if window.slide is None:
            return self._latest
        return (self._latest // window.slide + 1) * window.slide

    def _advance(self, until: int | None) -> Iterator[pa.Table]:
        self._break_ties()
        for reported in self._operator.advance_gradually(until):
            if self._log is not None:
                count = max(1, len(self._partitions))
                table = self._log.changes(reported, count, len(self._kept))
                yield self._rows.changes(table, self._kept.table, self._partitions)
            elif len(reported):
                yield self._snapshots(reported)
        if self._revisions is not None and until is not None:
            self._revisions.reported_until = max(self._revisions.reported_until, until)
        self._compact()

    def _snapshots(self, reported: Reported, revision: Ints | None = None) -> pa.Table:
        return self._rows.snapshots(reported, self._kept.table, self._partitions, revision)

    def _break_ties(self) -> None:
        revised = self._revisions is not None
        ties = self._kept.ties(np.arange(len(self._kept)) if revised else self._operator.ids())
        if ties is None:
            return
        self._operator.set_ties(ties)
        if self._revisions is not None:
            self._revisions.ties = ties

    # -- late records that correct the past ---------------------------------------------------

    def _process_revising(self, admitted: Admitted) -> Iterator[pa.Table]:
        """As ``_process``; late records wait until a next result falls due, then correct."""
        revisions = self._revisions
        assert revisions is not None and admitted.time is not None
        latest = self._latest
        late, _, self._latest = find_late(admitted.time, latest, self.query.lateness)
        if not late.any() and not revisions.pending:
            self._observe(admitted)
            yield from self._advance(self._due_until())
            return
        # A result falls due where the watermark passes a window end: cut the batch there.
        running = np.maximum(np.maximum.accumulate(admitted.time), latest)
        slide = revisions.slide
        step = (running - self.query.lateness) // slide
        known = (latest - self.query.lateness) // slide
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

    def _corrections(self) -> Iterator[pa.Table]:
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
        self._operator = operator
        if len(reported):
            yield self._snapshots(reported, revision)

    # -- memory, metrics, state ---------------------------------------------------------------

    def _compact(self, slack: int = _SLACK) -> None:
        """Forget the columns of records that nobody refers to any more."""
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

    def _records_kept(self) -> int:
        if self._revisions is not None:
            return len(self._kept)
        waiting = 0 if self._reorder is None else len(self._reorder)
        return self._operator.candidates + waiting

    def _count_window(self, admitted: Admitted) -> None:
        if self._counted or admitted.time is None:
            panes = self.query.window.panes
            inside = self.metrics.rows_in
            if not panes.unbounded:
                most = panes.width * panes.length * max(1, len(self._partitions))
                inside = min(inside, most)
        elif len(admitted):
            first, last = int(admitted.time.min()), int(admitted.time.max())
            inside = self._window_count.add(first, last, len(admitted))
        else:
            return
        peak = max(self.metrics.window_records_peak, inside)
        self.metrics.window_records_peak = peak

    def state(self) -> dict[str, Any]:
        """All there is to know, for ``core.state.pack``."""
        self._compact(slack=0)
        state: dict[str, Any] = {
            "query": str(self.query),
            "name": self.name,
            "typed": self.typed,
            "stream_schema": self.stream_schema.serialize().to_pybytes(),
            "latest": int(self._latest),
            "kept": self._kept.state(),
            "operator": self._operator.state(),
            "metrics": self.metrics.as_dict() | {"seconds": 0.0},
        }
        if self.query.partition_by:
            state["partitions"] = table_bytes(self._partitions.table())
        if self._log is not None:
            state["log"] = self._log.state()
        if self._reorder is not None:
            state["reorder"] = self._reorder.state()
        if self._revisions is not None:
            state["revisions"] = self._revisions.state()
        return state

    @classmethod
    def from_state(cls, plan: Plan, state: dict[str, Any], *, strict: bool = False) -> Engine:
        """The engine whose ``state()`` this was."""
        if state["query"] != str(plan.query):
            raise StateError(
                "this state belongs to another query: resume it with the same text, which was\n"
                + state["query"]
            )
        schema = pa.ipc.read_schema(pa.py_buffer(state["stream_schema"]))
        engine = cls(plan, schema, name=state["name"], typed=state["typed"], strict=strict)
        engine._latest = state["latest"]
        engine._kept.restore(state["kept"])
        engine._operator = type(engine._operator).from_state(state["operator"])
        for name, value in state["metrics"].items():
            setattr(engine.metrics, name, value)
        engine.rejects.counts = dict(engine.metrics.rejected)
        if "partitions" in state:
            values = table_from(state["partitions"])
            engine._partitions = Partitions(engine._rows.partition_schema, values)
        if engine._log is not None:
            engine._log.restore(state["log"])
        if engine._reorder is not None:
            engine._reorder.restore(state["reorder"])
        if engine._revisions is not None:
            engine._revisions.restore(state["revisions"])
        return engine
