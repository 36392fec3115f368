"""Files as people have them: delimiters, encodings, compression, partitions, and mistakes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import SourceError
from crestline.sources import copies
from crestline.sources import scratch as scratch_folders
from local.engines import rejects_of, rows_of

QUERY = "SELECT TOP 2 name, val FROM s [ROWS 3] ORDER BY val DESC"
NAMES = ["plain", "a;b|c\td,e", 'says "x"', "Müller", "two\nlines", "", "z"]
VALUES = [1.5, 2.25, -3.0, 7.0, 7.0, 0.5, 100.0]
RECORDS = pa.table({"name": NAMES, "val": VALUES})
#: For three files of two records.
PARTS = RECORDS.slice(0, 6).set_column(0, "name", pa.array(list("abcdef")))


def answer(data: Any, query: str = QUERY, **how: Any) -> Any:
    return rows_of(crestline.run(query, data, **how).to_arrow())


WANTED = answer(RECORDS)
#: As csv has it: an empty field is NULL there.
OF_CSV = [row | {"name": row["name"] or None} for row in WANTED]


def csv_text(delimiter: str = ",") -> str:
    lines = ['"' + name.replace('"', '""') + '"' if name else "" for name in NAMES]
    rows = [f"{line}{delimiter}{value}" for line, value in zip(lines, VALUES, strict=True)]
    return "\n".join([f"name{delimiter}val", *rows]) + "\n"


def json_text() -> str:
    return "".join(json_line(row) for row in RECORDS.to_pylist())


def json_line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_csv_with_any_delimiter(delimiter: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(mark + csv_text(delimiter), encoding="utf-8")
    assert answer(path) == OF_CSV


def test_json_lines_with_a_byte_order_mark_keep_their_first_record(tmp_path: Path) -> None:
    for name in ("s.jsonl", "s.ndjson"):
        path = tmp_path / name
        path.write_text("\ufeff" + json_text(), encoding="utf-8")
        assert answer(path) == WANTED


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}  # fmt: skip


@pytest.mark.parametrize("ending", list(COMPRESSED))
def test_compressed_text(ending: str, tmp_path: Path) -> None:
    for name, text, wanted in (("s.csv", csv_text(), OF_CSV), ("s.jsonl", json_text(), WANTED)):
        path = tmp_path / (name + ending)
        path.write_bytes(COMPRESSED[ending](text.encode()))
        assert answer(path) == wanted
        path.write_bytes(COMPRESSED[ending](text.encode("utf-16")))
        assert answer(path) == wanted, "and encoded otherwise"
        path.write_bytes(b"something else")
        with pytest.raises(SourceError, match=f"{path.name} cannot be read"):
            answer(path)


# --- encodings -----------------------------------------------------------------------------------


def test_a_latin_1_csv_says_so_in_its_first_reject(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(csv_text().encode("latin-1"))
    found = crestline.run(QUERY, path)
    ((row, column, reason),) = rejects_of(found)
    assert (row, column) == (3, "name")
    assert "not UTF-8" in reason
    assert "encoding='latin-1'" in reason


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-32", "utf-8-sig"])
def test_text_in_a_named_encoding(encoding: str, tmp_path: Path) -> None:
    for name, text, wanted in (("s.csv", csv_text(), OF_CSV), ("s.jsonl", json_text(), WANTED)):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        assert answer(path, encoding=encoding) == wanted
        assert answer([path], encoding=encoding) == wanted
        assert answer({"s": tmp_path / f"*{path.suffix}"}, encoding=encoding) == wanted


def test_a_byte_order_mark_tells_UTF_16(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(csv_text("\t").encode("utf-16"))
    assert answer(path) == OF_CSV


def test_long_text_is_decoded_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(csv_text().encode("utf-16"))
    monkeypatch.setattr(copies, "_PIECE", 3)
    assert answer(path) == OF_CSV


def test_columns_named_in_another_encoding_are_told(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes("größe,name,val\n1,a,2\n".encode("latin-1"))
    with pytest.raises(SourceError, match="s.csv is not UTF-8 text: name its encoding"):
        answer(path)
    assert len(answer(path, encoding="latin-1")) == 1


@pytest.mark.parametrize("encoding", ["nonsense", "base64", "rot13", ""])
def test_no_such_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(csv_text(), encoding="utf-8")
    with pytest.raises(SourceError, match="there is no encoding"):
        answer(path, encoding=encoding)


def test_an_encoding_that_does_not_fit_or_is_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(csv_text(), encoding="utf-8")
    with pytest.raises(SourceError, match="s.csv is not ascii text"):
        answer(path, encoding="ascii")
    with pytest.raises(SourceError, match="no stream is a path"):
        answer(RECORDS, encoding="latin-1")


def test_copies_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scratch = tmp_path / "s.csv", tmp_path / "scratch"
    path.write_bytes(csv_text().encode("utf-16"))
    scratch.mkdir()
    monkeypatch.setattr(scratch_folders.tempfile, "tempdir", str(scratch))
    assert answer(path) == OF_CSV
    with crestline.open(QUERY) as session:
        assert rows_of(session.push(path)) == OF_CSV, "it lives until it is read"
    assert list(scratch.iterdir()) == []


# --- partitions ----------------------------------------------------------------------------------

PARTITIONED = """
    SELECT TOP 9 name, region, day, month FROM s [ROWS 100] WHERE year >= 2024
    PARTITION BY year ORDER BY val DESC
