"""Queries that join others, or leave them, while a stream runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from crestline.certain.standing_operator import StandingTopK
from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.specs import SharedOperator
from crestline.language import Query
from crestline.planner import SharedPlan, StandingPlan
from crestline.planner.shared import agenda_of, demand_of
from crestline.planner.words import per_minute
from crestline.runtime.encoders.standing import StandingEncoder

if TYPE_CHECKING:
    from crestline.runtime.executor import BundleExecutor

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def join(executor: BundleExecutor, name: str, query: Query, *, computed: bool) -> int | None:
    """Answer one more query; see ``BundleExecutor.join``."""
    if (standing := executor.plan.standing) is not None:
        number = executor.views.add(name, query)
        plan = standing.joined(name, query, number, computed=computed)
        operator = _standing_operator(executor, plan)
        assert operator.add(plan.spec(name)) == number, "operator and views number queries alike"
        return None
    latest = executor.latest if executor.watermark.started else None
    if not executor.plan.shared:
        _share(executor, latest)
    shared = SharedPlan({**executor.queries, name: query})
    begin = _join_shared(executor.candidates.operator, shared, name, latest)
    executor.views.add(name, query)
    executor.follow(shared)
    return begin


def leave(executor: BundleExecutor, name: str) -> None:
    """Answer a query no more; others must stay."""
    number = executor.views.remove(name)
    if (standing := executor.plan.standing) is not None:
        _standing_operator(executor, standing.without(name)).remove(number)
        return
    _leave_shared(executor.candidates.operator, name, number, executor.latest)
    executor.follow(SharedPlan(executor.queries))


def _standing_operator(executor: BundleExecutor, plan: StandingPlan) -> StandingTopK:
    """Run by this plan of standing queries from now on; return the operator that answers them."""
    executor.follow(plan)
    encoder = executor.candidates.encoder
    assert isinstance(encoder, StandingEncoder)
    encoder.follow(plan)
    return encoder.operator


def _share(executor: BundleExecutor, latest: int | None) -> None:
    """Replace the operator of a single query by one that others can join. The largest event time so
    far is ``latest``; None: there are no records yet."""
    plan, candidates = SharedPlan(executor.queries), executor.candidates
    executor.follow(plan)
    operator = plan.make_operator()
    candidates.recall(operator, np.unique(candidates.operator.ids()))
    candidates.encoder.drive(operator)
    candidates.break_ties()
    if latest is not None:
        for _ in operator.advance_gradually(executor.watermark.due()):
            pass  # reported already


def _join_shared(operator: Operator, plan: SharedPlan, name: str, latest: int | None) -> int | None:
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


def _leave_shared(operator: Operator, name: str, number: int, latest: int) -> None:
    """Let an operator answer a query, known by its number, no more."""
    assert isinstance(operator, SharedOperator)
    agenda = agenda_of(operator)
    if agenda is not None:
        agenda.remove(number)
        schedule = agenda.schedule
        if schedule is not None and any(demand.name == name for demand in schedule.demands):
            schedule.remove(name, max(latest, schedule.last_change))
    operator.remove(number)


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
