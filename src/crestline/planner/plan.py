"""Query to plan: which algorithm, which panes, and why; or one clear sentence why not.

>>> from crestline.language import parse
>>> plan(parse("SELECT TOP 3 id FROM s [ROWS 10 SLIDE 4] ORDER BY x DESC")).algorithm.name
'MINTOPK'
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from crestline.core.errors import PlanError
from crestline.core.operator import Operator
from crestline.core.window import RangeWindow, RowsWindow, counts_rows
from crestline.language import Query
from crestline.planner.catalogue import CATALOGUE, FAMILIES, Algorithm, named


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is run."""

    query: Query
    algorithm: Algorithm
    reason: str

    def operator(self) -> Operator:
        """A fresh operator; window and slide in records or microseconds."""
        window = self.query.window
        width: int | None
        slide: int | None
        if isinstance(window, RangeWindow):
            width, slide = window.width, window.slide
        elif isinstance(window, RowsWindow):
            width, slide = window.rows, window.slide
        else:
            width, slide = None, window.slide
        assert self.algorithm.operator is not None
        changes = self.query.emit == "CHANGES"
        return self.algorithm.operator(self.query.k, width, slide, only_changes=changes)

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


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n; beyond a thousand by its expansion, exact to 1e-15.

    >>> round(harmonic(10), 4)
    2.929
    """
    if n <= 1000:
        return sum(1.0 / i for i in range(1, n + 1))
    return log(n) + 0.5772156649015329 + 1 / (2 * n) - 1 / (12 * n * n)


def plan(query: Query) -> Plan:
    """Choose an algorithm, or raise PlanError with the reason why the query cannot be run."""
    _refuse_what_is_to_come(query)
    _refuse_contradictions(query)
    return Plan(query, *_choose(query))


def _refuse_what_is_to_come(query: Query) -> None:
    later = (
        (query.probability, "WITH PROBABILITY (uncertain streams)"),
        (query.combine, "COMBINE (incomplete streams)"),
        (query.frequency, "FREQUENCY (queries that share their work)"),
        (query.approximate or None, "APPROXIMATE"),
    )
    for clause, name in later:
        if clause is not None:
            raise PlanError(
                f"{name} is part of the language but not available in this version yet:"
                " leave the clause out."
            )


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


def _choose(query: Query) -> tuple[Algorithm, str]:
    panes = query.window.panes
    if query.using is None:
        reason = (
            "the default: it keeps the least that any exact algorithm can and costs a scan"
            if not panes.on_arrival
            else "every arrival is a pane of its own (RAPF, made for this, is to come)"
        )
        return CATALOGUE[0], reason
    algorithm = named(query.using)
    usable = [a.name for a in CATALOGUE if a.available and a.supports(query.window)]
    choices = "choose one of " + ", ".join(usable)
    if algorithm is None:
        raise PlanError(f"there is no algorithm {query.using}: {choices}.")
    if not algorithm.available:
        raise PlanError(
            f"{algorithm.name} ({FAMILIES[algorithm.family]}) is not available in this version yet:"
            f" {choices}."
        )
    if not algorithm.supports(query.window):
        raise PlanError(
            f"{algorithm.name} does not do a window that is unbounded, reports at every arrival or"
            " is more than a million slides long:"
            f" {choices}."
        )
    if query.options:
        names = ", ".join(name for name, _ in query.options)
        raise PlanError(f"{algorithm.name} takes no options, but {names} was given: leave it out.")
    return algorithm, "USING asks for it"
