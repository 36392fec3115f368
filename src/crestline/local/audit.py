"""Audits of approximate answers: an exact query runs beside each, and both are compared.

The twin of a query is the same query, answered exactly (by SLA for an incomplete stream, as Haghani
et al. do). The precision of a result is the share of the exact answer that it has. The error is the
mean difference between the scores of the same rank.
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
#: The selected values of a result as text (they may be lists, or NaN), with their scores.
_Top = list[tuple[str, float]]


class Audit:
    """The approximate queries of a run, each with its exact twin."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self._queries = dict(queries)
        self._twins: dict[str, str] = {}  # by the twin's name
        for name, query in queries.items():
            if plan(query).algorithm.exact:
                continue
            if query.emit != "SNAPSHOTS":
                raise PlanError(
                    "an audit compares whole answers: leave out"
                    f" EMIT {query.emit} of the query {name}."
                )
            self._twins[f"{name} (exact)"] = name
        if not self._twins:
            raise PlanError(
                "an audit is for approximate answers, and all of these are exact: leave it out, or"
                " write APPROXIMATE."
            )
        self._waiting: dict[str, dict[_Cell, tuple[bool, _Top]]] = {}
        self._sums: dict[str, list[float]] = {name: [0, 0.0, 0.0] for name in self._twins.values()}

    @property
    def queries(self) -> dict[str, Query]:
        """The queries to run: those of the user and the twins."""
        twins = {twin: _exactly(self._queries[name]) for twin, name in self._twins.items()}
        return self._queries | twins

    @property
    def twins(self) -> frozenset[str]:
        """The names of the twins, which the user did not ask for."""
        return frozenset(self._twins)

    def see(self, name: str, table: pa.Table) -> bool:
        """Take result rows in; return whether they are those of a twin."""
        exact = name in self._twins
        audited = self._twins.get(name, name)
        if audited in self._sums:
            self._compare(audited, table, exact)
        return exact

    def _compare(self, name: str, table: pa.Table, exact: bool) -> None:
        query = self._queries[name]
        waiting = self._waiting.setdefault(name, {})
        cells = ["window_end", *(item.name for item in query.partition_by)]
        shown = selected_names(table.column_names)
        tops: dict[_Cell, _Top] = {}
        columns = [table.column(column).to_pylist() for column in (*cells, *shown, "score")]
        for row in zip(*columns, strict=True):
            cell, values = row[: len(cells)], repr(row[len(cells) : -1])
            tops.setdefault(cell, []).append((values, row[-1]))
        for cell, top in tops.items():
            earlier = waiting.get(cell)
            if earlier is None:
                waiting[cell] = exact, top
            elif earlier[0] == exact:  # the answer goes on in another table
                earlier[1].extend(top)
            else:
                right, approximate = (top, earlier[1]) if exact else (earlier[1], top)
                self._count(name, right, approximate)
                del waiting[cell]

    def _count(self, name: str, right: _Top, approximate: _Top) -> None:
        sums = self._sums[name]
        values_shown = {values for values, _ in approximate}
        pairs = list(zip(right, approximate, strict=False))
        missing = len(right) - len(pairs)
        sums[0] += 1
        sums[1] += sum(values in values_shown for values, _ in right) / len(right)
        differences = [abs(a - b) for (_, a), (_, b) in pairs]
        sums[2] += (sum(differences) + sum(abs(s) for _, s in right[-missing:] if missing)) / len(
            right
        )

    def with_findings(self, name: str, metrics: Metrics) -> Metrics:
        """The counts of a query, with the findings of the audit."""
        if name not in self._sums:
            return metrics
        results, precision, error = self._sums[name]
        # An exact answer without a counterpart was missed altogether.
        lost = sum(exact for exact, _ in self._waiting.get(name, {}).values())
        results += lost
        findings: dict[str, Any] = {"audited_results": int(results)}
        if results:
            findings["audited_precision"] = round(precision / results, 4)
            findings["audited_error"] = round(error / results, 6)
        return replace(metrics, approximation=metrics.approximation | findings)


def _exactly(query: Query) -> Query:
    """The same query, answered exactly."""
    using, options = None, query.options
    if query.combine is not None:
        using, options = "SLA", tuple(o for o in query.options if o[0].lower() == "once")
    else:
        options = ()
    return replace(query, name=None, approximate=False, error=None, using=using, options=options)


__all__ = ["Audit"]
