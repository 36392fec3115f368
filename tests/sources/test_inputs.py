"""Whatever a data person has at hand is a stream: it gives the rows that an Arrow table gives."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crestline
from crestline.core.errors import SourceError
from crestline.sources import records
from local.engines import rejects_of, rows_of
from sources.forms import (
    COUNTED,
    FORMS,
    TIMED,
    WANTED,
    dicts,
    iso,
    numpy_records,
    plain,
    table,
)


@pytest.mark.parametrize("query", [TIMED, COUNTED], ids=["timed", "counted"])
@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_gives_the_rows_of_a_table(form: str, query: str) -> None:
    assert plain(crestline.run(query, FORMS[form]())) == WANTED[query], "bare"
    assert plain(crestline.run(query, {"s": FORMS[form]()})) == WANTED[query], "by name"


@pytest.mark.parametrize("form", list(FORMS))
def test_a_session_takes_every_form(form: str) -> None:
    with crestline.open(TIMED + " LATENESS 5 SECONDS") as session:
        found = [session.push(FORMS[form]()), session.finish()]
    assert rows_of(pa.concat_tables(found)) == WANTED[TIMED][0]


def test_NumPy_records_have_NaN_where_others_have_NULL() -> None:
    rows, rejects = plain(crestline.run(TIMED, numpy_records()))
    assert rows == WANTED[TIMED][0]
    assert {reason for _, _, reason in rejects} == {"score is NaN"}


def test_records_of_an_iterator_come_in_batches_whose_types_widen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "RECORDS_AT_ONCE", 3)
    values: list[Any] = [None, None, None, 1, 2, 2**60, 2.5, "3", "x", None]
    found = crestline.run(
        "SELECT TOP 3 id FROM s [ROWS 5 SLIDE 5] ORDER BY val DESC",
        (
            {"id": n, "val": value} | ({"late": 1} if n > 5 else {})
            for n, value in enumerate(values)
        ),
    )
    assert found.to_arrow().column("id").to_pylist() == [5, 7, 6]
    assert rejects_of(found)[-2:] == [(8, "val", "not a number"), (9, "val", "score is NULL")]


def test_a_generator_is_read_once_and_as_it_comes() -> None:
    """A million dictionaries do not have to be held at once."""
    alive = 0

    def generated() -> Iterator[dict[str, int]]:
        nonlocal alive
        for n in range(25_000):
            alive = n
            yield {"id": n, "x": n}

    first = crestline.sources.source(generated(), "s")
    assert alive < records.RECORDS_AT_ONCE
    assert sum(batch.num_rows for batch in first.read(["id"])) == 25_000


def test_readers_of_csv_yield_frames_or_records(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    pd.DataFrame(dicts(ts=iso)).to_csv(path, index=False)
    assert plain(crestline.run(TIMED, pd.read_csv(path, chunksize=7))) == WANTED[TIMED]
    with path.open() as opened:
        rows, rejects = plain(crestline.run(TIMED, csv.DictReader(opened)))
    assert rows == WANTED[TIMED][0]
    assert [row for row, _, _ in rejects] == [row for row, _, _ in WANTED[TIMED][1]]


ANY = "SELECT TOP 5 c FROM s [ROWS 5] ORDER BY val DESC"


def values_of(data: Any) -> list[Any]:
    """The values of ``c`` in the last window, by rising ``val``."""
    rows = crestline.run(ANY, data).to_arrow().to_pylist()
    return [row["c"] for row in rows if row["window_end"] == rows[-1]["window_end"]][::-1]


def test_columns_of_mixed_objects_are_texts() -> None:
    mixed = ["a", 1, None, b"x", 2.5]
    for frame, values in [
        (dict, mixed),
        (pd.DataFrame, np.array(mixed, object)),
        (pl.DataFrame, pl.Series(mixed, dtype=pl.Object)),
    ]:
        data = frame({"c": values, "val": list(range(5))})
        assert values_of(data) == ["a", "1", None, "b'x'", "2.5"]


def test_decimals_stay_what_they_are() -> None:
    values = [Decimal("1.10"), None, Decimal("-2.005")]
    assert values_of([{"c": v, "val": n} for n, v in enumerate(values)]) == values
    rows = [{"c": v, "val": v} for v in values]
    assert crestline.run(ANY, rows).to_arrow().column("score").to_pylist() == [1.1, 1.1, -2.005]


def test_mixed_scores_of_pandas_set_aside_what_is_no_number() -> None:
    frame = pd.DataFrame({"name": list("abc"), "val": [1, "x", 2.5]})
    found = crestline.run("SELECT TOP 1 name FROM s [ROWS 2] ORDER BY val DESC", frame)
    assert found.metrics.rejected == {"not a number": 1}
    assert found.to_arrow().column("name").to_pylist() == ["a", "c"]


def test_a_name_that_is_there_twice_is_an_error_only_if_it_is_read() -> None:
    frame = pd.DataFrame([[1, 2, 3.0]], columns=["c", "c", "val"])
    with pytest.raises(SourceError, match="several columns 'c': rename"):
        crestline.run(ANY, frame)
    assert len(crestline.run("SELECT TOP 1 val FROM s [ROWS 1] ORDER BY val DESC", frame)) == 1


def test_times_of_NumPy_and_pandas_lose_nothing() -> None:
    fine = np.datetime64("2024-05-01T00:00:00.000000001", "ns")
    text = "2024-05-01T00:00:00.000000001"
    rows = [{"c": value, "val": n} for n, value in enumerate([fine, None, np.datetime64("NaT")])]
    assert values_of(rows)[0].isoformat() == text or str(values_of(rows)[0]).startswith(text)
    assert values_of(rows)[1:] == [None, None]
    mixed = [pd.Timestamp(text), pd.NaT, "soon", np.datetime64("2024-05-01T00:00", "m")]
    rows = [{"c": value, "val": n} for n, value in enumerate(mixed)]
    assert values_of(rows) == [text, None, "soon", "2024-05-01 00:00:00"]


def test_arrays_of_every_kind_are_columns() -> None:
    for values, wanted in [
        (np.array([[1.0, 2.0], [3.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]]),
        (np.array([1, 2], ">i4"), [1, 2]),
        (np.array([b"a", b"\xff"]), [b"a", b"\xff"]),
        (np.array(["2024-05-01T10", "NaT"], "datetime64[h]"), [datetime(2024, 5, 1, 10), None]),
        (np.array([1 + 2j, 0]), ["(1+2j)", "0j"]),
        (np.ma.masked_array([1, 2], [False, True]), [1, None]),
    ]:
        assert values_of({"c": values, "val": [0, 1]}) == wanted


@pytest.mark.parametrize(
    "series",
    [
        pl.Series(["x", "y", None], dtype=pl.Categorical),
        pl.Series(["x", "y", None], dtype=pl.Enum(["y", "x"])),
        pd.Series(["x", "y", None], dtype="category"),
        pd.Series(["x", "y", None], dtype="string"),
    ],
    ids=["Categorical", "Enum", "category", "string"],
)
def test_categories_are_texts(series: Any) -> None:
    for data in (
        type(series.to_frame())({"c": series, "val": [0, 1, 2]}),
        {"c": series, "val": [0, 1, 2]},
    ):
        assert values_of(data) == ["x", "y", None]


def test_integers_of_128_bits() -> None:
    frame = pl.DataFrame({"c": pl.Series([2**100, 1], dtype=pl.Int128), "val": [0, 1]})
    assert values_of(frame) == [2**100, 1]


def test_a_dictionary_of_the_wrong_name_tells_both_names() -> None:
    with pytest.raises(SourceError, match="reads the stream 's', but the streams given are 't'"):
        crestline.run(TIMED, {"t": table()})
    with pytest.raises(SourceError, match="the streams given are '1'"):
        crestline.run(TIMED, {1: table()})


def test_a_column_that_is_called_like_the_stream() -> None:
    query = "SELECT TOP 1 id FROM x [ROWS 1] ORDER BY x DESC"
    columns = {"id": [1, 2], "x": [3.0, 4.0]}
    with pytest.raises(SourceError, match="both a stream of the query and a column"):
        crestline.run(query, columns)
    assert len(crestline.run(query, {"x": columns})) == 2


def test_one_record_is_a_stream_of_one_record() -> None:
    assert values_of({"c": "a", "val": 1}) == ["a"]
    assert values_of([{"c": [1, 2], "val": 1}]) == [[1, 2]], "a list is a value there"
    assert values_of({"c": [1, 2], "val": 1}) == [[1, 2]]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(SourceError, match="'c' has 2 values and 'val' has 1"):
        crestline.run(ANY, {"c": [1, 2], "val": [1]})


def test_several_streams_need_their_names() -> None:
    both = f"{COUNTED}; SELECT TOP 1 name FROM r [ROWS 1] ORDER BY val DESC"
    with pytest.raises(SourceError, match="the streams 's', 'r': give a dictionary"):
        crestline.run(both, table())
    twice = crestline.run(f"{COUNTED}; {TIMED.replace('FROM s', 'FROM S')}", table())
    assert list(twice.by_query) == ["query_1", "query_2"], "one stream in two spellings"


async def later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (42, "is of type int"),
        (None, "is of type NoneType"),
        (b"name,val", "is of type bytes"),
        ([1, 2], "yields int"),
        ([("a", 1)], "yields tuple: .* dictionaries, which name the columns"),
        ([["a", "b"]], "yields list"),
        (pd.Series([1.0]), "one column: give a data frame"),
        (pl.Series([1.0]), "one column: give a data frame"),
        (np.ones(3), "array without names"),
        (later(), "asynchronous"),
        ((path for path in ["a.csv"]), "give them as a list"),
        ([{"name": "a", "val": 1}, 7], "yields int after dictionaries"),
        ([table(), table().drop_columns(["val"])], "a later part has no column 'val'"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_is_no_stream_is_told_in_a_sentence(data: Any, told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        crestline.run(COUNTED, data)
    assert "\n" not in str(caught.value)


def test_a_frame_that_cannot_be_computed() -> None:
    broken = duckdb.sql("SELECT 'a' AS name, CAST(error('no') AS DOUBLE) AS val")
    with pytest.raises(SourceError, match="stream 's' cannot be read"):
        crestline.run(COUNTED, broken)
    lazy = pl.LazyFrame({"name": ["a"], "val": ["x"]}).with_columns(pl.col("val").cast(pl.Float64))
    with pytest.raises(SourceError, match="stream 's' cannot be read"):
        crestline.run(COUNTED, lazy)


def test_a_file_that_is_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("name,val\na,1\n")
    with path.open() as opened, pytest.raises(SourceError, match="give its path"):
        crestline.run(COUNTED, opened)


def test_no_library_of_data_frames_is_needed() -> None:
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyspark"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import crestline

query = "SELECT TOP 1 a FROM s [ROWS 1] ORDER BY a DESC"
print(*(len(crestline.run(query, data)) for data in ([{"a": 1}], {"a": [1, 2]}, iter([{"a": 1}]))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 2 1"
