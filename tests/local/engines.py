"""Where the tests touch the engine: everything they assume about its interface is in this file."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pyarrow as pa
from hypothesis import HealthCheck, settings

import crestline
from crestline import planner
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow, Window
from crestline.testing import Expected, Kind, Record, Row, Spec, assert_same_rows, expect, rows_of
from crestline.testing import sorted_rows as in_place
from strategies import ALL_KINDS, Case

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Algorithm(Protocol):
    """What the catalogue says of an algorithm."""

    name: str
    family: str

    def supports(self, window: Window) -> bool: ...


def catalogue() -> list[Algorithm]:
    """Every exact algorithm for certain streams."""
    return [a for a in planner.algorithms() if a.family in ("certain", "arrival") and a.exact]


def window_of(spec: Spec) -> Window:
    if spec.kind in ("range_slide", "range"):
        slide = spec.slide if spec.kind == "range_slide" else None
        return RangeWindow(spec.width, slide, str(spec.ts))
    if spec.kind in ("rows", "rows_on"):
        return RowsWindow(spec.width, spec.slide, spec.ts)
    return UnboundedWindow(spec.slide, spec.ts)


def supports(algorithm: Algorithm) -> Callable[[Spec], bool]:
    return lambda spec: algorithm.supports(window_of(spec))


def kinds_of(algorithm: Algorithm) -> tuple[Kind, ...]:
    """The kinds of window it can be asked about (it may still refuse certain sizes)."""
    found = []
    for kind in ALL_KINDS:
        ts = "ts" if "row" not in kind or kind == "rows_on" else None
        if any(supports(algorithm)(Spec(1, kind, 6, slide, ts)) for slide in (1, 2)):
            found.append(kind)
    return tuple(found)


def examples(count: int) -> settings:
    """Hypothesis settings; ``make stress`` looks at more examples, ``make quick`` at fewer."""
    factor = {"stress": 10, "quick": 0.05}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1)
    return settings(
        max_examples=max(1, round(count * factor)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


# --- asking --------------------------------------------------------------------------------------


def run(spec: Spec, data: Any, using: str | None = None, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crestline.LateRecordsWarning)
        return crestline.run(spec.text(using), {"s": data}, engine="local", **how)


def run_heeding(query: str, data: Any, **how: Any) -> tuple[Any, list[str]]:
    """Run a query over ``s``; the results, and what was said about late records."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", crestline.LateRecordsWarning)
        results = crestline.run(query, {"s": data}, **how)
    return results, [str(warning.message) for warning in caught]


def run_case(case: Case, using: str | None = None) -> Any:
    return run(case.spec, case.table, using)


def ask(query: str, data: Any, **how: Any) -> list[Row]:
    """Run a query text over one stream called ``s`` and give the rows."""
    return rows_of(crestline.run(query, {"s": data}, engine="local", **how).to_arrow())


def column(query: str, data: Any, name: str, **how: Any) -> list[Any]:
    """One column of the result."""
    return [row[name] for row in ask(query, data, **how)]


# --- reading answers -----------------------------------------------------------------------------


