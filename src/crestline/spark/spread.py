"""How records are spread over buckets, each of which has a state of its own.

A query with PARTITION BY is spread by its partitions. One with COMBINE is spread by its objects as
well, where answers about some of the objects can be merged (``runtime.shards``); any other query
has all its records in one bucket.
"""

from __future__ import annotations

from crestline.planner import Plan
from crestline.runtime.roles import Role, partition_role
from crestline.runtime.shards import can_be_split


def spread_by(plan: Plan) -> tuple[str, ...]:
    """The roles whose values decide the bucket of a record; none if all records belong together."""
    partition = tuple(partition_role(i) for i in range(len(plan.query.partition_by)))
    return (*partition, Role.OBJECT) if can_be_split(plan) else partition


__all__ = ["spread_by"]
