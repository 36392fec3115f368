"""What kernels keep for one partition of an incomplete stream, as arrays.

Observations are stored oldest first, from HEAD to TAIL. Each knows the index of the observation
before it of the same object (``older``). Objects know their newest observation, their score and the
upper bound of that score, and stand in heaps by both (``heaps``, ``objects``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.incomplete.combine import ScoreRule
from crestline.kernels.incomplete.heaps import Heaps
from crestline.types import Floats, Ints, Places, Records

#: Entries of ``meta``.
(
    USED,  # slots of objects that were ever used
    PASSED,  # the last step that has passed
    ARRIVING,  # the last step at which an observation came in
    EMPTY_FROM,  # the step from which the window is empty
    SHOWN,  # objects in the latest answer
    HEAD,  # observations are stored from HEAD
    TAIL,  # to TAIL
    GUARDED,  # entries of the guard
    COUNTED,  # observations counted so far
    CHANGED,  # whether the answer may have changed
    INSTANCES,  # instances kept when values were last forgotten
    ACTIVE,  # the streams seen so far, as bits
    LISTED_OBJECTS,  # objects in the lists of any stream
    FILLS,  # how often the view was filled
    META,  # how many entries there are
) = range(15)
#: Entries of ``thresholds``: score and time of the k-th object of the answer, the (k + 1)-th
#: largest upper bound, the floor of the view (see ``sorted_lists``), and how many entries there
#: are.
KTH_SCORE, KTH_TIME, RIVAL, FLOOR, THRESHOLDS = range(5)

OBSERVATION = np.dtype(
    [
        ("value", "f8"),
        ("leaves", "i8"),  # the step at which it leaves the window
        ("time", "i8"),
        ("slot", "i4"),
        ("older", "i4"),
        ("stream", "i1"),
    ]
)


class StoreArrays(NamedTuple):
    """The arrays of one partition."""

    meta: Ints
    thresholds: Floats
    observations: Records
    heaps: Heaps
    #: Finds the slots of objects.
    table: Places
    #: Finds repeats of forgotten values (``guard``); empty if nothing is remembered.
    guard: Records


class ObjectQuery(NamedTuple):
    """What is asked, and how the window moves: in panes, or at every arrival."""

    k: int
    only_changes: bool
    on_arrival: bool
    #: Whether positions rather than times delimit the window.
    counted: bool
    #: Whether counted records have times that break ties.
    dated: bool
    #: Pane length, then width and slide in panes. On arrival, the width in time units or records.
    length: int
    width: int
    slide: int
    unbounded: bool
    #: Whether lists of streams, instead of a heap by score, yield the best objects.
    listed: bool
    #: Whether forgotten values are certain not to matter: then their objects are hidden.
    hides: bool
    rule: ScoreRule


class Arrivals(NamedTuple):
    """Observations in the order in which they count."""

    high: Ints
    low: Ints
    code: Ints
    stream: Ints
    value: Floats
    #: Zeros where there are no times.
    time: Ints
    id: Ints


def chosen(arrivals: Arrivals, rows: Ints | slice) -> Arrivals:
    """Return some of the observations, contiguous in memory."""
    return Arrivals._make(np.ascontiguousarray(field[rows]) for field in arrivals)
