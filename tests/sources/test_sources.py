"""The same stream in every form gives the same rows and the same rejects."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import CrestlineError, SourceError
from crestline.testing import Record, Spec, expect
from local.engines import (
    ask,
    assert_rejects,
    assert_same_rows,
    at,
    moment,
    rejects_of,
    rows_of,
    run,
)

SECOND = 1_000_000
SPEC = Spec(
    k=3, kind="range_slide", width=90 * SECOND, slide=60 * SECOND, ts="ts",
    order=(("val", True), ("size", False)), partition=("grp",), select=("id", "txt"),
    lateness=20 * SECOND,
)  # fmt: skip


def stream(count: int = 600) -> list[Record]:
    """Ties, NULL scores, NULL groups, records out of order, some of them late."""
    random.seed(7)
    start = at("2024-05-01T09:30:00")
    records = []
    for number in range(count):
        late = random.choice((0, 0, 0, 5, 10, 25, 40)) * SECOND
        records.append(
            {
                "id": number,
                "ts": start + number * 2 * SECOND - late,
                "val": random.choice((None, 1.5, 2.5, 2.5, 3.25, -1.0, 100.0)),
                "size": random.choice((10, 20, 30)),
                "grp": random.choice(("north", "south", None)),
                "txt": random.choice(("plain", 'with "quotes"', "comma, here", "ünïcode")),
            }
        )
    return records


RECORDS = stream()
TYPES = {
    "id": pa.int64(), "ts": pa.timestamp("us", tz="UTC"), "val": pa.float64(), "size": pa.int64(),
    "grp": pa.string(), "txt": pa.string(),
}  # fmt: skip


def as_table(records: list[Record] = RECORDS) -> pa.Table:
    return pa.table({n: pa.array([r[n] for r in records], t) for n, t in TYPES.items()})


def as_dicts() -> list[Record]:
    return [r | {"ts": moment(r["ts"])} for r in RECORDS]


def parts() -> list[list[Record]]:
    return [RECORDS[:250], RECORDS[250:251], RECORDS[251:]]


def write_json(path: Path, records: list[Record]) -> Path:
    lines = [
        json.dumps(r | {"ts": moment(r["ts"]).isoformat().replace("+00:00", "Z")}) for r in records
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_csv(path: Path, records: list[Record]) -> Path:
    table = as_table(records)
    texts = pa.array([moment(r["ts"]).isoformat() for r in records])
    pyarrow.csv.write_csv(table.set_column(1, "ts", texts), path)
    return path


def write_parquet(path: Path, records: list[Record]) -> Path:
    pq.write_table(as_table(records), path, row_group_size=100)
    return path


def several(write: Callable[[Path, list[Record]], Path], end: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        for number, records in enumerate(parts()):
            write(folder / f"part-{number}.{end}", records)
        return str(folder / f"*.{end}")

    return make


def a_folder(folder: Path) -> Path:
    several(write_parquet, "parquet")(folder)
    return folder


def batches() -> Iterator[pa.RecordBatch]:
    yield from as_table().to_batches(max_chunksize=77)


FORMS: dict[str, Callable[[Path], Any]] = {
    "dicts": lambda folder: as_dicts(),
    "table": lambda folder: as_table(),
    "chunked table": lambda folder: pa.Table.from_batches(batches()),
    "sliced table": lambda folder: pa.concat_tables([as_table().slice(0, 1), as_table()]).slice(1),
    "reader": lambda folder: as_table().to_reader(max_chunksize=100),
    "generator of batches": lambda folder: batches(),
    "list of batches": lambda folder: list(batches()),
    "pandas": lambda folder: as_table().to_pandas(),
    "pandas with an odd index": lambda folder: (
        as_table().to_pandas().set_index(pd.Index(range(1000, 400, -1)))
    ),
    "parquet": lambda folder: write_parquet(folder / "s.parquet", RECORDS),
    "parquet as text path": lambda folder: str(write_parquet(folder / "s.parquet", RECORDS)),
    "csv": lambda folder: write_csv(folder / "s.csv", RECORDS),
    "jsonl": lambda folder: write_json(folder / "s.jsonl", RECORDS),
    "ndjson": lambda folder: write_json(folder / "s.ndjson", RECORDS),
    "json": lambda folder: write_json(folder / "s.json", RECORDS),
    "folder of parquet": a_folder,
    "glob of parquet": several(write_parquet, "parquet"),
    "glob of csv": several(write_csv, "csv"),
    "glob of jsonl": several(write_json, "jsonl"),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_gives_the_same(form: str, tmp_path: Path) -> None:
    results = run(SPEC, FORMS[form](tmp_path))
    wanted = expect(SPEC, RECORDS)
    assert len(wanted.rows) > 100, "the stream must be worth the test"
    assert len(wanted.late) > 10
    assert_same_rows(rows_of(results.to_arrow()), wanted.rows, form)
    assert_rejects(results, wanted)
    assert results.metrics.rows_in == len(RECORDS)


def test_a_path_with_quotes_and_spaces(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "folder" [1]'
    folder.mkdir()
    path = write_parquet(folder / "my 'stream'.parquet", RECORDS)
    assert len(run(SPEC, path)) == len(expect(SPEC, RECORDS).rows)


def test_to_pandas_is_the_same_answer() -> None:
    results = run(SPEC, as_table())
    frame = results.to_pandas()
    assert list(frame.columns) == results.to_arrow().column_names
    assert len(frame) == len(results) == results.to_arrow().num_rows
    assert frame["id"].tolist() == results.to_arrow().column("id").to_pylist()


@pytest.mark.parametrize("kind", ["large_string", "dictionary", "string_view"])
def test_other_encodings_of_text(kind: str) -> None:
    types = {
        "large_string": pa.large_string(),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
        "string_view": pa.string_view(),
    }
    table = as_table()
    for name in ("grp", "txt"):
        place = table.column_names.index(name)
        plain = table.column(name)
        encoded = plain.dictionary_encode() if kind == "dictionary" else plain.cast(types[kind])
        table = table.set_column(place, name, encoded)
    assert_same_rows(rows_of(run(SPEC, table).to_arrow()), expect(SPEC, RECORDS).rows, kind)


# --- event time in other clothes -----------------------------------------------------------------

ONE = "SELECT TOP 1 id FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE ON ts] ORDER BY val DESC"


def one_record(times: pa.Array) -> int:
    """The window end of a stream of one record."""
    table = pa.table({"id": [1], "ts": times, "val": [1.0]})
    (row,) = ask(ONE, table)
    end = row["window_end"]
    assert isinstance(end, int)
    return end


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "+05:30"])
def test_every_resolution_and_zone_of_timestamps(unit: str, zone: str | None) -> None:
    instant = datetime(2024, 2, 29, 12, 30, 59, tzinfo=UTC)
    times = pa.array([instant], pa.timestamp("us", tz="UTC")).cast(pa.timestamp(unit, tz="UTC"))
    times = times.cast(pa.int64()).cast(pa.timestamp(unit, tz=zone))
    assert one_record(times) == at("2024-02-29T12:31:00")


def test_nanoseconds_are_floored() -> None:
    """One nanosecond before the minute still belongs to it, also before 1970."""
    minute = 60 * 10**9
    assert one_record(pa.array([minute - 1], pa.timestamp("ns"))) == 60 * SECOND
    assert one_record(pa.array([minute], pa.timestamp("ns"))) == 120 * SECOND
    assert one_record(pa.array([-1], pa.timestamp("ns"))) == 0
    assert one_record(pa.array([-minute - 1], pa.timestamp("ns"))) == -60 * SECOND


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates_are_midnight_utc(kind: pa.DataType) -> None:
    times = pa.array([datetime(2024, 2, 29).date()], pa.date32()).cast(kind)
    assert one_record(times) == at("2024-02-29T00:01:00")


def test_naive_datetimes_are_utc() -> None:
    (row,) = ask(ONE, [{"id": 1, "ts": datetime(2024, 2, 29, 12, 0), "val": 1}])
    assert row["window_end"] == at("2024-02-29T12:01:00")


# --- what is missing or of the wrong type --------------------------------------------------------


def test_a_missing_column_is_named_with_those_that_exist() -> None:
    for query, missing in [
        ("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY price DESC", "price"),
        ("SELECT TOP 1 nothing FROM s [ROWS 2] ORDER BY val DESC", "nothing"),
        ("SELECT TOP 1 id FROM s [ROWS 2] PARTITION BY symbol ORDER BY val DESC", "symbol"),
        ("SELECT TOP 1 id FROM s [ROWS 2] WHERE colour = 'red' ORDER BY val DESC", "colour"),
        ("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC KEY (code)", "code"),
        ("SELECT TOP 1 id FROM s [RANGE 1 s SLIDE 1 s ON moment] ORDER BY val DESC", "moment"),
    ]:
        with pytest.raises(SourceError) as caught:
            crestline.run(query, {"s": as_table()}, engine="local")
        assert missing in str(caught.value)
        assert all(name in str(caught.value) for name in TYPES), "say which columns there are"


def test_a_missing_column_in_a_session() -> None:
    session = crestline.open("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY price", engine="local")
    with pytest.raises(SourceError, match="price"):
        session.push(as_table())


@pytest.mark.parametrize("path", ["none.parquet", "none.csv", "none-*.jsonl", "nowhere/"])
def test_a_missing_file_is_named(path: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        run(SPEC, str(tmp_path / path))
    assert path.strip("/") in str(caught.value)


def test_an_unknown_kind_of_file_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "s.xlsx"
    path.write_bytes(b"PK")
    with pytest.raises(SourceError, match="parquet") as caught:
        run(SPEC, path)
    assert "csv" in str(caught.value)


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    path.write_text("id,val\n1,2\n")
    with pytest.raises(SourceError, match="s.parquet"):
        run(SPEC, path)


def test_a_csv_that_breaks_off_late(tmp_path: Path) -> None:
    """DuckDB gives up on a stray carriage return only when it reaches it, after the sample."""
    path = tmp_path / "s.csv"
    path.write_text("id,val\n" + "1,2\n" * 30_000 + "3,4\r5,6\n", newline="")
    with pytest.raises(SourceError, match="stream 's' cannot be read: .*CSV") as caught:
        ask("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC", path)
    assert "\n" not in str(caught.value), "the first line says it"


@pytest.mark.parametrize("data", [42, None, [1, 2, 3], {"a": 1}.keys()], ids=repr)
def test_things_that_are_no_stream(data: Any) -> None:
    with pytest.raises(CrestlineError):
        run(SPEC, data)


def test_ordering_by_a_text_column_is_an_error_that_names_it() -> None:
    for form in (as_table(), as_table().to_pandas()):
        with pytest.raises(SourceError, match="txt"):
            ask("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY txt DESC", form)


def test_a_number_is_no_event_time() -> None:
    with pytest.raises(SourceError, match="size"):
        ask("SELECT TOP 1 id FROM s [RANGE 1 s SLIDE 1 s ON size] ORDER BY val DESC", as_table())


# --- empty ---------------------------------------------------------------------------------------


def empty_csv(folder: Path) -> Path:
    path = folder / "s.csv"
    path.write_text(",".join(TYPES) + "\n")
    return path


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: as_table([]),
        lambda folder: as_table([]).to_pandas(),
        lambda folder: as_table([]).to_reader(),
        lambda folder: write_parquet(folder / "s.parquet", []),
        empty_csv,
    ],
    ids=["table", "pandas", "reader", "parquet", "csv with a header"],
)
def test_an_empty_stream_is_an_empty_answer(make: Callable[[Path], Any], tmp_path: Path) -> None:
    results = run(SPEC, make(tmp_path))
    assert len(results) == results.to_arrow().num_rows == 0
    assert results.to_arrow().column_names == [
        "query", "window_start", "window_end", "grp", "rank", "id", "txt", "score",
    ]  # fmt: skip
    assert results.metrics.rows_in == 0


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
def test_a_file_of_no_bytes_is_empty_or_a_clear_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    try:
        results = run(SPEC, path)
    except SourceError as error:
        assert name in str(error)
    else:
        assert len(results) == 0


def test_a_list_of_no_dicts_is_an_empty_answer_or_a_clear_error() -> None:
    """An empty list has no columns, so nothing can be said about its types."""
    try:
        results = run(SPEC, [])
    except SourceError as error:
        assert "column" in str(error)
    else:
        assert len(results) == 0


def test_an_empty_file_among_others(tmp_path: Path) -> None:
    pattern = several(write_parquet, "parquet")(tmp_path)
    write_parquet(tmp_path / "part-00.parquet", [])
    assert len(run(SPEC, pattern)) == len(expect(SPEC, RECORDS).rows)


def test_the_rejects_of_several_files_are_numbered_through(tmp_path: Path) -> None:
    pattern = several(write_csv, "csv")(tmp_path)
    rows = [row for row, _, _ in rejects_of(run(SPEC, pattern))]
    assert rows == sorted(expect(SPEC, RECORDS).rejects)
    assert rows[-1] > 250
