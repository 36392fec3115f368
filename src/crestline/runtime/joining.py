"""Queries that join others while a stream runs: from when on, and with which operator."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np

from crestline.core.batch import Batch, Uncertainty
from crestline.core.operator import Operator
from crestline.core.specs import SharedOperator
from crestline.planner import SharedPlan
from crestline.planner.words import per_minute
from crestline.runtime.candidates import CandidateTable
from crestline.runtime.roles import Number
from crestline.sharing import Schedule
from crestline.types import Ints

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shared(operator: Operator) -> SharedOperator:
    """The operator of several queries."""
    return cast(SharedOperator, operator)


def begin_after(latest: int, plan: SharedPlan) -> int:
    """From when on a query that joins sees records: the first pane that none is in yet."""
    pane = plan.query.window.panes.length
    return (latest // pane + 1) * pane


def converted(
    operator: Any, ids: Ints, kept: CandidateTable, doubt: Uncertainty | None
) -> Operator:
    """The operator, which is fresh, with the kept records of these ids."""
    ids = np.unique(ids)
    if len(ids) == 0:
        return cast(Operator, operator)
    score, time, partition = (
        np.asarray(kept.table.column(name).to_numpy())[ids]
        for name in (Number.SCORE, Number.TIME, Number.PARTITION)
    )
    if doubt is None:
        places = operator.observe(Batch(score, time, partition, 0))
    else:
        places = operator.observe(Batch(score, time, partition, 0, doubt.take(ids)))
    operator.rename(ids[places])
    return cast(Operator, operator)


def told_changes(schedule: Schedule) -> list[str]:
    """The changes of a schedule in sentences."""
    return [change.sentence(moment, per_minute, "minute") for change in schedule.changes]


def moment(time: int) -> str:
    """
    >>> moment(1_381_154_640_000_000)
    '2013-10-07T14:04:00Z'
    """
    try:
        return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")
    except OverflowError:  # beyond the years that Python has
        return f"{np.datetime64(time, 'us')}Z"