"""
PLACES = [
    ("2023", "5", "north", "2023-05-01"),
    ("2024", "6", "a b/c", "2024-06-02"),
    ("2024", "11", None, "2024-11-30"),
]


def in_folders(root: Path, ending: str) -> pa.Table:
    """A file in each folder; the records as one table with the columns that the folders spell."""
    tables = []
    for number, (year, month, region, day) in enumerate(PLACES):
        part = PARTS.slice(2 * number, 2)
        spelled = "__HIVE_DEFAULT_PARTITION__" if region is None else region
        spelled = spelled.replace(" ", "%20").replace("/", "%2F")
        folder = root / f"year={year}" / f"month={month}" / f"region={spelled}" / f"day={day}"
        folder.mkdir(parents=True)
        write(folder / f"part.{ending}", part)
        columns = {
            "year": pa.array([int(year)] * 2), "month": pa.array([int(month)] * 2),
            "region": pa.array([region] * 2, pa.string()),
            "day": pa.array([day] * 2).cast(pa.date32()),
        }  # fmt: skip
        for name, values in columns.items():
            part = part.append_column(name, values)
        tables.append(part)
    return pa.concat_tables([tables[0], tables[2], tables[1]])  # in the order of their names


def write(path: Path, table: pa.Table) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(map(json_line, table.to_pylist())), encoding="utf-8")
    else:
        pyarrow.csv.write_csv(table, path)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_folders_spell_columns(ending: str, tmp_path: Path) -> None:
    table = in_folders(tmp_path / "data", ending)
    wanted = answer(table, PARTITIONED)
    assert {row["region"] for row in wanted} == {"a b/c", None}
    assert answer(tmp_path / "data", PARTITIONED) == wanted
    assert answer(str(tmp_path / "data" / "**" / f"*.{ending}"), PARTITIONED) == wanted
    one = str(tmp_path / "data" / "year=2024" / "*" / "*" / "*" / "*")
    assert answer(one, PARTITIONED) == wanted
    only = "SELECT TOP 3 day FROM s [ROWS 3] ORDER BY year DESC, month"
    assert answer(tmp_path / "data", only) == answer(table, only)


def test_folders_of_encoded_text_spell_columns(tmp_path: Path) -> None:
    table = in_folders(tmp_path / "data", "csv")
    for file in (tmp_path / "data").rglob("*.csv"):
        file.write_bytes(file.read_text(encoding="utf-8").encode("utf-16"))
    assert answer(tmp_path / "data", PARTITIONED) == answer(table, PARTITIONED)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_column_in_the_file_counts_and_odd_folders_are_only_folders(
    ending: str, tmp_path: Path
) -> None:
    folder = tmp_path / "val=9"
    folder.mkdir()
    write(folder / f"s.{ending}", RECORDS.slice(0, 2))
    wanted = answer(RECORDS.slice(0, 2))
    assert answer(tmp_path) == wanted
    write(tmp_path / f"t.{ending}", RECORDS.slice(0, 0))
    assert answer(tmp_path) == wanted, "files that do not all spell the same columns"


def test_numbers_with_zeros_before_them_stay_texts(tmp_path: Path) -> None:
    query = "SELECT TOP 9 month FROM s [ROWS 9] ORDER BY val DESC"
    for month in ("05", "10"):
        for ending in ("parquet", "csv"):
            folder = tmp_path / ending / f"month={month}"
            folder.mkdir(parents=True)
            write(folder / f"s.{ending}", RECORDS.slice(0, 1))
    for ending in ("parquet", "csv"):
        assert [row["month"] for row in answer(tmp_path / ending, query)][-1] in ("05", "10")


# --- lists of paths, and mistakes ----------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_list_of_paths_is_read_in_its_order(ending: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{ending}" for name in "cab"]
    for number, path in enumerate(paths):
        write(path, PARTS.slice(2 * number, 2))
    assert answer(paths) == answer(tuple(map(str, paths))) == answer(PARTS)


def test_a_list_of_mixed_files(tmp_path: Path) -> None:
    paths = [tmp_path / "s.csv", tmp_path / "s.parquet"]
    for path in paths:
        write(path, RECORDS)
    with pytest.raises(SourceError, match=r"mixes \.csv, \.parquet files"):
        answer(paths)


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    for path, told in [
        ("trades.csv", "there is no file or folder .*trades.csv: did you mean .*trade.csv?"),
        ("else.parquet", "there is no file or folder .*else.parquet$"),
        ("nowhere/x.csv", "there is no folder .*nowhere$"),
        ("*.parquet", r"\*.parquet matches no parquet, csv or json lines file"),
        ("bare", "the folder .*bare holds no parquet.*: it is empty"),
        ("sheets", "the folder .*sheets holds no .*: it holds a.xls, b.xls, c.xls and 1 more"),
    ]:
        (tmp_path / "trade.csv").write_text("name,val\n")
        (tmp_path / "bare").mkdir(exist_ok=True)
        (tmp_path / "sheets").mkdir(exist_ok=True)
        for name in "abcd":
            (tmp_path / "sheets" / f"{name}.xls").write_bytes(b"")
        with pytest.raises(SourceError, match=told):
            answer(str(tmp_path / path))


# --- standard input ------------------------------------------------------------------------------


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    pq.write_table(RECORDS, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (csv_text().encode(), OF_CSV),
        (csv_text(";").encode("utf-8-sig"), OF_CSV),
        (gzip.compress(csv_text().encode()), OF_CSV),
        (("\ufeff\n" + json_text()).encode(), WANTED),
        (bz2.compress(json_text().encode()), WANTED),
        (json_text().encode("utf-16"), WANTED),
        (f"[{json_text().strip().replace(chr(10), ',')}]".encode(), WANTED),
        (parquet_bytes(), WANTED),
        (b"", []),
    ],
    ids=["csv", "BOM", "gzip", "json lines", "bzip2", "UTF-16", "json", "parquet", "nothing"],
)
def test_standard_input_is_what_it_begins_with(
    data: bytes, wanted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for ask in (lambda: answer("-"), lambda: answer({"s": "-"})):
        monkeypatch.setattr(sys, "stdin", _Stdin(data))
        assert ask() == wanted
    monkeypatch.setattr(sys, "stdin", _Stdin(data))
    with crestline.open(QUERY) as session:
        assert rows_of(session.push("-")) == wanted


def test_queries_with_other_columns_read_standard_input_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of text files they do not share the read: see ``read_together``."""
    monkeypatch.setattr(sys, "stdin", _Stdin(csv_text().encode()))
    both = crestline.run(f"{QUERY}; SELECT TOP 1 val FROM s [ROWS 3] ORDER BY val DESC", "-")
    assert {name: counts.rows_in for name, counts in both.by_query.items()} == {
        "query_1": len(NAMES), "query_2": len(NAMES),
    }  # fmt: skip


def test_standard_input_is_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(b""))
    both = f"{QUERY}; {QUERY.replace('FROM s', 'FROM r')}"
    with pytest.raises(SourceError, match="'s' and 'r' are both '-'"):
        crestline.run(both, {"s": "-", "r": "-"})
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="no standard input"):
        answer("-")
