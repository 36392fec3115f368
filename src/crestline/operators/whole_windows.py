"""Whole windows, for the yardsticks: every record of the window is kept, every result recomputed.

The yardsticks judge the other algorithms, so this shares nothing with them: plain NumPy and Python,
no kernels, no panes, no other parts of operators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import Snapshots
from crestline.types import Bools, Floats, Ints

#: The position or time of a record, or those of several.
Position = TypeVar("Position", int, Ints)


@dataclass(frozen=True, slots=True)
class WindowEnds:
    """Where windows end and what they hold, in times or positions; see ``core.window``."""

    window: int | None
    slide: int | None
    timed: bool

    def bounds(self, end: int) -> tuple[int, int]:
        """The half-open range of times or positions that the window ending at ``end`` holds."""
        shift = 1 if self.slide is None and self.timed else 0
        low = LONG_AGO if self.window is None else end - self.window + shift
        return low, end + shift

    def first_end(self, position: Position) -> Position:
        """The first window end after a record, or after each of several."""
        if self.slide is None:
            return position if self.timed else position + 1
        return (position // self.slide + 1) * self.slide

    def last_end(self, position: Position) -> Position:
        """The last window end whose window still holds the record."""
        if self.window is None:
            return position * 0 + NEVER
        if self.slide is None:
            return position + self.window - 1 if self.timed else position + self.window
        return (position + self.window) // self.slide * self.slide


class WholeWindows(ABC):
    """All records of the window, partition by partition; see ``core.operator.Operator``.

    Invariant N1: every kept record is in the current or in a future window.
    """

    #: The arguments of ``__init__`` that a state holds.
    CONFIGURATION: ClassVar[tuple[str, ...]] = ("k", "window", "slide", "only_changes")
    #: Further columns of a record, with their dtypes.
    COLUMNS: ClassVar[dict[str, type]] = {}

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        self.k, self.window, self.slide = k, window, slide
        self.only_changes = only_changes
        self.timed: bool | None = None
        self.seen = 0
        self.counts: dict[int, int] = {}
        self.done: dict[int, int] = {}  # the last window end handled, by partition
        self.shown: dict[int, int] = {}  # whether the partition's last snapshot held anything
        self.latest: dict[int, Ints] = {}
        dtypes = dict.fromkeys(("partition", "at", "tie", "id"), np.int64) | {"score": np.float64}
        self.records: dict[str, Any] = {
            name: np.empty(0, dtype) for name, dtype in (dtypes | self.COLUMNS).items()
        }

    @property
    def ends(self) -> WindowEnds:
        return WindowEnds(self.window, self.slide, bool(self.timed))

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Keep all records of a batch."""
        batch = Batch.of(batch)
        count = len(batch)
        further = self._further_columns(batch)
        self.timed = batch.times is not None
        partition = np.zeros(count, np.int64)
        if batch.partitions is not None:
            partition = np.asarray(batch.partitions)
        first = self.seen if batch.number_from is None else batch.number_from
        ids = np.arange(first, first + count)
        self.seen += count
        added = {
            "partition": partition, "at": self._positions(batch.times, partition),
            "score": batch.scores, "tie": ids, "id": ids,
        } | further  # fmt: skip
        self.records = {name: np.append(old, added[name]) for name, old in self.records.items()}
        return np.arange(count)

    def _positions(self, times: Ints | None, partition: Ints) -> Ints:
        """Times, or positions within partitions."""
        if times is not None:
            return np.asarray(times, np.int64)
        positions = np.empty(len(partition), np.int64)
        for p in np.unique(partition).tolist():
            members = np.flatnonzero(partition == p)
            before = self.counts.get(p, 0)
            positions[members] = before + np.arange(len(members))
            self.counts[p] = before + len(members)
        return positions

    def _further_columns(self, batch: Batch) -> dict[str, Any]:
        """The columns of ``COLUMNS`` for a batch."""
        return {}

    # -- windows out --------------------------------------------------------------------------

    @abstractmethod
    def _answer(self, inside: Ints) -> tuple[Ints, Floats | None]:
        """The answer of the window that holds the records at these indices: indices, best first,
        and probabilities where records are uncertain."""

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        yield self.advance(to)

    def advance(self, to: int | None = None) -> Snapshots:
        """Report every window end up to and including ``to``."""
        partitions: list[int] = []
        ends: list[int] = []
        answers: list[tuple[Ints, Floats | None]] = []
        positions = self.records["at"]
        needed = np.zeros(len(positions), np.bool_)
        for p in np.unique(self.records["partition"]).tolist():
            members = np.flatnonzero(self.records["partition"] == p)
            members = members[np.argsort(positions[members], kind="stable")]
            in_order = positions[members]
            limit = to if self.timed and to is not None else self.counts.get(p, 0)
            for end in self._due(np.unique(in_order), p, limit):
                first, last = np.searchsorted(in_order, self.ends.bounds(end))
                inside = members[first:last]
                if len(inside) or (self.only_changes and self.shown.get(p)):
                    answers.append(self._answer(inside))
                    self.shown[p] = len(answers[-1][0]) > 0
                    partitions.append(p)
                    ends.append(end)
            self.done[p] = limit
            needed[members] = in_order >= self._needed_from(limit)
        snapshots = self._snapshots(partitions, ends, answers)
        self.latest.update({p: ids for p, _, ids, _ in snapshots})
        self.records = {name: values[needed] for name, values in self.records.items()}
        return snapshots

    def _snapshots(
        self, partitions: list[int], ends: list[int], answers: list[tuple[Ints, Floats | None]]
    ) -> Snapshots:
        indices = np.concatenate([np.empty(0, np.int64), *(top for top, _ in answers)])
        probabilities = [chances for _, chances in answers if chances is not None]
        return Snapshots.of(
            np.array(partitions, np.int64),
            np.array(ends, np.int64),
            np.array([len(top) for top, _ in answers], np.int64),
            self.records["id"][indices],
            self.records["score"][indices],
            np.concatenate([np.empty(0), *probabilities]) if self._uncertain else None,
        )

    #: Whether answers have probabilities.
    _uncertain: ClassVar[bool] = False

    def _due(self, positions: Ints, p: int, limit: int) -> list[int]:
        """Window ends of the partition after the last one handled, up to the limit; positions
        ascend."""
        slide, done = self.slide, self.done.get(p, LONG_AGO)
        first, last = self.ends.first_end(positions), self.ends.last_end(positions)
        if slide is None:  # one for each distinct time (or position) of a new record
            due = first
        elif self.only_changes:  # a window changes only where a record comes or goes
            due = first if self.window is None else np.concatenate((first, last + slide))
        else:
            begin = np.maximum(first, (done // slide + 1) * slide)
            until = np.minimum(last, limit)
            some = begin <= until
            due = _in_ranges(begin[some], until[some], slide)
        ends: list[int] = np.unique(due[(due > done) & (due <= limit)]).tolist()
        return ends

    def _needed_from(self, limit: int) -> int:
        """Records from here on can be in a window after those up to ``limit``. A stream of changes
        needs one slide more, to notice that a window became empty."""
        earliest = self.ends.bounds(limit if self.slide is None else limit + 1)[0]
        return earliest - (self.slide or 0) if self.only_changes else earliest

    def top(self, partition: int = 0) -> Ints:
        return self.latest.get(partition, np.empty(0, np.int64))

    # -- ids, ties, state ---------------------------------------------------------------------

    @property
    def candidates(self) -> int:
        return len(self.records["id"])

    def ids(self) -> Ints:
        ids: Ints = self.records["id"]
        return ids

    def rename(self, new_ids: Ints) -> None:
        self.records["id"] = new_ids[self.records["id"]]

    def set_ties(self, ties: Ints) -> None:
        self.records["tie"] = ties[self.records["id"]]

    def live_partitions(self) -> Bools | None:
        """Every partition is remembered."""
        return None

    def keep_partitions(self, kept: Ints) -> None:
        raise AssertionError("every partition is remembered")

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        configuration = {name: getattr(self, name) for name in self.CONFIGURATION}
        pairs = {
            name: np.array(list(getattr(self, name).items()), np.int64).reshape(-1, 2)
            for name in ("counts", "shown", "done")
        }
        return configuration | {
            "timed": self.timed, "seen": self.seen, "arrays": dict(self.records), "pairs": pairs
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        operator = cls(**{name: state[name] for name in cls.CONFIGURATION})
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        self.timed, self.seen = state["timed"], state["seen"]
        self.records = {name: state["arrays"][name] for name in self.records}
        for name, pairs in state["pairs"].items():
            sound.require(name in ("counts", "shown", "done"), f"pairs has {name}")
            setattr(self, name, {int(p): int(n) for p, n in pairs})
        sound.length("arrays", *self.records.values())
        sound.numbers("score", self.records["score"])
        sound.moments("at", self.records["at"])
        if not self.timed:
            counted = set(self.records["partition"].tolist()) <= set(self.counts)
            sound.require(counted, "records of partitions that were not counted")

    def _check(self) -> None:
        for p, limit in self.done.items():
            positions = self.records["at"][self.records["partition"] == p]
            assert (positions >= self._needed_from(limit)).all(), ("N1", p)


def _in_ranges(first: Ints, last: Ints, step: int) -> Ints:
    """Every ``step``-th number of the ranges, both ends included, which ascend in both ends."""
    if len(first) == 0:
        return first
    apart = np.flatnonzero(first[1:] > last[:-1] + step)  # ranges that touch are one
    first, last = first[np.append(0, apart + 1)], last[np.append(apart, len(last) - 1)]
    return np.concatenate(
        [np.arange(a, b + 1, step) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    )


__all__ = ["WholeWindows", "WindowEnds"]
