"""Standing queries: queries at every arrival that differ in their scores share one structure.

They read the same stream and show the same columns, so that they break ties alike. Their scores
differ: by a point, by weights, or altogether. A *placed* query ranks records by where they lie, and
the grid of ``certain.standing`` finds it from there. Scores of all others are computed with each
record. They take no part in the grid and share the rest.

Queries ``USING CPM`` or ``USING SNN`` share one grid of records if they are placed, by a distance
or a weighted sum, and have the same ``WHERE``. Others with these names run alone.

``WHERE`` may differ too. A query that has one of its own sees the records that pass it: no other
record has a score for it. Where records can be late, queries on time share only with those of the
same ``WHERE``, since a record that one of them does not see would move the watermark of all.

>>> from crestline.language import parse
>>> text = "SELECT TOP 3 id FROM s [ROWS 99] ORDER BY DISTANCE((x, y), ({}, 0))"
>>> here, there = (parse(text.format(x)) for x in (1, 2))
>>> standing_key(here) == standing_key(there) != None
True
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from crestline.certain.query_grid import suitable_resolution
from crestline.certain.standing_operator import StandingSpec, StandingTopK
from crestline.certain.standing_options import FROM_CELLS, MOST_READ
from crestline.core import sound
from crestline.core.display import cell
from crestline.core.operator import Operator
from crestline.core.snapshots import Snapshots
from crestline.core.window import RangeWindow, RowsWindow, Window, counts_rows
from crestline.kernels.certain.standing_grid import spare_of
from crestline.language import Expression, Query
from crestline.planner.catalogue import reports_every_arrival
from crestline.planner.places import columns_of, place_of, preference_at
from crestline.planner.plan import harmonic, width_of

#: So many rankings share a structure: placed ones, and others. ``crestline bench arrivals``
#: measures from where on that pays.
_FEWEST_PLACED, _FEWEST = 2, 4
#: Recent records that all queries share, unless a window is too short for so many.
BUFFER = 2000
#: Queries share only if the buffer of the longest window would be at most so many times that of the
#: shortest.
_SPREAD = 4


@dataclass(frozen=True, repr=False)
class StandingPlan:
    """How standing queries are run, with one structure.

    ``numbers`` are those of the queries for the operator, ``columns`` the coordinates of a record,
    ``where`` the condition that all queries have, and ``computed`` the queries whose scores are
    computed with the records. What was decided once stays as queries come and go.
    """

    queries: Mapping[str, Query]
    numbers: Mapping[str, int]
    columns: tuple[str, ...]
    where: Expression | None
    computed: frozenset[str]

    @classmethod
    def of(
        cls, queries: Mapping[str, Query], computed: frozenset[str] = frozenset()
    ) -> StandingPlan:
        """The plan of queries with one ``standing_key``. Those in ``computed`` are not placed,
        since their columns are no doubles."""
        conditions = {query.where for query in queries.values()}
        where = conditions.pop() if len(conditions) == 1 else None
        places = {name: place_of(query) for name, query in queries.items()}
        placed = {
            name: place
            for name, place in places.items()
            if place is not None and name not in computed and queries[name].where == where
        }
        columns = next((columns_of(place) for place in placed.values()), ())
        numbers = {name: number for number, name in enumerate(queries)}
        return cls(queries, numbers, columns, where, frozenset(queries.keys() - placed.keys()))

    def __repr__(self) -> str:
        return f"<StandingPlan: one structure for {', '.join(map(cell, self.queries))}>"

    @property
    def shared(self) -> bool:
        return True

    @property
    def together(self) -> None:
        return None

    @property
    def standing(self) -> StandingPlan:
        return self

    @property
    def exact(self) -> bool:
        return True

    @cached_property
    def query(self) -> Query:
        """What the queries have in common, with the largest k and the longest window. Its score is
        that of the first one, and its EMIT has no meaning."""
        some = next(iter(self.queries.values()))
        most = max(query.k for query in self.queries.values())
        longest = max(_width(query) for query in self.queries.values())
        window: Window = RowsWindow(longest, 1)
        if some.window.on is not None:
            window = RangeWindow(longest, None, some.window.on)
        return replace(
            some, k=most, window=window, where=self.where, name=None, using=None, options=()
        )

    @property
    def algorithm(self) -> str:
        """The algorithm that all queries share."""
        return next(iter(self.queries.values())).using or "RAPF"

    @property
    def reads_cells(self) -> bool:
        """Whether answers are read from cells that hold the longest window."""
        return self.algorithm in FROM_CELLS

    @property
    def _counts(self) -> bool:
        return counts_rows(next(iter(self.queries.values())).window)

    def spec(self, name: str) -> StandingSpec:
        """Return the spec of a query for the operator."""
        query = self.queries[name]
        preference = None if name in self.computed else preference_at(query)
        return StandingSpec(
            preference, query.k, _width(query), not self._counts, query.emit == "SNAPSHOTS"
        )

    @property
    def buffer(self) -> int:
        """How many recent records the structure holds, at most."""
        return min(map(buffer_of, self.queries.values()))

    def make_operator(self, *, shard: bool = False) -> StandingTopK:
        """Make a fresh operator."""
        assert not shard, "queries with COMBINE share with none"
        specs = [self.spec(name) for name in self.queries]
        return StandingTopK(
            specs, dimensions=len(self.columns), buffer=self.buffer, algorithm=self.algorithm
        )

    def save_operator(self, operator: Operator) -> dict[str, Any]:
        return operator.state()

    def restore_operator(self, state: dict[str, Any], *, shard: bool = False) -> StandingTopK:
        sound.like(state, self.make_operator(shard=shard).state() | {"standing": {}, "pending": {}})
        operator = StandingTopK.from_state(state)
        options = operator.queries.options
        same = (options.dimensions, options.algorithm) == (len(self.columns), self.algorithm)
        same = same and sorted(operator.queries.numbers) == sorted(self.numbers.values())
        specs = {number: self.spec(name) for name, number in self.numbers.items()}
        same = same and all(operator.stands_for(number, spec) for number, spec in specs.items())
        given = {self.numbers[name] for name in self.computed}
        sound.require(same and operator.timed != self._counts, "the operator answers other queries")
        sound.require(operator.given.keys() == given, "the operator is given other scores")
        return operator

    def finish(self, operator: Operator, latest: int, end: int) -> Iterator[Snapshots]:
        """End a bounded stream."""
        assert isinstance(operator, StandingTopK)
        return operator.finish(latest)

    # -- queries that come and go -------------------------------------------------------------

    def accepts(self, query: Query, operator: Operator) -> bool:
        """Whether a query with the same ``standing_key`` may join, given the buffer that there
        is."""
        assert isinstance(operator, StandingTopK)
        if self.where is not None and query.where != self.where:
            return False
        if self.reads_cells:
            return True
        if self._counts:
            return 2 * operator.queries.options.buffer - 1 <= _width(query)
        return _SPREAD * _width(query) >= min(map(_width, self.queries.values()))

    def joined(self, name: str, query: Query, number: int, *, computed: bool) -> StandingPlan:
        """The plan with one more query; if ``computed``, it is not placed."""
        place = place_of(query)
        placed = place is not None and query.where == self.where and not computed
        placed = placed and place is not None and columns_of(place) == self.columns
        return replace(
            self, queries={**self.queries, name: query}, numbers={**self.numbers, name: number},
            computed=self.computed if placed else self.computed | {name},
        )  # fmt: skip

    def without(self, name: str) -> StandingPlan:
        """The plan without a query; others must stay."""
        queries = {other: query for other, query in self.queries.items() if other != name}
        numbers = {other: number for other, number in self.numbers.items() if other != name}
        return replace(self, queries=queries, numbers=numbers, computed=self.computed - {name})

    # -- what explain says --------------------------------------------------------------------

    @property
    def resolution(self) -> int:
        """The cells of the grid in each dimension, with the queries that there are."""
        placed = [query for name, query in self.queries.items() if name not in self.computed]
        if not placed:
            return 1
        if self.reads_cells:
            widths = [_width(query) if self._counts else MOST_READ for query in placed]
            share = sum(query.k for query in placed) / sum(widths)
            return suitable_resolution(share, len(self.columns), MOST_READ)
        inside = [query.k + spare_of(query.k) / 2 for query in placed]
        return suitable_resolution(sum(inside) / len(inside) / self.buffer, len(self.columns))

    @property
    def references(self) -> float:
        """References to records in the bands of all queries, if scores come in random order; on
        time, as if a window held as many records as the buffer does twice."""
        if self.reads_cells:
            spare = 1 if self.algorithm == "SNN" else 0
            return sum(q.k + spare * spare_of(q.k) for q in self.queries.values())
        widths = [
            _width(query) if self._counts else 2 * self.buffer for query in self.queries.values()
        ]
        return sum(
            k if k >= width else k * (1 + harmonic(width) - harmonic(k))
            for width, k in zip(widths, (q.k for q in self.queries.values()), strict=True)
        )

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What was decided, for ``from_state``."""
        where = None if self.where is None else self.where.sql
        return {
            "numbers": dict(self.numbers), "columns": list(self.columns), "where": where,
            "computed": sorted(self.computed),
        }  # fmt: skip

    @classmethod
    def from_state(cls, queries: Mapping[str, Query], state: dict[str, Any]) -> StandingPlan:
        """The plan of these queries whose ``state()`` this was."""
        where = None if state["where"] is None else Expression(state["where"])
        numbers, computed = dict(state["numbers"]), frozenset(state["computed"])
        plan = cls(queries, numbers, tuple(state["columns"]), where, computed)
        sound.require(list(numbers) == list(queries), "queries have other numbers")
        sound.require(computed <= queries.keys(), "scores of other queries are computed")
        sound.require(len(set(map(standing_kind, queries.values()))) == 1, "queries cannot share")
        for name, query in queries.items():
            sound.require(where is None or query.where == where, "queries have another WHERE")
            if name not in computed:
                place = place_of(query)
                fits = place is not None and columns_of(place) == plan.columns
                sound.require(fits and query.where == where, "a query is placed elsewhere")
        return plan


