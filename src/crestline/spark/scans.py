"""Files as Spark's workers read them: the stream in pieces, and which task reads which.

The driver looks at the files as the in-process engine does: which they are, their columns and
types. Workers read pieces of them with the same code (``crestline.sources``). So Spark only hands
out numbers of tasks: no record goes through the JVM before it is pruned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crestline.language import Expression, Query
from crestline.planner import Bundle
from crestline.runtime.conforming import Uses, settled, widened
from crestline.runtime.entrance import projection_for
from crestline.runtime.rehearsal import families_of
from crestline.runtime.standing import arranged
from crestline.sources import Source
from crestline.sources.merging import merged, shared_columns
from crestline.spark.parcels import Parcels
from crestline.spark.remote import parallelism
from crestline.spark.spread import BUCKETS, check_buckets, spread_by
from crestline.spark.stages import Layout, Member, NumberedPiece, Reading, Scan
from crestline.spark.stages.prune import plans_of
from crestline.spark.stages.rows import PRUNED, ddl
from crestline.spark.stages.scan import Warm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The number of an input stands above these bits of a chunk's number.
INPUT_BITS = 40
#: Bytes for which compiling kernels pays.
_MANY_BYTES = 1 << 22
#: Bytes that a task reads at most, if there are enough pieces.
_TASK_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Queries planned on the files of a stream; ``pruned`` is a frame of what workers gather."""

    layout: Layout
    members: tuple[Member, ...]
    buckets: int

    def pruned(
        self, session: SparkSession, pieces: Sequence[NumberedPiece], reading: Reading,
        parcels: Parcels | None,
    ) -> DataFrame:  # fmt: skip
        """One row per task and bucket. There must be a piece."""
        cores = parallelism(session)
        if sum(each.piece.weight for each in pieces) >= _MANY_BYTES:
            _warm(session, families_of(plans_of(self.members)), cores)
        tasks = tasks_of(pieces, cores)
        # What goes to the driver need not be in a folder that workers reach.
        parcels = parcels if self.buckets > 1 else None
        scan = Scan(tasks, self.layout, self.members, self.buckets, reading, parcels)
        numbers = session.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(scan, ddl(PRUNED))


#: Sessions, and families of queries whose kernels their workers have compiled.
_warmed: set[tuple[int, tuple[str, ...]]] = set()


def _warm(session: SparkSession, families: list[str], cores: int) -> None:
    """Let every machine compile the kernels before the records come, once in a session."""
    key = (id(session), tuple(families))
    if key not in _warmed:
        tasks = session.range(0, 2 * cores, 1, 2 * cores)
        tasks.mapInArrow(Warm(tuple(families)), "task long").toArrow()
        _warmed.add(key)


def plan_scan(
    queries: Mapping[str, Query], layout: Layout, *, bounded: bool, buckets: int | None = None
) -> ScanPlan:
    """Plan the queries on a stream of this layout."""
    bundles = arranged(queries, layout.schema, bounded=bounded)
    spread = any(spread_by(bundle.plan) for bundle in bundles)
    buckets = (BUCKETS if spread else 1) if buckets is None else buckets
    check_buckets(buckets)
    members = tuple(
        _member(number, bundle, layout, buckets) for number, bundle in enumerate(bundles)
    )
    return ScanPlan(layout, members, buckets)


def _member(number: int, bundle: Bundle, layout: Layout, buckets: int) -> Member:
    projection = projection_for(bundle.plan, layout.schema, typed=layout.typed)
    return Member.of(number, bundle, projection.schema, buckets=buckets, texts=projection.texts)


def layout_of(queries: Mapping[str, Query], inputs: Mapping[str, Source]) -> Layout:
    """The columns of a stream, or of several inputs of queries that read the same ones."""
    query = next(iter(queries.values()))
    filled = {name: opened for name, opened in inputs.items() if opened.schema.names}
    shared, across = None, None
    if query.others:
        assert query.combine is not None
        opened = merged(query, inputs)  # refuses inputs that cannot be put in order
        shared, across = shared_columns(query, filled), query.combine.across
    else:
        opened = inputs[query.stream]
    schema = opened.schema
    uses = Uses.of(queries.values(), schema)
    schema = settled(schema, uses)
    for variant in opened.variants:
        schema = widened(schema, variant, opened.schema.names, uses)
    return Layout(schema, opened.typed, shared, across)


def common_where(queries: Mapping[str, Query]) -> Expression | None:
    """The condition that all queries share, if they read one input."""
    conditions = {query.where for query in queries.values()}
    one = len(conditions) == 1 and not any(query.others for query in queries.values())
    return conditions.pop() if one else None


def numbered(queries: Mapping[str, Query], inputs: Mapping[str, Source]) -> list[NumberedPiece]:
    """The pieces of all inputs, in the order of arrival within each input."""
    where = common_where(queries)
    pieces = []
    for number, (name, opened) in enumerate(inputs.items()):
        if not opened.schema.names:
            continue  # it has no records
        assert opened.pieces is not None, "the stream is in files"
        pieces += [
            NumberedPiece((number << INPUT_BITS) + position, name, piece)
            for position, piece in enumerate(opened.pieces(where))
        ]
    return pieces


def tasks_of(pieces: Sequence[NumberedPiece], cores: int) -> tuple[tuple[NumberedPiece, ...], ...]:
    """Pieces for each task: neighbours, of about equal weight, enough tasks for all cores."""
    weights = [max(1, each.piece.weight) for each in pieces]
    total = sum(weights)
    count = min(len(pieces), max(cores, -(-total // _TASK_BYTES)))
    tasks: list[list[NumberedPiece]] = [[] for _ in range(count)]
    before = 0
    for each, weight in zip(pieces, weights, strict=True):
        # The task in whose share of the bytes the middle of the piece lies.
        tasks[min(count - 1, (2 * before + weight) * count // (2 * total))].append(each)
        before += weight
    return tuple(tuple(task) for task in tasks if task)


__all__ = [
    "INPUT_BITS", "ScanPlan", "common_where", "layout_of", "numbered",
    "plan_scan", "tasks_of",
]  # fmt: skip
