"""Pieces of files, read one by one in other processes, are the stream: the same records, types and
rejects as those of the in-process engine."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import random
import threading
import time
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.core.errors import SourceError
from crestline.sources import ranges, source
from crestline.sources.arrival import wait_for_files
from crestline.sources.base import Piece
from crestline.sources.growing import new_files
from crestline.sources.spool import spooled
from crestline.sources.text import TextLayout

#: More lines than DuckDB looks at before it settles the types.
SAMPLE = 20_600


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text files are cut small."""
    monkeypatch.setattr(ranges, "RANGE_BYTES", 50_000)


def locally(path: Any, columns: list[str]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Records and rejects as the in-process engine reads them."""
    given = source(str(path), "s")
    rows = []
    for batch in given.read(columns):
        rows += pa.table(batch).select(columns).to_pylist()
    rejected = given.rejects().to_pylist()
    return rows, [(r["row"], r["column"], r["reason"], r["value"]) for r in rejected]


def by_pieces(pieces: list[Piece], columns: list[str]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Records and rejects of all pieces; each piece travels as if to another process."""
    rows: list[dict[str, Any]] = []
    rejects = []
    lines: dict[int, int] = {}
    for piece in pieces:
        opened = pickle.loads(pickle.dumps(piece)).open()
        for batch in opened.read(columns):
            rows += pa.table(batch).select(columns).to_pylist()
        before = lines.get(piece.file, 0)
        lines[piece.file] = before + opened.lines()
        rejects += [
            (r["row"] + before, r["column"], r["reason"], r["value"])
            for r in opened.rejects().to_pylist()
        ]
    return rows, rejects


def plain(value: Any) -> Any:
    """Values that compare: NaN equals itself, instants are in UTC, nanoseconds are floored."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, pd.Timestamp):  # as Arrow gives nanoseconds
        return value.isoformat()
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def assert_same(path: Path | str, columns: list[str] | None = None) -> list[Piece]:
    """The pieces of a path give what the path gives; returns the pieces."""
    size = Path(path).stat().st_size if Path(path).is_file() else 0
    if size > 300_000:  # a few pieces suffice: DuckDB looks at the whole file for each
        ranges.RANGE_BYTES = size // 3
    opened = source(str(path), "s")
    columns = columns or opened.schema.names
    assert opened.pieces is not None
    pieces = opened.pieces(None)
    wanted, wanted_bad = locally(path, columns)
    found, found_bad = by_pieces(pieces, columns)
    assert [plain(row) for row in found] == [plain(row) for row in wanted]
    assert [repr(plain(row)) for row in found] == [repr(plain(row)) for row in wanted], "types"
    assert found_bad == wanted_bad
    return pieces


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8", newline="")
    return path


# --- parquet -------------------------------------------------------------------------------------

MOMENT = datetime(2024, 2, 29, 12, 30, 59, 123456)
COLUMNS: dict[str, pa.Array] = {
    "int8": pa.array([1, None], pa.int8()),
    "uint8": pa.array([200, None], pa.uint8()),
    "uint16": pa.array([60_000, None], pa.uint16()),
    "uint32": pa.array([4_000_000_000, None], pa.uint32()),
    "float": pa.array([1.5, None], pa.float32()),
    "double": pa.array([math.nan, -0.0]),
    "text": pa.array(["ünï", None], pa.large_string()),
    "words": pa.array(["a", "b"]).dictionary_encode(),
    "numbers": pa.array([5, 7]).dictionary_encode(),
    "truth": pa.array([True, None]),
    "date": pa.array([date(2024, 2, 29), date(1950, 1, 1)]),
    "date64": pa.array([date(2024, 2, 29), None], pa.date64()),
    "s": pa.array([MOMENT.replace(microsecond=0), None], pa.timestamp("s")),
    "ms": pa.array([MOMENT.replace(microsecond=5000), None], pa.timestamp("ms", "UTC")),
    "us": pa.array([MOMENT, datetime(1950, 1, 1)], pa.timestamp("us")),
    "zoned": pa.array([MOMENT, None], pa.timestamp("us", "America/New_York")),
    "ns": pa.array([1_709_209_859_123_456_789, -1], pa.timestamp("ns")),
    "zoned ns": pa.array([1_709_209_859_123_456_789, -1], pa.timestamp("ns", "UTC")),
    "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
    "bytes": pa.array([b"x", None]),
    "list": pa.array([[1, 2], None]),
    "struct": pa.array([{"a": 1, "b": "x"}, None]),
    "a.b `c`": pa.array([1, 2]),
}


def test_parquet_of_every_type(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    assert_same(path)
    assert_same(path, ["ns", "a.b `c`", "text"])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**64 - 1], pa.uint64()),
        pa.array([None], pa.null()),
        pa.array([clock(1, 2)], pa.time64("us")),
        pa.array([1.5], pa.float16()),
        pa.array([[1]], pa.list_(pa.timestamp("ns"))),
        pa.array([timedelta(1)]),
    ],
    ids=lambda values: str(values.type),
)
def test_types_that_spark_does_not_have(tmp_path: Path, values: pa.Array) -> None:
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"id": [1], "odd": values}), path)
    assert_same(path)


def test_parquet_files_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files and row groups, columns in another order, other widths, nothing at all."""
    number = 0
    for name, rows in [("b", 20_000), ("a", 7), ("c", 0), ("d/e", 20_000), ("d/f", 1)]:
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        kind = pa.int32() if name == "b" else pa.int64()
        ids = pa.array(range(number, number + rows), kind)
        noise = pa.array([random.random() for _ in range(rows)], pa.float64())
        columns = {"id": ids, "noise": noise, "more": noise}
        if name == "d/f":
            columns = dict(reversed(columns.items()))
        pq.write_table(pa.table(columns), path, row_group_size=2_000)
        number += rows
    monkeypatch.setattr("crestline.sources.parquet.PORTION_ROWS", 6_000)
    pieces = assert_same(tmp_path, ["noise", "id"])
    assert len(pieces) > 5, "files must be split"
    assert_same(str(tmp_path / "**" / "*.parquet"), ["id"])


ODD_NAMES = [
    "a b", "p%20q", "ünï", "c#d", "q?x", "br[1]", "cu{a,b}", "st*r", "co,mma", "plus+", "se;mi",
    "q'u\"o", "ti~de", "am&p=1", "no\u00a0break", "日本", "😀", "back\\slash", "c\u0301", "^|<>",
]  # fmt: skip


def test_odd_names(tmp_path: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        write(tmp_path / f"odd %41 dir/{name}.csv", f"a,b\n{number},x\n")
    assert len(assert_same(tmp_path)) == len(ODD_NAMES)
    assert_same(tmp_path / "odd %41 dir/cu{a,b}.csv")


def test_many_files(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number:05}.csv").write_text(f"a,b\n{number},x\n")
    assert_same(tmp_path)


# --- csv -----------------------------------------------------------------------------------------

NUMBERS = [
    "5", " 5", "5 ", "+5", "-5", "1_000", "1e3", "5.0", "5.4", "5.5", "2.5", "-2.5", "0x10", "0b1",
    "inf", "nan", "-inf", "Infinity", "NaN", "-nan", "", "NULL", "1.", ".", "-", "-.5", ".5", "1d",
    "1f", "0x1p3", "1E5", "1e-3", "1e", "1e400", "-1e400", "true", "٣", "5\u00a0", "05", "--5",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999",
    "1__0", "_1", "1_", "1.5_5", "-0", "1e18", "1e19", "\t5", "0.1e1", "123456789.987654321", "1,5",
]  # fmt: skip
TIMES = [
    "2024-01-01 10:00:00", "2024-01-01T10:00:00", "2024-01-01", "2024-01-01 10:00", "2024-1-2",
    "2024-01-01 10:00:00.5", "2024-01-01 10:00:00.123456789", "2024-01-01 10:00:00Z", "2024-01-01T",
    "2024-01-01T10:00:00+02:00", "2024-01-01T10:00:00-0530", "2024-01-01T10:00:00+02", "2024-02-30",
    "2024-13-01", "2024-01-01 25:00:00", "2024", "2024-01", "10:00", "x", "", "2024/01/02 3:4:5",
    " 2024-01-01 10:00:00 ", "2024-01-01 10:00:00 UTC", "1704067200", "20240101",
    "1960-05-05 1:2:3", "0024-01-01 00:00:00", "2024-03-10 02:30:00",
]  # fmt: skip


def after(sample: str, rest: list[str]) -> str:
    """Lines of one kind, enough to settle the types, and then others."""
    return sample * SAMPLE + "".join(line + "\n" for line in rest)


@pytest.mark.parametrize(
    "first", ["7", "1.5", "true", "2024-05-01 09:30:00", "2024-05-01T09:30:00Z", "2024-05-01", "x"]
)
def test_values_that_only_just_are_what_the_column_holds(tmp_path: Path, first: str) -> None:
    values = NUMBERS + TIMES + ["y", "no", "T", "Yes", "on", "0", "1"]
    if first.startswith("2024"):
        # The infinite times that DuckDB makes of these are none to Arrow, and to no query.
        values = [value for value in values if "inf" not in value.lower()]
    lines = [f"{value}|t" for value in values]
    path = write(tmp_path / "s.csv", "v|t\n" + after(f"{first}|t\n", lines))
    assert_same(path)


CSV = {
    "plain": "a,b,c\n1,1.5,x\n2,,\n,2.5,y\n",
    "quoted": 'a,b,c\n1,"",x\n2,,\n3,"he said ""hi""","line\nbreak"\n4,"x,y",z\n5," x ",  y\n',
    "backslash": 'a,b\n"x\\"1",2\n"y\\\\z",3\n',
    "single quotes": "a,b\n'x,1',2\n'y',3\n",
    "semicolons": "a;b\n1,5;2\n1,7;3\n",
    "no header": "1,2\n3,4\n",
    "header only": "a,b\n",
    "header without an end": "a,b",
    "carriage returns": "a,b\r\n1,2\r\n3,4\r\n",
    "comment": "# hello\na,b\n1,2\n3,4\n",
    "empty lines": "\na,b\n1,2\n\n3,4\n\n",
    "same names": "a,A,a\n1,2,3\n3,4,4\n",
    "byte order mark": "\ufeffa,b\n1,2\n",
    "no last line break": "a,b\n1,2\n3,4",
    "day first": "ts,d\n13/02/2024 12:00:01,13.02.2024\n1/2/2024 1:02:03,01.03.2024\n",
    "month first": "ts\tx\n02-13-2024 12:00:01\t1\n02-14-2024 00:00:00\t2\n",
    "twelve hours": "ts,x\n02/13/2024 12:00:01 AM,1\n02/13/2024 12:00:01 PM,1\n"
    "02/13/2024 01:10:01 PM,1\n",
    "short years": "d,x\n13/12/24,1\n14/12/70,2\n",
    "odd names": '"a.b","c `d`","e ""f"""\n1,2,3\n',
}


@pytest.mark.parametrize("name", list(CSV))
def test_csv(tmp_path: Path, name: str) -> None:
    assert_same(write(tmp_path / "s.csv", CSV[name]))


def test_lines_of_the_wrong_length(tmp_path: Path) -> None:
    rest = ["x,1", "1,y", "1,2,3", "5", "7,8", "x,y", "x,1,2", "1,y,2", "z", ",", ",,", "1,"]
    path = write(tmp_path / "s.csv", "a,b\n" + after("1,0.5\n", rest))
    assert_same(path)
    assert_same(path, ["b"])
    assert len(assert_same(path)) > 1, "the file must be cut"
    rest = ['"x, y",1', '"2",y', '1,"2",3', '"5"', '"7",8']
    path = write(tmp_path / "q.csv", "a,b\n" + after('"1",0.5\n', rest))
    assert_same(path)


def test_csv_files_of_several_layouts(tmp_path: Path) -> None:
    """Each file has a dialect and an order of columns of its own."""
    for name, text in {
        "a": "id,x,t\n" + "".join(f"{i},{i % 7}.5,t{i}\n" for i in range(30_000)),
        "b": "t;X;ID\nu;2.5;1000\nv;3;1001\n",
        "c": 'id,x,t\n1002,7,"t, with\nall"\n',
        "d": "id,x,t,more\n1003,8,w,1\n",
        "e": "",
        "g": "id,x,t\n" + "".join(f"{i},{i}.25,t{i}\n" for i in range(30_000)),
    }.items():
        write(tmp_path / f"{name}.csv", text)
    write(tmp_path / "h.csv.gz", "id,x,t\n5,5,zipped\n6,six,zipped\n")
    assert len(assert_same(tmp_path)) > 8, "files without quotes must be split"
    assert_same(tmp_path, ["t", "x"])


def test_random_csv(tmp_path: Path) -> None:
    random.seed(11)
    words = ["plain", 'with "quotes"', "comma, here", "ünïcode", "two\nlines", " spaced ", "", "'"]
    lines = ["id,val,ts,txt"]
    for number in range(3_000):
        value = random.choice([f"{random.uniform(-1e6, 1e6)!r}", str(random.randrange(99)), ""])
        moment = MOMENT + timedelta(seconds=random.randrange(10**6), microseconds=number)
        text = random.choice(words)
        if text and random.random() < 0.9 or '"' in text or "\n" in text or "," in text:
            text = '"' + text.replace('"', '""') + '"'
        lines.append(f"{number},{value},{moment.isoformat()},{text}")
    assert_same(write(tmp_path / "s.csv", "\n".join(lines) + "\n"))
    assert_same(write(tmp_path / "s.tsv", "\n".join(lines).replace(",", "\t") + "\n"))


# --- json ----------------------------------------------------------------------------------------

JSON_VALUES = [
    "7", '"7"', "7.25", "3.5", "-2.5", '"7.25"', '"x"', "null", "1e3", '" 7"', '"1_000"', "NaN",
    "Infinity", '""', "-0", "99999999999999999999", '"2024-01-01"', '"2024-01-01T10:00:00+02:00"',
    '"2024-02-30"', "[1]", "true", "1e400", '"0x10"',
]  # fmt: skip


def test_json(tmp_path: Path) -> None:
    record = {
        "id": 1, "val": 1.5, "txt": "ünï \"q\" \n x", "ok": True, "ts": "2024-01-01T00:00:00Z",
        "local": "2024-01-01 10:00:00.25", "day": "2024-01-01", "list": [1, 2], "nil": None,
        "deep": {"x": 1, "y": ["t"], "z": {"w": 0.5}}, "a.b `c`": "n", "bid_1": 5,
        "uuid": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    }  # fmt: skip
    records = [record, {"id": 2, "more": "x"}, {"val": -0.25, "deep": {"y": []}}, {}]
    lines = [json.dumps(r, ensure_ascii=False) for r in records]
    lines[1:1] = ["", "   ", "no json", '{"id": 7']
    text = "\n".join(lines) + "\n"
    assert_same(write(tmp_path / "s.jsonl", text))
    assert_same(write(tmp_path / "s.ndjson.gz", text), ["ts", "id"])
    assert_same(write(tmp_path / "s.json", text))
    write(tmp_path / "several/1.json", json.dumps(records, indent=1))
    write(tmp_path / "several/2.json", text)
    write(tmp_path / "several/3.json", '[{"id": 5, "other": 1}]')
    assert_same(tmp_path / "several")
    assert_same(write(tmp_path / "pretty.json", json.dumps(record, indent=1)))


@pytest.mark.parametrize(
    "first", ["7", "1.5", '"x"', '"2024-05-01T09:30:00Z"', '"2024-05-01"'], ids=repr
)
def test_json_values_that_only_just_are_what_the_column_holds(tmp_path: Path, first: str) -> None:
    values = JSON_VALUES
    lines = [f'{{"v": {value}, "w": 1}}' for value in values]
    path = write(tmp_path / "s.jsonl", after(f'{{"v": {first}, "w": 1}}\n', lines))
    assert_same(path)


def test_json_of_mixed_types(tmp_path: Path) -> None:
    values = ["1", '"x"', "[1, 2]", "null", '{"z": 1.5}', "1.5", "true"]
    path = write(tmp_path / "s.jsonl", "".join(f'{{"v": {value}}}\n' for value in values))
    assert_same(path)
    assert_same(write(tmp_path / "c.jsonl", '{"a": 1, "A": 2}\n'))


# --- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("size", [7, 50, 64, 200])
def test_ranges_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, size: int
) -> None:
    """Every line is in one range, wherever the cuts are."""
    random.seed(size)
    lines = ["id,x"] if ending == "csv" else []
    for number in range(60):
        text = "y" * random.randrange(12)
        lines.append(
            f"{number},{text}" if ending == "csv" else json.dumps({"id": number, "x": text})
        )
    for last in ("", "\n"):
        path = write(tmp_path / f"s{len(last)}.{ending}", "\n".join(lines) + last)
        monkeypatch.setattr(ranges, "RANGE_BYTES", size)
        assert len(assert_same(path)) > 1


def test_files_that_are_not_cut(tmp_path: Path) -> None:
    """Quotes may hold line breaks; compressed files have no positions."""
    quoted = "a,b\n" + '1,"x\ny"\n' * 30_000
    assert len(assert_same(write(tmp_path / "q.csv", quoted))) == 1
    plain = "a,b\n" + "1,x\n" * 30_000
    assert len(assert_same(write(tmp_path / "p.csv.gz", plain))) == 1
    assert len(assert_same(write(tmp_path / "p.csv", plain))) > 1


# --- streams in memory ---------------------------------------------------------------------------


def test_streams_in_memory_are_spooled(tmp_path: Path) -> None:
    wide = pa.table({"id": pa.array(range(300_000)), "w": pa.array(["a", "b"] * 150_000)})
    wide = wide.set_column(1, "w", wide["w"].dictionary_encode())
    parts = [wide, pa.table({"id": pa.array([1.5]), "w": ["c"]}), wide.slice(0, 3)]
    opened = spooled(source(iter(parts), "s"), ["w", "id"], tmp_path, "s")
    assert opened.pieces is not None
    pieces = opened.pieces(None)
    assert len(pieces) > 3
    rows, rejects = by_pieces(pieces, ["w", "id"])
    wanted = [{"w": row["w"], "id": row["id"]} for part in parts for row in part.to_pylist()]
    assert rows == wanted
    assert rejects == []


# --- growing folders -----------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["", "*.csv", "**/*.csv"])
def test_new_files_in_the_layout_of_the_first(tmp_path: Path, pattern: str) -> None:
    folder = tmp_path / "in [1] {x}" if not pattern else tmp_path / "in"
    write(folder / "1.csv", "id,val\n1,1.5\n2,2.5\n")
    write(folder / "_2.csv", "id,val\n99,1.5\n")
    path = str(folder / pattern) if pattern else str(folder)
    layout = TextLayout.of(path, "s", ["val", "id"])
    layout = TextLayout.from_plain(json.loads(json.dumps(layout.to_plain())))
    first = new_files(path, "s", set())
    assert by_pieces(layout.pieces(first[0], "s"), ["val", "id"])[0] == [
        {"val": 1.5, "id": 1}, {"val": 2.5, "id": 2},
    ]  # fmt: skip
    below = folder if pattern == "*.csv" else folder / "below"
    write(below / ".3.csv", "val,id\nx,3\n4,4\n").rename(below / "3.csv")
    write(folder / "notes.txt", "id,val\n5,5\n")
    (new,) = new_files(path, "s", set(first))
    rows, rejects = by_pieces(layout.pieces(new, "s"), ["val", "id"])
    assert rows == [{"val": 4.0, "id": 4}]
    assert [reject[:3] for reject in rejects] == [(0, "val", "not a number")]


def test_follow_before_there_is_a_file(tmp_path: Path) -> None:
    assert new_files(str(tmp_path), "s", set()) == []
    with pytest.raises(SourceError, match="holds no"):
        wait_for_files(tmp_path, "s", 0.1)
    late = threading.Timer(0.3, write, (tmp_path / "1.csv", "id\n1\n"))
    late.start()
    begin = time.monotonic()
    assert wait_for_files(tmp_path, "s", 10) == [str(tmp_path / "1.csv")]
    assert time.monotonic() - begin < 5
    late.join()
