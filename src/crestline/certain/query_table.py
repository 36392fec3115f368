"""The table of standing queries, by slot; a query is identified by its number."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from crestline.certain.preferences import Given, Preference, checked_preference
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import NEVER
from crestline.kernels.certain.scoring import DISTANCE, GIVEN
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_LIMIT,
    CANDIDATES,
    COLUMNS,
    EVERY,
    FILTER,
    FILTER_LIMIT,
    HIDDEN,
    KIND,
    LENGTH,
    MARKED,
    MORE,
    OLDEST,
    SAW,
    SINCE,
    SIZE,
    SKIPPED,
    TIMED,
    VALUES,
    WIDTH,
    K,
    Queries,
)
from crestline.types import Ints


class QueryTable:
    """Queries that come and go; slots are used again, numbers are not."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.slot_of: dict[int, int] = {}  # by number
        self.number_of = np.empty(0, np.int64)  # by slot
        self._next_number = 0
        self.arrays = Queries(
            np.empty((0, COLUMNS), np.int64), np.empty((0, VALUES)), np.empty((0, dimensions)),
            np.empty((0, dimensions)),
        )  # fmt: skip

    @property
    def slots(self) -> int:
        return len(self.number_of)

    def active(self) -> Ints:
        """The rows of the queries."""
        table = self.arrays.table
        rows: Ints = table[table[:, ACTIVE] == 1]
        return rows

    def slot(self, number: int) -> int:
        """The slot of a query."""
        if number not in self.slot_of:
            raise CrestlineError(f"there is no query {number}: it was removed, or never added")
        return self.slot_of[number]

    def free_slot(self) -> int | None:
        """Return a slot without a query; None if there is none."""
        free = np.flatnonzero(self.arrays.table[:, ACTIVE] == 0)
        return int(free[0]) if len(free) else None

    def grow(self, more: int) -> None:
        """Add slots."""
        self.number_of = longer(self.number_of, more)
        self.arrays = Queries(*(longer(array, more) for array in self.arrays))

    def add(
        self, slot: int, preference: Preference, k: int, window: int, timed: bool, candidates: int,
        since: int, limits: tuple[float, float], every: bool,
    ) -> int:  # fmt: skip
        """Put a query into a slot; return its number. ``limits`` are those of its empty lists."""
        kind, point, weight = checked_preference(preference, self.dimensions)
        table, values, points, weights = self.arrays
        points[slot], weights[slot] = point, weight
        row = table[slot]
        row[K], row[WIDTH], row[TIMED], row[KIND] = k, window, timed, kind
        row[CANDIDATES], row[SINCE], row[OLDEST], row[ACTIVE] = candidates, since, NEVER, True
        row[BAND + SIZE] = row[FILTER + SIZE] = 0
        row[SKIPPED], row[HIDDEN], row[SAW], row[MARKED], row[EVERY] = 0, -1, -1, 0, every
        row[MORE] = 0
        values[slot, LENGTH] = sqrt(float(sum(value * value for value in point)))
        if isinstance(preference, Given):
            values[slot, LENGTH] = self.dimensions + preference.column
        values[slot, BAND_LIMIT], values[slot, FILTER_LIMIT] = limits
        number = self._next_number
        self._next_number += 1
        self.number_of[slot], self.slot_of[number] = number, slot
        return number

    def remove(self, number: int) -> int:
        """Free the slot of a query, and return it."""
        slot = self.slot(number)
        del self.slot_of[number]
        row = self.arrays.table[slot]
        row[ACTIVE] = row[MARKED] = row[BAND + SIZE] = row[FILTER + SIZE] = 0
        return slot

    def holds(
        self, number: int, preference: Preference, k: int, window: int, timed: bool, every: bool
    ) -> bool:
        """Whether the query of this number is this one."""
        if number not in self.slot_of:
            return False
        slot = self.slot_of[number]
        kind, point, weight = checked_preference(preference, self.dimensions)
        table, values, points, weights = self.arrays
        same = np.array_equal(points[slot], point) and np.array_equal(weights[slot], weight)
        if isinstance(preference, Given):
            same = same and values[slot, LENGTH] == self.dimensions + preference.column
        row = table[slot, [KIND, K, WIDTH, TIMED, EVERY]].tolist()
        return same and row == [kind, k, window, timed, every]

    @property
    def given(self) -> Ints:
        """The columns of scores that queries are given, behind the coordinates."""
        given = (self.arrays.table[:, KIND] == GIVEN) & (self.arrays.table[:, ACTIVE] == 1)
        columns: Ints = self.arrays.values[given, LENGTH].astype(np.int64) - self.dimensions
        return columns

    def state(self) -> dict[str, Any]:
        return {
            "next_number": self._next_number,
            "slots": np.array(list(self.slot_of.items()), np.int64).reshape(-1, 2),
            "number_of": self.number_of,
            "arrays": self.arrays._asdict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._next_number, self.number_of = state["next_number"], state["number_of"]
        self.slot_of = {int(number): int(slot) for number, slot in state["slots"]}
        self.arrays = Queries(**state["arrays"])

    def require_sound(self) -> None:
        """Refuse a table that would make a kernel leave its arrays; see ``core.sound``."""
        table = self.arrays.table
        sound.length("slots", self.number_of, *self.arrays)
        widths = [array.shape[1] for array in self.arrays]
        wanted = [COLUMNS, VALUES, self.dimensions, self.dimensions]
        sound.require(widths == wanted, "a slot is wider")
        sound.within("flags", table[:, [TIMED, ACTIVE, EVERY, MARKED, MORE]], 0, 2)
        sound.within("kinds", table[:, KIND], DISTANCE, GIVEN + 1)
        sound.within("k", table[:, K], 0, 1 << 31)
        sound.within("candidates", table[:, CANDIDATES], 0, 1 << 31)
        numbers = table[:, [WIDTH, SINCE, OLDEST, SKIPPED, HIDDEN, SAW]]
        sound.moments("windows", numbers)
        active = sorted(np.flatnonzero(table[:, ACTIVE] == 1).tolist())
        sound.require(sorted(self.slot_of.values()) == active, "queries stand in other slots")
        sound.require((table[active, K] >= 1).all(), "a query asks for nothing")
        numbers = self.number_of[list(self.slot_of.values())].tolist()
        sound.require(numbers == list(self.slot_of), "queries have other numbers")
        sound.within("numbers", np.array(numbers, np.int64), 0, self._next_number)


def longer(values: Any, more: int) -> Any:
    """Return the array with this much more room at its end."""
    return np.concatenate((values, np.zeros((more, *values.shape[1:]), values.dtype)))


__all__ = ["QueryTable", "longer"]
