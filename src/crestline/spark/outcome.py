"""What a round of a pipeline brought, read on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import RecordError
from crestline.core.order import sort_codes
from crestline.core.tables import table_from
from crestline.core.window import RangeWindow, RowsWindow, counts_rows
from crestline.language import Query
from crestline.runtime.metrics import Metrics
from crestline.runtime.shards import merged
from crestline.spark.stages import Member
from crestline.spark.stages.accounts import BucketAccount, LedgerAccount
from crestline.spark.stages.rows import CHUNKED_REJECTS, Kind
from crestline.types import Ints


@dataclass(slots=True)
class Outcome:
    """One query's part: result rows in order, rejects, and the accounts of its buckets."""

    rows: pa.Table
    rejects: pa.Table
    accounts: list[BucketAccount]
    #: Records that the query's own condition left out.
    filtered: int
    #: How many queries share what is kept.
    sharing: int
    #: Whether each bucket sees some of the objects, so that several count the same partition.
    shards: bool

    @property
    def ledger(self) -> LedgerAccount | None:
        """The account that counts each record once; None if there was no record."""
        ledgers = (account.ledger for account in self.accounts if account.ledger is not None)
        return next(ledgers, None)

    @property
    def rejected(self) -> dict[str, int]:
        """How many records were set aside, by reason."""
        counts: Counter[str] = Counter()
        for account in self.accounts:
            counts.update(account.aside)
            if account.ledger is not None:
                counts.update(account.ledger.rejected)
        return dict(counts)

    def metrics(self, query: Query, result_rows: int) -> Metrics:
        """The counts of the run so far; those of a streaming query since its checkpoint began."""
        metrics = Metrics(result_rows=result_rows, sharing=self.sharing)
        ledger, accounts = self.ledger, self.accounts
        if ledger is None:
            return metrics
        totals = ledger.totals
        metrics.rows_in, metrics.rows_filtered = totals.rows_in, totals.filtered + self.filtered
        metrics.rows_late = totals.late + sum(account.late for account in accounts)
        metrics.lateness_needed = max(account.lateness_needed for account in accounts)
        metrics.rejected = self.rejected
        if metrics.rows_late and query.late == "DROP":
            metrics.rejected["late"] = metrics.rows_late
        partitions = [account.partitions for account in accounts]
        metrics.partitions = max(partitions) if self.shards else sum(partitions)
        metrics.kept = sum(account.kept for account in accounts)
        metrics.kept_peak = sum(account.kept_peak for account in accounts)
        metrics.window_records_peak = _window_peak(query, ledger, metrics)
        metrics.seconds = ledger.prune_seconds + sum(account.seconds for account in accounts)
        metrics.approximation = _joined_approximation(accounts)
        metrics.rules_above_one = sum(account.rules_above_one for account in accounts)
        return metrics


def _joined_approximation(accounts: list[BucketAccount]) -> dict[str, Any]:
    """What is reported of an approximate answer. Each bucket judges the order by itself."""
    parts = [account.approximation for account in accounts if account.approximation]
    if not parts:
        return {}
    joined: dict[str, Any] = dict(parts[0])
    for name in ("switches", "answered_exactly"):
        if name in joined:
            joined[name] = sum(part[name] for part in parts)
    if "expected_precision" in joined:
        pairs = [
            (part["expected_precision"], part["compared"])
            for part in parts
            if part["expected_precision"] is not None
        ]
        compared = sum(count for _, count in pairs)
        joined["compared"] = compared
        if compared:
            total = sum(precision * count for precision, count in pairs)
            joined["expected_precision"] = round(total / compared, 3)
    if "answering" in joined:
        joined["answering"] = ", ".join(sorted({part["answering"] for part in parts}))
    return joined


def _window_peak(query: Query, ledger: LedgerAccount, metrics: Metrics) -> int:
    window = query.window
    if not counts_rows(window) and not (isinstance(window, RangeWindow) and window.slide is None):
        return ledger.window_peak
    if isinstance(window, RowsWindow):
        return min(ledger.totals.admitted, window.rows * max(1, metrics.partitions))
    return ledger.totals.admitted


def read_outcome(
    collected: pa.Table, members: tuple[Member, ...], queries: Mapping[str, Query]
) -> dict[str, Outcome]:
    """Split the rows of ``pipeline(...).outcome`` by query."""
    outcomes: dict[str, Outcome] = {}
    for member in members:
        rows = collected
        if len(members) > 1:
            rows = rows.filter(pa.array(np.asarray(rows.column("member")) == member.number))
        tables = {name: [member.result_schema(name).empty_table()] for name, _ in member.queries}
        rejects, accounts = [CHUNKED_REJECTS.empty_table()], []
        columns = (rows.column(name).to_pylist() for name in ("kind", "query", "payload"))
        for kind, name, payload in zip(*columns, strict=True):
            if kind == Kind.ROWS:
                tables[name].append(table_from(payload))
            elif kind == Kind.REJECTS:
                rejects.append(table_from(payload))
            else:
                accounts.append(BucketAccount.from_json(payload))
        for name, _ in member.queries:
            results = pa.concat_tables(tables[name])
            if member.shards:
                results = merged(queries[name], [results])
            # The queries of a member have the same rejects: they are listed once.
            listed = rejects if name == member.name else rejects[:1]
            outcomes[name] = Outcome(
                _in_order(results, name, queries[name]), pa.concat_tables(listed), accounts,
                filtered=sum(account.filtered[name] for account in accounts),
                sharing=len(member.queries), shards=member.shards,
            )  # fmt: skip
    return outcomes


def _in_order(table: pa.Table, name: str, query: Query) -> pa.Table:
    """Sort rows by window end and partition. Those of one partition are in order already."""
    if not query.partition_by:
        return table
    end = "window_end" if query.emit == "SNAPSHOTS" else "at"
    names = [end, *(item.name for item in query.partition_by)]
    # Most rows follow one of the same moment and partition: such runs are sorted as a whole.
    starts = _starts(table.select(names))
    keys = [sort_codes(table.column(name).take(starts)) for name in names]
    order = np.lexsort(keys[::-1])
    lengths = np.diff(starts, append=table.num_rows)[order]
    ends = np.cumsum(lengths)
    rows = np.repeat(starts[order] - (ends - lengths), lengths) + np.arange(table.num_rows)
    # All have the same name of the query: texts are the dearest to put in order.
    ordered = table.drop_columns(["query"]).take(rows)
    return ordered.add_column(0, table.field("query"), pa.repeat(name, table.num_rows))


def _starts(keys: pa.Table) -> Ints:
    """The rows whose keys are not those of the row before, as far as Arrow can tell."""
    kinds = [field.type for field in keys.schema]
    if keys.num_rows == 0 or any(pa.types.is_nested(kind) or kind == pa.null() for kind in kinds):
        return np.arange(keys.num_rows)
    starts = np.zeros(keys.num_rows, np.bool_)
    starts[0] = True
    for column in keys.columns:
        differs = pc.not_equal(column[1:], column[:-1]).fill_null(True)  # a NULL begins a run
        starts[1:] |= differs.to_numpy()
    return np.flatnonzero(starts)


def refuse_bad(rejects: pa.Table) -> None:
    """Raise RecordError for the first record that was set aside and is not merely late."""
    for bad in rejects.to_pylist():
        if bad["reason"] != "late":
            raise RecordError(bad["stream"], bad["row"] or 0, bad["column"], bad["reason"])


__all__ = ["Outcome", "read_outcome", "refuse_bad"]
