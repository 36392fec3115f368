"""A bundle of queries in a pipeline, as the stages know it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import pyarrow as pa

from crestline.core.distributed import Distributed
from crestline.core.state import pack, unpack
from crestline.language import Query, parse
from crestline.planner import Bundle, Plan, StandingPlan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.executor import BundleExecutor
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import CARRIED
from crestline.runtime.rows import RowBuilder
from crestline.runtime.shards import can_be_split
from crestline.spark.spread import bucket_of


@dataclass(frozen=True)
class Member:
    """A bundle of queries, and which column of the projected frame plays which role.

    A member travels to the workers with the stages, so it holds plain values. Each worker plans the
    bundle once, from the texts of its queries.
    """

    number: int
    queries: tuple[tuple[str, str], ...]  # names and texts
    columns: dict[str, str]  # the column of each role
    roles: bytes  # the Arrow schema of the roles
    bucket: int | None  # the bucket of all records; None: ``spread_by`` says what decides it
    texts: frozenset[str] = frozenset()  # roles whose text is read as a number or a time
    shards: bool = False  # each bucket sees some of the objects, and their answers are merged
    standing: bytes | None = None  # what was decided for standing queries (``StandingPlan.state``)

    @classmethod
    def of(
        cls, number: int, bundle: Bundle, roles: pa.Schema, *, buckets: int,
        texts: frozenset[str] = frozenset(), columns: dict[str, str] | None = None,
    ) -> Self:  # fmt: skip
        """The member for a bundle. Without ``columns`` they have the names of their roles."""
        plan, bucket = bundle.plan, bucket_of(bundle, buckets)
        return cls(
            number,
            tuple((name, str(query)) for name, query in bundle.queries.items()),
            {role: role for role in roles.names} if columns is None else columns,
            roles.serialize().to_pybytes(),
            bucket,
            texts,
            can_be_split(plan) and bucket is None,
            None if plan.standing is None else pack(plan.standing.state()),
        )

    @property
    def schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(self.roles))

    @property
    def name(self) -> str:
        """The name of its first query; no other member has it."""
        return self.queries[0][0]

    @property
    def bundle(self) -> Bundle:
        return _bundle(self.queries, self.standing)

    @property
    def plan(self) -> Plan:
        return self.bundle.plan

    @property
    def query(self) -> Query:
        """The query, or what its queries have in common."""
        return self.plan.query

    def gatherer(self, rejects: Rejects) -> Distributed[AdmittedBatch]:
        """An executor for a task near the source; records carry their chunk."""
        return self._executor(pa.schema([*self.schema, *CARRIED]), rejects, bounded=False)

    def executor(self, rejects: Rejects, bounded: bool) -> Distributed[AdmittedBatch]:
        """An executor without records, for a bucket."""
        return self._executor(self.schema, rejects, bounded)

    def _executor(
        self, schema: pa.Schema, rejects: Rejects, bounded: bool
    ) -> Distributed[AdmittedBatch]:
        return BundleExecutor(
            self.bundle, schema, rejects=rejects, texts=self.texts, shard=self.shards,
            bounded=bounded,
        )  # fmt: skip

    def result_schema(self, name: str) -> pa.Schema:
        """The columns of the result rows of one of its queries, before shards are merged."""
        queries = self.bundle.queries
        return RowBuilder(queries, self.schema, shard=self.shards).schema(queries[name].emit)


@lru_cache(maxsize=256)
def _bundle(queries: tuple[tuple[str, str], ...], standing: bytes | None) -> Bundle:
    parsed = {name: parse(text) for name, text in queries}
    if standing is None:
        return Bundle.of(parsed)
    return Bundle(parsed, StandingPlan.from_state(parsed, unpack(standing)))


__all__ = ["Member"]
