"""One query over one stream in one process: batches in, result rows out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.local.fold import Fold
from crestline.local.gate import Gate, Rejects
from crestline.local.metrics import Clock, Metrics
from crestline.local.projection import Projection
from crestline.planner import Plan


class Engine:
    """The run of a plan; ``push`` batches, take tables, ``finish`` for a bounded stream's end."""

    def __init__(
        self, plan: Plan, schema: pa.Schema, *, name: str, typed: bool = True, strict: bool = False
    ) -> None:
        self.typed, self.stream_schema = typed, schema
        self.projection = Projection(plan.query, schema, typed)
        self.rejects = Rejects(plan.query, strict)
        texts = self.projection.texts
        self._gate = Gate(plan.query, texts, self.rejects)
        self._fold = Fold(
            plan, self.projection.schema, name=name, rejects=self.rejects, texts=texts
        )
        self._finished = False

    @property
    def schema(self) -> pa.Schema:
        """Of every table of results."""
        return self._fold.schema

    @property
    def metrics(self) -> Metrics:
        return self._fold.metrics

    def push(self, batch: pa.Table | pa.RecordBatch) -> Iterator[pa.Table]:
        """Take records in; yield the result rows that fall due because of them."""
        if self._finished:
            raise CrestlineError("this run is finished: open a new one to push more")
        with Clock(self.metrics):
            first_row = self.metrics.rows_in
            self.metrics.rows_in += batch.num_rows
            admitted, filtered = self._gate.admit(self.projection(batch), first_row)
            self.metrics.rows_filtered += filtered
        yield from self._fold.push(admitted)

    def finish(self) -> Iterator[pa.Table]:
        """The end of a bounded stream: yield what is still due."""
        if not self._finished:
            yield from self._fold.finish()
            self._finished = True

    def state(self) -> dict[str, Any]:
        """All there is to know, for ``core.state.pack``."""
        return {
            "name": self._fold.name,
            "typed": self.typed,
            "stream_schema": self.stream_schema.serialize().to_pybytes(),
            "fold": self._fold.state(),
        }

    @classmethod
    def from_state(cls, plan: Plan, state: dict[str, Any], *, strict: bool = False) -> Engine:
        """The engine whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["stream_schema"]))
        engine = cls(plan, schema, name=state["name"], typed=state["typed"], strict=strict)
        engine._fold.restore(state["fold"])
        return engine
