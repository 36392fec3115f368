"""What runs in Spark's Python workers: prune near the source, step where the state lives, unpack.

The stages know no Spark: Arrow batches, pandas frames of bytes and state bytes go in and out, so
they can be tried without a cluster. What moves between them is few and fat rows of bytes: types
stay exactly as they are, and neither pandas nor the JVM ever looks inside.

=========  ===================================  ==============================================
stage      takes                                gives
=========  ===================================  ==============================================
``Prune``  the projected records of a task      ``bucket, payload``: what was gathered for it
``Step``   all payloads of a bucket, its state  ``member, query, kind, payload ...``, new state
``Merge``  those rows, of all buckets           the same, with the rows of split objects as one
``Unpack`` those rows                           result rows, or rejects
=========  ===================================  ==============================================
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import StateError
from crestline.core.sentinels import LONG_AGO
from crestline.core.state import pack, unpack
from crestline.core.tables import REJECTS, table_bytes, table_from
from crestline.core.window import counts_rows
from crestline.kernels.common.order import find_late, is_ascending
from crestline.language import Query, parse
from crestline.planner import Bundle, SharedPlan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.executor import BundleExecutor, reject_late
from crestline.runtime.gate import Gate
from crestline.runtime.lateness import delay_of
from crestline.runtime.rehearsal import MANY, family_of, warm
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import CARRIED, Carried, Number, Role
from crestline.runtime.shards import merged
from crestline.runtime.views import Named
from crestline.spark.ledger import Ledger, slides_of
from crestline.types import Ints

#: The bucket that also keeps the accounts.
LEDGER = 0
#: Rows handed to a kernel at once: enough to hide the cost of a call.
_ROWS = 1 << 17
PRUNED = pa.schema([CARRIED.field(Carried.BUCKET), ("payload", pa.binary())])
OUTCOME = pa.schema(
    [
        ("member", pa.int32()),
        ("query", pa.string()),
        ("kind", pa.string()),
        ("payload", pa.binary()),
        ("result_rows", pa.int64()),
        ("rows_late", pa.int64()),
        ("lateness_needed", pa.int64()),
        ("rows_rejected", pa.int64()),
        ("records_kept", pa.int64()),
    ]
)
#: Rejects as they travel: a row is numbered within its chunk of the stream.
TRAVELLING = REJECTS.append(CARRIED.field(Carried.CHUNK))


@dataclass(frozen=True)
class Member:
    """A bundle of queries in a pipeline: which column of the projected frame plays which role."""

    number: int
    queries: tuple[tuple[str, str], ...]  # names and texts
    columns: dict[str, str]
    roles: bytes  # the Arrow schema of the roles
    bucket: str | int  # the column that tells a record's bucket, or the bucket of all
    texts: frozenset[str] = frozenset()
    shards: bool = False  # whether a bucket sees some of the objects, and answers are to be merged

    @property
    def schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(self.roles))

    @property
    def name(self) -> str:
        """That of its first query; no other member has it."""
        return self.queries[0][0]

    @property
    def bundle(self) -> Bundle:
        return _bundle(self.queries)

    @property
    def query(self) -> Query:
        """The query, or what its queries have in common."""
        return self.bundle.plan.query

    def fold(
        self, rejects: Rejects, gathering: bool = False, bounded: bool = False
    ) -> BundleExecutor:
        schema = self.schema
        if gathering:
            schema = pa.schema([*schema, *CARRIED])
        return BundleExecutor(
            self.bundle, schema, rejects=rejects, texts=self.texts, shard=self.shards,
            bounded=bounded,
        )  # fmt: skip


@lru_cache(maxsize=256)
def _bundle(queries: tuple[tuple[str, str], ...]) -> Bundle:
    return Bundle.of({name: parse(text) for name, text in queries})


# -- near the source ------------------------------------------------------------------------------


def _warm(members: tuple[Member, ...]) -> None:
    """Compile what many records will need. One process of a machine does, the others wait."""
    plans = [member.bundle.plan for member in members]
    families = [family_of(plan.query, isinstance(plan, SharedPlan)) for plan in plans]
    warm(dict.fromkeys(families))


@dataclass(frozen=True)
class Reading:
    """How the records of a frame are told apart and judged.

    ``chunk`` names the column that orders the pieces of the stream; without it the task's number
    does. ``before`` is the largest event time in all chunks before each: with it, records are late
    or not one by one, as they arrived; without it, or without LATENESS, nothing is late here.
    ``bad`` names the columns (column, reason, value) by which a reader tells of values it could not
    read.
    """

    chunk: str | None = None
    before: dict[int, int] | None = None
    bad: tuple[str, str, str] | None = None
    keep_rejects: bool = False
    whole: bool = False  # no record may be left out: they are to be replayed as they arrived


@dataclass(frozen=True)
class Prune:
    """For ``mapInArrow``: gathers what can matter of a task's records, for each bucket."""

    members: tuple[Member, ...]
    buckets: int
    reading: Reading = field(default_factory=Reading)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sieves = [_Sieve(member, self.reading) for member in self.members]
        task = _task_number()
        for table in _portions(batches):
            if table.num_rows >= MANY:
                _warm(self.members)
            for chunk, run in _runs(table, self.reading.chunk, task):
                for sieve in sieves:
                    sieve.add(chunk, run)
        if any(sieve.rows_in for sieve in sieves):
            yield self._pieces(sieves)

    def _pieces(self, sieves: list[_Sieve]) -> pa.RecordBatch:
        """One row for each bucket: each must learn how far time has come, records or not."""
        found = [sieve.by_bucket(self.buckets) for sieve in sieves]
        payloads = []
        for bucket in range(self.buckets):
            members: dict[str, Any] = {}
            for number, sieve in enumerate(sieves):
                piece: dict[str, Any] = {"latest": sieve.latest}
                if bucket in found[number]:
                    piece["table"] = table_bytes(found[number][bucket])
                if bucket == LEDGER:
                    piece["account"] = sieve.account()
                members[str(number)] = piece
            payloads.append(pack(members))
        numbers = pa.array(range(self.buckets), pa.int32())
        return pa.record_batch([numbers, pa.array(payloads, pa.binary())], schema=PRUNED)


