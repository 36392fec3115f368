"""How records reach a bundle: which columns are read, and what the gate demands of them.

Chosen once per plan. Queries with scores of their own read columns for each query
(``runtime.standing``).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from crestline.planner import Plan
from crestline.runtime.gate import Gate
from crestline.runtime.projection import Projection
from crestline.runtime.rejects import Rejects
from crestline.runtime.standing import StandingGate, common_columns, standing_roles


@dataclass(frozen=True, slots=True)
class Entrance:
    """What stands between a batch and the executor of a bundle."""

    projection: Projection
    gate: Gate
    #: The columns that all queries of the bundle read.
    common: frozenset[str]


def entrance_for(plan: Plan, schema: pa.Schema, rejects: Rejects, *, typed: bool) -> Entrance:
    """The entrance for the queries of a plan, on a stream of this schema."""
    if (standing := plan.standing) is None:
        projection = Projection(plan.query, schema, typed)
        gate = Gate(plan.query, projection.texts, rejects)
        return Entrance(projection, gate, frozenset(projection.columns))
    projection = Projection(plan.query, schema, typed, standing_roles(standing, schema))
    common = frozenset(projection.spelled[name] for name in common_columns(projection.roles))
    return Entrance(projection, StandingGate(standing, projection.texts, rejects), common)


__all__ = ["Entrance", "entrance_for"]