def at(text: str) -> int:
    """Microseconds since 1970 of an ISO time, UTC unless it says otherwise."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def rejects_of(answer: Any) -> list[tuple[int, str, str]]:
    """``(row, column, reason)`` of a Results or a Session, by row."""
    return sorted((r["row"], r["column"], r["reason"]) for r in answer.rejects.to_pylist())


# --- judging -------------------------------------------------------------------------------------


def assert_schema(spec: Spec, table: pa.Table) -> None:
    """The columns of a result, their order, and the types that do not depend on the input."""
    moment_type = pa.int64() if spec.counts_rows else pa.timestamp("us", tz="UTC")
    tail = ["rank", *spec.select, "score"]
    if spec.emit != "SNAPSHOTS":
        head = ["query", "at", *spec.partition, "change", "rank", "previous_rank"]
        tail = tail[1:]
        types = {"at": moment_type, "change": pa.string(), "previous_rank": pa.int64()}
    else:
        head = ["query", "window_start", "window_end", *spec.partition]
        types = {"window_start": moment_type, "window_end": moment_type}
        tail += ["revision"] if spec.late == "REVISE" else []
        types |= {"revision": pa.int64()} if spec.late == "REVISE" else {}
    types |= {"query": pa.string(), "rank": pa.int64(), "score": pa.float64()}
    assert table.column_names == head + tail
    assert {name: table.schema.field(name).type for name in types} == types


def assert_rejects(answer: Any, wanted: Expected) -> None:
    """Each reject once, for a reason that is true of it (a record may deserve several)."""
    got = rejects_of(answer)
    assert [row for row, _, _ in got] == sorted(wanted.rejects)
    for row, name, reason in got:
        assert (name, reason) in wanted.rejects[row], f"row {row}"
    assert set(answer.rejects.column("stream").to_pylist()) <= {"s"}


def assert_metrics(answer: Any, spec: Spec, records: Sequence[Record], wanted: Expected) -> None:
    metrics = answer.metrics
    if spec.where is None:
        assert metrics.rows_in == len(records)
    assert metrics.rows_late == len(wanted.late)
    assert metrics.result_rows == len(wanted.rows)
    counted = Counter(reason for _, _, reason in rejects_of(answer) if reason != "late")
    assert {r: n for r, n in metrics.rejected.items() if n and r != "late"} == counted


def assert_judged(case: Case, using: str | None = None) -> None:
    """One run is in every respect what the oracle says."""
    about = case.spec.text(using)
    results, warned = run_heeding(about, case.table)
    wanted = expect(case.spec, case.records)
    table = results.to_arrow()
    assert_schema(case.spec, table)
    rows = rows_of(table)
    if case.spec.late == "REVISE":
        rows = in_place(case.spec, rows)
    assert_same_rows(rows, wanted.rows, about)
    assert_rejects(results, wanted)
    assert_metrics(results, case.spec, case.records, wanted)
    assert_warned(case.spec, case.records, results.metrics, warned)


def assert_warned(
    spec: Spec, records: Sequence[Record], metrics: Any, warned: Sequence[str]
) -> None:
    """A warning where more than one record in a hundred is dropped; what it names suffices."""
    dropped = [] if spec.late == "REVISE" else expect(spec, records).late
    many = len(dropped) > 0.01 * (metrics.rows_in - metrics.rows_filtered)
    assert len(warned) == int(many)
    if many:
        named = re.search("(LATENESS .*) would have counted them all", warned[0])
        assert named is not None
        lateness = crestline.parse(f"SELECT TOP 1 x FROM s [ROWS 1] ORDER BY x {named[1]}").lateness
        assert expect(replace(spec, lateness=lateness), records).late == []
        assert lateness is not None and lateness <= 1.25 * metrics.lateness_needed
        assert expect(replace(spec, lateness=metrics.lateness_needed - 1), records).late != []


def replay(
    changes: Sequence[Row], spec: Spec, moments: Sequence[tuple[int, tuple[Any, ...]]]
) -> Any:
    """Apply changes by the rule of the design and give what stands at each (moment, partition)."""
    shown = (*spec.select, "score")
    by_cell: dict[tuple[Any, ...], list[Row]] = {}
    for row in changes:
        by_cell.setdefault((row["at"], tuple(row[c] for c in spec.partition)), []).append(row)
    ends: dict[tuple[Any, ...], list[int]] = {}
    for end, partition in {*moments, *by_cell}:
        ends.setdefault(partition, []).append(end)
    standing: dict[tuple[Any, ...], list[Any]] = {}
    for partition, partition_ends in ends.items():
        slots: dict[int, tuple[Any, ...]] = {}
        for end in sorted(partition_ends):
            told = by_cell.get((end, partition), [])
            for row in told:
                if row["previous_rank"] is not None:
                    del slots[row["previous_rank"]]
            for row in told:
                if row["rank"] is not None:
                    assert row["rank"] not in slots, f"two records at rank {row['rank']}: {row}"
                    slots[row["rank"]] = tuple(row[c] for c in shown)
            standing[(end, partition)] = [slots[rank] for rank in sorted(slots)]
            assert sorted(slots) == list(range(1, len(slots) + 1))
    return standing
