"""Queries that join others, or leave them, while a stream runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.specs import SharedOperator
from crestline.planner import SharedPlan, StandingPlan
from crestline.planner.shared import agenda_of, demand_of
from crestline.planner.words import per_minute
from crestline.runtime.candidates import Candidates
from crestline.runtime.encoders import Encoder
from crestline.runtime.encoders.standing import StandingEncoder

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def share(candidates: Candidates, plan: SharedPlan, until: int | None) -> None:
    """Replace the operator of a single query by one that others can join. Results up to ``until``
    are out (None: none is)."""
    operator = plan.make_operator()
    candidates.recall(operator, np.unique(candidates.operator.ids()))
    candidates.encoder.drive(operator)
    candidates.break_ties()
    if until is not None:
        for _ in operator.advance_gradually(until):
            pass  # reported already


def join(operator: Operator, plan: SharedPlan, name: str, latest: int | None) -> int | None:
    """Let an operator answer one more query of ``plan``. Return the time since which the query
    sees records: the start of the first pane without records. None: it sees all."""
    assert isinstance(operator, SharedOperator)
    begin: int | None = None
    if latest is not None:
        pane = plan.query.window.panes.length
        begin = (latest // pane + 1) * pane
    spec = plan.spec(name, LONG_AGO if begin is None else begin)
    agenda = agenda_of(operator)
    if agenda is not None:
        agenda.add(name, spec.slide)
        if spec.scheduled:
            assert agenda.schedule is not None
            agenda.schedule.add(demand_of(name, plan.queries[name]), begin or 0)
    operator.add(spec)
    return begin


def leave(operator: Operator, name: str, number: int, latest: int) -> None:
    """Let an operator answer a query, known by its number, no more."""
    assert isinstance(operator, SharedOperator)
    agenda = agenda_of(operator)
    if agenda is not None:
        agenda.remove(number)
        schedule = agenda.schedule
        if schedule is not None and any(demand.name == name for demand in schedule.demands):
            schedule.remove(name, max(latest, schedule.last_change))
    operator.remove(number)


def stand(encoder: Encoder, plan: StandingPlan, name: str) -> None:
    """Let an operator answer one more standing query of ``plan``."""
    assert isinstance(encoder, StandingEncoder)
    number = encoder.operator.add(plan.spec(name))
    assert number == plan.numbers[name], "operator and views number queries alike"
    encoder.follow(plan)


def stand_down(encoder: Encoder, plan: StandingPlan, number: int) -> None:
    """Let an operator answer a standing query no more, which is not in ``plan``."""
    assert isinstance(encoder, StandingEncoder)
    encoder.operator.remove(number)
    encoder.follow(plan)


def schedule_changes(operator: Operator) -> list[str]:
    """How the moments of results were planned again as queries came and went, in sentences."""
    agenda = agenda_of(operator)
    if agenda is None or agenda.schedule is None:
        return []
    return [change.sentence(moment, per_minute, "minute") for change in agenda.schedule.changes]


def moment(time: int) -> str:
    """
    >>> moment(1_381_154_640_000_000)
    '2013-10-07T14:04:00Z'
    """
    try:
        return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")
    except OverflowError:  # beyond the years that Python has
        return f"{np.datetime64(time, 'us')}Z"