class _Sieve:
    """A member's part in a task."""

    def __init__(self, member: Member, reading: Reading) -> None:
        query = member.query
        self._member, self._reading = member, reading
        self._query = query
        self._rejects = Rejects(query, strict=False)
        self._gate = Gate(query, member.texts, self._rejects)
        # What a value of an object counts is known only where all of them are together.
        self._gathers_all = reading.whole or query.combine is not None
        self._fold = None if self._gathers_all else member.fold(self._rejects, gathering=True)
        self._everything: list[pa.Table] = []
        self._panes = query.window.panes
        self._timed = query.window.on is not None
        self._counted = counts_rows(query.window)
        self._schema = member.schema
        self._chunks: dict[int, _Chunk] = {}
        self._slides: list[tuple[Ints, Ints, Ints]] = []
        self._parts: list[pa.Table] = []
        self.rows_in = self._filtered = self._admitted = self._late = 0
        self._lateness_needed = 0
        # In a bounded run without LATENESS no record is late.
        self._judges = reading.before is not None and query.lateness is not None
        self.latest = LONG_AGO
        self._seconds = 0.0

    def add(self, chunk: int, table: pa.Table) -> None:
        began = time.perf_counter()
        known = self._chunks.setdefault(chunk, _Chunk(self._before(chunk)))
        first_row = known.rows
        known.rows += table.num_rows
        self.rows_in += table.num_rows
        columns = given = self._columns(table, chunk)
        places: Ints | None = None
        if self._reading.bad is not None:
            columns, places = self._without_bad(columns, table, first_row)
        admitted, filtered = self._gate.admit(columns, first_row)
        if places is not None:
            admitted.rows = first_row + places[np.asarray(admitted.rows) - first_row]
        self._filtered += filtered
        if self._timed and len(admitted):
            admitted = self._watch_time(known, admitted)
        self._admitted += len(admitted)
        if len(admitted):
            if self._fold is None:
                self._everything.append(_travelling(admitted, self._reading.whole))
            else:
                self._fold.fold(admitted)
        if self._reading.keep_rejects:
            set_aside = self._rejects.take()
            of = pa.array(np.full(set_aside.num_rows, chunk))
            set_aside = set_aside.append_column(Carried.CHUNK, of)
            if self._query.others and set_aside.num_rows:  # a task reads one of several inputs
                names = pa.repeat(given.column(Role.STREAM)[0], set_aside.num_rows)
                set_aside = set_aside.set_column(0, "stream", names)
            self._parts.append(set_aside)
        else:
            self._rejects.take()
        self._seconds += time.perf_counter() - began

    def _before(self, chunk: int) -> int:
        return (self._reading.before or {}).get(chunk, LONG_AGO)

    def _columns(self, table: pa.Table, chunk: int) -> pa.Table:
        arrays = [table.column(name) for name in self._member.columns.values()]
        columns = pa.table(arrays, names=list(self._member.columns)).cast(self._schema)
        if isinstance(self._member.bucket, str):
            bucket = table.column(self._member.bucket)
        else:
            bucket = pa.repeat(pa.scalar(self._member.bucket, pa.int32()), table.num_rows)
        columns = columns.append_column(Carried.BUCKET, bucket)
        return columns.append_column(Carried.CHUNK, pa.repeat(pa.scalar(chunk), table.num_rows))

    def _without_bad(
        self, columns: pa.Table, table: pa.Table, first_row: int
    ) -> tuple[pa.Table, Ints]:
        """Set aside what the reader could not read, unless WHERE leaves it out anyway."""
        assert self._reading.bad is not None
        column, reason, value = (table.column(name) for name in self._reading.bad)
        bad = np.asarray(reason.is_valid().to_numpy())
        places = np.flatnonzero(~bad)
        if bad.any():
            which = np.flatnonzero(bad)
            told = pa.table(
                {
                    "stream": pa.repeat(self._query.stream, len(which)),
                    "row": first_row + which,
                    "column": column.take(which),
                    "reason": reason.take(which),
                    "value": value.take(which),
                },
                schema=REJECTS,
            )
            self._rejects.add_table(told)
            columns = columns.take(places)
        return columns, places

    def _watch_time(self, chunk: _Chunk, admitted: AdmittedBatch) -> AdmittedBatch:
        times = admitted.time
        assert times is not None
        ascending = is_ascending(times)
        chunk.earliest = min(chunk.earliest, int(times[0] if ascending else times.min()))
        if ascending and times[0] >= chunk.latest - self._query.delay:
            chunk.latest = max(chunk.latest, int(times[-1]))
        else:
            latest = chunk.latest
            late, count, chunk.latest = find_late(times, latest, self._query.delay)
            chunk.out_of_order |= count > 0
            if count and self._judges and not self._reading.whole:
                self._late += count
                needed = delay_of(times, late, latest)
                self._lateness_needed = max(self._lateness_needed, needed)
                reject_late(self._rejects, admitted.take(np.flatnonzero(late)))
                admitted = admitted.take(np.flatnonzero(~late))
                times = admitted.time
                assert times is not None
        if len(admitted):
            self.latest = max(self.latest, chunk.latest)
            if not (self._panes.on_arrival or self._counted):
                slide = self._panes.length * self._panes.slide
                self._slides.append(slides_of(times, slide, ascending))
        return admitted

    def by_bucket(self, buckets: int) -> dict[int, pa.Table]:
        began = time.perf_counter()
        if self._fold is None:
            gathered = pa.concat_tables(self._everything) if self._everything else None
        else:
            gathered = self._fold.gathered() if self._admitted else None
        found = {} if gathered is None else _split(gathered, self._member.bucket, buckets)
        self._seconds += time.perf_counter() - began
        return found

    def account(self) -> dict[str, Any]:
        """What the ledger is told: counts, and how the chunks lie in time."""
        facts = [
            [number, c.rows, c.earliest, c.latest, int(c.out_of_order)]
            for number, c in self._chunks.items()
        ]
        account: dict[str, Any] = {
            "rows_in": self.rows_in,
            "filtered": self._filtered,
            "admitted": self._admitted,
            "late": self._late,
            "lateness_needed": self._lateness_needed,
            "rejected": json.dumps(self._rejects.counts),
            "seconds": self._seconds,
            "chunks": np.array(facts, np.int64).reshape(-1, 5),
        }
        if self._slides:
            for place, name in enumerate(("slides", "counts", "first")):
                account[name] = np.concatenate([of_batch[place] for of_batch in self._slides])
        parts = [part for part in self._parts if part.num_rows]
        if parts:
            account["rejects"] = table_bytes(pa.concat_tables(parts))
        return account


