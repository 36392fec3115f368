"""Near the source: each task reads its pieces of the stream with the code of the in-process engine,
and keeps the records that can matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.runtime.conforming import Uses, conformed
from crestline.runtime.entrance import columns_of_all, projection_for
from crestline.runtime.projection import Expressions
from crestline.runtime.rehearsal import warm, warm_for
from crestline.sources.base import Piece
from crestline.sources.merging import SharedColumns, tagged
from crestline.spark.parcels import Parcels
from crestline.spark.stages.member import Member
from crestline.spark.stages.prune import Pruning, plans_of, queries_of
from crestline.spark.stages.settling import settle
from crestline.spark.stages.sieve import Reading, Sieve


@dataclass(frozen=True, slots=True)
class NumberedPiece:
    """A piece of the stream, and its place in the order of arrival."""

    number: int
    #: The name of its input, as FROM spells it.
    stream: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a stream, as all its pieces are read."""

    schema: pa.Schema
    typed: bool
    #: The columns that several inputs share, and the ACROSS column; None for one input.
    shared: SharedColumns | None = None
    across: str | None = None


@dataclass(frozen=True)
class Warm:
    """For ``mapInArrow``: has the kernels of families compiled on the machine of the task."""

    families: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        warm(self.families)
        yield from batches


@dataclass(frozen=True)
class Scan:
    """For ``mapInArrow`` over numbers of tasks: reads the chunks of each task."""

    tasks: tuple[tuple[NumberedPiece, ...], ...]
    layout: Layout
    members: tuple[Member, ...]
    buckets: int
    reading: Reading = field(default_factory=Reading)
    parcels: Parcels | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self.read(self.tasks[task])
        settle()

    def read(self, chunks: Sequence[NumberedPiece]) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        pruning = Pruning(self.members, self.buckets, self.reading)
        columns = _Columns(self.layout, self.members)
        weighed = False
        for chunk in chunks:
            if chunk.piece.left_out:
                for sieve in pruning.sieves:
                    sieve.leave_out(chunk.number, chunk.piece.left_out)
                continue
            source = chunk.piece.open()
            for batch in source.read(columns.needed(chunk, source.schema)):
                if batch.num_rows == 0:
                    continue
                if not weighed:
                    warm_for(plans_of(self.members), batch.num_rows)
                    weighed = True
                columns.show(pruning.sieves, chunk, batch)
            for sieve in pruning.sieves:
                sieve.end_chunk(chunk.number, source.rejects(), source.lines(), chunk.stream)
        yield from pruning.payloads(self.parcels)


class _Columns:
    """From batches of the stream to the columns of each member, by role."""

    def __init__(self, layout: Layout, members: Sequence[Member]) -> None:
        self._layout = layout
        self._projections = [
            projection_for(member.plan, layout.schema, typed=layout.typed) for member in members
        ]
        pairs = zip(members, self._projections, strict=True)
        #: The columns without which no query of a member sees a record.
        self._common = [columns_of_all(member.plan, projection) for member, projection in pairs]
        self._expressions = Expressions(self._projections) if len(members) > 1 else None
        names = (name for projection in self._projections for name in projection.columns)
        self._names = list(dict.fromkeys(names))
        self._uses = Uses.of(queries_of(members).values(), layout.schema)

    def needed(self, chunk: NumberedPiece, schema: pa.Schema) -> list[str]:
        """The columns to read of a piece, as it spells them."""
        layout = self._layout
        if layout.shared is not None:
            return [layout.shared.spelled[chunk.stream][name] for name in self._own]
        missing = [name for name in self._names if name not in schema.names]
        if missing:
            raise SourceError(
                f"stream {chunk.stream!r}: a file has no column {missing[0]!r}: its columns are"
                f" {', '.join(schema.names)}"
            )
        return self._names

    @property
    def _own(self) -> list[str]:
        """The columns that inputs have themselves."""
        return [name for name in self._names if name != self._layout.across]

    def show(
        self, sieves: Sequence[Sieve], chunk: NumberedPiece, batch: pa.Table | pa.RecordBatch
    ) -> None:
        """Show a batch to the sieves."""
        layout = self._layout
        if layout.shared is not None and layout.across is not None:
            batch = layout.shared.conformed(chunk.stream, batch, self._own)
            batch = tagged(batch, chunk.stream, layout.across)
        batch, misfits = conformed(batch, layout.schema, self._names, self._uses)
        computed = None if self._expressions is None else self._expressions(batch)
        for sieve, projection, common in zip(sieves, self._projections, self._common, strict=True):
            served = self._expressions is not None and self._expressions.serve(projection)
            columns = projection(batch, computed=computed if served else None)
            own = [misfit for misfit in misfits if misfit.column in common]
            sieve.add(chunk.number, columns, own)


__all__ = ["Layout", "NumberedPiece", "Scan", "Warm"]
