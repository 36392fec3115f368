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
from crestline.certain.shared import SharedTopK
from crestline.core.asks import Ask
from crestline.core.operator import Doubt, Sighting
from crestline.incomplete import Combination
from crestline.kernels.changes import diff_snapshots, diff_uncertain_snapshots
from crestline.kernels.compile import cache_of
from crestline.kernels.keys import moment_order, text_keys
from crestline.kernels.mintopk import advance_mintopk
from crestline.kernels.order import find_late, has_nan
from crestline.language.query import SEMANTICS
from crestline.planner.catalogue import named, uncertain_default
from crestline.sharing import SharedAgenda
from crestline.types import Floats, Ints
from crestline.uncertain.shared import SharedWorlds

T = TypeVar("T", bound=npt.NDArray[Any])

#: Lies in the cache, is locked while a process compiles, and names what was compiled last.
NOTE = "crestline.warm"


@cache
def warm(kind: str = "") -> None:
    """See to it that the kernels are compiled: those of usual queries, and those of another kind
    (see ``_EXERCISES``) if it is named; a worker calls this before its first batch.

    Where they are, that costs one to three milliseconds once in a process, and nothing later.
    """
    if kind:
        warm()
    folder, edition = cache_of(advance_mintopk)
    if folder is None:  # no cache: nothing that one process does helps another
        return
    path = os.path.join(folder, NOTE + (f".{kind}" if kind else ""))
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
                _EXERCISES[kind]()
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


def exercise_shared() -> None:
    """The same for queries that share their work."""
    number = 24
    scores: Floats = np.linspace(0.0, 1.0, number)
    times: Ints = np.arange(number)
    for timed, slide in ((True, 4), (False, 4), (True, None)):
        operator = SharedTopK([Ask(2, 8, slide), Ask(3, 4, slide, only_changes=True)])
        operator.observe(scores, times if timed else None, times % 3)
        operator.advance(number if timed else None)


def exercise_shared_worlds() -> None:
    """The same for queries WITH PROBABILITY that share their work, by every semantics."""
    exercise_uncertain()
    number = 48
    times: Ints = np.arange(number)
    asks = [
        Ask(k, 16, 4, semantics=name, threshold=0.5 if name == "PT_K" else None)
        for name in SEMANTICS
        for k in (1, 3)
    ]
    agenda = SharedAgenda([4] * len(asks), None, [str(i) for i in range(len(asks))])
    for exclusive in (False, True):
        run = SharedWorlds(asks, agenda, exclusive=exclusive)
        rule = times // 3 if exclusive else np.full(number, -1)
        doubt = Doubt(np.full(number, 0.25), rule, times % 5)
        run.observe(np.linspace(0.0, 1.0, number), times, times % 3, None, doubt)
        run.prune()
        run.advance(number)


def exercise_incomplete() -> None:
    """The same for queries with COMBINE, by the algorithms that answer unless another is named."""
    number, portion = 96, 12  # enough for the approximate one to be compared
    times: Ints = np.arange(number)
    values: Floats = np.linspace(0.0, 1.0, number)
    sighting = Sighting(times * 0, times % 16, times % 16, times % 3)
    known, unknown = Combination("SUM", 3, 0.0, 1.0), Combination("AVG", None)
    for algorithm, combined in (("EAA", known), ("EAA", unknown), ("CORRELATED", known)):
        entry = named(algorithm)
        assert entry is not None and entry.operator is not None
        for timed, slide in ((True, 4), (True, None), (False, 4)):
            run: Any = entry.operator(2, 16, slide, combination=combined)
            for start in range(0, number, portion):
                some = times[start : start + portion]
                at = some if timed else None
                run.observe(values[some], at, some % 2, None, sighting.take(some))
                run.advance(start + portion - 1 if timed else None)
            run.prune()
            type(run).from_state(run.state())
    moment_order(times, times, times, times, values)
    text_keys(_read_only(times[:2]), _read_only(np.zeros(4, np.uint8)))
    none = times[:0]
    diff_uncertain_snapshots(none, none, none, none, none, values[:0], none)


#: Who calls all kernels of a kind of query; the usual ones have no name.
_EXERCISES = {
    "": exercise,
    "arrivals": exercise_arrivals,
    "uncertain": exercise_uncertain,
    "shared": exercise_shared,
    "shared_worlds": exercise_shared_worlds,
    "incomplete": exercise_incomplete,
}


def _read_only(array: T) -> T:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
