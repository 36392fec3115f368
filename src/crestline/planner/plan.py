"""Query to plan: the algorithm, the panes and the reason; or one clear sentence why it cannot be
run.

>>> from crestline.language import parse
>>> plan(parse("SELECT TOP 3 id FROM s [ROWS 10 SLIDE 4] ORDER BY x DESC")).algorithm.name
'MINTOPK'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any, Protocol

from crestline.core import sound
from crestline.core.errors import CrestlineError, PlanError
from crestline.core.operator import Operator
from crestline.core.snapshots import Snapshots
from crestline.core.window import RangeWindow, RowsWindow, Window
from crestline.incomplete import Combination
from crestline.language import Query
from crestline.planner.algorithm import Algorithm
from crestline.planner.attributes import preference_of
from crestline.planner.catalogue import (
    families_for,
    named,
    reports_every_arrival,
    uncertain_default,
)
from crestline.planner.refusals import REFUSALS
from crestline.uncertain.semantics import meaning_of

if TYPE_CHECKING:
    from crestline.planner.shared import SharedPlan
    from crestline.planner.standing import StandingPlan

#: Settings in the state of an operator that the query determines as well.
_SETTINGS = frozenset(
    (
        "k", "window", "slide", "only_changes", "options", "semantics", "threshold", "summed",
        "exclusive", "combination", "weights", "trusting", "exact_counts", "hope", "printed",
        "preference",
    )
)  # fmt: skip


class Plan(Protocol):
    """How a bundle of queries is run: one query, or several with one structure
    (``planner.shared``)."""

    @property
    def query(self) -> Query:
        """The query, or what the queries have in common."""

    @property
    def shared(self) -> bool:
        """Whether other queries can join."""

    @property
    def together(self) -> SharedPlan | None:
        """This plan, if its queries rank the same records alike (``planner.shared``)."""

    @property
    def standing(self) -> StandingPlan | None:
        """This plan, if each of its queries has scores of its own (``planner.standing``)."""

    @property
    def exact(self) -> bool:
        """Whether answers are exact."""

    def make_operator(self, *, shard: bool = False) -> Operator:
        """Make a fresh operator; window and slide are in records or microseconds.

        A ``shard`` sees some of the objects of a query with COMBINE, and reports one more than k:
        see ``runtime.shards``.
        """

    def save_operator(self, operator: Operator) -> dict[str, Any]:
        """Return the state of an operator that this plan made, for ``restore_operator``."""

    def restore_operator(self, state: dict[str, Any], *, shard: bool = False) -> Operator:
        """Return the operator with this state; StateError if this plan makes no such operator."""

    def finish(self, operator: Operator, latest: int, end: int) -> Iterator[Snapshots]:
        """End a bounded stream: yield what is still due. The last event is at ``latest``, the last
        window end at ``end``."""


@dataclass(frozen=True, slots=True, repr=False)
class QueryPlan:
    """How a single query is run."""

    query: Query
    algorithm: Algorithm
    reason: str
    #: Settings of the operator beyond k and its window.
    options: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Plan: {self.algorithm.name} for {self.query!r}>"

    @property
    def shared(self) -> bool:
        return False

    @property
    def together(self) -> None:
        return None

    @property
    def standing(self) -> None:
        return None

    @property
    def exact(self) -> bool:
        return self.algorithm.exact

    def make_operator(self, *, shard: bool = False) -> Operator:
        """Make a fresh operator; window and slide in records or microseconds."""
        query = self.query
        settings: dict[str, Any] = {"only_changes": query.emit != "SNAPSHOTS", **self.options}
        if query.combine is not None:
            once = bool(settings.pop("once", False))
            settings["combination"] = combination_of(query, once=once)
        if (uncertain := query.probability) is not None:
            settings |= {"semantics": uncertain.semantics, "threshold": uncertain.threshold}
            settings |= {"summed": query.summed, "exclusive": uncertain.exclusive_by is not None}
        settings.pop("attributes", None)
        if (preference := preference_of(query)) is not None:
            settings["preference"] = preference
        assert self.algorithm.operator is not None
        width = width_of(query.window)
        return self.algorithm.operator(query.k + shard, width, query.window.slide, **settings)

    def save_operator(self, operator: Operator) -> dict[str, Any]:
        return operator.state()

    def restore_operator(self, state: dict[str, Any], *, shard: bool = False) -> Operator:
        fresh = self.make_operator(shard=shard)
        sound.like(state, fresh.state(), "operator", same=_SETTINGS)
        return type(fresh).from_state(state)

    def finish(self, operator: Operator, latest: int, end: int) -> Iterator[Snapshots]:
        return operator.advance_gradually(end)

    @property
    def on_arrival(self) -> bool:
        """Whether a result is due after every arrival."""
        return reports_every_arrival(self.query.window)

    @property
    def expected_kept(self) -> float:
        """Records kept for each partition if scores come in random order and panes hold k or more.

        Yang et al. say 2k. Counting it out: the record of rank r in a pane's top k stays while
        fewer than k better ones are in later panes; over C panes that adds up to k (1 + 1/2 + ...
        + 1/C).
        """
        return self.query.k * harmonic(self.query.window.panes.per_window)

    @property
    def worst_kept(self) -> int:
        """Records kept for each partition if scores only ever fall."""
        return self.query.k * self.query.window.panes.per_window


def needs_whole_window(query: Query) -> bool:
    """Whether an uncertain query asks for what no compact set is known to decide."""
    asked = query.probability
    if asked is None:
        return False
    meaning = meaning_of(asked.semantics, asked.threshold, query.summed)
    return meaning.keeps_everything(asked.exclusive_by is not None)


def width_of(window: Window) -> int | None:
    """Return how far back a window reaches, in records or microseconds; None if nothing expires."""
    if isinstance(window, RowsWindow):
        return window.rows
    return window.width if isinstance(window, RangeWindow) else None


def combination_of(query: Query, *, once: bool = False) -> Combination:
    """``COMBINE`` in numbers; streams are numbered as the query lists them."""
    combine, streams = query.combine, query.known_streams
    assert combine is not None
    weights = dict(combine.weights)
    return Combination(
        combine.function,
        None if streams is None else len(streams),
        None if combine.high is None else combine.low,
        combine.high,
        combine.repeats,
        combine.at_most or 1,
        tuple(weights[name] for name in streams or ()) if weights else (),
        once,
    )


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n; beyond a thousand by its expansion, exact to 1e-15.

    >>> round(harmonic(10), 4)
    2.929
    """
    if n <= 1000:
        return sum(1.0 / i for i in range(1, n + 1))
    return log(n) + 0.5772156649015329 + 1 / (2 * n) - 1 / (12 * n * n)


