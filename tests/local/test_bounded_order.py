"""A bounded run without LATENESS counts every record, in whatever order the records lie.

Small batches and row groups let a few records reach what millions do otherwise: results that come
while the stream is read, as far as is known what is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import SourceError
from crestline.local import BoundedRun
from crestline.sources import base, parquet
from crestline.sources import horizon as horizon_of
from crestline.testing import Kind, Record, expect
from local.engines import assert_same_rows, examples, in_place, rows_of
from strategies import SECOND, TIMED_KINDS, Case, cases

EMIT = st.sampled_from(("SNAPSHOTS", "CHANGES"))
FORMS = ("table", "parquet", "without statistics", "batches", "json lines")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "BATCH_ROWS", 4)
    monkeypatch.setattr(parquet, "PORTION_ROWS", 6)


def laid(records: list[Record], how: str, draw: Any) -> list[Record]:
    """The records in some order: as drawn, by time, by time within pieces or with pieces swapped,
    or anyhow."""
    in_time = sorted(records, key=lambda r: (r["ts"] is None, r["ts"] or 0))
    if how == "by time":
        return in_time
    if how == "anyhow":
        return list(draw(st.permutations(records)))
    if how == "pieces swapped":
        pieces = [in_time[start : start + 5] for start in range(0, len(in_time), 5)]
        return [record for piece in draw(st.permutations(pieces)) for record in piece]
    if how == "nearly by time":
        return sorted(in_time, key=lambda r: in_time.index(r) + draw(st.integers(0, 3)))
    return records


LAID = st.sampled_from(("as drawn", "by time", "anyhow", "pieces swapped", "nearly by time"))


def given_as(form: str, case: Case, folder: Path) -> Any:
    table = case.table
    if form == "table":
        return table
    if form == "batches":
        return iter(table.to_batches(max_chunksize=4))
    if form == "json lines":
        from crestline.cli.plain import json_lines

        file = folder / "s.jsonl"
        file.write_bytes(b"".join(json_lines(batch) for batch in table.to_batches()))
        return file
    pieces = folder / "pieces"
    pieces.mkdir(exist_ok=True)
    for old in pieces.iterdir():
        old.unlink()
    for number, start in enumerate(range(0, max(1, table.num_rows), 15)):
        pq.write_table(
            table.slice(start, 15), pieces / f"{number:03}.parquet", row_group_size=3,
            write_statistics=form == "parquet",
        )  # fmt: skip
    return pieces


@pytest.mark.parametrize("form", FORMS[:-1])
@pytest.mark.parametrize("kind", TIMED_KINDS)
def test_every_record_counts(kind: Kind, form: str, tmp_path: Path) -> None:
    @examples(25)
    @given(st.data(), cases(kinds=(kind,), lateness=None))
    def holds(data: st.DataObject, case: Case) -> None:
        case = case.with_records(laid(case.records, data.draw(LAID), data.draw))
        case = case.with_spec(emit=data.draw(EMIT))
        results = crestline.run(case.spec.text(), {"s": given_as(form, case, tmp_path)})
        wanted = expect(case.spec, case.records)
        rows = rows_of(results.to_arrow())
        # Time runs the same way for everyone, also where results come bit by bit.
        rows = rows if kind != "rows_on" else in_place(case.spec, rows)
        assert_same_rows(rows, wanted.rows, case.spec.text())
        assert results.metrics.rows_late == 0
        assert results.metrics.result_rows == len(wanted.rows)
        assert sorted(results.rejects.column("row").to_pylist()) == sorted(wanted.rejects)

    holds()


@examples(30)
@given(st.data(), st.sampled_from(("range_slide", "unbounded_time")))
def test_queries_that_share_count_every_record(data: st.DataObject, kind: Kind) -> None:
    """A bundle of two windows, and beside it a query with another event time's order."""
    first = data.draw(cases(kinds=(kind,), lateness=None, name="one", where=None, where_sql=None))
    first = first.with_records(laid(first.records, data.draw(LAID), data.draw))
    wider = replace(first.spec, name="two", k=2, slide=2 * first.spec.slide)
    late = replace(first.spec, name="three", lateness=3 * first.unit)
    every = (first.spec, wider, late)
    text = ";\n".join(spec.text() for spec in every)
    run = BoundedRun({q.name or "": q for q in crestline.parse_all(text)}, {"s": first.table})
    got: dict[str, list[Any]] = {spec.name or "": [] for spec in every}
    for name, table in run:
        got[name] += rows_of(table)
    for spec in every:
        wanted = expect(spec, first.records)
        assert_same_rows(got[spec.name or ""], wanted.rows, spec.text())
        assert run.metrics(spec.name or "").rows_late == len(wanted.late)
    assert run.metrics("one").sharing == 2


