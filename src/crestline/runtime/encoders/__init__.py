"""One encoder per family of queries: which numbers the operator sees of a record.

A family (certain, uncertain, incomplete) differs from the others in its encoder and its operator,
and in nothing else.
"""

from __future__ import annotations

import pyarrow as pa

from crestline.core.operator import Operator
from crestline.planner import Plan
from crestline.runtime.encoders.base import Encoder
from crestline.runtime.encoders.incomplete import IncompleteEncoder
from crestline.runtime.encoders.standing import StandingEncoder
from crestline.runtime.encoders.uncertain import UncertainEncoder
from crestline.runtime.rejects import Rejects


def encoder_for(
    plan: Plan, roles: pa.Schema, operator: Operator, rejects: Rejects, *, shard: bool = False
) -> Encoder:
    """The encoder of the query's family; a ``shard`` reports one object more than k."""
    query = plan.query
    if plan.standing is not None:
        return StandingEncoder(plan.standing, operator)
    if query.combine is not None:
        return IncompleteEncoder(query, operator, rejects, query.k + shard)
    if query.probability is not None:
        return UncertainEncoder(query, operator, rejects, roles)
    return Encoder(query, operator)


__all__ = ["Encoder", "encoder_for"]
