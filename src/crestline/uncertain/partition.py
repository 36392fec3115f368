"""What a synopsis keeps for one partition: lists of records, and how far it has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report, new_report
from crestline.kernels.uncertain.lists import (
    FLOATS,
    GROUP,
    ID,
    INTS,
    LEAVES,
    RULE,
    SCORE,
    TIE,
    RecordList,
)
from crestline.kernels.uncertain.steps import (
    EMPTY_FROM,
    NUMBERS,
    OVERFULL,
    OWN,
    SHOWN,
    STALE,
    STEP,
    Shown,
    SynopsisQuery,
)
from crestline.types import Floats, Ints

_META = 12


class PartitionSynopsis(ABC):
    """The lists of one partition, by name; ``meta`` holds the numbers that the kernels keep."""

    #: The names of the lists.
    LISTS: ClassVar[tuple[str, ...]]
    #: The names of further arrays of integers.
    EXTRA: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.meta = np.zeros(_META, np.int64)
        self.meta[STEP] = self.meta[EMPTY_FROM] = LONG_AGO
        self.lists: dict[str, RecordList] = {name: empty_list() for name in self.LISTS}
        self.extra: dict[str, Ints] = {name: np.zeros(8, np.int64) for name in self.EXTRA}
        self.shown = Shown(np.empty(0, np.int64), np.empty((2, 0)))

    @abstractmethod
    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        """Take in records, in the order of their steps and then of rank; report what falls due up
        to the step ``until``."""

    @abstractmethod
    def filled(self, name: str) -> int:
        """Return how many records a list holds."""

    @abstractmethod
    def check(self, query: SynopsisQuery) -> None:
        """Assert the invariants of the synopsis."""

    @property
    def step(self) -> int:
        """The last step handled."""
        return int(self.meta[STEP])

    @property
    def empty_from(self) -> int:
        """The step from which on the window is empty, unless more records arrive."""
        return int(self.meta[EMPTY_FROM])

    @property
    def overfull(self) -> int:
        """How many answers had a rule whose probabilities add up to more than 1."""
        return int(self.meta[OVERFULL])

    def records(self, name: str) -> RecordList:
        """Return a list without the room behind it."""
        floats, ints = self.lists[name]
        filled = self.filled(name)
        return RecordList(floats[:, :filled], ints[:, :filled])

    def all_records(self) -> RecordList:
        """Return every record that is kept, once."""
        joined = join_lists([self.records(name) for name in self.LISTS])
        _, first = np.unique(joined.ints[ID], return_index=True)
        return RecordList(joined.floats[:, first], joined.ints[:, first])

    def ids(self) -> Ints:
        return np.unique(np.concatenate([self.records(name).ints[ID] for name in self.LISTS]))

    @property
    def space(self) -> int:
        """How many records are written down, those in several lists several times."""
        return sum(self.filled(name) for name in self.LISTS)

    def rename(self, new_ids: Ints) -> None:
        for name in self.LISTS:
            rename(self.records(name), new_ids)
        shown = self.shown.ids[: self.meta[SHOWN]]
        shown[:] = np.where(shown >= 0, new_ids[shown], -1)

    def set_ties(self, ties: Ints) -> None:
        for name in self.LISTS:
            set_ties(self.records(name), ties)

    def set_codes(self, rule: Ints, group: Ints) -> None:
        for name in self.LISTS:
            set_codes(self.records(name), rule, group)

    def state(self) -> dict[str, Any]:
        """Return arrays of one dimension, by name."""
        state: dict[str, Any] = {"meta": self.meta}
        for name in self.LISTS:
            floats, ints = self.records(name)
            state[f"{name}.floats"], state[f"{name}.ints"] = floats.ravel(), ints.ravel()
        for name in self.EXTRA:
            state[name] = self.extra[name]
        count = int(self.meta[SHOWN])
        state["shown_id"] = self.shown.ids[:count]
        state["shown"] = self.shown.numbers[:, :count].ravel()
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make the synopsis whose ``state()`` this was, and refuse one that makes no sense."""
        synopsis = cls()
        synopsis._restore(state)
        synopsis._require_sound()
        return synopsis

    def _restore(self, state: dict[str, Any]) -> None:
        self.meta = state["meta"].copy()
        for name in self.LISTS:
            floats = state[f"{name}.floats"].reshape(FLOATS, -1).copy()
            self.lists[name] = RecordList(floats, state[f"{name}.ints"].reshape(INTS, -1).copy())
        for name in self.EXTRA:
            self.extra[name] = state[name].copy()
        self.shown = Shown(state["shown_id"].copy(), state["shown"].reshape(2, -1).copy())

    def _require_sound(self) -> None:
        """Refuse lists that are not as long as the kernels take them to be."""
        sound.length("meta", self.meta, of=_META)
        sound.moments("meta", self.meta)
        own = self.meta[OWN:]
        sound.within("meta, the partition's own,", own, -1, 1 << 40)
        sound.length("shown", self.shown.ids, *self.shown.numbers, of=int(self.meta[SHOWN]))
        self._require_sound_extra()
        for name in self.LISTS:
            floats, ints = self.lists[name]
            sound.length(name, *floats, *ints, of=self.filled(name))
            sound.numbers(name, floats)
            sound.moments(f"{name}.leaves", ints[LEAVES])

    def _require_sound_extra(self) -> None:  # noqa: B027
        """The same for further arrays; lengths of lists may depend on them."""

    def _check_order(self, records: RecordList) -> None:
        """L1: the records of a list are in rank order."""
        keys = rank_keys(records)
        assert keys == sorted(keys, reverse=True), ("L1", keys)