def test_two_event_times_of_one_stream_have_their_own_order() -> None:
    """Sorted by one column, anyhow by the other."""
    rng = np.random.default_rng(7)
    times = np.arange(40) * SECOND
    moments = [pa.array(t, pa.timestamp("us")) for t in (times, rng.permutation(times))]
    table = pa.table({"id": range(40), "a": moments[0], "b": moments[1], "v": rng.random(40)})
    query = "SELECT TOP 2 id FROM s [RANGE 9 SECONDS SLIDE 4 SECONDS ON {}] ORDER BY v DESC"
    both = f"CREATE QUERY a AS {query.format('a')}; CREATE QUERY b AS {query.format('b')}"
    results = crestline.run(both, {"s": table})
    for column in "ab":
        ordered = table.sort_by(column)
        alone = crestline.run(query.format(column), {"s": ordered}).to_arrow()
        assert results.of(column).drop_columns("query").equals(alone.drop_columns("query"))


# --- when results come, and what is kept ----------------------------------------------------------

MINUTE = "SELECT TOP 2 id FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS ON ts] ORDER BY val DESC"
EACH = "SELECT TOP 2 id FROM s [RANGE 60 SECONDS ON ts] ORDER BY val DESC"
POSITIONS = "SELECT TOP 2 id FROM s [ROWS 9 SLIDE 3 ON ts] ORDER BY val DESC"


def readings(order: np.ndarray[Any, Any]) -> pa.Table:
    """A record every ten seconds, in this order."""
    rng = np.random.default_rng(3)
    times = pa.array(order * 10 * SECOND, pa.timestamp("us", "UTC"))
    return pa.table({"id": order, "ts": times, "val": rng.random(order.max() + 1)[order]})


def crowded(count: int) -> pa.Table:
    """So many records in a hundred minutes, anyhow."""
    rng = np.random.default_rng(5)
    times = pa.array(rng.integers(0, 6_000 * SECOND, count), pa.timestamp("us", "UTC"))
    return pa.table({"id": range(count), "ts": times, "val": rng.random(count)})


def read_before_rows(query: str, data: Any) -> list[int]:
    """How many records had been read when result rows came."""
    read = [0]
    run = BoundedRun({"q": crestline.parse(query)}, {"s": data}, progress=read.append)
    return [read[-1] for _ in run]


@pytest.mark.parametrize("query", [MINUTE, EACH, POSITIONS])
def test_where_the_order_is_known_results_come_as_they_fall_due(query: str, tmp_path: Path) -> None:
    table = readings(np.arange(60))
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=6)
    for data in (table, tmp_path / "s.parquet"):
        came = read_before_rows(query, data)
        assert came[0] <= 18 and len(set(came)) >= 5, came
    # Blocks of a minute, of which every two are swapped: known all the same.
    swapped = np.arange(60).reshape(-1, 2, 6)[:, ::-1].ravel()
    pq.write_table(readings(swapped), tmp_path / "s.parquet", row_group_size=6)
    came = read_before_rows(query, tmp_path / "s.parquet")
    assert came[0] <= 24 and len(set(came)) >= 3, came


@pytest.mark.parametrize("query", [MINUTE, EACH, POSITIONS])
def test_where_nothing_is_known_results_come_at_the_end(query: str) -> None:
    table = readings(np.arange(60))
    assert set(read_before_rows(query, iter(table.to_batches(max_chunksize=4)))) == {60}
    # Backwards, it is known with the last batch only.
    assert min(read_before_rows(query, readings(np.arange(60)[::-1]))) == 56


@pytest.mark.parametrize("semantics", ["", "WITH PROBABILITY 0.5"])
def test_panes_keep_their_best_and_no_more(semantics: str) -> None:
    query = MINUTE.replace("ORDER", f"{semantics} ORDER")
    batches = crowded(60_000).to_batches(max_chunksize=2_000)
    metrics = crestline.run(query, {"s": iter(batches)}).metrics
    assert metrics.rows_in == 60_000 and metrics.rows_late == 0
    assert metrics.kept_peak < 7_000  # 4,096 wait before they are pruned


def test_the_columns_of_records_that_lost_are_forgotten() -> None:
    from crestline.runtime.stream_run import StreamRun

    table = crowded(200_000)
    several = StreamRun({"q": crestline.parse(MINUTE)}, table.schema, bounded=True)
    for batch in table.to_batches(max_chunksize=2_000):
        assert list(several.push(batch)) == []
        assert len(several._bundles[0].executor.candidates.table) < 20_000
    assert sum(rows.num_rows for _, rows in several.finish()) == 200


def test_about_how_many_a_window_held() -> None:
    """As well in any order as by time."""
    query = MINUTE.replace("RANGE 60", "RANGE 600")
    table = crowded(300_000)
    held = [
        crestline.run(query, {"s": iter(each.to_batches(max_chunksize=50_000))}).metrics
        for each in (table, table.sort_by("ts"))
    ]
    assert [known.window_records_peak for known in held] == pytest.approx([30_000] * 2, rel=0.05)


