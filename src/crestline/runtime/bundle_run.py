"""A bundle of queries over the batches of one stream, in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.language import Query
from crestline.planner import Bundle, Plan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.conforming import Misfit
from crestline.runtime.entrance import columns_of_all, gate_for, projection_for
from crestline.runtime.executor import BundleExecutor
from crestline.runtime.metrics import Clock, Metrics
from crestline.runtime.projection import Expressions
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Role, role_expressions
from crestline.runtime.views import Named


@dataclass(frozen=True, slots=True)
class Admission:
    """A batch that passed the gate and may be taken in: nothing of it is kept or counted yet."""

    admitted: AdmittedBatch
    rows: int
    filtered: int


class BundleRun:
    """The gate of a bundle before its executor: ``admit`` a batch, ``take`` it in, ``finish``."""

    def __init__(
        self, bundle: Bundle, schema: pa.Schema, *, typed: bool = True, strict: bool = False,
        bounded: bool = False, keep_rejects: int | None = None, rejects: Rejects | None = None,
    ) -> None:  # fmt: skip
        """A ``bounded`` stream is there as a whole: without LATENESS no record of it is late."""
        query = bundle.plan.query
        self._typed, self._schema = typed, schema
        self.rejects = rejects or Rejects(query, strict, keep_rejects)
        self._read_for(bundle.plan)
        self.executor = BundleExecutor(
            bundle, self.projection.schema, rejects=self.rejects, texts=self.projection.texts,
            bounded=bounded,
        )  # fmt: skip
        self._finished = False

    def _read_for(self, plan: Plan) -> None:
        """Read and judge records as the queries of this plan want them."""
        self.projection = projection_for(plan, self._schema, typed=self._typed)
        self._gate = gate_for(plan, self.projection.texts, self.rejects)
        self._common = columns_of_all(plan, self.projection)

    # -- queries that come and go -------------------------------------------------------------

    def join(self, name: str, query: Query, *, computed: bool = False) -> int | None:
        """Answer one more query; see ``BundleExecutor.join``."""
        begin = self.executor.join(name, query, computed=computed)
        self._follow()
        return begin

    def leave(self, name: str) -> None:
        """Answer a query no more; others must stay."""
        self.executor.leave(name)
        self._follow()

    def _follow(self) -> None:
        if self.executor.plan.standing is not None:
            self._read_for(self.executor.plan)

    # -- records ------------------------------------------------------------------------------

    @property
    def metrics(self) -> Metrics:
        """The counts that are common to all queries of the bundle."""
        return self.executor.metrics

    @property
    def event_time(self) -> str | None:
        """The stream's column of event times, if its order decides when results come."""
        if not self.executor.watermark.none_late:
            return None
        time = role_expressions(self.executor.query)[Role.TIME]
        return self.projection.spelled.get(time.column or "")

    def admit(
        self, batch: pa.Table | pa.RecordBatch, misfits: Sequence[Misfit] = (),
        expressions: Expressions | None = None, computed: dict[str, pa.ChunkedArray] | None = None,
    ) -> Admission:  # fmt: skip
        """Project a batch and reject its bad records. ``computed`` are the values of
        ``expressions``, which other bundles on the stream need too."""
        if self._finished:
            raise CrestlineError("this run is finished: open a new one to push more")
        with Clock(self.metrics):
            served = expressions is not None and expressions.serve(self.projection)
            columns = self.projection(batch, computed=computed if served else None)
            misfits = [misfit for misfit in misfits if misfit.column in self._common]
            admitted, filtered = self._gate.admit(columns, self.metrics.rows_in, misfits)
            self.executor.check(admitted)
        return Admission(admitted, batch.num_rows, filtered)

    def take(self, admission: Admission, horizon: int = LONG_AGO) -> Iterator[Named]:
        """Take an admitted batch in; yield the result rows that fall due. No record to come is
        before ``horizon``."""
        self.metrics.rows_in += admission.rows
        self.metrics.rows_filtered += admission.filtered
        yield from self.executor.push(admission.admitted, horizon)

    def finish(self) -> Iterator[Named]:
        """End a bounded stream; yield the result rows that are still due."""
        if not self._finished:
            yield from self.executor.finish()
            self._finished = True

    def state(self) -> dict[str, Any]:
        """The whole state, for ``core.state.pack``."""
        plan = self.executor.plan
        return {
            "typed": self._typed,
            "stream_schema": self._schema.serialize().to_pybytes(),
            "queries": list(self.executor.queries),
            "shared": plan.shared,
            "standing": None if plan.standing is None else plan.standing.state(),
            "executor": self.executor.state(),
        }

    @classmethod
    def from_state(
        cls, bundle: Bundle, state: dict[str, Any], *, strict: bool = False,
        keep_rejects: int | None = None,
    ) -> BundleRun:  # fmt: skip
        """The run of this bundle whose ``state()`` this was."""
        schema = pa.ipc.read_schema(pa.py_buffer(state["stream_schema"]))
        run = cls(bundle, schema, typed=state["typed"], strict=strict, keep_rejects=keep_rejects)
        run.executor.restore(state["executor"])
        return run

    def widened(self, schema: pa.Schema, typed: bool) -> BundleRun:
        """This run with columns of wider types; SourceError if a kept value does not fit.

        The wider one has a state of its own, and the same rejects."""
        executor = self.executor
        run = BundleRun(
            Bundle(executor.queries, executor.plan), schema, typed=typed, rejects=self.rejects,
            bounded=executor.bounded,
        )  # fmt: skip
        run.executor.take_over(executor)
        run._finished = self._finished
        return run
