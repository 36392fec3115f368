"""Late records that were dropped: whether there are too many, and what is said about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from crestline.core.errors import LateRecordsWarning
from crestline.language import duration
from crestline.runtime.metrics import Metrics
from crestline.types import Bools, Ints

#: Beyond this share of dropped records a run warns.
_MANY = 0.01
#: Records that a run has to see before their share means anything.
_FEW = 1000


def delay_of(times: Ints, late: Bools, latest: int) -> int:
    """The lateness that would have sufficed for the ``late`` ones of a batch, which came when
    ``latest`` was the largest event time.

    >>> delay_of(np.array([5, 9, 2, 3]), np.array([False, False, True, True]), 4)
    7
    """
    reached = np.maximum(np.maximum.accumulate(times), latest)
    return int((reached - times)[late].max())


def many_late(metrics: Metrics, *, following: bool = False) -> str | None:
    """A sentence about dropped records if they are more than one in a hundred; it names the
    LATENESS that would have sufficed. A run that is ``following`` a stream says it once it has seen
    enough of it."""
    taken = metrics.rows_in - metrics.rows_filtered
    dropped = metrics.rejected.get("late", 0)
    if dropped <= _MANY * taken or (following and taken < _FEW):
        return None
    enough = duration.written(duration.rounded_up(metrics.lateness_needed))
    return (
        f"{dropped:,} of {taken:,} records ({dropped / taken:.0%}) came late and were dropped:"
        f" LATENESS {enough} would have counted them all."
    )


def warn_of_late(by_query: Mapping[str, Metrics], *, following: bool = False) -> bool:
    """Warn once if a query has dropped too many records; whether it has. With several queries, the
    one that dropped most is named."""
    found = {name: many_late(known, following=following) for name, known in by_query.items()}
    told = [name for name, sentence in found.items() if sentence is not None]
    if not told:
        return False
    worst = max(told, key=lambda name: by_query[name].rejected["late"])
    where = f"query {worst}: " if len(by_query) > 1 else ""
    # At the line of the caller of crestline.run, or of Session.push, which waits for a lock first.
    level = 4 if following else 3
    warnings.warn(f"{where}{found[worst]}", LateRecordsWarning, stacklevel=level)
    return True
