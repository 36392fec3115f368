"""LATE REVISE: late records correct what was reported.

Correcting a window needs the best of all its panes, however old. So candidates are never forgotten:
k records (and ties) for each pane of a partition, and every record of an uncertain stream. Late
records wait until a next result falls due. Then a fresh operator replays the panes that they touch
twice, without them and with them. Every snapshot that differs is reported again, its revision
counted up. The second operator takes over.

A snapshot may also come out empty, with PT_K: nothing is reported of it then, as it has no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import RangeWindow
from crestline.language import Query
from crestline.planner import Plan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidates import Candidates
from crestline.runtime.lateness import Lateness
from crestline.runtime.roles import Number
from crestline.runtime.turns import Turn, Turns, retype_records
from crestline.runtime.window_meter import WindowMeter
from crestline.types import Ints


class Revisions(Turns):
    """Records count as they arrive; late ones wait, then correct results."""

    def __init__(
        self, queries: Mapping[str, Query], plan: Plan, lateness: Lateness, meter: WindowMeter,
        candidates: Candidates,
    ) -> None:  # fmt: skip
        window = plan.query.window
        super().__init__(queries, plan.query, lateness, meter)
        self._plan, self._candidates = plan, candidates
        self._width = window.width if isinstance(window, RangeWindow) else None
        #: Results up to this time are out.
        self._reported_until = LONG_AGO
        self._held: AdmittedBatch | None = None
        #: How often the snapshot of a partition and a window end was corrected.
        self._revision: dict[tuple[int, int], int] = {}

    # -- turns --------------------------------------------------------------------------------

    def push(self, records: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Turn]:
        if records.time is None or len(records) == 0:
            return
        before = self._watermark.latest
        self._meter.add(records)
        late = self._lateness.judge(records.time)
        if late is None and self._held is None:
            yield from self._report(self._watermark.due(), records)
            return
        late = np.zeros(len(records), np.bool_) if late is None else late
        reached = np.maximum(np.maximum.accumulate(records.time), before)
        start = 0
        for stop in self._cuts(reached, before):
            indices = np.arange(start, stop)
            is_late = late[start:stop]
            start = stop
            if is_late.any():
                self._lateness.count(int(is_late.sum()))
                self._set_late_aside(records.take(indices[is_late]))
            if not is_late.all():
                yield Turn(records.take(indices[~is_late]), due=False)
            until = self._watermark.due(int(reached[stop - 1]))
            if self._falls_due(until):
                yield from self._report(until)

    def _cuts(self, reached: Ints, before: int) -> list[int]:
        """Where a batch is cut: behind each record with which the watermark passes a window end,
        and at its end."""
        slide, delay = self._watermark.slide, self._watermark.delay
        step = (reached - delay) // slide
        passing = np.flatnonzero(np.diff(step, prepend=(before - delay) // slide)) + 1
        return list(dict.fromkeys([*passing.tolist(), len(reached)]))

    def due(self, latest: int | None) -> Iterator[Turn]:
        if latest is not None:
            self._watermark.reach(latest)
        merged, self._merged = self._merged, None
        if not self._watermark.started:
            return
        yield Turn(merged, due=False)
        until = self._watermark.due()
        if self._falls_due(until):
            yield from self._report(until)

    def flush(self) -> Iterator[Turn]:
        for turn in super().flush():
            yield turn
            self._reported_until = self._watermark.last_end

    def _report(self, until: int | None, records: AdmittedBatch | None = None) -> Iterator[Turn]:
        assert until is not None
        yield Turn(records, until)
        self._reported_until = max(self._reported_until, until)

    def _falls_due(self, until: int | None) -> bool:
        """Whether there is anything to report up to ``until`` that was not reported before."""
        before = self._reported_until
        assert until is not None
        if before == LONG_AGO:
            return True
        if self._watermark.on_arrival:
            times = self._candidates.table.numbers(Number.TIME)
            return bool(((times > before) & (times <= until)).any())
        return until // self._watermark.slide > before // self._watermark.slide

    def _set_late_aside(self, late: AdmittedBatch) -> None:
        self._held = late if self._held is None else self._held.plus(late)

    # -- corrections --------------------------------------------------------------------------

    def corrections(self) -> Iterator[tuple[Snapshots, Ints]]:
        if self._held is None:
            return
        late, self._held = self._held, None
        candidates = self._candidates
        first_late = len(candidates.table)
        candidates.observe(late, by=self._plan.make_operator())
        times = candidates.table.numbers(Number.TIME)
        earliest = int(times[first_late:].min())
        start = LONG_AGO
        if self._width is not None and self._reported_until > LONG_AGO:
            start = min(earliest, self._reported_until) - self._width - self._watermark.slide
        ids = np.flatnonzero(times >= start)
        ties = candidates.table.ties(np.arange(len(times)))
        before, old = self._replay(ids[ids < first_late], ties)
        after, new = self._replay(ids, ties)
        candidates.encoder.count_replay(before, after)
        candidates.encoder.drive(after)
        changed, revisions = self._changes(old, new, earliest)
        if changed:
            yield new.ordered(np.array(changed, np.int64)), np.array(revisions, np.int64)

    def _replay(self, ids: Ints, ties: Ints | None) -> tuple[Operator, Snapshots]:
        """A fresh operator with these records, brought up to date, and what it reports."""
        operator = self._plan.make_operator()
        self._candidates.recall(operator, ids)
        if ties is not None:
            operator.set_ties(ties)
        if self._reported_until == LONG_AGO:
            return operator, Snapshots.nothing()
        return operator, operator.advance(self._reported_until)

    def _changes(
        self, old: Snapshots, new: Snapshots, earliest: int
    ) -> tuple[list[int], list[int]]:
        """Which new snapshots differ from the old ones, and their revisions."""
        contents = _contents(old)
        changed, revisions = [], []
        for index, ((partition, end), shown) in enumerate(_contents(new).items()):
            was = contents.get((partition, end), _EMPTY)
            if end >= earliest and was != shown:
                changed.append(index)
                if was != _EMPTY:  # else this is its first report
                    key = partition, end
                    self._revision[key] = self._revision.get(key, 0) + 1
                revisions.append(self._revision.get((partition, end), 0))
        return changed, revisions

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        revised = [[p, e, r] for (p, e), r in self._revision.items()]
        return super().state() | {
            "reported_until": int(self._reported_until),
            "revised": np.array(revised, np.int64).reshape(-1, 3),
            "held": {} if self._held is None else self._held.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._reported_until = state["reported_until"]
        sound.moments("reported_until", np.array([self._reported_until]))
        self._revision = {(int(p), int(e)): int(r) for p, e, r in state["revised"]}
        if state["held"]:
            self._held = AdmittedBatch.from_state(state["held"])

    def retype(self, state: dict[str, Any], roles: pa.Schema) -> None:
        retype_records(state["held"], roles)

    def parts(self) -> list[AdmittedBatch]:
        return [] if self._held is None else [self._held]


#: A snapshot without rows: ids, and the bytes of their probabilities.
_EMPTY: tuple[tuple[int, ...], bytes] = ((), b"")


def _contents(snapshots: Snapshots) -> dict[tuple[int, int], tuple[tuple[int, ...], bytes]]:
    """What each snapshot (partition, end) shows, so that two of them can be compared."""
    contents = {}
    for i, (partition, end, ids, _) in enumerate(snapshots):
        probability = b""
        if snapshots.probability is not None:
            rows = slice(snapshots.offset[i], snapshots.offset[i + 1])
            probability = snapshots.probability[rows].tobytes()
        contents[partition, end] = (tuple(ids.tolist()), probability)
    return contents


__all__ = ["Revisions"]
