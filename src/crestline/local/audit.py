"""How right an approximate answer was: an exact query runs beside it, and both are compared.

The twin of a query is the same one, answered exactly (of an incomplete stream by SLA, as Haghani et
al. do). Of every result the precision is the share of the exact answer that was shown, and the
error the mean difference between the scores of the same rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.language import Query
from crestline.language.query import selected_names
from crestline.planner import plan
from crestline.runtime.metrics import Metrics

#: A result: the end of its window, and its partition.
_Cell = tuple[Any, ...]
#: What was shown, as text (values may be lists, or NaN), and with which scores.
_Shown = list[tuple[str, float]]


class Audit:
    """The approximate ones of some queries, each with its exact twin."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self._asked = dict(queries)
        self._twins: dict[str, str] = {}  # by the twin's name
        for name, query in queries.items():
            if plan(query).algorithm.exact:
                continue
            if query.emit == "CHANGES":
                raise PlanError(
                    f"an audit compares whole answers: leave out EMIT CHANGES of the query {name}."
                )
            self._twins[f"{name} (exact)"] = name
        if not self._twins:
            raise PlanError(
                "an audit is for approximate answers, and all of these are exact: leave it out, or"
                " write APPROXIMATE."
            )
        self._waiting: dict[str, dict[_Cell, tuple[bool, _Shown]]] = {}
        self._sums: dict[str, list[float]] = {name: [0, 0.0, 0.0] for name in self._twins.values()}

    @property
    def queries(self) -> dict[str, Query]:
        """What is to be run: the queries and the twins."""
        twins = {twin: _exactly(self._asked[name]) for twin, name in self._twins.items()}
        return self._asked | twins

    @property
    def twins(self) -> frozenset[str]:
        """The names that nobody asked for."""
        return frozenset(self._twins)

    def see(self, name: str, table: pa.Table) -> bool:
        """Take result rows in; whether they are a twin's, and for nobody else."""
        exact = name in self._twins
        asked = self._twins.get(name, name)
        if asked in self._sums:
            self._compare(asked, table, exact)
        return exact

    def _compare(self, name: str, table: pa.Table, exact: bool) -> None:
        query = self._asked[name]
        waiting = self._waiting.setdefault(name, {})
        cells = ["window_end", *(item.name for item in query.partition_by)]
        shown = selected_names(table.column_names)
        found: dict[_Cell, _Shown] = {}
        columns = [table.column(column).to_pylist() for column in (*cells, *shown, "score")]
        for row in zip(*columns, strict=True):
            cell, what = row[: len(cells)], repr(row[len(cells) : -1])
            found.setdefault(cell, []).append((what, row[-1]))
        for cell, top in found.items():
            known = waiting.get(cell)
            if known is None:
                waiting[cell] = exact, top
            elif known[0] == exact:  # the answer goes on in another table
                known[1].extend(top)
            else:
                right, told = (top, known[1]) if exact else (known[1], top)
                self._count(name, right, told)
                del waiting[cell]

    def _count(self, name: str, right: _Shown, told: _Shown) -> None:
        sums = self._sums[name]
        among = {what for what, _ in told}
        pairs = list(zip(right, told, strict=False))
        missing = len(right) - len(pairs)
        sums[0] += 1
        sums[1] += sum(what in among for what, _ in right) / len(right)
        differences = [abs(a - b) for (_, a), (_, b) in pairs]
        sums[2] += (sum(differences) + sum(abs(s) for _, s in right[-missing:] if missing)) / len(
            right
        )

    def told(self, name: str, metrics: Metrics) -> Metrics:
        """The counts of a query, with what the audit found."""
        if name not in self._sums:
            return metrics
        results, precision, error = self._sums[name]
        # An answer without its counterpart was missed, or was not due, altogether.
        lost = sum(exact for exact, _ in self._waiting.get(name, {}).values())
        results += lost
        found: dict[str, Any] = {"audited_results": int(results)}
        if results:
            found["audited_precision"] = round(precision / results, 4)
            found["audited_error"] = round(error / results, 6)
        return replace(metrics, approximation=metrics.approximation | found)


def _exactly(query: Query) -> Query:
    """The same query, answered exactly."""
    using, options = None, query.options
    if query.combine is not None:
        using, options = "SLA", tuple(o for o in query.options if o[0].lower() == "once")
    else:
        options = ()
    return replace(query, name=None, approximate=False, error=None, using=using, options=options)


__all__ = ["Audit"]
