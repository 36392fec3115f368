"""How records reach a bundle: which columns are read, and what the gate demands of them.

Chosen once per plan. Queries with scores of their own read columns for each query
(``runtime.standing``).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from crestline.language import Expression
from crestline.planner import Plan
from crestline.runtime.gate import Gate
from crestline.runtime.projection import Projection
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import role_expressions
from crestline.runtime.standing import StandingGate, common_columns, standing_roles


def roles_of(plan: Plan, schema: pa.Schema) -> Mapping[str, Expression]:
    """The expression of every role that a record plays for the queries of a plan, on a stream of
    this schema."""
    standing = plan.standing
    return role_expressions(plan.query) if standing is None else standing_roles(standing, schema)


def projection_for(plan: Plan, schema: pa.Schema, *, typed: bool) -> Projection:
    """The columns that the queries of a plan read, on a stream of this schema."""
    return Projection(plan.query, schema, typed, roles_of(plan, schema))


def gate_for(plan: Plan, texts: frozenset[str], rejects: Rejects) -> Gate:
    """The gate of the queries of a plan. ``texts`` are those of their projection."""
    if plan.standing is None:
        return Gate(plan.query, texts, rejects)
    return StandingGate(plan.standing, texts, rejects)


def columns_of_all(plan: Plan, projection: Projection) -> frozenset[str]:
    """The columns of the stream without which no query of a plan sees a record."""
    if plan.standing is None:
        return frozenset(projection.columns)
    return frozenset(projection.spelled[name] for name in common_columns(projection.roles))


__all__ = ["columns_of_all", "gate_for", "projection_for", "roles_of"]