@dataclass(slots=True)
class _Chunk:
    """A piece of the stream: how much of it was read, and how it lies in time."""

    latest: int
    rows: int = 0
    earliest: int = 1 << 62
    out_of_order: bool = False


def _travelling(admitted: AdmittedBatch, whole: bool) -> pa.Table:
    """Records as they are, for those who replay them; if not ``whole``, without what the gate has
    read already."""
    read = () if whole else (Role.WHERE, Role.TIME, Role.SCORE)
    table = admitted.columns.append_column(Number.ROW, pa.array(np.asarray(admitted.rows)))
    table = table.append_column(Number.SCORE, pa.array(admitted.score))
    if admitted.time is not None:
        table = table.append_column(Number.TIME, pa.array(admitted.time))
    if admitted.probability is not None:
        table = table.append_column(Number.PROBABILITY, pa.array(admitted.probability))
    return table.drop_columns([name for name in read if name in table.column_names])


def _split(gathered: pa.Table, bucket: str | int, buckets: int) -> dict[int, pa.Table]:
    """The records of each bucket that has any."""
    if gathered.num_rows == 0:
        return {}
    if isinstance(bucket, int):
        return {bucket: gathered.drop_columns([Carried.BUCKET])}
    numbers = np.asarray(gathered.column(Carried.BUCKET).to_numpy())
    gathered = gathered.drop_columns([Carried.BUCKET]).take(np.argsort(numbers, kind="stable"))
    count = np.bincount(numbers, minlength=buckets)
    starts = np.cumsum(count) - count
    return {
        int(b): gathered.slice(int(starts[b]), int(count[b])) for b in np.flatnonzero(count > 0)
    }


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they are worth a call."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _runs(table: pa.Table, column: str | None, task: int) -> Iterator[tuple[int, pa.Table]]:
    """The table cut where one chunk of the stream ends and another begins."""
    if column is None:
        yield task, table
        return
    chunks = np.asarray(table.column(column).to_numpy())
    starts = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist(), len(chunks)]
    for start, stop in zip(starts, starts[1:], strict=False):
        yield int(chunks[start]), table.slice(start, stop - start)


