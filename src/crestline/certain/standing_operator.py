"""Standing queries as one operator: records in as points, snapshots of all queries out.

**Answers** exactly, after every record, queries that read the same records and rank each by a score
of its own. **Does not** know partitions. Of records with equal scores the one that counts later
ranks first. So records of one moment count in the order that the driver gives them by ``set_ties``,
the best of equal ones last.

**Idea.** ``StandingQueries`` (``certain.standing``) does the work. Here records wait until their
moment is due, and get numbers in the order in which they count; an id is what the driver calls a
record. The grid is laid around the records of the buffer, again each time their number has doubled.

**Cost** and what is kept: see ``certain.standing``. All records of the buffer are kept.

**Invariants**
  O1  the numbers of what is kept ascend, each with an id;
  O2  every record that ``StandingQueries`` may name has one.

>>> import numpy as np
>>> from crestline.certain.preferences import Distance
>>> near = [StandingSpec(Distance((place,)), k=1, width=2) for place in (3.0, 9.0)]
>>> operator = StandingTopK(near, dimensions=1, buffer=1)
>>> _ = operator.observe(Batch(np.zeros(4), points=np.array([[5.0], [4.0], [9.0], [8.0]])))
>>> snapshots = operator.advance()
>>> for query, (_, end, ids, _) in zip(snapshots.query.tolist(), snapshots):
...     print(query, end, ids.tolist())
0 1 [0]
0 2 [1]
0 4 [3]
1 1 [0]
1 3 [2]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from crestline.certain.preferences import Given, Preference
from crestline.certain.standing import StandingQueries
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.kernels.common.order import is_ascending
from crestline.operators.records import Records, new_ids
from crestline.operators.reporting import Reporting
from crestline.operators.waiting import Waiting
from crestline.types import Bools, Floats, Ints

_NONE = np.empty(0, np.int64)
#: The grid is laid when so many records have come, and again when they have doubled.
_FIRST_FIT = 256


@dataclass(frozen=True, slots=True)
class StandingSpec:
    """What one query asks for; ``width`` is in records or, if ``timed``, in units of time."""

    #: None: its scores are given with the records, in a column of its own.
    preference: Preference | None
    k: int
    width: int
    timed: bool = False
    #: Whether every record that it sees brings a snapshot, or only one that changes the answer.
    every: bool = False


class StandingTopK(Reporting):
    """Standing queries; see the module's text and ``core.specs.SharedOperator``."""

    #: Results are due at every arrival.
    agenda = None

    def __init__(
        self, specs: Sequence[StandingSpec], *, dimensions: int, buffer: int,
        algorithm: str = "RAPF",
    ) -> None:  # fmt: skip
        super().__init__()
        self.queries = StandingQueries(dimensions, buffer=buffer, algorithm=algorithm)
        self.timed = specs[0].timed
        #: How many records have come, and up to which time they have counted.
        self.seen, self._closed = 0, LONG_AGO
        self._next_fit = _FIRST_FIT
        #: The column of given scores, by number of the query.
        self.given: dict[int, int] = {}
        #: How many records had counted before a query was added, by its number.
        self._base: list[int] = []
        columns = dict.fromkeys(("time", "serial", "tie", "id"), _NONE)
        self._pending = Waiting(point=np.empty((0, dimensions)), **columns)
        #: The records that have counted and may be named: ids, and numbers in ascending order.
        self._counted = Records(number=_NONE, id=_NONE)
        self._ids: Ints | None = None  # the kept ids, once they have been collected
        for spec in specs:
            self.add(spec)

    # -- queries ------------------------------------------------------------------------------

    def add(self, spec: StandingSpec) -> int:
        """Answer one more query, which sees none of the records so far; return its number."""
        preference = spec.preference
        if preference is None:
            preference = Given(self.queries.free_column())
        number = self.queries.add(
            preference, spec.k, spec.width, timed=spec.timed, every=spec.every, since=self.seen
        )
        if isinstance(preference, Given):
            self.given[number] = preference.column
            self._widen_pending()
        self._base.append(self.queries.seen)
        return number

    def remove(self, number: int) -> None:
        """Answer a query no more."""
        self.queries.remove(number)
        self.given.pop(number, None)
        self._ids = None

    def stands_for(self, number: int, spec: StandingSpec) -> bool:
        """Whether the query of this number equals this one."""
        preference = spec.preference
        if preference is None:
            preference = Given(self.given.get(number, -1))
        return self.queries.stands_for(
            number, preference, spec.k, spec.width, spec.timed, spec.every
        )

    @property
    def width(self) -> int:
        """Numbers of a point: its coordinates and the scores that are given."""
        return self.queries.dimensions + self.queries.given

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in; all of them are kept for now. See ``core.operator.Operator``."""
        batch = Batch.of(batch)
        assert batch.points is not None, "standing queries see points"
        count = len(batch.points)
        kept = np.arange(count)
        ids = new_ids(kept, self.seen, batch.number_from)
        times = np.zeros(count, np.int64) if batch.times is None else batch.times
        serials = self.seen + kept
        self._pending.append(point=batch.points, time=times, serial=serials, tie=ids, id=ids)
        self.seen += count
        self._ids = None
        return kept

    def _widen_pending(self) -> None:
        """Make room for a query that was added, and sees none of the records that wait."""
        point = self._pending["point"]
        more = self.width - point.shape[1]
        if len(point) and more:
            self._pending["point"] = np.hstack((point, np.zeros((len(point), more))))

    @property
    def undecided(self) -> tuple[Ints, Ints]:
        """The ids of records that wait, and their times: ties among these are to be set."""
        return self._pending["id"], self._pending["time"]

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every arrival so far; on time, those up to and including ``to``."""
        return Snapshots.joined([Snapshots.nothing(), *self.advance_gradually(to)])

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        counting = self._take_pending(to)
        if len(counting) == 0:
            return
        self._ids = None
        first = self.queries.seen
        numbers = np.arange(first, first + len(counting))
        self._counted.append(number=numbers, id=counting["id"])
        points = np.ascontiguousarray(counting["point"])
        for snapshots in self.queries.take(points, counting["time"], counting["serial"]):
            if len(snapshots):
                yield self._reported(self._named(snapshots))
        if self.queries.seen >= self._next_fit:
            self._next_fit = 2 * self.queries.seen
            self.queries.fit()

    def _take_pending(self, to: int | None) -> Records:
        """Remove and return the records that are due, in the order in which they count."""
        pending = self._pending
        if to is None:
            return pending.take_all()
        self._closed = max(self._closed, to)
        due = pending.take_out(pending["time"] <= to)
        time = due["time"]
        if is_ascending(time) and not (time[1:] == time[:-1]).any():
            return due
        return due.take(np.lexsort((due["tie"], time)))

    def _named(self, snapshots: Snapshots) -> Snapshots:
        """Snapshots of queries, with ids."""
        query = snapshots.partition
        index = np.searchsorted(self._counted["number"], snapshots.id)
        end = snapshots.end
        if not self.timed:
            end = end - np.array(self._base)[query]
        named = replace(
            snapshots, partition=np.zeros(len(query), np.int64), end=end, query=query,
            id=self._counted["id"][index],
        )  # fmt: skip
        return named.ordered(np.lexsort((end, query)))

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """End a bounded stream whose last event is at ``latest``."""
        return self.advance_gradually(latest if self.timed else None)

    def top(self, partition: int = 0, number: int = 0) -> Ints:
        """Return the ids of a query's snapshot in the latest report, best first."""
        return self._latest.latest_of(partition, number)

    # -- ids, ties ----------------------------------------------------------------------------

    def ids(self) -> Ints:
        if self._ids is None:
            index = np.searchsorted(self._counted["number"], self.queries.ids())
            self._counted = self._counted.take(index)
            self._ids = np.concatenate((self._counted["id"], self._pending["id"]))
        return self._ids

    def rename(self, new_ids: Ints) -> None:
        self.ids()  # what is no longer needed has no new id
        self._counted.rename(new_ids)
        self._pending.rename(new_ids)
        self._ids = None

    def set_ties(self, ties: Ints) -> None:
        """Let records of one moment count in the order of ``ties[id]``."""
        self._pending.set_ties(ties)

    def live_partitions(self) -> Bools | None:
        return None

    def keep_partitions(self, kept: Ints) -> None:
        """There is one partition."""

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        self.ids()
        given = np.array(list(self.given.items()), np.int64).reshape(-1, 2)
        return {
            "standing": self.queries.state(),
            "timed": self.timed,
            "seen": self.seen,
            "closed": int(self._closed),
            "next_fit": self._next_fit,
            "given": given,
            "base": np.array(self._base, np.int64),
            "pending": self._pending.state(),
            "counted": self._counted.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make the operator whose ``state()`` this was."""
        operator = cls.__new__(cls)
        Reporting.__init__(operator)
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        self.queries = StandingQueries.from_state(state["standing"])
        self.timed, self.seen, self._closed = state["timed"], state["seen"], state["closed"]
        self._next_fit = state["next_fit"]
        self.given = dict(state["given"].tolist())
        self._base = state["base"].tolist()
        columns = dict.fromkeys(("time", "serial", "tie", "id"), _NONE)
        self._pending = Waiting(point=np.empty((0, self.queries.dimensions)), **columns)
        self._counted = Records(number=_NONE, id=_NONE)
        for records, saved in (
            (self._pending, state["pending"]),
            (self._counted, state["counted"]),
        ):
            sound.like(saved, records.state(), "records")
            records.restore(saved)
            sound.length("records", *records.columns.values())
        self._ids = None
        self._require_sound()

    def _require_sound(self) -> None:
        """Refuse a state that would make a kernel leave its arrays; see ``core.sound``."""
        pending, counted, numbers = self._pending, self._counted["number"], self.queries.numbers
        sound.moments("times", np.array([self._closed, self.seen]), pending["time"])
        sound.within("serial numbers", pending["serial"], 0, self.seen + 1)
        if len(pending):
            sound.require(pending["point"].shape[1] == self.width, "points have another width")
        sound.require(not np.isnan(pending["point"][:, : self.queries.dimensions]).any(), "NaN")
        sound.require((counted[1:] > counted[:-1]).all(), "numbers do not ascend")
        sound.require(np.array_equal(self.queries.ids(), counted), "records are missing")
        sound.require(len(self._base) > max(numbers, default=-1), "queries lack their beginnings")
        sound.within("beginnings", np.array(self._base, np.int64), 0, self.queries.seen + 1)

    def _check(self) -> None:
        counted = self._counted["number"]
        assert (counted[1:] > counted[:-1]).all(), ("O1", counted)
        assert np.isin(self.queries.ids(), counted).all(), ("O2", counted)
        self.queries._check()


__all__ = ["StandingSpec", "StandingTopK"]
