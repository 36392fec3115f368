"""Uncertain records as columns while they wait, and as the lists that kernels work on."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.sentinels import NEVER, NO_RULE
from crestline.core.window import Panes
from crestline.kernels.uncertain.lists import FLOATS, INTS, ListArrays
from crestline.operators.records import Records
from crestline.operators.waiting import Waiting, rank_order
from crestline.types import Ints

#: The columns in the order of the rows of a list; see ``kernels.uncertain.lists``.
_FLOATS, _INTS = ("score", "chance"), ("tie", "rule", "group", "leaves", "id")


class WaitingRecords(Waiting):
    """Uncertain records that wait. Larger ids win ties until ``set_ties`` says otherwise.

    Parameters
    ----------
    more
        The names of further columns of integers.
    """

    def __init__(self, *more: str) -> None:
        none = np.empty(0, np.int64)
        columns: dict[str, Any] = {name: np.empty(0) for name in _FLOATS}
        super().__init__(**columns, **dict.fromkeys((*_INTS, "partition", *more), none))

    def add(
        self, scores: Any, uncertainty: Uncertainty, partitions: Ints | None, **columns: Ints
    ) -> None:
        """Add the records of a batch; ``columns`` are its ids, leaving steps and what else waits.

        All arrays are copied.
        """
        count = len(scores)
        if partitions is None:
            partitions = np.zeros(count, np.int64)
        self.append(
            score=np.array(scores, np.float64),
            chance=np.array(uncertainty.probability, np.float64),
            tie=columns["id"],
            rule=np.array(uncertainty.rule, np.int64),
            group=np.array(uncertainty.group, np.int64),
            partition=np.array(partitions, np.int64),
            **columns,
        )

    def set_codes(self, rule: Ints, group: Ints) -> None:
        """Give every record i the rule ``rule[i]`` and the group ``group[i]``."""
        ids = self["id"]
        self["rule"], self["group"] = rule[ids], group[ids]

    def require_sound(self, partitions: int) -> None:
        """Refuse a state that makes no sense; see ``core.sound``."""
        sound.length("wait", *self.columns.values())
        sound.within("wait.partition", self["partition"], 0, partitions)
        sound.moments("wait.leaves", self["leaves"])
        for name in _FLOATS:
            sound.numbers(f"wait.{name}", self[name])
        self.pruned_size = len(self)


def uncertainty_of(batch: Batch) -> Uncertainty:
    """Return what is uncertain about a batch; without any, its records are certain."""
    if batch.uncertainty is not None:
        return batch.uncertainty
    count = len(batch)
    return Uncertainty(np.ones(count), np.full(count, NO_RULE), np.zeros(count, np.int64))


def arrival_and_leaving(panes: Panes, position: Ints, timed: bool) -> tuple[Ints, Ints]:
    """Return the step at which each record arrives and that at which it leaves, given its time or
    its position in the stream.

    >>> arrival_and_leaving(Panes(length=10, width=10, slide=3), np.array([0, 59]), True)
    (array([1, 2]), array([4, 6]))
    """
    if panes.on_arrival:
        step = position if timed else position + 1
        leaves = step + panes.width
    else:
        pane = position // panes.length
        step = pane // panes.slide + 1
        leaves = (pane + panes.width) // panes.slide + 1
    return step, np.full(len(step), NEVER) if panes.unbounded else leaves


def ranked(records: Records, stage: Ints) -> Ints:
    """Return the indices of records by partition, stage and rank."""
    if len(stage) < 2:
        return np.arange(len(stage))
    return rank_order(records["partition"], stage, records["score"], records["tie"])


def record_list(records: Records, indices: Ints | None = None) -> ListArrays:
    """Return the records at these indices, or all of them, as kernels take them."""
    count = len(records) if indices is None else len(indices)
    floats, ints = np.empty((FLOATS, count)), np.empty((INTS, count), np.int64)
    for names, rows in ((_FLOATS, floats), (_INTS, ints)):
        for name, row in zip(names, rows, strict=True):
            row[:] = records[name] if indices is None else records[name][indices]
    return floats, ints


def part_of(records: ListArrays, start: int, stop: int) -> ListArrays:
    """Return a stretch of a list, contiguous: to numba a slice of columns is another type."""
    floats, ints = records
    if stop - start == floats.shape[1]:
        return records
    return np.ascontiguousarray(floats[:, start:stop]), np.ascontiguousarray(ints[:, start:stop])


__all__ = [
    "WaitingRecords", "arrival_and_leaving", "part_of", "ranked", "record_list", "uncertainty_of",
]  # fmt: skip