def _task_number() -> int:
    """Which task of the stage this is; 0 outside of Spark."""
    import sys

    module = sys.modules.get("pyspark.taskcontext")
    context = module.TaskContext.get() if module is not None else None
    return 0 if context is None else int(context.partitionId())


# -- where the state lives ------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """Merges what was gathered for a bucket into its state and reports what falls due."""

    members: tuple[Member, ...]
    buckets: int
    bounded: bool
    keep_rejects: bool = False
    whole: bool = False

    def __call__(
        self, bucket: int, state: bytes | None, payloads: Iterable[bytes]
    ) -> tuple[pa.RecordBatch, bytes]:
        pieces = [unpack(payload) for payload in payloads]
        before = self._known(state)
        rows = _Rows()
        after: dict[str, Any] = {"buckets": self.buckets, "members": {}}
        for member in self.members:
            number = str(member.number)
            mine = [piece[number] for piece in pieces]
            known = before.get(member.name)
            told = self._member_step(member, bucket, known, mine, rows)
            after["members"][member.name] = told
        return rows.batch(), pack(after)

    def _known(self, state: bytes | None) -> dict[str, Any]:
        """The members' states, after a check that they are of this pipeline."""
        if state is None:
            return {}
        known = unpack(state)
        names = sorted(known["members"])
        wanted = sorted(member.name for member in self.members)
        if names != wanted:
            raise StateError(
                f"this checkpoint belongs to other queries ({', '.join(names)}): start"
                f" {', '.join(wanted)} with a checkpoint of its own"
            )
        if known["buckets"] != self.buckets:
            raise StateError(
                f"this checkpoint was made with {known['buckets']} buckets, now there are"
                f" {self.buckets}: go on with buckets={known['buckets']}, or start anew"
            )
        members: dict[str, Any] = known["members"]
        return members

    def _member_step(
        self,
        member: Member,
        bucket: int,
        known: dict[str, Any] | None,
        pieces: list[dict[str, Any]],
        rows: _Rows,
    ) -> dict[str, Any]:
        rejects = Rejects(member.query, strict=False)
        fold = member.fold(rejects, bounded=self.bounded)
        ledger = Ledger(member.query) if bucket == LEDGER else None
        if known is not None:
            fold = fold.from_bytes(known["fold"])
            if ledger is not None:
                ledger.restore(known["ledger"])
        latest = max(piece["latest"] for piece in pieces)
        if ledger is not None:
            # Late values of objects are counted where they are set aside: all of them come there.
            counted = member.query.combine is not None
            late_before = LONG_AGO if counted else fold.late_before
            ledger.add([piece["account"] for piece in pieces], late_before, fold.latest)
        known_late, known_aside = fold.metrics.rows_late, _aside(rejects)
        tables = [table_from(piece["table"]) for piece in pieces if "table" in piece]
        results = list(self._results(fold, tables, latest if latest > LONG_AGO else None))
        shown = sum(table.num_rows for _, table in results)
        kept = fold.metrics.kept
        for name, table in results:
            rows.add(member.number, "rows", table_bytes(table), name, result_rows=table.num_rows)
        self._tell_rejects(member, rejects, ledger, rows, tables)
        account = {
            "result_rows": shown,
            "kept": kept,
            "kept_peak": fold.metrics.kept_peak,
            "approximation": fold.metrics.approximation,
            "late": fold.metrics.rows_late,
            "lateness_needed": fold.metrics.lateness_needed,
            "aside": _aside(rejects),
            "partitions": fold.metrics.partitions,
            "rules_above_one": fold.metrics.rules_above_one,
            "seconds": fold.metrics.seconds,
        }
        late, needed = fold.metrics.rows_late - known_late, fold.metrics.lateness_needed
        rejected = sum(_aside(rejects).values()) - sum(known_aside.values())
        if ledger is not None:
            account |= ledger.told()
            account["lateness_needed"] = max(needed, ledger.lateness_needed)
            late, rejected = late + ledger.late_now, rejected + ledger.rejected_now
        counts = {
            "rows_late": late,
            "lateness_needed": account["lateness_needed"],
            "rows_rejected": rejected,
            "records_kept": kept,
        }
        rows.add(member.number, "account", json.dumps(account).encode(), "", **counts)
        told: dict[str, Any] = {} if self.bounded else {"fold": fold.to_bytes()}
        if ledger is not None and not self.bounded:
            told["ledger"] = ledger.state()
        return told

    def _results(
        self, fold: BundleExecutor, tables: list[pa.Table], latest: int | None
    ) -> Iterator[Named]:
        if self.whole:
            if tables:
                yield from fold.push(_arrived(tables))
        else:
            if tables:
                fold.merge(pa.concat_tables(tables))
            if latest is not None or fold.query.window.on is None:
                yield from fold.due(latest)
        if self.bounded:
            yield from fold.finish()

    def _tell_rejects(
        self, member: Member, rejects: Rejects, ledger: Ledger | None, rows: _Rows,
        tables: list[pa.Table],
    ) -> None:  # fmt: skip
        if not self.keep_rejects:
            return
        aside = rejects.take()
        row = chunk = pa.nulls(aside.num_rows, pa.int64())  # late or repeated: nobody knows
        if self.bounded and aside.num_rows and not self.whole:
            # All records are here: those set aside are numbered as ``BundleExecutor.merge`` put
            # them.
            numbers = [
                np.concatenate([table.column(name).to_numpy() for table in tables])
                for name in (Number.ROW, Carried.CHUNK)
            ]
            places = np.lexsort(numbers)[np.asarray(aside.column("row").to_numpy())]
            row, chunk = (pa.array(each[places]) for each in numbers)
        aside = aside.set_column(1, "row", row).append_column(Carried.CHUNK, chunk)
        parts = [aside.cast(TRAVELLING)]
        if ledger is not None:
            parts += [table_from(part).cast(TRAVELLING) for part in ledger.take_rejects()]
        table = pa.concat_tables(parts)
        if table.num_rows:
            rows.add(member.number, "rejects", table_bytes(table), "")


