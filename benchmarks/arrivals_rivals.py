"""The rivals of the suite `arrivals`: what one would write without Crestline.

They keep the whole window. They read the stream from one array, so that the window lies in memory
already and nothing is copied; they count the changes of the top k, and tell which top k it was only
if asked, where an operator of Crestline always writes it down. Both are in their favour.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numba
import numpy as np
from sortedcontainers import SortedList

from crestline.core.snapshots import Snapshots
from crestline.types import Floats, Ints

#: Records that are looked at together.
_BLOCK = 128
#: A `SortedList` is slow: it gets no more than these, after the first window.
_MOST_SORTED = 200_000


@numba.njit(cache=True, nogil=True)
def _any_between(scores: Floats, low: float, high: float) -> bool:
    """A loop that the compiler vectorises. With a start and a stop instead of a slice it takes five
    times as long, since an index might be negative."""
    hit = 0
    for i in range(len(scores)):
        hit += (scores[i] >= low) & (scores[i] <= high)
    return hit > 0


@numba.njit(cache=True, nogil=True)
def _put(scores: Floats, top: Ints, size: int, k: int, at: int) -> int:
    """Insert a record, as the youngest of its score, into the list of the k best; its new size."""
    place = min(size, k - 1)
    while place > 0 and scores[top[place - 1]] <= scores[at]:
        top[place] = top[place - 1]
        place -= 1
    top[place] = at
    return min(size + 1, k)


@numba.njit(cache=True, nogil=True)
def _best_of_all(scores: Floats, start: int, stop: int, top: Ints, k: int) -> int:
    """The k best of `scores[start:stop]`, best first; how many there are."""
    size = 0
    for at in range(start, stop):
        if size < k or scores[at] >= scores[top[k - 1]]:
            size = _put(scores, top, size, k, at)
    return size


@numba.njit(cache=True, nogil=True)
def _next_behind(scores: Floats, start: int, stop: int, top: Ints, size: int) -> int:
    """The best of `scores[start:stop]` that ranks behind all of `top[:size]`."""
    last, last_at = np.inf, stop
    if size:
        last, last_at = scores[top[size - 1]], top[size - 1]
    best, found = -np.inf, stop - 1
    for low in range(start, stop, _BLOCK):
        high = min(low + _BLOCK, stop)
        if _any_between(scores[low:high], best, last):
            for at in range(low, high):
                score = scores[at]
                if score >= best and (score < last or (score == last and at < last_at)):
                    best, found = score, at
    return found


@numba.njit(cache=True, nogil=True)
def _rescan(
    scores: Floats,
    at: int,
    stop: int,
    k: int,
    n: int,
    tuned: bool,
    top: Ints,
    size: int,
    ends: Ints,
    offset: Ints,
    ids: Ints,
) -> tuple[int, int]:
    """Go on with the record `at`; the list's size, and how often the top k changed. If there is
    room in `ends`, also when it changed and to what."""
    changes = 0
    oldest = stop  # of the top k
    for i in range(size):
        oldest = min(oldest, top[i])
    while at < stop:
        if size == k:
            # Nothing happens until the oldest expires or a score reaches the k-th.
            bound = scores[top[k - 1]]
            until = min(stop, oldest + n)
            while (
                tuned
                and at + _BLOCK <= until
                and not _any_between(scores[at : at + _BLOCK], bound, np.inf)
            ):
                at += _BLOCK
            while at < until and scores[at] < bound:
                at += 1
            if at == stop:
                break
        expired = oldest <= at - n
        if expired:
            place = 0
            while top[place] != oldest:
                place += 1
            for i in range(place, size - 1):
                top[i] = top[i + 1]
            size -= 1
        if expired and (size == 0 or scores[at] < scores[top[size - 1]]):
            if tuned:
                top[size] = _next_behind(scores, at - n + 1, at + 1, top, size)
                size += 1
            else:
                size = _best_of_all(scores, at - n + 1, at + 1, top, k)
        else:  # the arrival is one of the best, or there are fewer than k
            size = _put(scores, top, size, k, at)
        oldest = at
        for i in range(size):
            oldest = min(oldest, top[i])
        at += 1
        if len(ends):
            ends[changes] = at
            offset[changes + 1] = offset[changes] + size
            ids[offset[changes] : offset[changes + 1]] = top[:size]
        changes += 1
    return size, changes


class Rescan:
    """A list of the k best; when one of them expires, the k best of the window anew."""

    tuned = False

    def __init__(self, scores: Floats, k: int, n: int) -> None:
        self.scores, self.k, self.n = scores, k, n
        self.at = self.size = self.changes = 0
        self.top = np.empty(k, np.int64)

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        """Process the records before `stop`."""
        room = 0 if told is None else stop - self.at
        ends, offset = np.zeros(room, np.int64), np.zeros(room + 1, np.int64)
        ids = np.empty(room * self.k, np.int64)
        self.size, changes = _rescan(
            self.scores, self.at, stop, self.k, self.n, self.tuned, self.top, self.size,
            ends, offset, ids,
        )  # fmt: skip
        self.at = stop
        self.changes += changes
        if told is not None:
            told.append(_reported(ends[:changes], offset[: changes + 1], ids[: offset[changes]]))

    def copy(self) -> Self:
        """Another one that goes on from here."""
        other = copy(self)
        other.top = self.top.copy()
        return other

    @property
    def kept(self) -> int:
        return min(self.at, self.n)


class TunedRescan(Rescan):
    """The same as well as it can be done: only the next best is looked for when one expires, and
    both loops are vectorised."""

    tuned = True


class SortedWindow:
    """The window in a `SortedList`, of which the k best are read whenever they changed."""

    def __init__(self, scores: Floats, k: int, n: int) -> None:
        # Ascending: the best come last, of equal scores the later ones. Pairs are made before, as
        # if they arrived so.
        part = scores[: n + _MOST_SORTED]
        self.pairs = list(zip(part.tolist(), range(len(part)), strict=True))
        self.k, self.n = k, n
        self.at = self.changes = 0
        self.window = SortedList()
        self.kth: tuple[float, int] = (-np.inf, -1)

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        """Process the records before `stop`."""
        pairs, k, n, kth = self.pairs, self.k, self.n, self.kth
        window, add, remove = self.window, self.window.add, self.window.remove
        ends, tops = [], []
        for at in range(self.at, stop):
            pair = pairs[at]
            changed = pair > kth
            if at >= n:
                expired = pairs[at - n]
                changed |= expired >= kth
                remove(expired)
            add(pair)
            if changed:
                best = window[-k:]
                if len(best) == k:
                    kth = best[0]
                self.changes += 1
                if told is not None:
                    ends.append(at + 1)
                    tops.append([number for _, number in reversed(best)])
        self.at, self.kth = stop, kth
        if told is not None:
            offset = np.cumsum([0, *map(len, tops)])
            ids = np.array([number for top in tops for number in top], np.int64)
            told.append(_reported(np.array(ends, np.int64), offset, ids))

    def copy(self) -> Self:
        """Another one that goes on from here."""
        other = copy(self)
        other.window = SortedList(self.window)
        return other

    @property
    def kept(self) -> int:
        return len(self.window)


def _reported(ends: Ints, offset: Ints, ids: Ints) -> Snapshots:
    return Snapshots(np.zeros(len(ends), np.int64), ends, offset, ids, np.empty(len(ids)))
