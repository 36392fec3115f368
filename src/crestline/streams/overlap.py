"""Which objects several streams report, when they share some and none reports one twice.

The generator of Haghani et al. 2009 (section 6.1.1): each stream has a window of the last
``recent`` objects that it sent. The next object of a stream is, with probability ``xi``, drawn from
the windows of the other streams, among what this stream has not sent yet; otherwise, and where
there is nothing to draw from, it is a new one. The paper leaves open what happens to an object that
is in several of these windows: here it is that much more likely.

What a record may be depends on all before it, hence a loop in Python: about a microsecond a record.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from crestline.streams.draw import Rng
from crestline.types import Ints

#: An object: its number, and a bit for each stream that has sent it.
_Object = list[int]
#: An object in a window: of which stream, and how many this stream has sent when it leaves.
_Entry = tuple[_Object, int, int]
#: How often to draw before looking for what may be drawn at all.
_TRIES = 16


class Overlap:
    """The objects of one record after the other; what is remembered does not grow with the stream.

    >>> rng = np.random.default_rng(1)
    >>> drawn = Overlap(streams=2, xi=1.0, recent=5).draw(rng, np.array([0, 0, 0, 1, 1, 1, 1]))
    >>> drawn[:3].tolist(), sorted(drawn[3:].tolist())  # the second takes over all, then a new one
    ([0, 1, 2], [0, 1, 2, 3])
    """

    def __init__(self, streams: int, xi: float, recent: int) -> None:
        self._xi, self._recent, self._every = xi, recent, (1 << streams) - 1
        self._sent = [0] * streams
        # All windows in one, without order. Out of date are objects that have left their window,
        # and those that every stream has sent: they are removed when they are drawn, and all at
        # once when there may be more of them than of the others.
        self._windows: list[_Entry] = []
        self._many = 2 * streams * recent
        self._next = 0

    def draw(self, rng: Rng, streams: Ints) -> Ints:
        """The objects of records on these streams."""
        windows, sent, following = self._windows, self._sent, self._next
        recent, every, many = self._recent, self._every, self._many
        draws = (rng.random(len(streams)) < self._xi).tolist()
        # Random numbers one by one are quicker from Python's own generator.
        uniform = Random(int(rng.integers(1 << 62))).random
        drawn = []
        for stream, draw in zip(streams.tolist(), draws, strict=True):
            bit = 1 << stream
            thing = self._take(bit, uniform) if draw else None
            if thing is None:
                thing = [following, 0]
                following += 1
            thing[1] |= bit
            drawn.append(thing[0])
            sent[stream] += 1
            if thing[1] != every:
                windows.append((thing, stream, sent[stream] + recent))
                if len(windows) > many:
                    windows[:] = [e for e in windows if e[0][1] != every and sent[e[1]] < e[2]]
        self._next = following
        return np.array(drawn, np.int64)

    def _take(self, bit: int, uniform: Callable[[], float]) -> _Object | None:
        """An object of the windows that the stream with this bit has not sent, if there is one."""
        windows, sent, every = self._windows, self._sent, self._every
        tries = 0
        while tries < _TRIES and windows:
            place = int(uniform() * len(windows))
            thing, stream, leaves = windows[place]
            if thing[1] == every or sent[stream] >= leaves:
                windows[place] = windows[-1]
                windows.pop()
            elif thing[1] & bit:
                tries += 1
            else:
                return thing
        left = [e[0] for e in windows if not e[0][1] & bit and sent[e[1]] < e[2]]
        return left[int(uniform() * len(left))] if left else None
