"""Which objects several streams report: streams share some, and none reports one twice.

The generator of Haghani et al. 2009 (section 6.1.1): each stream has a window of the last
``recent`` objects that it sent. The next object of a stream is, with probability ``xi``, drawn from
the windows of the other streams, among the objects that this stream has not sent yet. Otherwise,
and where there is none to draw, it is a new one. The paper does not say what happens to an object
that is in several of these windows: here it is that much more likely.

Each record depends on all records before it, hence a loop in Python: about a microsecond per
record.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from crestline.streams.draw import Rng
from crestline.types import Ints

#: An object: its number, and a bit for each stream that has sent it.
_Object = list[int]
#: An object in a window, the stream of the window, and how many objects that stream has sent when
#: the object leaves the window.
_Entry = tuple[_Object, int, int]
#: How often to draw before searching for objects that can be drawn.
_TRIES = 16


class Overlap:
    """Draws the objects of one record after the other; memory does not grow with the stream.

    >>> rng = np.random.default_rng(1)
    >>> drawn = Overlap(streams=2, xi=1.0, recent=5).draw(rng, np.array([0, 0, 0, 1, 1, 1, 1]))
    >>> drawn[:3].tolist(), sorted(drawn[3:].tolist())  # the second takes over all, then a new one
    ([0, 1, 2], [0, 1, 2, 3])
    """

    def __init__(self, streams: int, xi: float, recent: int) -> None:
        self._xi, self._recent, self._every = xi, recent, (1 << streams) - 1
        self._sent = [0] * streams
        # All windows in one list, without order. Entries of objects that have left their window or
        # that every stream has sent are outdated. They are removed when they are drawn, and all at
        # once when they may be the majority.
        self._windows: list[_Entry] = []
        self._many = 2 * streams * recent
        self._next = 0

    def draw(self, rng: Rng, streams: Ints) -> Ints:
        """Return the objects of records on these streams."""
        windows, sent, following = self._windows, self._sent, self._next
        recent, every, many = self._recent, self._every, self._many
        draws = (rng.random(len(streams)) < self._xi).tolist()
        # Python's own generator is faster for single random numbers.
        uniform = Random(int(rng.integers(1 << 62))).random
        drawn = []
        for stream, draw in zip(streams.tolist(), draws, strict=True):
            bit = 1 << stream
            item = self._take(bit, uniform) if draw else None
            if item is None:
                item = [following, 0]
                following += 1
            item[1] |= bit
            drawn.append(item[0])
            sent[stream] += 1
            if item[1] != every:
                windows.append((item, stream, sent[stream] + recent))
                if len(windows) > many:
                    windows[:] = [e for e in windows if e[0][1] != every and sent[e[1]] < e[2]]
        self._next = following
        return np.array(drawn, np.int64)

    def _take(self, bit: int, uniform: Callable[[], float]) -> _Object | None:
        """Return an object of the windows that the stream with this bit has not sent, or None."""
        windows, sent, every = self._windows, self._sent, self._every
        tries = 0
        while tries < _TRIES and windows:
            index = int(uniform() * len(windows))
            item, stream, leaves = windows[index]
            if item[1] == every or sent[stream] >= leaves:
                windows[index] = windows[-1]
                windows.pop()
            elif item[1] & bit:
                tries += 1
            else:
                return item
        left = [e[0] for e in windows if not e[0][1] & bit and sent[e[1]] < e[2]]
        return left[int(uniform() * len(left))] if left else None