def standing_kind(query: Query) -> Hashable | None:
    """What standing queries have in common, whatever their scores and conditions; None for others.

    Further ORDER BY terms, and ``[ROWS n ON ts]``, break ties otherwise than by who came last.
    """
    window = query.window
    if (
        not _can_share(query) or query.approximate or query.frequency is not None
        or query.combine is not None or query.probability is not None or query.late == "REVISE"
        or query.partition_by or len(query.order_by) > 1 or not reports_every_arrival(window)
        or width_of(window) is None or (counts_rows(window) and window.on is not None)
    ):  # fmt: skip
        return None
    return (
        query.stream.casefold(), query.select, query.star, query.key, window.on, query.lateness,
        counts_rows(window), query.using,
    )  # fmt: skip


def _can_share(query: Query) -> bool:
    """Whether its algorithm is one that answers many queries at once."""
    if query.using is None:
        return True
    if query.using not in FROM_CELLS or not dict(query.options).get("attributes", True):
        return False
    place = place_of(query)
    return place is not None and place.kind != "HAVERSINE"


def standing_key(query: Query, *, none_late: bool = False) -> Hashable | None:
    """Return the key of a query; queries with equal keys may share a structure though their scores
    differ. None: it does not. ``none_late``: without LATENESS no record is late."""
    kind = standing_kind(query)
    if kind is None:
        return None
    place = place_of(query)
    space = (
        None if place is None else ("earth" if place.kind == "HAVERSINE" else "", columns_of(place))
    )
    if query.using is not None:
        return (kind, space, query.where)  # all of them are placed
    if counts_rows(query.window) or (none_late and query.lateness is None):
        return (kind, space)
    # A record without a score does not move the watermark of a query alone.
    return None if place is None else (kind, space, query.where)


