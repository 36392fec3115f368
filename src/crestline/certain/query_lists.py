"""The bands or the filters of all standing queries, one after the other in common arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.certain.query_grid import QueryGrid
from crestline.core import sound
from crestline.kernels.certain.bands import STRICT
from crestline.kernels.certain.standing_lists import forget_uncovered
from crestline.kernels.certain.standing_table import (
    DOMINATORS,
    NO_FILTER,
    NUMBER,
    ROOM,
    SIZE,
    START,
    Buffer,
    Lists,
    Queries,
)
from crestline.types import Floats, Ints


class QueryLists:
    """Lists; their start, room and size are in the table of queries, from ``column`` on."""

    def __init__(self, column: int) -> None:
        self.column = column
        self.arrays = Lists(np.empty(0), np.empty((DOMINATORS + 1, 0), np.int64))

    def of(self, row: Ints) -> tuple[Ints, Floats]:
        """The numbers and scores in the list of the query with this row of the table."""
        start, size = row[self.column + START], row[self.column + SIZE]
        part = slice(start, start + size)
        return self.arrays.ints[NUMBER, part].copy(), self.arrays.score[part].copy()

    def all_numbers(self, rows: Ints) -> Ints:
        """The numbers in the lists of the queries with these rows of the table."""
        size = rows[:, self.column + SIZE]
        numbers: Ints = self.arrays.ints[
            NUMBER, np.repeat(rows[:, self.column + START], size) + _within(size)
        ]
        return numbers

    def make_room(self, table: Ints, more: Ints) -> None:
        """Move all lists so that each has this much more room; the table is updated."""
        start, room = table[:, self.column + START], table[:, self.column + ROOM]
        size = table[:, self.column + SIZE]
        old = np.repeat(start, size) + _within(size)
        room += more
        start[1:] = np.cumsum(room[:-1])
        start[:1] = 0
        new = np.repeat(start, size) + _within(size)
        total = int(room.sum())
        moved = Lists(np.zeros(total), np.zeros((DOMINATORS + 1, total), np.int64))
        moved.score[new] = self.arrays.score[old]
        moved.ints[:, new] = self.arrays.ints[:, old]
        self.arrays = moved

    def double_crowded(self, table: Ints) -> None:
        """Double the room of all lists that are more than half full: moving them takes long, and
        those will be full soon."""
        room, size = table[:, self.column + ROOM], table[:, self.column + SIZE]
        self.make_room(table, np.where(2 * size > room, room, 0))

    def forget_uncovered(
        self, queries: Queries, slot: int, kind: int, grid: QueryGrid, recent: Buffer
    ) -> None:
        """Drop the records of a query's filter that are in cells it is not entered in."""
        if kind != NO_FILTER:
            rows = DOMINATORS + 1 if kind == STRICT else NUMBER + 1
            forget_uncovered(
                queries.table, queries.values, *self.arrays, slot, kind, grid.arrays.entered,
                recent.cell, rows,
            )  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        self.arrays = Lists(**state)

    def require_sound(self, table: Ints) -> None:
        """Refuse lists that leave their arrays; see ``core.sound``."""
        score, ints = self.arrays
        start, room, size = (table[:, self.column + field] for field in (START, ROOM, SIZE))
        sound.require(ints.shape == (DOMINATORS + 1, len(score)), "lists are wider")
        starts = np.append(start, len(score))
        sound.offsets("lists", starts, len(table), len(score))
        fits = (size >= 0) & (size <= room) & (room == np.diff(starts))
        sound.require(fits.all(), "lists are longer than their room")


def _within(size: Ints) -> Ints:
    """Return 0, 1, 2, ... for each of the stretches."""
    ends = np.cumsum(size)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - size, size)


__all__ = ["QueryLists"]
