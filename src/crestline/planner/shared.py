"""Several queries: which of them share a structure, and on what terms.

Queries share where they rank the same records of the same stream in the same way: same WHERE,
PARTITION BY, ORDER BY, selected columns and KEY (which break ties), event time and LATENESS. They
may differ in k, in their windows, in SLIDE or FREQUENCY, and in what they emit. Uncertain queries
share if their windows are equally long, since probabilities are those of one window.

>>> from crestline.language import parse
>>> text = "SELECT TOP {} id FROM s [RANGE {} SECONDS SLIDE 1 SECOND ON ts] ORDER BY x DESC"
>>> bundles = arrange({"a": parse(text.format(3, 10)), "b": parse(text.format(5, 60))})
>>> [sorted(bundle.queries) for bundle in bundles]
[['a', 'b']]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

from crestline.certain.shared import SharedTopK
from crestline.certain.standing_options import FROM_CELLS
from crestline.core import sound
from crestline.core.display import cell
from crestline.core.errors import PlanError
from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.specs import QuerySpec, SharedOperator
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow, Window, counts_rows
from crestline.language import Query
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.plan import Plan, harmonic, needs_whole_window, plan, width_of
from crestline.planner.standing import StandingPlan, grouped, pays, standing_key
from crestline.sharing import Demand, Schedule, SharedAgenda
from crestline.uncertain.shared import SharedWorlds


@dataclass(frozen=True, repr=False)
class SharedPlan:
    """How queries that share one structure are run. A single query with FREQUENCY is such a plan
    too."""

    queries: Mapping[str, Query]

    def __repr__(self) -> str:
        return f"<SharedPlan: one structure for {', '.join(map(cell, self.queries))}>"

    @property
    def shared(self) -> bool:
        return True

    @property
    def together(self) -> SharedPlan:
        return self

    @property
    def standing(self) -> None:
        return None

    @property
    def exact(self) -> bool:
        return True

    @cached_property
    def query(self) -> Query:
        """What the queries have in common, with the largest k, the longest window and the finest
        slide of all. Its EMIT has no meaning."""
        some = next(iter(self.queries.values()))
        most = max(query.k for query in self.queries.values())
        return replace(some, k=most, window=self._window, name=None, frequency=None, using=None)

    @property
    def _window(self) -> Window:
        windows = [query.window for query in self.queries.values()]
        first = windows[0]
        slide = gcd(*(slide for query in self.queries.values() if (slide := _step(query))))
        if isinstance(first, RangeWindow) and first.slide is None and not self.scheduled:
            return RangeWindow(max(width_of(window) or 0 for window in windows), None, first.on)
        widths = [width_of(window) for window in windows]
        if None in widths:
            return UnboundedWindow(slide, first.on)
        widest = max(width for width in widths if width is not None)
        slide = gcd(slide, *(width for width in widths if width is not None))
        if counts_rows(first):
            return RowsWindow(widest, slide, first.on)
        assert first.on is not None
        return RangeWindow(widest, slide, first.on)

    @property
    def uncertain(self) -> bool:
        return self.query.probability is not None

    @property
    def on_arrival(self) -> bool:
        return reports_every_arrival(self.query.window)

    @property
    def scheduled(self) -> dict[str, Query]:
        """The queries with FREQUENCY."""
        return {name: q for name, q in self.queries.items() if q.frequency is not None}

    @property
    def method(self) -> str | None:
        """The name of their execution plan; None if no query has FREQUENCY."""
        return next((query.using or "DP" for query in self.scheduled.values()), None)

    @property
    def demands(self) -> list[Demand]:
        return [demand_of(name, query) for name, query in self.scheduled.items()]

    def spec(self, name: str, since: int = LONG_AGO) -> QuerySpec:
        """Return the spec of a query for the operator."""
        return spec_of(self.queries[name], since)

    def _agenda(self) -> SharedAgenda | None:
        """Return when the queries are answered; None if their slides decide it."""
        if not self.scheduled and not self.uncertain:
            return None
        schedule = None if self.method is None else Schedule(self.method.upper(), self.demands)
        slides = [self.spec(name).slide for name in self.queries]
        return SharedAgenda(slides, schedule, list(self.queries))

    def make_operator(self, *, shard: bool = False) -> SharedOperator:
        """Make a fresh operator with an agenda of its own."""
        assert not shard, "queries with COMBINE share with none"
        agenda, specs = self._agenda(), [self.spec(name) for name in self.queries]
        if self.uncertain:
            assert agenda is not None
            return SharedWorlds(specs, agenda, exclusive=self._exclusive)
        return SharedTopK(specs, agenda)

    def save_operator(self, operator: Operator) -> dict[str, Any]:
        agenda = agenda_of(operator)
        return operator.state() | {"agenda": None if agenda is None else agenda.state()}

    def restore_operator(self, state: dict[str, Any], *, shard: bool = False) -> SharedOperator:
        fresh = self.make_operator(shard=shard)
        model = fresh.state() | {"agenda": None}
        if "bands" in model:
            model["bands"] = {}
        sound.like(state, model, "operator")
        self._check_specs(state["queries"])
        operator = {name: value for name, value in state.items() if name != "agenda"}
        agenda = None
        if agenda_of(fresh) is not None:
            agenda = SharedAgenda.from_state(state["agenda"])
            agenda.check({name: self.spec(name).slide for name in self.queries}, self.demands)
        if self.uncertain:
            assert agenda is not None
            return SharedWorlds.from_state(operator, agenda)
        return SharedTopK.from_state(operator, agenda)

    def _check_specs(self, saved: list[Any]) -> None:
        """Refuse specs of other queries; only the times since which they see records may differ."""
        specs = [dict(spec) for spec in saved if spec is not None]
        wanted = [asdict(self.spec(name)) for name in self.queries]
        for spec in (*specs, *wanted):
            sound.like(spec.pop("since"), 0, "since")
        sound.require(specs == wanted, "the operator answers other queries")

    def finish(self, operator: Operator, latest: int, end: int) -> Iterator[Snapshots]:
        """Each query is answered up to its own last moment, which may be before ``end``."""
        assert isinstance(operator, SharedOperator)
        return operator.finish(latest)

    @property
    def expected_kept(self) -> float:
        """Records kept for each partition of a certain stream if scores come in random order and
        panes hold enough: the record of rank r in a pane stays while fewer than k better ones are
        in later panes, where k is the largest of the windows that reach back so far."""
        length = self.query.window.panes.length
        widths = [width_of(query.window) for query in self.queries.values()]
        pairs = sorted(
            (1 if width is None else width // length, query.k)
            for width, query in zip(widths, self.queries.values(), strict=True)
        )
        kept, reached, alone = 0.0, 0, 0.0
        for place, (width, k) in enumerate(pairs):
            most = max(k for _, k in pairs[place:])
            kept += most * (harmonic(width) - harmonic(reached))
            reached = width
        for query in self.queries.values():
            panes = query.window.panes.per_window if query.frequency is None else pairs[-1][0]
            alone += query.k * harmonic(panes)
        return min(kept, alone)

    @property
    def _exclusive(self) -> bool:
        uncertain = self.query.probability
        return uncertain is not None and uncertain.exclusive_by is not None


@dataclass(frozen=True, slots=True, repr=False)
class Bundle:
    """Queries that are run together, and their plan: one query alone, or several with one
    structure."""

    queries: Mapping[str, Query]
    plan: Plan

    def __repr__(self) -> str:
        return f"<Bundle of {', '.join(map(cell, self.queries))}: {self.plan!r}>"

    @classmethod
    def of(cls, queries: Mapping[str, Query]) -> Bundle:
        """These queries, which can be run together."""
        if _needs_sharing(queries):
            return cls.shared(queries)
        return cls(queries, plan(next(iter(queries.values()))))

    @classmethod
    def shared(cls, queries: Mapping[str, Query]) -> Bundle:
        """These queries, or this one, with a structure that can be shared."""
        return cls(queries, SharedPlan(queries))

    @classmethod
    def standing(
        cls, queries: Mapping[str, Query], computed: frozenset[str] = frozenset()
    ) -> Bundle:
        """These standing queries, or this one; see ``StandingPlan.of``."""
        return cls(queries, StandingPlan.of(queries, computed))


def arrange(queries: Mapping[str, Query], standing: Standing | None = None) -> list[Bundle]:
    """Return the queries in bundles that share a structure; PlanError if one cannot be run.

    With ``standing``, queries at every arrival share also if their scores differ.
    """
    families: dict[Hashable, dict[str, Query]] = {}
    alone = {name: plan(query) for name, query in queries.items()}
    for name, query in queries.items():
        key = sharing_key(query)
        families.setdefault(("alone", name) if key is None else key, {})[name] = query
    bundles: list[Bundle] = []
    groups = standing.groups(queries) if standing is not None and len(queries) > 1 else []
    for group in groups:
        if pays([next(iter(f.values())) for f in families.values() if f.keys() & group.keys()]):
            assert standing is not None
            bundles.append(Bundle.standing(group, standing.computed))
            families = {key: _without(family, group) for key, family in families.items()}
    for family in filter(None, families.values()):
        single = Bundle(family, alone[next(iter(family))])
        bundles.append(Bundle.shared(family) if _needs_sharing(family) else single)
    place = {name: number for number, name in enumerate(queries)}
    return sorted(bundles, key=lambda bundle: min(place[name] for name in bundle.queries))


def _needs_sharing(queries: Mapping[str, Query]) -> bool:
    return len(queries) > 1 or any(query.frequency is not None for query in queries.values())


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a stream beyond its queries, to decide which of them may stand together.

    ``none_late``: without LATENESS no record is late. ``exact`` are the queries whose scores are no
    doubles, which stand alone, and ``computed`` those whose columns are none.
    """

    none_late: bool = False
    exact: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()

    def key(self, name: str, query: Query) -> Hashable | None:
        """The key of a query; see ``standing_key``."""
        alone = name in self.exact or (query.using is not None and name in self.computed)
        return None if alone else standing_key(query, none_late=self.none_late)

    def groups(self, queries: Mapping[str, Query]) -> list[dict[str, Query]]:
        """The queries that may stand together; others are left out."""
        by_key: dict[Hashable, dict[str, Query]] = {}
        for name, query in queries.items():
            if (key := self.key(name, query)) is not None:
                by_key.setdefault(key, {})[name] = query
        return [group for alike in by_key.values() for group in grouped(alike)]


