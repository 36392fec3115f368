"""The columns of standing queries, and their gate.

A record of standing queries has its coordinates, which all placed queries rank by, and for each of
the others a score and perhaps a condition of its own; see ``planner.standing``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from crestline.certain.preferences import are_plain, have_scores
from crestline.language import Expression, Query
from crestline.language.tokens import quoted_name
from crestline.planner.places import place_of
from crestline.planner.shared import Bundle, Standing, arrange
from crestline.planner.standing import StandingPlan, standing_kind
from crestline.runtime.columns import as_floats, usable_type
from crestline.runtime.fitting import is_number
from crestline.runtime.gate import Checks, Gate
from crestline.runtime.projection import resolve
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Role, role_expressions
from crestline.runtime.sql import Evaluator
from crestline.types import Bools, Floats, Ints


def coordinate_role(number: int) -> str:
    """The role of a coordinate."""
    return f"at{number}"


def score_role(number: int) -> str:
    """The role of the score that is computed for the query of this number."""
    return f"score{number}"


def where_role(number: int) -> str:
    """The role of the condition that the query of this number has for itself."""
    return f"where{number}"


def standing_roles(plan: StandingPlan, schema: pa.Schema) -> dict[str, Expression]:
    """The expression of every role. The score of a record as such is its first coordinate, or that
    of the first query; it is read by none."""
    query = plan.query
    roles = dict(role_expressions(query))
    spelled = resolve(list(plan.columns), schema, query.stream)
    for i, name in enumerate(plan.columns):
        text = quoted_name(name)
        double = pa.types.is_floating(usable_type(schema.field(spelled[name]).type))
        # As the language writes a coordinate of DISTANCE.
        roles[coordinate_role(i)] = Expression(text if double else f"CAST({text} AS DOUBLE)")
    for name in plan.queries:
        if name in plan.computed:
            own, number = plan.queries[name], plan.numbers[name]
            roles[score_role(number)] = own.order_by[0].expression
            if own.where is not None and own.where != plan.where:
                roles[where_role(number)] = own.where
    if plan.columns:
        roles[Role.SCORE] = roles[coordinate_role(0)]
    return roles


def common_columns(roles: Mapping[str, Expression]) -> set[str]:
    """The columns without which no query sees a record."""
    own = ("score", "where")
    return {
        name
        for role, expression in roles.items()
        if role in (Role.SCORE, Role.WHERE) or not role.startswith(own)
        for name in expression.columns
    }


def standing_on(
    queries: Mapping[str, Query], schema: pa.Schema, *, bounded: bool = False
) -> Standing:
    """What a stream of this schema means for standing queries."""
    exact, computed = set(), set()
    unknown: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, query in queries.items():
        if standing_kind(query) is None:
            continue
        score, place = query.order_by[0].expression, place_of(query)
        spelled = resolve(list(score.columns), schema, query.stream)
        types = [usable_type(schema.field(column).type) for column in spelled.values()]
        if place is not None:
            # A distance is one of doubles in any case, a sum only if its columns are.
            fits = pa.types.is_floating if place.kind == "WEIGHTED_SUM" else is_number
            if all(map(fits, types)):
                continue
        computed.add(name)
        # DuckDB does not tell names apart by their case.
        if any(names.get(each.casefold(), each) != each for each in spelled):
            exact.add(name)
            continue
        names |= {each.casefold(): each for each in spelled}
        unknown[name] = score.to("duckdb")
    fields = {each: schema.field(resolve([each], schema, "")[each]) for each in names.values()}
    table = pa.schema([(each, usable_type(f.type)) for each, f in fields.items()]).empty_table()
    roles = {f"s{i}": sql for i, sql in enumerate(unknown.values())}
    types_of = Evaluator("")(table, roles)
    exact |= {
        name
        for name, role in zip(unknown, roles, strict=True)
        if not pa.types.is_floating(types_of[role].type)
    }
    return Standing(bounded, frozenset(exact), frozenset(computed))


def arranged(
    queries: Mapping[str, Query], schema: pa.Schema, *, bounded: bool = False
) -> list[Bundle]:
    """The queries in bundles, for a stream of this schema."""
    # One query stands alone, whatever its columns are.
    several = len(queries) > 1
    return arrange(queries, standing_on(queries, schema, bounded=bounded) if several else None)


class StandingGate(Gate):
    """Rejects records without coordinates. Those without a score for some query are rejected for
    this query: the others see them."""

    def __init__(self, plan: StandingPlan, texts: frozenset[str], rejects: Rejects) -> None:
        super().__init__(plan.query, texts, rejects)
        self._plan = plan

    def _scores(self, columns: pa.Table, checks: Checks) -> Floats:
        count, plan = columns.num_rows, self._plan
        points = np.zeros((count, len(plan.columns)))
        for i, name in enumerate(plan.columns):
            column = columns.column(coordinate_role(i))
            points[:, i] = as_floats(column)
            if column.null_count:
                null = np.asarray(column.is_null().to_numpy())
                checks.reject_column(null, name, "score is NULL", column)
            checks.reject_column(np.isnan(points[:, i]), name, "score is NaN", column)
        passes = np.ones(count, np.bool_) if checks.failed is None else ~checks.failed
        for name, query in plan.queries.items():
            if name in plan.computed:
                self._reject_computed(columns, passes, plan.numbers[name], query, checks.rows)
        self._reject_placed(points, passes, checks.rows)
        return np.zeros(count)

    def _reject_computed(
        self, columns: pa.Table, passes: Bools, number: int, query: Query, rows: Ints | range
    ) -> None:
        """Reject the records that have no score for a query, though they pass its condition."""
        scores = columns.column(score_role(number))
        bad = np.isnan(as_floats(scores))
        if not bad.any():
            return
        bad &= passes
        if (condition := passing(columns, number)) is not None:
            bad &= condition
        if bad.any():
            null = np.asarray(scores.is_null().to_numpy())
            for which, reason in ((bad & null, "score is NULL"), (bad & ~null, "score is NaN")):
                column, values = query.order_by[0].expression.sql, scores.filter(pa.array(which))
                self._rejects.add_column(np.asarray(rows)[which], column, reason, values)

    def _reject_placed(self, points: Floats, passes: Bools, rows: Ints | range) -> None:
        """Reject the records whose coordinates are so large, or so small, that they have no score
        for a query."""
        plan = self._plan
        strange = np.flatnonzero(passes & ~are_plain(points))
        if len(strange) == 0:
            return
        points = np.ascontiguousarray(points[strange])
        for name, query in plan.queries.items():
            if name not in plan.computed:
                preference = plan.spec(name).preference
                assert preference is not None
                bad = strange[~have_scores(preference, points)]
                column, values = (
                    query.order_by[0].expression.sql,
                    pa.array(np.full(len(bad), np.nan)),
                )
                self._rejects.add_column(np.asarray(rows)[bad], column, "score is NaN", values)


def passing(columns: pa.Table, number: int) -> Bools | None:
    """Which records pass the condition that the query of this number has for itself; None: it has
    none."""
    if columns.schema.get_field_index(where_role(number)) < 0:
        return None
    condition = columns.column(where_role(number)).cast(pa.bool_()).fill_null(False)
    return np.asarray(condition.to_numpy())


__all__ = [
    "StandingGate",
    "arranged",
    "common_columns",
    "coordinate_role",
    "passing",
    "score_role",
    "standing_on",
    "standing_roles",
    "where_role",
]
