"""A bundle of queries in a pipeline, as the stages know it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from crestline.core.distributed import Distributed
from crestline.language import Query, parse
from crestline.planner import Bundle
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.executor import BundleExecutor
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import CARRIED
from crestline.runtime.rows import RowBuilder


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

    @property
    def schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(self.roles))

    @property
    def name(self) -> str:
        """The name of its first query; no other member has it."""
        return self.queries[0][0]

    @property
    def bundle(self) -> Bundle:
        return _bundle(self.queries)

    @property
    def query(self) -> Query:
        """The query, or what its queries have in common."""
        return self.bundle.plan.query

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
def _bundle(queries: tuple[tuple[str, str], ...]) -> Bundle:
    return Bundle.of({name: parse(text) for name, text in queries})


__all__ = ["Member"]
