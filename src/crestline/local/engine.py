"""A bundle of queries over one stream in one process: batches in, result rows out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.local.fold import Fold
from crestline.local.gate import Gate, Rejects
from crestline.local.metrics import Clock, Metrics
from crestline.local.projection import Expressions, Projection
from crestline.local.views import Named
from crestline.planner import Bundle


class Engine:
    """The run of a bundle; ``push`` batches, take tables, ``finish`` for a bounded stream's end."""

    def __init__(
        self, bundle: Bundle, schema: pa.Schema, *, typed: bool = True, strict: bool = False
    ) -> None:
        query = bundle.plan.query
        self.typed, self.stream_schema = typed, schema
        self.projection = Projection(query, schema, typed)
        self.rejects = Rejects(query, strict)
        texts = self.projection.texts
        self._gate = Gate(query, texts, self.rejects)
        self.fold = Fold(bundle, self.projection.schema, rejects=self.rejects, texts=texts)
        self._finished = False

    @property
    def metrics(self) -> Metrics:
        """What is common to all queries of the bundle."""
        return self.fold.metrics

    def push(
        self, batch: pa.Table | pa.RecordBatch, expressions: Expressions | None = None,
        computed: dict[str, pa.ChunkedArray] | None = None,
    ) -> Iterator[Named]:  # fmt: skip
        """Take records in; yield the result rows that fall due because of them. ``computed`` are
        values of ``expressions``, where others on the stream need them too."""
        if self._finished:
            raise CrestlineError("this run is finished: open a new one to push more")
        with Clock(self.metrics):
            first_row = self.metrics.rows_in
            self.metrics.rows_in += batch.num_rows
            served = expressions is not None and expressions.serve(self.projection)
            columns = self.projection(batch, computed=computed if served else None)
            admitted, filtered = self._gate.admit(columns, first_row)
            self.metrics.rows_filtered += filtered
        yield from self.fold.push(admitted)

    def finish(self) -> Iterator[Named]:
        """The end of a bounded stream: yield what is still due."""
        if not self._finished:
            yield from self.fold.finish()
            self._finished = True

    def state(self) -> dict[str, Any]:
        """All there is to know, for ``core.state.pack``."""
        return {
            "typed": self.typed,
            "stream_schema": self.stream_schema.serialize().to_pybytes(),
            "queries": list(self.fold.queries),
            "fold": self.fold.state(),
        }

    @classmethod
    def from_state(cls, bundle: Bundle, state: dict[str, Any], *, strict: bool = False) -> Engine:
        """The engine whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["stream_schema"]))
        engine = cls(bundle, schema, typed=state["typed"], strict=strict)
        engine.fold.restore(state["fold"])
        return engine
