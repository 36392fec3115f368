"""A sample of objects with everything that was seen of them, and what it tells of the streams.

``count_followers`` goes through the observations as they come. An object enters a state (the set of
streams that have seen it since it entered the window) with its first observation by a stream, and
that observation follows all its earlier states that are in the window. Entries and followers are
counted as they pass. So their ratio is the probability that a stream follows, and nothing has to be
guessed of objects whose observations are only partly in the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.incomplete.expectation import row_of
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints, Records

#: One value of an object in the sample.
SAMPLED = np.dtype(
    [
        ("key", "i8"),  # a hash of the object
        ("state", "i8"),  # the streams that saw it up to this observation, as bits
        ("value", "f8"),
        ("leaves", "i8"),  # the step at which it leaves the window
        ("stream", "i4"),
        ("owner", "i4"),  # a partition
    ]
)


class Tallies(NamedTuple):
    """What was counted of the sample."""

    #: The states with a row; 0: none. How often each was entered, and how often streams followed.
    states: Ints
    entered: Floats
    followed: Floats
    #: The same by one of the streams that saw the object.
    seen: Floats
    together: Floats


@kernel
def hashed(high: Ints, low: Ints) -> Ints:
    """Return a hash for each object."""
    keys = np.empty(len(high), np.int64)
    for a in range(len(high)):
        keys[a] = mixed(high[a], low[a])
    return keys


@kernel
def in_sample(keys: Ints, level: int) -> Bools:
    """Return which objects are in the sample of one in ``2 ** level``."""
    chosen = np.empty(len(keys), np.bool_)
    for a in range(len(keys)):
        chosen[a] = (keys[a] >> 40) & ((1 << level) - 1) == 0
    return chosen


@borrowing_kernel
def _row_for(tallies: Tallies, state: int) -> int:
    """Return the row of a state. A new state takes a free row, or that of the rarest state."""
    row = row_of(tallies.states, state)
    if row >= 0:
        return row
    row = 0
    for other in range(len(tallies.states)):
        if tallies.entered[other] < tallies.entered[row]:
            row = other
    tallies.states[row] = state
    tallies.entered[row] = 0.0
    for x in range(tallies.followed.shape[1]):
        tallies.followed[row, x] = 0.0
    return row


@borrowing_kernel
def count_followers(observations: Records, first: int, steps: Ints, tallies: Tallies) -> None:
    """Set the states of the observations from ``first`` on, which came at these steps, and count
    what they tell."""
    for i in range(first, len(observations)):
        key, owner = observations[i].key, observations[i].owner
        x = observations[i].stream
        state, last = 0, 0
        for j in range(i - 1, -1, -1):
            if observations[j].key != key or observations[j].owner != owner:
                continue
            if observations[j].leaves <= steps[i - first]:
                break
            earlier = observations[j].state
            if state == 0:
                state = earlier
                if (state >> x) & 1 == 1:
                    break
            if earlier != last:
                row = row_of(tallies.states, earlier)
                if row >= 0:
                    tallies.followed[row, x] += 1.0
                last = earlier
        observations[i].state = state | (1 << x)
        if (state >> x) & 1 == 0:
            tallies.entered[_row_for(tallies, state | (1 << x))] += 1.0
            tallies.seen[x] += 1.0
            for y in range(len(tallies.seen)):
                if (state >> y) & 1 == 1:
                    tallies.together[y, x] += 1.0
