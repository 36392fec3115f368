"""What a round of a pipeline brought, read on the driver."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.tables import table_from
from crestline.core.window import RangeWindow, RowsWindow, counts_rows
from crestline.language import Query
from crestline.runtime.metrics import Metrics
from crestline.runtime.shards import merged
from crestline.spark.stages import LEDGER, TRAVELLING, Member


@dataclass(slots=True)
class Outcome:
    """One query's part: result rows in order, rejects, and the accounts of its buckets."""

    rows: pa.Table
    rejects: pa.Table
    accounts: list[dict[str, Any]] = field(default_factory=list)
    #: How many queries share what is kept.
    sharing: int = 1
    #: Whether buckets know of some of the objects each, so that several know a partition.
    shards: bool = False

    @property
    def ledger(self) -> dict[str, Any] | None:
        """The account that counts each record once; None if there was no record at all."""
        return next((account for account in self.accounts if "totals" in account), None)

    @property
    def rejected(self) -> dict[str, int]:
        """How many records were set aside, by reasons."""
        found: Counter[str] = Counter()
        for account in self.accounts:
            found.update(account["aside"])
            found.update(account.get("rejected", {}))
        return dict(found)

    def metrics(self, query: Query, result_rows: int) -> Metrics:
        """The run's counts so far; of a streaming query since its checkpoint began."""
        metrics = Metrics(result_rows=result_rows, sharing=self.sharing)
        ledger = self.ledger
        if ledger is None:
            return metrics
        totals = ledger["totals"]
        metrics.rows_in, metrics.rows_filtered = totals["rows_in"], totals["filtered"]
        metrics.rows_late = totals["late"] + sum(a["late"] for a in self.accounts)
        metrics.lateness_needed = max(a["lateness_needed"] for a in self.accounts)
        metrics.rejected = self.rejected
        if metrics.rows_late and query.late == "DROP":
            metrics.rejected["late"] = metrics.rows_late
        known = [account["partitions"] for account in self.accounts]
        metrics.partitions = max(known) if self.shards else sum(known)
        metrics.kept = sum(a["kept"] for a in self.accounts)
        metrics.kept_peak = sum(a["kept_peak"] for a in self.accounts)
        metrics.window_records_peak = _window_peak(query, ledger, metrics)
        metrics.seconds = ledger["prune_seconds"] + sum(a["seconds"] for a in self.accounts)
        metrics.approximation = self._approximation()
        metrics.rules_above_one = sum(a["rules_above_one"] for a in self.accounts)
        return metrics

    def _approximation(self) -> dict[str, Any]:
        """What is told of an approximate answer; each bucket has its own judgement of the order."""
        told = [a["approximation"] for a in self.accounts if a["approximation"]]
        if not told:
            return {}
        found: dict[str, Any] = dict(told[0])
        for name in ("switches", "answered_exactly"):
            if name in found:
                found[name] = sum(each[name] for each in told)
        if "expected_precision" in found:
            pairs = [(each["expected_precision"], each["compared"]) for each in told]
            compared = sum(times for precision, times in pairs if precision is not None)
            found["compared"] = compared
            if compared:
                total = sum(p * times for p, times in pairs if p is not None)
                found["expected_precision"] = round(total / compared, 3)
        if "answering" in found:
            found["answering"] = ", ".join(sorted({each["answering"] for each in told}))
        return found


def _window_peak(query: Query, ledger: dict[str, Any], metrics: Metrics) -> int:
    window = query.window
    admitted: int = ledger["totals"]["admitted"]
    if not counts_rows(window) and not (isinstance(window, RangeWindow) and window.slide is None):
        peak: int = ledger["window_peak"]
        return peak
    if isinstance(window, RowsWindow):
        return min(admitted, window.rows * max(1, metrics.partitions))
    return admitted


def read_outcome(
    collected: pa.Table, members: tuple[Member, ...], queries: dict[str, Query]
) -> dict[str, Outcome]:
    """The rows of ``pipeline(...).outcome``, apart by query."""
    found: dict[str, Outcome] = {}
    for member in members:
        mine = collected.filter(pa.array(np.asarray(collected.column("member")) == member.number))
        payloads: dict[str, list[bytes]] = {"rejects": [], "account": []}
        fold = member.fold(rejects=_NOBODY)
        tables = {name: [fold.schema(name).empty_table()] for name, _ in member.queries}
        columns = (mine.column(name).to_pylist() for name in ("kind", "query", "payload"))
        for kind, name, payload in zip(*columns, strict=True):
            if kind == "rows":
                tables[name].append(table_from(payload))
            else:
                payloads[kind].append(payload)
        rejects = [table_from(payload) for payload in payloads["rejects"]]
        together = pa.concat_tables([TRAVELLING.empty_table(), *rejects])
        accounts = [json.loads(payload) for payload in payloads["account"]]
        for name, _ in member.queries:
            together_rows = pa.concat_tables(tables[name])
            if member.shards:
                together_rows = merged(queries[name], [together_rows])
            rows = in_order(together_rows, queries[name])
            # What the queries of a member set aside is the same: it is told once.
            aside = together if name == member.name else TRAVELLING.empty_table()
            sharing = len(member.queries)
            found[name] = Outcome(rows, aside, accounts, sharing, member.shards)
    return found


def in_order(table: pa.Table, query: Query) -> pa.Table:
    """Rows by window end, then partition; what a partition reports is in order already."""
    if not query.partition_by:
        return table
    end = "at" if query.emit == "CHANGES" else "window_end"
    names = [end, *(item.name for item in query.partition_by)]
    keys = [sort_codes(table.column(name)) for name in names]
    return table.take(np.lexsort(keys[::-1]))


#: For a fold that is only asked for its columns.
_NOBODY: Any = None

__all__ = ["LEDGER", "Outcome", "in_order", "read_outcome"]
