"""The moments of an agenda, and reports in portions of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crestline.core.snapshots import Snapshots
from crestline.core.specs import Agenda, Executions
from crestline.operators.reporting import PORTION
from crestline.types import Ints


def any_due(agenda: Agenda, after: int, until: int) -> bool:
    """Whether a query is answered after one time and up to another."""
    stretch = 1
    while after < until:
        end = min(after + stretch, until)
        if len(agenda.due(after, end)):
            return True
        after, stretch = end, 2 * stretch
    return False


def moments_between(agenda: Agenda, after: int, until: int, most: int) -> tuple[Ints, int]:
    """Return the moments up to ``until``, or to some time before it if there are more than
    ``most``, and that time."""
    moments = [np.empty(0, np.int64)]
    total, stretch = 0, 1
    while after < until and total < most:
        end = min(after + stretch, until)
        moments.append(agenda.due(after, end).at)
        total += len(moments[-1])
        after, stretch = end, 2 * stretch
    return np.concatenate(moments), after


def portions(executions: Executions, rows: Ints) -> Iterator[Executions]:
    """Yield pieces of about ``PORTION`` result rows; those of one moment stay together."""
    if len(executions) == 0:
        return
    if rows.sum() <= PORTION:
        yield executions
        return
    first = 0
    moments = np.append(np.flatnonzero(np.diff(executions.at)) + 1, len(executions))
    total = np.concatenate(([0], np.cumsum(rows)))
    for stop in moments.tolist():
        if total[stop] - total[first] >= PORTION or stop == len(executions):
            offset = executions.offset[first : stop + 1]
            queries = executions.query[offset[0] : offset[-1]]
            yield Executions(executions.at[first:stop], offset - offset[0], queries)
            first = stop


def one_report(reports: list[Snapshots]) -> Snapshots:
    """Return the snapshots of several portions as one report."""
    some = [snapshots for snapshots in reports if len(snapshots)]
    if len(some) < 2:
        return some[0] if some else Snapshots.nothing()
    return Snapshots.of(
        np.concatenate([s.partition for s in some]),
        np.concatenate([s.end for s in some]),
        np.concatenate([np.diff(s.offset) for s in some]),
        np.concatenate([s.id for s in some]),
        np.concatenate([s.score for s in some]),
        np.concatenate([s.probability for s in some if s.probability is not None]),
        np.concatenate([s.query for s in some if s.query is not None]),
    )


__all__ = ["any_due", "moments_between", "one_report", "portions"]