def _without(queries: Mapping[str, Query], others: Mapping[str, Query]) -> dict[str, Query]:
    return {name: query for name, query in queries.items() if name not in others}


def sharing_key(query: Query) -> Hashable | None:
    """Return the key of a query; queries with equal keys share a structure. None: it shares with
    none."""
    if why_alone(query) is not None:
        return None
    kind: Hashable
    if query.probability is not None:
        asked = query.probability
        whole = needs_whole_window(query)
        kind = ("uncertain", width_of(query.window), str(asked.expression.sql), asked.exclusive_by,
                query.summed, whole)  # fmt: skip
    elif counts_rows(query.window):
        kind = ("rows", reports_every_arrival(query.window))
    else:
        kind = ("time", reports_every_arrival(query.window) and query.frequency is None)
    return (
        query.stream.casefold(), query.where, query.partition_by, query.order_by, query.select,
        query.star, query.key, query.window.on, query.lateness, kind,
        (query.using or "DP").upper() if query.frequency is not None else None,
    )  # fmt: skip


def why_alone(query: Query) -> str | None:
    """Why a query shares a structure with no other; None if it may."""
    if query.frequency is None and query.using is not None:
        if query.using in FROM_CELLS:
            return (
                f"USING {query.using} shares a grid at every arrival, for distances and weighted"
                " sums of the same columns with the same WHERE"
            )
        return f"USING {query.using.upper()} asks for a structure of its own"
    if query.approximate:
        return "APPROXIMATE is answered by a structure of its own"
    if query.combine is not None:
        return "COMBINE keeps objects, each query its own"
    if query.late == "REVISE":
        return "LATE REVISE remembers everything, for itself"
    if query.probability is not None and query.frequency is None:
        if counts_rows(query.window):
            return "uncertain queries share windows on time only"
        if reports_every_arrival(query.window):
            return "an uncertain result at every arrival is kept up to date by its own synopsis"
    return None


