"""What one would write without Crestline to combine the values of objects, and the least it costs.

All read the stream from arrays, so that the window lies in memory already. They tell neither what a
score can still become nor what is certain, and take no notice of repeats. That is in their favour.
"""

from __future__ import annotations

import duckdb
import numba
import numpy as np
import pyarrow as pa

from crestline.types import Floats, Ints

#: The top objects and their scores, best first.
Top = tuple[Ints, Floats]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class RunningSums:
    """The sum of each object in an array, brought up to date from slide to slide; the k largest of
    all objects in the window are then picked from it. Objects must be numbered without large gaps,
    in the order in which they come."""

    def __init__(self, objects: Ints, values: Floats, k: int, window: int, slide: int) -> None:
        self.objects, self.values = objects, values
        self.k, self.window, self.slide = k, window, slide
        self.sums = np.zeros(int(objects.max()) + 1)
        self.at = 0

    def run(self, stop: int) -> list[Top]:
        """The answers up to this record, slide by slide."""
        found = []
        for end in range(self.at + self.slide, stop + 1, self.slide):
            np.add.at(self.sums, self.objects[self.at : end], self.values[self.at : end])
            gone = slice(max(0, self.at - self.window), max(0, end - self.window))
            np.subtract.at(self.sums, self.objects[gone], self.values[gone])
            self.at = end
            found.append(self._top(self.objects[max(0, end - self.window) : end]))
        return found

    def fill(self, stop: int) -> None:
        """The same without answers; the window is no longer than that."""
        assert self.at == 0 and stop <= self.window
        np.add.at(self.sums, self.objects[:stop], self.values[:stop])
        self.at = stop

    def _top(self, inside: Ints) -> Top:
        low, high = int(inside.min()), int(inside.max()) + 1
        sums = self.sums[low:high]
        k = min(self.k, len(sums))
        best = np.argpartition(sums, len(sums) - k)[len(sums) - k :]
        best = best[np.argsort(-sums[best], kind="stable")]
        return low + best, sums[best]


class GroupBy:
    """DuckDB, asked anew for every window: group, sum, sort, cut."""

    def __init__(self, objects: Ints, values: Floats, k: int, window: int, slide: int) -> None:
        self.table = pa.table({"object": objects, "value": values})
        self.k, self.window, self.slide = k, window, slide
        self.at = 0
        self._connection = duckdb.connect()

    def run(self, stop: int) -> list[Top]:
        found = []
        for end in range(self.at + self.slide, stop + 1, self.slide):
            first = max(0, end - self.window)
            inside = self.table.slice(first, end - first)
            self._connection.register("inside", inside)
            rows = self._connection.execute(
                "SELECT object, SUM(value) AS score FROM inside GROUP BY object"
                f" ORDER BY score DESC LIMIT {self.k}"
            ).fetchnumpy()
            found.append((np.asarray(rows["object"]), np.asarray(rows["score"])))
            self.at = end
        return found

    def fill(self, stop: int) -> None:
        self.at = stop


def same(found: list[Top], right: list[Top]) -> bool:
    """Whether these answers are the right ones; sums may differ in the last digits."""
    return len(found) == len(right) and all(
        len(mine[0]) == len(true[0])
        and bool((mine[0] == true[0]).all())
        and bool(np.allclose(mine[1], true[1], rtol=0, atol=1e-9))
        for mine, true in zip(found, right, strict=True)
    )


@numba.njit(cache=True, nogil=True)
def entered(keys: Ints, table: Ints) -> int:
    """Put keys into an open table of a power of two; how many there are."""
    last, count = len(table) - 1, 0
    for i in range(len(keys)):
        at = np.int64((np.uint64(keys[i]) * _GOLDEN) >> np.uint64(32)) & last
        while table[at] >= 0 and table[at] != keys[i]:
            at = (at + 1) & last
        if table[at] < 0:
            table[at] = keys[i]
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def looked_up(table: Ints, coming: Ints, leaving: Ints) -> int:
    """Find the object of each value that comes and of the one that leaves for it, nothing else."""
    last, found = len(table) - 1, 0
    for i in range(len(coming)):
        for key in (coming[i], leaving[i]):
            at = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(32)) & last
            while table[at] >= 0 and table[at] != key:
                at = (at + 1) & last
            found += at
    return found


__all__ = ["GroupBy", "RunningSums", "Top", "entered", "looked_up", "same"]