def _aside(rejects: Rejects) -> dict[str, int]:
    """What was set aside where the state lives, by reasons; the late are counted by themselves."""
    return {reason: count for reason, count in rejects.counts.items() if reason != "late"}


def _arrived(tables: list[pa.Table]) -> AdmittedBatch:
    """Whole records in the order of their arrival."""
    table = pa.concat_tables(tables)
    keys = [np.asarray(table.column(name).to_numpy()) for name in (Number.ROW, Carried.CHUNK)]
    table = table.take(np.lexsort(keys))
    numbers = {
        name: np.asarray(table.column(name).to_numpy())
        for name in (Number.SCORE, Number.TIME, Number.PROBABILITY)
        if name in table.column_names
    }
    return AdmittedBatch(
        table,
        range(table.num_rows),
        numbers[Number.SCORE],
        numbers.get(Number.TIME),
        numbers.get(Number.PROBABILITY),
    )


class _Rows:
    """Rows of an outcome, as they are added."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in OUTCOME.names}

    def add(self, member: int, kind: str, payload: bytes, query: str, **counts: int) -> None:
        row = {"member": member, "query": query, "kind": kind, "payload": payload} | counts
        for name, column in self._columns.items():
            column.append(row.get(name, 0))

    def batch(self) -> pa.RecordBatch:
        return pa.record_batch(self._columns, schema=OUTCOME)


def bounded_step(step: Step) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """For ``groupBy("bucket").applyInArrow``, which counts the arguments of a plain function."""

    def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        payloads = [value.as_py() for value in table.column("payload")]
        outcome, _ = step(key[0].as_py(), None, payloads)
        return pa.Table.from_batches([outcome])

    return run


def stateful_step(
    step: Step,
) -> Callable[[tuple[Any, ...], Iterable[Any], Any], Iterator[Any]]:
    """For ``groupBy("bucket").applyInPandasWithState``, with one binary value of state."""

    def run(key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        payloads = [bytes(payload) for frame in frames for payload in frame["payload"]]
        known = bytes(state.get[0]) if state.exists else None
        outcome, after = step(int(key[0]), known, payloads)
        state.update((after,))
        yield outcome.to_pandas()

    return run


# -- out ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """For ``mapInArrow`` where one task sees a member's rows of all buckets: each bucket knows some
    of the objects, and their answers become one. All tell of a window end in the same round."""

    members: tuple[Member, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        split = {member.number: member for member in self.members if member.shards}
        tables: dict[int, list[pa.Table]] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("member", "kind", "payload"))
            passes = []
            for number, kind, payload in zip(*columns, strict=True):
                passes.append(kind != "rows" or number not in split)
                if not passes[-1]:
                    tables.setdefault(number, []).append(table_from(payload))
            others = batch.filter(pa.array(passes, pa.bool_()))
            yield pa.record_batch(others.columns, schema=OUTCOME)
        rows = _Rows()
        for number, found in tables.items():
            member = split[number]
            table = merged(member.query, found)
            count = table.num_rows
            rows.add(number, "rows", table_bytes(table), member.name, result_rows=count)
        yield rows.batch()


@dataclass(frozen=True)
class Unpack:
    """For ``mapInArrow``: the rows of one kind, all with the columns of ``schema``."""

    kind: str
    schema: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        for batch in batches:
            for kind, payload in zip(batch.column("kind"), batch.column("payload"), strict=True):
                if kind.as_py() == self.kind:
                    yield from widened(table_from(payload.as_py()), schema).to_batches()


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these columns, NULL where it has none."""
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
