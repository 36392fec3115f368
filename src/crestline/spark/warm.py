"""One process of a machine compiles the kernels; the others wait for it, then load them.

Compiling what a query needs takes one core 15 to 20 seconds, loading it 0.3. A worker process for
every core starts at the same moment, so without a lock each of them compiles everything; and numba,
which reads, changes and writes the index of its cache without one, may lose what some of them
wrote.
"""

from __future__ import annotations

import fcntl
import os
from functools import cache
from itertools import product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from crestline.certain import PA, RAPF, MinTopK
from crestline.core.operator import Doubt
from crestline.kernels.changes import diff_snapshots, diff_uncertain_snapshots
from crestline.kernels.compile import cache_of
from crestline.kernels.mintopk import advance_mintopk
from crestline.kernels.order import find_late, has_nan
from crestline.language.query import SEMANTICS
from crestline.planner.catalogue import uncertain_default
from crestline.types import Floats, Ints

T = TypeVar("T", bound=npt.NDArray[Any])

#: Lies in the cache, is locked while a process compiles, and names what was compiled last.
NOTE = "crestline.warm"


@cache
def warm(arrivals: bool = False, uncertain: bool = False) -> None:
    """See to it that the kernels are compiled, those for a result after every arrival or for an
    uncertain stream too if they are needed; a worker calls this before its first batch.

    Where they are, that costs one to three milliseconds once in a process, and nothing later.
    """
    if arrivals or uncertain:
        warm()
    folder, edition = cache_of(advance_mintopk)
    if folder is None:  # no cache: nothing that one process does helps another
        return
    of = ".arrivals" if arrivals else ".uncertain" if uncertain else ""
    path = os.path.join(folder, NOTE + of)
    try:
        with open(path, encoding="ascii") as note:
            if note.read() == edition:
                return
    except OSError:
        pass  # the first process of all
    try:
        with open(path, "a+", encoding="ascii") as note:
            fcntl.flock(note, fcntl.LOCK_EX)
            note.seek(0)
            if note.read() != edition:
                if arrivals:
                    exercise_arrivals()
                elif uncertain:
                    exercise_uncertain()
                else:
                    exercise()
                note.truncate(0)
                note.write(edition)
    except OSError:
        return  # a cache that can be read but not written, or cannot be locked: each for itself


def exercise() -> None:
    """Call every kernel of a usual query, with the types that it is called with.

    Columns that come from Arrow are read-only, which is another type to numba than an array that
    can be written to.
    """
    number = 24
    scores: Floats = np.linspace(0.0, 1.0, number)
    times: Ints = np.arange(number)
    fixed_scores, fixed_times = _read_only(scores), _read_only(times)
    for timed, divided, fixed in product((True, False), repeat=3):
        operator = MinTopK(k=2, window=8, slide=4)
        operator.observe(
            fixed_scores if fixed else scores,
            (fixed_times if fixed else times) if timed else None,
            times % 3 if divided else None,
        )
        operator.advance(number if timed else None)
    MinTopK(k=2, window=8, slide=4).observe(fixed_scores, _read_only(times[::-1]))
    diff_snapshots(*(times[:0] for _ in range(7)))
    for moments in (times, fixed_times):
        find_late(moments, 0, 0)
    for values in (scores, fixed_scores):
        has_nan(values)


def exercise_arrivals() -> None:
    """The same for queries that report at every arrival; they copy what is read-only."""
    number = 2_400  # enough for whole blocks to be left out
    scores: Floats = np.linspace(0.0, 1.0, number)
    times: Ints = np.arange(number)
    for timed, divided in product((True, False), repeat=2):
        exact, probable = RAPF(1, 90, None), PA(1, 90, None)
        for operator in (exact, probable):
            operator.observe(scores, times if timed else None, times % 2 if divided else None)
            operator.advance(number)


def exercise_uncertain() -> None:
    """The same for queries WITH PROBABILITY, by every semantics."""
    number = 48
    scores: Floats = np.linspace(0.0, 1.0, number)
    times: Ints = np.arange(number)
    probability: Floats = np.full(number, 0.25)
    operator = uncertain_default().operator
    assert operator is not None
    asked: list[dict[str, Any]] = [{"semantics": name} for name in SEMANTICS if name != "PT_K"]
    asked += [{"semantics": "PT_K", "threshold": 0.5}, {"summed": True}]
    for told, timed, divided in product(asked, (True, False), (True, False)):
        run: Any = operator(2, 16, 4, exclusive=True, **told)
        doubt = Doubt(probability, times // 3, times % 5)
        run.observe(scores, times if timed else None, times % 3 if divided else None, None, doubt)
        run.prune()
        run.advance(number if timed else None)
    none = times[:0]
    diff_uncertain_snapshots(none, none, none, none, none, probability[:0], none)


def _read_only(array: T) -> T:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