def grouped(queries: Mapping[str, Query]) -> list[dict[str, Query]]:
    """Queries with one ``standing_key`` in groups whose windows are alike enough for one buffer;
    where cells hold the whole window, they may differ."""
    if next(iter(queries.values())).using is not None:
        return [dict(queries)]
    groups: list[dict[str, Query]] = []
    least = 0
    for name in sorted(queries, key=lambda name: _reach(queries[name])):
        reach = _reach(queries[name])
        if not groups or reach > _SPREAD * least:
            groups.append({})
            least = reach
        groups[-1][name] = queries[name]
    return [{name: queries[name] for name in queries if name in group} for group in groups]


def pays(rankings: Collection[Query]) -> bool:
    """Whether queries with these rankings are better off with one structure."""
    placed = sum(1 for query in rankings if place_of(query) is not None)
    return placed >= _FEWEST_PLACED or len(rankings) >= _FEWEST


def _reach(query: Query) -> int:
    return buffer_of(query) if counts_rows(query.window) else _width(query)


def buffer_of(query: Query) -> int:
    """How many recent records a query can leave waiting, at most: no more than half its window
    (Theorem 5.1 of Pripuzic et al.). On time the structure sees to that."""
    return min(BUFFER, (_width(query) + 1) // 2) if counts_rows(query.window) else BUFFER


def _width(query: Query) -> int:
    width = width_of(query.window)
    assert width is not None
    return width


__all__ = [
    "BUFFER",
    "StandingPlan",
    "grouped",
    "pays",
    "standing_key",
    "standing_kind",
]