def spec_of(query: Query, since: int = LONG_AGO) -> QuerySpec:
    """Return the spec of a query for a shared operator."""
    uncertain = query.probability
    return QuerySpec(
        query.k,
        width_of(query.window),
        None if query.frequency is not None else query.window.slide,
        frequency=query.frequency,
        only_changes=query.emit != "SNAPSHOTS",
        since=since,
        semantics=None if uncertain is None else uncertain.semantics,
        threshold=None if uncertain is None else uncertain.threshold,
        summed=query.summed,
    )


def agenda_of(operator: Operator) -> SharedAgenda | None:
    """The agenda that a ``SharedPlan`` gave to its operator."""
    assert isinstance(operator, SharedOperator)
    agenda = operator.agenda
    assert agenda is None or isinstance(agenda, SharedAgenda)
    return agenda


def demand_of(name: str, query: Query) -> Demand:
    if query.frequency is None:
        raise PlanError(f"query {name} has no FREQUENCY")
    return Demand(name, query.frequency, query.k)


def _step(query: Query) -> int | None:
    """Return the slide, or what bounds it."""
    return query.frequency if query.frequency is not None else query.window.slide


__all__ = [
    "Bundle",
    "SharedPlan",
    "Standing",
    "agenda_of",
    "arrange",
    "demand_of",
    "sharing_key",
    "spec_of",
    "why_alone",
]