def plan(query: Query) -> QueryPlan:
    """Choose an algorithm, or raise PlanError with the reason why the query cannot be run."""
    for refusal in REFUSALS:
        if sentence := refusal(query):
            raise PlanError(sentence)
    chosen = QueryPlan(query, *_choose(query))
    if chosen.algorithm.plans or not (chosen.options or query.combine):
        return chosen  # for plans see ``planner.shared``; there is no option that may not fit
    try:
        chosen.make_operator()
    except CrestlineError as error:  # an option that does not fit
        raise PlanError(f"{error}.") from error
    return chosen


def _choose(query: Query) -> tuple[Algorithm, str, Mapping[str, float]]:
    """Return the algorithm of a query that no refusal applies to, the reason, and its options."""
    if query.frequency is not None:
        reason = "the default for FREQUENCY: no plan costs less"
        reason = "USING asks for it" if query.using else reason
        return _known(query.using or "DP", "sharing"), reason, {}
    if query.using is None:
        return _default(query)
    options: dict[str, float] = {
        name.lower(): value for name, value in query.options if not isinstance(value, str)
    }
    if query.approximate and query.combine is None:
        options.setdefault("adaptive", True)
        if query.error is not None:
            options.setdefault("error", query.error)
    return _known(query.using, *families_for(query)), "USING asks for it", options


def _default(query: Query) -> tuple[Algorithm, str, Mapping[str, float]]:
    if query.combine is not None:
        if query.approximate:
            reason = "APPROXIMATE asks for it: it keeps what will probably matter"
            return _known("CORRELATED"), reason, {}
        reason = "the default for incomplete streams: exact, and it keeps no more than it must"
        return _known("EAA"), reason, {}
    if needs_whole_window(query):
        return _known("BS"), "it keeps the whole window, and nothing smaller is known to do", {}
    if query.probability is not None:
        reason = "the default for uncertain streams: exact, and most records cost little"
        return uncertain_default(), reason, {}
    every_arrival = reports_every_arrival(query.window)
    if query.approximate:
        options = {"adaptive": True, "error": 0.001 if query.error is None else query.error}
        reason = "APPROXIMATE asks for it; RAPF takes its place while records come in some order"
        return _known("PA"), reason, options
    if every_arrival and query.late == "REVISE":
        reason = "it forgets nothing that LATE REVISE may need: every arrival is a pane of its own"
        return _known("MINTOPK"), reason, {}
    if every_arrival:
        reason = "the default for a result after every arrival: exact, and most records cost little"
        return _known("RAPF"), reason, {}
    reason = "the default: it keeps the least that any exact algorithm can and costs a scan"
    return _known("MINTOPK"), reason, {}


def _known(name: str, *families: str) -> Algorithm:
    algorithm = named(name, *families)
    assert algorithm is not None
    return algorithm
