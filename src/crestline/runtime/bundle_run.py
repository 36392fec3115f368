"""A bundle of queries over one stream in one process: batches in, result rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.planner import Bundle
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.conforming import Misfit
from crestline.runtime.executor import BundleExecutor
from crestline.runtime.gate import Gate
from crestline.runtime.metrics import Clock, Metrics
from crestline.runtime.projection import Expressions, Projection
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Role, role_expressions
from crestline.runtime.views import Named


@dataclass(frozen=True, slots=True)
class Admission:
    """A batch that was looked at and may be taken in: nothing of it is kept or counted yet."""

    admitted: AdmittedBatch
    rows: int
    filtered: int


class BundleRun:
    """The run of a bundle: ``admit`` a batch, ``take`` it in, ``finish`` for the stream's end."""

    def __init__(
        self, bundle: Bundle, schema: pa.Schema, *, typed: bool = True, strict: bool = False,
        bounded: bool = False, keep_rejects: int | None = None, rejects: Rejects | None = None,
    ) -> None:  # fmt: skip
        """A ``bounded`` stream is there as a whole: without LATENESS no record of it is late."""
        query = bundle.plan.query
        self.typed, self.stream_schema = typed, schema
        self.projection = Projection(query, schema, typed)
        self.rejects = rejects or Rejects(query, strict, keep_rejects)
        texts = self.projection.texts
        self._gate = Gate(query, texts, self.rejects)
        self.fold = BundleExecutor(
            bundle, self.projection.schema, rejects=self.rejects, texts=texts, bounded=bounded
        )
        self._finished = False

    @property
    def metrics(self) -> Metrics:
        """What is common to all queries of the bundle."""
        return self.fold.metrics

    @property
    def event_time(self) -> str | None:
        """The stream's column of event times, where its order is worth knowing."""
        if not self.fold.none_late:
            return None
        return self.projection.spelled.get(
            role_expressions(self.fold.query)[Role.TIME].column or ""
        )

    def admit(
        self, batch: pa.Table | pa.RecordBatch, misfits: Sequence[Misfit] = (),
        expressions: Expressions | None = None, computed: dict[str, pa.ChunkedArray] | None = None,
    ) -> Admission:  # fmt: skip
        """Look at records; what is bad is set aside. ``computed`` are values of ``expressions``,
        where others on the stream need them too."""
        if self._finished:
            raise CrestlineError("this run is finished: open a new one to push more")
        with Clock(self.metrics):
            served = expressions is not None and expressions.serve(self.projection)
            columns = self.projection(batch, computed=computed if served else None)
            mine = [misfit for misfit in misfits if misfit.column in self.projection.columns]
            admitted, filtered = self._gate.admit(columns, self.metrics.rows_in, mine)
            self.fold.check(admitted)
        return Admission(admitted, batch.num_rows, filtered)

    def take(self, admission: Admission, horizon: int = LONG_AGO) -> Iterator[Named]:
        """Take records in; yield the result rows that fall due because of them. No record to come
        is before the ``horizon``."""
        self.metrics.rows_in += admission.rows
        self.metrics.rows_filtered += admission.filtered
        yield from self.fold.push(admission.admitted, horizon)

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
    def from_state(
        cls, bundle: Bundle, state: dict[str, Any], *, strict: bool = False,
        keep_rejects: int | None = None,
    ) -> BundleRun:  # fmt: skip
        """The engine whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["stream_schema"]))
        typed = state["typed"]
        engine = cls(bundle, schema, typed=typed, strict=strict, keep_rejects=keep_rejects)
        engine.fold.restore(state["fold"])
        return engine

    def widened(self, schema: pa.Schema, typed: bool) -> BundleRun:
        """This engine with columns of wider types; SourceError if a kept value does not fit.

        The wider one has a state of its own, and the same rejects."""
        bundle = Bundle(self.fold.queries, self.fold.plan)
        engine = BundleRun(
            bundle, schema, typed=typed, rejects=self.rejects, bounded=self.fold.bounded
        )
        engine.fold.take_over(self.fold)
        engine._finished = self._finished
        return engine
