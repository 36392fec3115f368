"""LATE REVISE: late records correct what was reported.

Correcting a window needs the best of all its panes, however old, so those are remembered for good:
k records (and ties) for each pane of a partition, and every record of an uncertain stream. When
late records have come, a fresh operator replays the panes they touch twice, without them and with
them; every snapshot that differs is reported again, its revision counted up. The second operator
then takes over.

A snapshot may also come out empty, with PT_K: nothing is reported of it then, as it has no rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import RangeWindow, UnboundedWindow
from crestline.planner import Plan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.uncertainty import uncertain
from crestline.types import Floats, Ints


class Revisions:
    """The memory of a revising run; record i of it is row i of the engine's table."""

    def __init__(self, plan: Plan) -> None:
        window = plan.query.window
        assert isinstance(window, RangeWindow | UnboundedWindow)
        self._plan = plan
        self._width = window.width if isinstance(window, RangeWindow) else None
        self.slide = window.slide or 1
        self._on_arrival = window.panes.on_arrival
        self.reported_until = LONG_AGO
        self.ties: Ints | None = None
        self._time = self._partition = np.empty(0, np.int64)
        self._score = np.empty(0)
        self._doubt: Uncertainty | None = None
        if plan.query.probability is not None:
            self._doubt = Uncertainty(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
        self.held: AdmittedBatch | None = None
        self._revision: dict[tuple[int, int], int] = {}

    @property
    def pending(self) -> bool:
        """Whether late records wait."""
        return self.held is not None

    @property
    def count(self) -> int:
        """How many records are remembered."""
        return len(self._time)

    def falls_due(self, until: int) -> bool:
        """Whether there is anything to report up to ``until`` that was not reported before."""
        before = self.reported_until
        if before == LONG_AGO:
            return True
        if self._on_arrival:
            return bool(((self._time > before) & (self._time <= until)).any())
        return until // self.slide > before // self.slide

    def remember(
        self, time: Ints, partition: Ints, score: Floats, doubt: Uncertainty | None = None
    ) -> None:
        self._time = np.concatenate((self._time, time))
        self._partition = np.concatenate((self._partition, partition))
        self._score = np.concatenate((self._score, score))
        if self._doubt is not None and doubt is not None:
            self._doubt = self._doubt.plus(doubt)

    def set_codes(self, rule: Ints, group: Ints) -> None:
        """Rules and groups were numbered anew."""
        assert self._doubt is not None
        self._doubt = Uncertainty(self._doubt.probability, rule, group)

    def hold(self, late: AdmittedBatch) -> None:
        self.held = late if self.held is None else self.held.plus(late)

    def take_held(self) -> AdmittedBatch:
        held, self.held = self.held, None
        assert held is not None
        return held

    def catcher(self) -> Operator:
        """An operator that only prunes: it is never advanced."""
        return self._plan.operator()

    def replay(self, known: int) -> tuple[Operator, Snapshots, Ints]:
        """The operator with all records (those from ``known`` on are the late ones), and the
        snapshots that came out different, with their revisions."""
        earliest = int(self._time[known:].min())
        start = LONG_AGO
        if self._width is not None and self.reported_until > LONG_AGO:
            start = min(earliest, self.reported_until) - self._width - self.slide
        earlier, before = self._run(start, known)
        operator, after = self._run(start, self.count)
        if self._doubt is not None:  # of what was reported before, false promises are counted
            added = uncertain(operator).overfull - uncertain(earlier).overfull
            uncertain(operator).overfull = max(0, added)
        old = _contents(before)
        changed, revision = [], []
        for i, ((p, e), shown) in enumerate(_contents(after).items()):
            was = old.get((p, e), _EMPTY)
            if e > earliest - 1 and was != shown:
                changed.append(i)
                if was != _EMPTY:  # else this is its first report
                    self._revision[p, e] = self._revision.get((p, e), 0) + 1
                revision.append(self._revision.get((p, e), 0))
        return operator, _chosen(after, changed), np.array(revision, np.int64)

    def _run(self, start: int, count: int) -> tuple[Operator, Snapshots]:
        """A fresh operator over the first ``count`` records from a time on, brought up to date."""
        ids = np.flatnonzero(self._time[:count] >= start)
        operator = self._plan.operator()
        records = (self._score[ids], self._time[ids], self._partition[ids], 0)
        if self._doubt is None:
            kept = operator.observe(Batch(*records))
        else:
            kept = operator.observe(Batch(*records, self._doubt.take(ids)))
        operator.rename(ids[kept])
        if self.ties is not None:
            operator.set_ties(self.ties)
        if self.reported_until == LONG_AGO:
            return operator, Snapshots.nothing()
        return operator, operator.advance(self.reported_until)

    def state(self) -> dict[str, Any]:
        revised = [[p, e, r] for (p, e), r in self._revision.items()]
        state: dict[str, Any] = {
            "reported_until": int(self.reported_until),
            "time": self._time,
            "partition": self._partition,
            "score": self._score,
            "revised": np.array(revised, np.int64).reshape(-1, 3),
        }
        if self.ties is not None:
            state["ties"] = self.ties
        if self._doubt is not None:
            state["probability"] = self._doubt.probability
        if self.held is not None:
            state["held"] = self.held.state()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        self.reported_until = state["reported_until"]
        self._time, self._partition = state["time"], state["partition"]
        self._score, self.ties = state["score"], state.get("ties")
        self._revision = {(int(p), int(e)): int(r) for p, e, r in state["revised"]}
        if self._doubt is not None:  # ``set_codes`` tells rules and groups
            self._doubt = Uncertainty(state["probability"], self._doubt.rule, self._doubt.group)
        if "held" in state:
            self.held = AdmittedBatch.from_state(state["held"])

    def check(self, partitions: int, kept: int) -> None:
        """Refuse a history of records or partitions that are not there."""
        arrays: list[Any] = [self._time, self._partition, self._score]
        arrays += [] if self._doubt is None else [self._doubt.probability]
        sound.length("revisions", *arrays, of=kept)
        sound.require(all(array.ndim == 1 for array in arrays), "revisions are no table")
        if self.ties is not None:  # those of the latest records may still be open
            sound.like(self.ties, np.empty(0, np.int64), "revisions.ties")
            sound.require(len(self.ties) <= kept, "ties of records that are not there")
        sound.like(self._score, np.empty(0), "revisions.score")
        sound.moments("revisions.time", self._time, np.array([self.reported_until]))
        sound.within("revisions.partition", self._partition, 0, partitions)
        sound.numbers("revisions.score", self._score)


#: A snapshot without rows: ids, and the bytes of their probabilities.
_EMPTY: tuple[tuple[int, ...], bytes] = ((), b"")


def _contents(reported: Snapshots) -> dict[tuple[int, int], tuple[tuple[int, ...], bytes]]:
    """What each snapshot (partition, end) shows, so that two of them can be compared."""
    found = {}
    for i, (p, e, ids, _) in enumerate(reported):
        probability = b""
        if reported.probability is not None:
            part = slice(reported.offset[i], reported.offset[i + 1])
            probability = reported.probability[part].tobytes()
        found[p, e] = (tuple(ids.tolist()), probability)
    return found


def _chosen(reported: Snapshots, places: list[int]) -> Snapshots:
    """Only the snapshots at these places."""
    chosen = np.array(places, np.int64)
    count = np.diff(reported.offset)[chosen]
    rows = [np.arange(reported.offset[i], reported.offset[i + 1]) for i in places]
    flat = np.concatenate(rows) if rows else np.empty(0, np.int64)
    return Snapshots.of(
        reported.partition[chosen], reported.end[chosen], count, reported.id[flat],
        reported.score[flat], None if reported.probability is None else reported.probability[flat],
    )  # fmt: skip
