"""The rows of bytes that move between the stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

import pyarrow as pa

from crestline.core.state import pack, unpack
from crestline.core.tables import REJECTS, table_bytes, table_from
from crestline.runtime.roles import CARRIED, Carried
from crestline.spark.parcels import Parcels, fetched
from crestline.spark.stages.accounts import BucketAccount, TaskAccount

#: What ``Prune`` gives: one row per bucket.
PRUNED = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
#: What ``Step`` and ``Merge`` give: the fields of ``OutcomeRow``.
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
#: Rejects between the stages: ``row`` counts within a chunk of the stream.
CHUNKED_REJECTS = REJECTS.append(CARRIED.field(Carried.CHUNK))


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """What one task sends to one bucket, for one member."""

    #: The largest event time that the task saw, in any bucket.
    latest: int
    #: The records that can matter; None if there are none.
    records: pa.Table | None = None
    #: Only for the bucket that keeps the ledger.
    account: TaskAccount | None = None

    def to_plain(self) -> dict[str, Any]:
        return {
            "latest": self.latest,
            "records": None if self.records is None else table_bytes(self.records),
            "account": None if self.account is None else self.account.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        records, account = plain["records"], plain["account"]
        return cls(
            plain["latest"],
            None if records is None else table_from(records),
            None if account is None else TaskAccount.from_plain(account),
        )


def to_payload(outputs: Sequence[TaskOutput]) -> bytes:
    """Pack the outputs of all members, in the order of the members."""
    return pack({str(number): output.to_plain() for number, output in enumerate(outputs)})


def from_payload(payload: bytes) -> list[TaskOutput]:
    """Unpack what ``to_payload`` packed."""
    return [TaskOutput.from_plain(plain) for plain in unpack(payload).values()]


class Kind(StrEnum):
    """What the payload of an outcome row is."""

    ROWS = "rows"  # result rows of one query
    REJECTS = "rejects"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """A row of what ``Step`` gives. The counts are those of the round."""

    member: int
    query: str
    kind: Kind
    payload: bytes
    result_rows: int = 0
    rows_late: int = 0
    lateness_needed: int = 0
    rows_rejected: int = 0
    records_kept: int = 0

    @classmethod
    def of_results(cls, member: int, query: str, table: pa.Table) -> Self:
        return cls(member, query, Kind.ROWS, table_bytes(table), result_rows=table.num_rows)

    @classmethod
    def of_rejects(cls, member: int, table: pa.Table) -> Self:
        return cls(member, "", Kind.REJECTS, table_bytes(table))

    @classmethod
    def of_account(cls, member: int, account: BucketAccount, late: int, rejected: int) -> Self:
        """``late`` and ``rejected`` count the records of the round."""
        return cls(
            member,
            "",
            Kind.ACCOUNT,
            account.to_json(),
            rows_late=late,
            lateness_needed=account.lateness_needed,
            rows_rejected=rejected,
            records_kept=account.kept,
        )


def ddl(schema: pa.Schema) -> str:
    """The columns as Spark reads them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = from_arrow_schema(schema).fields
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields)


def outcome_batch(rows: Sequence[OutcomeRow]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([asdict(row) for row in rows], schema=OUTCOME)


def sent(outcome: pa.RecordBatch, parcels: Parcels) -> pa.RecordBatch:
    """The outcome as it crosses Spark: large payloads go to files."""
    payloads = parcels.sent(outcome.column("payload").to_pylist())
    index = OUTCOME.get_field_index("payload")
    return outcome.set_column(index, OUTCOME.field(index), pa.array(payloads, pa.binary()))


def received(outcome: pa.Table) -> pa.Table:
    """The outcome with the payloads that are in files."""
    payloads = map(fetched, outcome.column("payload").to_pylist())
    index = OUTCOME.get_field_index("payload")
    column = pa.chunked_array([[payload] for payload in payloads], pa.binary())
    return outcome.set_column(index, OUTCOME.field(index), column)


__all__ = [
    "CHUNKED_REJECTS",
    "OUTCOME",
    "PRUNED",
    "Kind",
    "OutcomeRow",
    "TaskOutput",
    "ddl",
    "from_payload",
    "outcome_batch",
    "received",
    "sent",
    "to_payload",
]