def test_statistics_that_are_wrong_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(readings(np.arange(60)[::-1]), tmp_path / "s.parquet", row_group_size=6)

    def wrong(metadata: pq.FileMetaData, column: str) -> list[int]:
        return [group * 60 * SECOND for group in range(metadata.num_row_groups)]

    monkeypatch.setattr(parquet, "earliest_by_statistics", wrong)
    with pytest.raises(SourceError, match="not what the statistics in the files say"):
        crestline.run(MINUTE, {"s": tmp_path / "s.parquet"})


KINDS = [
    pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns"),
    pa.date32(), pa.date64(),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_earliest_time_of_every_type(kind: pa.DataType, tmp_path: Path) -> None:
    """Before and after 1970, and with NULLs; of ``ns`` down to the microsecond."""
    day = 86_400 * SECOND
    days = [[-3, None, 5], [None, None, None], [7, 9, 8]]
    columns = [pa.array(values, pa.int32()).cast(pa.date32()).cast(kind) for values in days]
    table = pa.table({"n": range(9), "t": pa.chunked_array(columns)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=3)
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    wanted = [-3 * day, horizon_of.NEVER, 7 * day]
    assert horizon_of.earliest_by_statistics(metadata, "t") == wanted
    parts = [table.column("t").slice(start, 3) for start in (0, 3, 6)]
    assert [horizon_of.earliest_in(part) for part in parts] == wanted


def test_nanoseconds_are_rounded_down() -> None:
    times = pa.chunked_array([pa.array([-1, 1999], pa.timestamp("ns"))])
    assert horizon_of.earliest_in(times) == -1


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()], ids=str)
def test_of_other_types_nothing_is_known(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"t": pa.array(["1", "2"]).cast(kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert horizon_of.earliest_by_statistics(metadata, "t") == [horizon_of.LONG_AGO]
    assert horizon_of.earliest_by_statistics(metadata, "u") == [horizon_of.LONG_AGO]
    assert horizon_of.earliest_in(table.column("t")) == horizon_of.LONG_AGO


def test_text_times_count_too(tmp_path: Path) -> None:
    """Files of text tell nothing of their order: all results come at the end."""
    rng = np.random.default_rng(1)
    table = readings(rng.permutation(50))
    lines = ["id,ts,val"]
    for row in table.to_pylist():
        lines.append(f"{row['id']},{row['ts']:%Y-%m-%dT%H:%M:%SZ},{row['val']}")
    file = tmp_path / "s.csv"
    file.write_text("\n".join(lines))
    for query in (MINUTE, EACH, POSITIONS):
        ordered = crestline.run(query, {"s": table.sort_by("ts")}).to_arrow()
        assert crestline.run(query, {"s": file}).to_arrow().equals(ordered)


# --- many late records ----------------------------------------------------------------------------


def shuffled(count: int) -> Iterator[pa.RecordBatch]:
    order = np.random.default_rng(2).permutation(count)
    return iter(readings(order).to_batches(max_chunksize=100))


def test_a_session_warns_once_when_it_has_seen_enough() -> None:
    session = crestline.open(MINUTE)
    batches = list(shuffled(3000))
    for batch in batches[:9]:
        session.push(batch)  # a warning would be an error here
    with pytest.warns(crestline.LateRecordsWarning, match="came late and were dropped") as caught:
        session.push(batches[9])
    assert len(caught) == 1 and caught[0].filename == __file__
    for batch in batches[10:]:
        session.push(batch)
    assert session.metrics.rejected["late"] > 2000


def test_the_warning_names_the_query_that_dropped_most() -> None:
    text = f"CREATE QUERY a AS {MINUTE}; CREATE QUERY b AS {MINUTE} LATENESS 0 SECONDS"
    with pytest.warns(crestline.LateRecordsWarning, match="^query b: ") as caught:
        crestline.run(text, {"s": shuffled(500)})
    assert len(caught) == 1 and caught[0].filename == __file__


def test_one_in_a_hundred_is_not_many() -> None:
    order = np.arange(200)
    order[:3] = [0, 2, 1]
    order[100:102] = [101, 100]
    query = f"{MINUTE} LATENESS 0 SECONDS"
    assert crestline.run(query, {"s": readings(order)}).metrics.rows_late == 2  # no warning
    order[150:152] = [151, 150]
    with pytest.warns(crestline.LateRecordsWarning, match=r"3 of 200 records .* LATENESS 10 SEC"):
        crestline.run(query, {"s": readings(order)})


def test_corrections_are_no_losses() -> None:
    query = f"{MINUTE} LATENESS 0 SECONDS LATE REVISE"
    metrics = crestline.run(query, {"s": shuffled(300)}).metrics  # a warning would be an error
    assert metrics.rows_late > 200 and metrics.lateness_needed > 0
