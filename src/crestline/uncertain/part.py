"""What a synopsis keeps for one partition: lists of records, and how far it has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.uncertain.compact import (
    DONE,
    FLOATS,
    GROUP,
    ID,
    INTS,
    LAST,
    LEAVES,
    OVERFULL,
    OWN,
    RULE,
    SHOWN,
    TIE,
    List,
    Setting,
    Told,
)
from crestline.types import Floats, Ints

_META = 12


class Part(ABC):
    """The lists of one partition, by name; ``meta`` are numbers that the kernels keep."""

    #: The names of the lists.
    LISTS: ClassVar[tuple[str, ...]]
    #: The names of further arrays of integers.
    EXTRA: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.meta = np.zeros(_META, np.int64)
        self.meta[DONE] = self.meta[LAST] = LONG_AGO
        self.lists: dict[str, List] = {name: no_records() for name in self.LISTS}
        self.extra: dict[str, Ints] = {name: np.zeros(8, np.int64) for name in self.EXTRA}
        self.shown_id = np.empty(0, np.int64)
        self.shown: Floats = np.empty((2, 0))

    @abstractmethod
    def run(self, setting: Setting, arrivals: List, steps: Ints, until: int, told: Told) -> Told:
        """Take in records, in the order of their steps and then of rank; tell what falls due."""

    @abstractmethod
    def filled(self, name: str) -> int:
        """How many records a list holds."""

    @abstractmethod
    def check(self, setting: Setting) -> None:
        """Assert the invariants of the synopsis."""

    @property
    def last(self) -> int:
        """The step from which on the window is empty, unless more records arrive."""
        return int(self.meta[LAST])

    @property
    def overfull(self) -> int:
        return int(self.meta[OVERFULL])

    def records(self, name: str) -> List:
        """A list without the room behind it."""
        floats, ints = self.lists[name]
        filled = self.filled(name)
        return floats[:, :filled], ints[:, :filled]

    def everything(self) -> List:
        """Every record that is kept, once, in the order in which they leave."""
        lists = [self.records(name) for name in self.LISTS]
        floats = np.concatenate([floats for floats, _ in lists], axis=1)
        ints = np.concatenate([ints for _, ints in lists], axis=1)
        _, first = np.unique(ints[ID], return_index=True)
        return floats[:, first], ints[:, first]

    def ids(self) -> Ints:
        return np.unique(np.concatenate([self.records(name)[1][ID] for name in self.LISTS]))

    @property
    def space(self) -> int:
        """How many records are written down, those in several lists several times."""
        return sum(self.filled(name) for name in self.LISTS)

    def rename(self, places: Ints) -> None:
        for name in self.LISTS:
            ids = self.records(name)[1][ID]
            ids[:] = places[ids]
        shown = self.shown_id[: self.meta[SHOWN]]
        shown[:] = np.where(shown >= 0, places[shown], -1)

    def set_ties(self, ties: Ints) -> None:
        for name in self.LISTS:
            ints = self.records(name)[1]
            ints[TIE] = ties[ints[ID]]

    def set_codes(self, rule: Ints, group: Ints) -> None:
        for name in self.LISTS:
            ints = self.records(name)[1]
            ints[RULE], ints[GROUP] = rule[ints[ID]], group[ints[ID]]

    def state(self) -> dict[str, Any]:
        """Arrays of one dimension, by name."""
        state: dict[str, Any] = {"meta": self.meta}
        for name in self.LISTS:
            floats, ints = self.records(name)
            state[f"{name}.floats"], state[f"{name}.ints"] = floats.ravel(), ints.ravel()
        for name in self.EXTRA:
            state[name] = self.extra[name]
        count = int(self.meta[SHOWN])
        state["shown_id"], state["shown"] = self.shown_id[:count], self.shown[:, :count].ravel()
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        part = cls()
        part.meta = state["meta"].copy()
        for name in cls.LISTS:
            floats = state[f"{name}.floats"].reshape(FLOATS, -1).copy()
            part.lists[name] = floats, state[f"{name}.ints"].reshape(INTS, -1).copy()
        for name in cls.EXTRA:
            part.extra[name] = state[name].copy()
        part.shown_id = state["shown_id"].copy()
        part.shown = state["shown"].reshape(2, -1).copy()
        return part

    def sound(self) -> None:
        """Refuse lists that are not as long as the kernels will take them to be."""
        sound.length("meta", self.meta, of=_META)
        sound.moments("meta", self.meta)
        own = self.meta[OWN:]
        sound.within("meta, the part's own,", own, -1, 1 << 40)
        sound.length("shown", self.shown_id, *self.shown, of=int(self.meta[SHOWN]))
        self._sound_extra()
        for name in self.LISTS:
            floats, ints = self.lists[name]
            sound.length(name, *floats, *ints, of=self.filled(name))
            sound.numbers(name, floats)
            sound.moments(f"{name}.leaves", ints[LEAVES])

    def _sound_extra(self) -> None:  # noqa: B027
        """The same of further arrays; lengths of lists may depend on them."""

    def _check_order(self, floats: Floats, ints: Ints) -> None:
        """L1: the records of a list are in rank order."""
        keys = list(zip(floats[0], ints[TIE], strict=True))
        assert keys == sorted(keys, reverse=True), ("L1", keys)


def no_records() -> List:
    return np.empty((FLOATS, 0)), np.empty((INTS, 0), np.int64)


def nothing_told() -> Told:
    none = np.empty(0, np.int64)
    return np.empty((2, 0), np.int64), none, np.empty((2, 0)), np.zeros(2, np.int64)
