"""Where the state lives: merge what tasks gathered for a bucket, report what falls due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from crestline.core.errors import StateError
from crestline.core.sentinels import LONG_AGO
from crestline.core.state import pack, unpack
from crestline.core.tables import table_from
from crestline.runtime.gathering import in_arrival_order
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Carried, Number
from crestline.runtime.views import Named
from crestline.spark.history import States
from crestline.spark.parcels import Parcels, fetched
from crestline.spark.stages.accounts import BucketAccount, TaskAccount
from crestline.spark.stages.ledger import LEDGER, Ledger, LedgerState
from crestline.spark.stages.member import Member
from crestline.spark.stages.rows import (
    CHUNKED_REJECTS,
    OutcomeRow,
    TaskOutput,
    from_payload,
    outcome_batch,
    sent,
)
from crestline.spark.stages.settling import settle


@dataclass(frozen=True)
class Step:
    """Merges the payloads of a bucket into its state and reports what falls due.

    A bounded step is the only one of its bucket: it reports everything, and its state is empty.
    """

    members: tuple[Member, ...]
    buckets: int
    bounded: bool
    keep_rejects: bool = False
    whole: bool = False

    def __call__(
        self, bucket: int, state: bytes | None, payloads: Iterable[bytes]
    ) -> tuple[pa.RecordBatch, bytes]:
        by_task = [from_payload(payload) for payload in payloads]
        before = {} if state is None else self._states(state)
        rows: list[OutcomeRow] = []
        after: dict[str, Any] = {}
        for member in self.members:
            step = _MemberStep(self, member, bucket, before.get(member.name))
            rows += step.run([outputs[member.number] for outputs in by_task])
            if not self.bounded:
                after[member.name] = step.state().to_plain()
        packed = b"" if self.bounded else pack({"buckets": self.buckets, "members": after})
        return outcome_batch(rows), packed

    def _states(self, state: bytes) -> dict[str, MemberState]:
        """The members' states; StateError if they belong to another pipeline."""
        plain = unpack(state)
        names = sorted(plain["members"])
        wanted = sorted(member.name for member in self.members)
        if names != wanted:
            raise StateError(
                f"this checkpoint belongs to other queries ({', '.join(names)}): start"
                f" {', '.join(wanted)} with a checkpoint of its own"
            )
        if plain["buckets"] != self.buckets:
            raise StateError(
                f"this checkpoint was made with {plain['buckets']} buckets, now there are"
                f" {self.buckets}: go on with buckets={plain['buckets']}, or start with a new"
                " checkpoint"
            )
        return {name: MemberState.from_plain(each) for name, each in plain["members"].items()}


@dataclass(frozen=True, slots=True)
class MemberState:
    """What a bucket keeps for a member from round to round."""

    executor: bytes
    #: Only in the bucket that keeps the ledger.
    ledger: LedgerState | None

    def to_plain(self) -> dict[str, Any]:
        ledger = None if self.ledger is None else self.ledger.to_plain()
        return {"executor": self.executor, "ledger": ledger}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        ledger = plain["ledger"]
        return cls(plain["executor"], None if ledger is None else LedgerState.from_plain(ledger))