def merge_into(
    fresh: PartitionSynopsis,
    query: SynopsisQuery,
    left: PartitionSynopsis,
    right: PartitionSynopsis,
) -> PartitionSynopsis:
    """Let a fresh synopsis see the records of two others, unit by unit; it reports nothing."""
    floats, ints = join_lists([left.all_records(), right.all_records()])
    order = np.lexsort((-ints[TIE], -floats[SCORE], ints[LEAVES]))
    step = max(left.step, right.step)
    if len(order):
        # Steps of their own, one for each unit, all of them before the next real one.
        _, unit = np.unique(ints[LEAVES, order], return_inverse=True)
        steps = step - int(unit[-1]) + unit
        arrivals = RecordList(
            np.ascontiguousarray(floats[:, order]), np.ascontiguousarray(ints[:, order])
        )
        replayed = query._replace(every_step=False, only_changes=True)
        fresh.run(replayed, arrivals, steps, step, no_snapshots())
    fresh.meta[STEP], fresh.meta[STALE] = step, 1
    return fresh


def rank_keys(records: RecordList) -> list[tuple[float, int]]:
    """Return what records rank by, as pairs that compare."""
    return list(zip(records.floats[SCORE].tolist(), records.ints[TIE].tolist(), strict=True))


def rename(records: RecordList, new_ids: Ints) -> None:
    """Replace every id i by ``new_ids[i]``."""
    records.ints[ID] = new_ids[records.ints[ID]]


def set_ties(records: RecordList, ties: Ints) -> None:
    """Break ties by ``ties[id]``."""
    records.ints[TIE] = ties[records.ints[ID]]


def set_codes(records: RecordList, rule: Ints, group: Ints) -> None:
    """Give every record i the rule ``rule[i]`` and the group ``group[i]``."""
    ids = records.ints[ID]
    records.ints[RULE], records.ints[GROUP] = rule[ids], group[ids]


def join_lists(lists: list[RecordList]) -> RecordList:
    """Return the records of several lists as one."""
    floats: Floats = np.concatenate([np.empty((FLOATS, 0)), *(f for f, _ in lists)], axis=1)
    ints = np.concatenate([np.empty((INTS, 0), np.int64), *(i for _, i in lists)], axis=1)
    return RecordList(floats, ints)


def empty_list() -> RecordList:
    """Return a list without records."""
    return RecordList(np.empty((FLOATS, 0)), np.empty((INTS, 0), np.int64))


def no_snapshots() -> Report:
    """Return an empty report."""
    return new_report(NUMBERS, 0, 0)
