"""Query to plan: which algorithm, which panes, and why; or one clear sentence why not.

>>> from crestline.language import parse
>>> plan(parse("SELECT TOP 3 id FROM s [ROWS 10 SLIDE 4] ORDER BY x DESC")).algorithm.name
'MINTOPK'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any, Protocol

from crestline.core import sound
from crestline.core.errors import CrestlineError, PlanError
from crestline.core.operator import Operator
from crestline.core.snapshots import Snapshots
from crestline.core.window import RangeWindow, RowsWindow, Window, counts_rows
from crestline.incomplete import Combination
from crestline.language import Query
from crestline.planner.catalogue import (
    CATALOGUE,
    FAMILIES,
    Algorithm,
    families_for,
    named,
    reports_every_arrival,
    uncertain_default,
)

#: What the state of an operator says of its settings; the query says it again.
_SETTINGS = frozenset(
    (
        "k", "window", "slide", "only_changes", "options", "semantics", "threshold", "summed",
        "exclusive", "combination", "weights", "trusting", "exact_counts", "hope",
    )
)  # fmt: skip
#: No option of USING is larger: all count records, or are small factors.
MOST_OF_AN_OPTION = 1_000_000_000


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
    def exact(self) -> bool:
        """Whether answers are exact."""

    def make_operator(self, *, shard: bool = False) -> Operator:
        """Make a fresh operator; window and slide in records or microseconds.

        A ``shard`` sees some of the objects of a query with COMBINE, and reports one more than k:
        see ``runtime.shards``.
        """

    def save_operator(self, operator: Operator) -> dict[str, Any]:
        """Return the state of an operator that this plan made, for ``restore_operator``."""

    def restore_operator(self, state: dict[str, Any], *, shard: bool = False) -> Operator:
        """Return the operator whose state this is; StateError if this plan makes no such one."""

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
    def exact(self) -> bool:
        return self.algorithm.exact

    def make_operator(self, *, shard: bool = False) -> Operator:
        """Make a fresh operator; window and slide in records or microseconds."""
        query = self.query
        settings: dict[str, Any] = {"only_changes": query.emit == "CHANGES", **self.options}
        if query.combine is not None:
            once = bool(settings.pop("once", False))
            settings["combination"] = combination_of(query, once=once)
        if (uncertain := query.probability) is not None:
            settings |= {"semantics": uncertain.semantics, "threshold": uncertain.threshold}
            settings |= {"summed": query.summed, "exclusive": uncertain.exclusive_by is not None}
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


def width_of(window: Window) -> int | None:
    """How far back a window reaches, in records or microseconds; None: nothing expires."""
    if isinstance(window, RowsWindow):
        return window.rows
    return window.width if isinstance(window, RangeWindow) else None


def combination_of(query: Query, *, once: bool = False) -> Combination:
    """``COMBINE`` in numbers; streams are numbered as the query lists them."""
    combine, known = query.combine, query.known_streams
    assert combine is not None
    weights = dict(combine.weights)
    return Combination(
        combine.function,
        None if known is None else len(known),
        None if combine.high is None else combine.low,
        combine.high,
        combine.repeats,
        combine.at_most or 1,
        tuple(weights[name] for name in known or ()) if weights else (),
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
    _refuse_contradictions(query)
    chosen = QueryPlan(query, *_choose(query))
    if chosen.algorithm.plans:
        return chosen  # see ``planner.shared``
    try:
        chosen.make_operator()
    except CrestlineError as error:  # an option that does not fit
        raise PlanError(f"{error}.") from error
    return chosen


def _refuse_contradictions(query: Query) -> None:
    window = query.window
    counted = counts_rows(window)
    timed = window.on is not None
    if query.lateness and not timed:
        raise PlanError(
            "LATENESS needs an event time: name it in the window, as in [ROWS 100 ON ts],"
            " or leave LATENESS out."
        )
    if query.late == "REVISE":
        if counted:
            raise PlanError(
                "LATE REVISE needs a window on time: a late record would shift the positions of all"
                " records after it."
            )
        if query.emit == "CHANGES":
            raise PlanError(
                "LATE REVISE needs EMIT SNAPSHOTS: a stream of changes cannot correct the past."
            )
    if query.combine is not None:
        _refuse_beside_combine(query)
    if query.frequency is not None:
        _refuse_other_moments(query)
    if query.probability is None:
        return
    if query.approximate:
        raise PlanError(
            "APPROXIMATE is for certain streams: WITH PROBABILITY is answered exactly. Leave"
            " APPROXIMATE out."
        )
    if query.summed and query.probability.semantics != "PK_TOPK":
        raise PlanError(
            "BY SUM OF PROBABILITY adds up how probable records are among the top k, which is"
            f" PK_TOPK: leave out AS {query.probability.semantics}, or BY SUM OF PROBABILITY."
        )


def _refuse_beside_combine(query: Query) -> None:
    """What has no meaning for objects whose values arrive piecemeal."""
    if query.probability is not None:
        raise PlanError(
            "COMBINE and WITH PROBABILITY contradict each other: the values of an object are"
            " certain, only not all of them are there yet. Leave one out."
        )
    if query.key:
        raise PlanError("with COMBINE the object is the key: leave KEY out.")
    if query.late == "REVISE":
        raise PlanError(
            "COMBINE and LATE REVISE contradict each other: values are forgotten which a late"
            " record may bring back. Leave LATE REVISE out, or allow a longer LATENESS."
        )
    if query.frequency is not None:
        raise PlanError(
            "COMBINE is answered at moments that its window fixes: leave FREQUENCY out, and say"
            " how often with SLIDE."
        )
    if query.error is not None:
        raise PlanError(
            "ERROR is for PA: what CORRELATED misses depends on the streams, so it tells which"
            " precision is to be expected. Leave ERROR out."
        )
    if query.others and query.window.on is None:
        raise PlanError(
            "several streams need an event time to be put in order: name it in the window, as in"
            " [ROWS 100 ON ts]."
        )


def _refuse_other_moments(query: Query) -> None:
    """FREQUENCY lets us pick the moments of results: nothing else may."""
    window = query.window
    if not isinstance(window, RangeWindow):
        raise PlanError(
            "FREQUENCY needs a window on time, such as [RANGE 20 MINUTES ON ts]: the moments of"
            " results are picked on the axis of event time."
        )
    if window.slide is not None:
        raise PlanError(
            "SLIDE and FREQUENCY contradict each other: SLIDE fixes the moments of results,"
            " FREQUENCY leaves them to us. Leave one out."
        )
    if query.late == "REVISE":
        raise PlanError(
            "FREQUENCY and LATE REVISE contradict each other: what was shown at moments of our"
            " choice is not corrected. Leave one out."
        )
    if query.approximate:
        raise PlanError("FREQUENCY is answered exactly: leave APPROXIMATE out.")


def _planned_sharing(query: Query) -> tuple[Algorithm, str, Mapping[str, float]]:
    name = query.using or "DP"
    algorithm = named(name, "sharing")
    plans = ", ".join(a.name for a in CATALOGUE if a.family == "sharing")
    if algorithm is None or algorithm.family != "sharing":
        raise PlanError(
            f"with FREQUENCY, USING names the plan by which queries share their work, and {name} is"
            f" none: choose one of {plans}."
        )
    if query.options:
        raise PlanError(f"{algorithm.name} takes no options: leave them out.")
    reason = "USING asks for it" if query.using else "the default for FREQUENCY: no plan costs less"
    return algorithm, reason, {}


def _choose(query: Query) -> tuple[Algorithm, str, Mapping[str, float]]:
    if query.frequency is not None:
        return _planned_sharing(query)
    if query.using is None:
        return _default(query)
    families = families_for(query)
    algorithm = named(query.using, *families)
    usable = [a.name for a in CATALOGUE if a.family in families and a.supports(query.window)]
    choices = "choose one of " + ", ".join(usable)
    if algorithm is None:
        raise PlanError(f"there is no algorithm {query.using}: {choices}.")
    if algorithm.family == "sharing":
        raise PlanError(
            f"{algorithm.name} plans queries whose results may come at moments of our choice: say"
            f" how old a result may be, as in FREQUENCY 2 MINUTES, or {choices}."
        )
    if algorithm.family not in families:
        problem = f"is for {FAMILIES[algorithm.family]}"
        if query.probability is not None:
            problem = "does not know probabilities, but the query is WITH PROBABILITY"
        elif query.combine is not None:
            problem = "knows nothing of objects with several values, but the query has COMBINE"
        elif algorithm.family == "uncertain":
            problem = "is for uncertain streams and needs WITH PROBABILITY"
        elif algorithm.family == "incomplete":
            problem = "is for incomplete streams and needs COMBINE"
        raise PlanError(f"{algorithm.name} {problem}: {choices}.")
    if not algorithm.supports(query.window):
        raise PlanError(f"{algorithm.name} does not do {algorithm.refuses}: {choices}.")
    if query.late == "REVISE" and algorithm.family == "arrival":
        raise PlanError(
            f"{algorithm.name} forgets what a late record may bring back: LATE REVISE needs"
            " MINTOPK, which is the default then."
        )
    if query.approximate and algorithm.exact:
        other = "PA" if query.combine is None else "CORRELATED"
        raise PlanError(
            f"{algorithm.name} is exact, which is more than APPROXIMATE asks for: leave out one of"
            f" the two, or use {other}."
        )
    options = _options(query, algorithm)
    if query.approximate and query.combine is None:
        options.setdefault("adaptive", True)
        if query.error is not None and options.setdefault("error", query.error) != query.error:
            raise PlanError("ERROR and the option error contradict each other: give one.")
    return algorithm, "USING asks for it", options


def _default(query: Query) -> tuple[Algorithm, str, Mapping[str, float]]:
    if query.combine is not None:
        if query.approximate:
            reason = "APPROXIMATE asks for it: it keeps what will probably matter"
            return _known("CORRELATED"), reason, {}
        reason = "the default for incomplete streams: exact, and it keeps no more than it must"
        return _known("EAA"), reason, {}
    if query.probability is not None:
        reason = "the default for uncertain streams: exact, and most records cost little"
        return uncertain_default(), reason, {}
    every_arrival = reports_every_arrival(query.window)
    if query.approximate:
        if not every_arrival:
            raise PlanError(
                "APPROXIMATE is for windows that report at every arrival, [ROWS n] and [RANGE w ON"
                " ts]: where a window slides in steps the exact answer costs no more. Leave it out."
            )
        if query.late == "REVISE":
            raise PlanError("APPROXIMATE and LATE REVISE contradict each other: leave one out.")
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


def _known(name: str) -> Algorithm:
    algorithm = named(name)
    assert algorithm is not None
    return algorithm


def _options(query: Query, algorithm: Algorithm) -> dict[str, float]:
    """The options of USING, checked: their names, their kinds, and that the operator takes them."""
    chosen: dict[str, float] = {}
    for name, value in query.options:
        known = ", ".join(algorithm.options)
        if name.lower() not in algorithm.options:
            takes = f"knows {known}" if known else "takes none"
            raise PlanError(
                f"{algorithm.name} has no option {name}: it {takes}. Leave it out or use another."
            )
        default = algorithm.options[name.lower()]
        if isinstance(value, str) or isinstance(value, bool) != isinstance(default, bool):
            wanted = "true or false" if isinstance(default, bool) else "a number"
            raise PlanError(f"the option {name} of {algorithm.name} is {wanted}, not {value!r}.")
        if abs(value) > MOST_OF_AN_OPTION:
            raise PlanError(
                f"the option {name} of {algorithm.name} goes up to {MOST_OF_AN_OPTION:,}."
            )
        chosen[name.lower()] = value
    return chosen