class _MemberStep:
    """One member's part in a step."""

    def __init__(self, step: Step, member: Member, bucket: int, state: MemberState | None) -> None:
        self._step, self._member = step, member
        self._rejects = Rejects(member.query, strict=False)
        self._executor = member.executor(self._rejects, step.bounded)
        self._ledger = Ledger(member.query) if bucket == LEDGER else None
        if state is not None:
            self._executor = self._executor.from_bytes(state.executor)
            if self._ledger is not None:
                self._ledger = Ledger(member.query, state.ledger)
        self._late_before = self._executor.metrics.rows_late
        self._aside_before = sum(self._aside().values())

    def run(self, outputs: list[TaskOutput]) -> Iterator[OutcomeRow]:
        """Merge what the tasks gathered; yield the rows of the outcome."""
        number = self._member.number
        if self._ledger is not None:
            self._count(self._ledger, [o.account for o in outputs if o.account is not None])
        latest = max(output.latest for output in outputs)
        tables = [output.records for output in outputs if output.records is not None]
        tables.sort(key=lambda table: table.column(Carried.CHUNK)[0].as_py())
        for name, table in self._results(tables, latest if latest > LONG_AGO else None):
            yield OutcomeRow.of_results(number, name, table)
        if self._step.keep_rejects:
            rejects = self._chunked_rejects(tables)
            if rejects.num_rows:
                yield OutcomeRow.of_rejects(number, rejects)
        yield self._account_row()

    def state(self) -> MemberState:
        ledger = None if self._ledger is None else self._ledger.state
        return MemberState(self._executor.to_bytes(), ledger)

    def _count(self, ledger: Ledger, accounts: list[TaskAccount]) -> None:
        # With COMBINE all records come here, and the executor counts those that are late.
        combines = self._member.query.combine is not None
        late_before = LONG_AGO if combines else self._executor.late_before
        ledger.add(accounts, late_before, self._executor.latest)

    def _results(self, tables: list[pa.Table], latest: int | None) -> Iterator[Named]:
        executor = self._executor
        if self._step.whole:
            if tables:
                yield from executor.push(in_arrival_order(pa.concat_tables(tables)))
        else:
            if tables:
                executor.merge(pa.concat_tables(tables))
            if latest is not None or self._member.query.window.on is None:
                yield from executor.due(latest)
        if self._step.bounded:
            yield from executor.finish()

    def _chunked_rejects(self, tables: list[pa.Table]) -> pa.Table:
        """The rejects of this round, by their rows in the chunks of the stream."""
        rejects = self._rejects.take()
        # Of a late or repeated record in a stream nobody knows the row.
        row = chunk = pa.nulls(rejects.num_rows, pa.int64())
        if self._step.bounded and rejects.num_rows and not self._step.whole:
            # All records are here, and ``Distributed.merge`` numbered them in arrival order.
            arrived = in_arrival_order(pa.concat_tables(tables)).columns.take(rejects.column("row"))
            row, chunk = arrived.column(Number.ROW), arrived.column(Carried.CHUNK)
        rejects = rejects.set_column(1, "row", row).append_column(Carried.CHUNK, chunk)
        parts = [rejects.cast(CHUNKED_REJECTS)]
        if self._ledger is not None:
            parts += [table_from(part).cast(CHUNKED_REJECTS) for part in self._ledger.rejects]
        return pa.concat_tables(parts)

    def _account_row(self) -> OutcomeRow:
        metrics, ledger = self._executor.metrics, self._ledger
        aside = self._aside()
        account = BucketAccount(
            kept=metrics.kept,
            kept_peak=metrics.kept_peak,
            partitions=metrics.partitions,
            late=metrics.rows_late,
            lateness_needed=metrics.lateness_needed,
            aside=aside,
            rules_above_one=metrics.rules_above_one,
            seconds=metrics.seconds,
            approximation=metrics.approximation,
            filtered=self._executor.filtered,
        )
        late = metrics.rows_late - self._late_before
        rejected = sum(aside.values()) - self._aside_before
        if ledger is not None:
            account.ledger = ledger.account()
            needed = max(account.lateness_needed, ledger.state.lateness_needed)
            account.lateness_needed = needed
            late, rejected = late + ledger.late, rejected + ledger.rejected
        return OutcomeRow.of_account(self._member.number, account, late, rejected)

    def _aside(self) -> dict[str, int]:
        """Records that were set aside here, by reason. Late ones are counted by themselves."""
        counts = self._rejects.counts
        return {reason: count for reason, count in counts.items() if reason != "late"}


# -- as Spark calls it ----------------------------------------------------------------------------

#: What becomes of the payloads of a bucket.
Run = Callable[[int, list[bytes]], pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class BoundedRun:
    """The step of a bucket in a bounded run."""

    step: Step

    def __call__(self, bucket: int, payloads: list[bytes]) -> pa.RecordBatch:
        return self.step(bucket, None, payloads)[0]


@dataclass(frozen=True, slots=True)
class KeptRun:
    """The step of a bucket in a round whose states are files."""

    step: Step
    states: States
    number: int

    def __call__(self, bucket: int, payloads: list[bytes]) -> pa.RecordBatch:
        outcome, after = self.step(bucket, self.states.read(bucket, self.number), payloads)
        self.states.write(bucket, self.number, after)
        return outcome


@dataclass(frozen=True, slots=True)
class RunTasks:
    """For ``mapInArrow`` over numbers of tasks: each has the payloads of some buckets."""

    run: Run
    tasks: tuple[dict[int, list[bytes]], ...]
    parcels: Parcels

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for bucket, payloads in self.tasks[task].items():
                    outcome = self.run(bucket, list(map(fetched, payloads)))
                    yield sent(outcome, self.parcels)
        settle()


def bounded_step(step: Step) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """For ``groupBy("bucket").applyInArrow``, which counts the arguments of a plain function."""
    bounded = BoundedRun(step)

    def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        payloads = table.column("payload").to_pylist()
        return pa.Table.from_batches([bounded(key[0].as_py(), payloads)])

    return run


def stateful_step(
    step: Step,
) -> Callable[[tuple[Any, ...], Iterable[Any], Any], Iterator[Any]]:
    """For ``groupBy("bucket").applyInPandasWithState``, with one binary value of state."""

    def run(key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        payloads = [bytes(payload) for frame in frames for payload in frame["payload"]]
        before = bytes(state.get[0]) if state.exists else None
        outcome, after = step(int(key[0]), before, payloads)
        state.update((after,))
        yield outcome.to_pandas()

    return run


__all__ = ["BoundedRun", "KeptRun", "Run", "RunTasks", "Step", "bounded_step", "stateful_step"]
