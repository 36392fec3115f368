"""Tables as text: whatever is in them comes back."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crestline.cli.plain import csv_header, csv_lines, json_lines, tab_header, tab_lines

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


def _batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.record_batch(columns)


@given(st.lists(st.tuples(st.none() | _TEXT, st.none() | st.floats()), min_size=1, max_size=6))
def test_texts_and_numbers_come_back(rows: list[tuple[str | None, float | None]]) -> None:
    names, numbers = [name for name, _ in rows], [x for _, x in rows]
    batch = _batch(name=pa.array(names, pa.string()), x=pa.array(numbers, pa.float64()))
    read = list(csv.reader(io.StringIO(csv_lines(batch).decode(), newline="")))
    assert [name for name, _ in read] == [name or "" for name in names]
    assert [repr(float(x)) if x else "None" for _, x in read] == [repr(x) for x in numbers]
    objects = [json.loads(line) for line in json_lines(batch).decode().split("\n")[:-1]]
    assert [found["name"] for found in objects] == names
    spoken = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    expected = [spoken.get(str(x), x) for x in numbers]
    assert [found["x"] for found in objects] == expected


@given(st.lists(_TEXT, min_size=1, max_size=6))
def test_tab_separated_lines_are_one_a_row(texts: list[str]) -> None:
    batch = _batch(a=pa.array(texts), b=pa.array(range(len(texts))))
    lines = tab_lines(batch).decode().split("\n")
    assert len(lines) == len(texts) + 1
    assert all(line.count("\t") == 1 for line in lines[:-1])


def test_every_kind_of_value_has_a_text() -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 600000, UTC)
    batch = _batch(
        time=pa.array([moment, None], pa.timestamp("us", "America/New_York")),
        naive=pa.array([moment.replace(tzinfo=None), None], pa.timestamp("ms")),
        day=pa.array([date(2024, 1, 2), None]),
        exact=pa.array([Decimal("1.20"), None]),
        yes=pa.array([True, None]),
        bytes=pa.array([b"\xff\x00", None]),
        vector=pa.array([[1.5, math.inf], None]),
        struct=pa.array([{"at": moment}, None]),
        coded=pa.array(["x", None]).dictionary_encode(),
        nothing=pa.nulls(2),
        view=pa.array(["v", None], pa.string_view()),
    )
    first, second = (json.loads(line) for line in json_lines(batch).splitlines())
    assert first == {
        "time": "2024-01-02T03:04:05.600000Z",
        "naive": "2024-01-02T03:04:05.600Z",
        "day": "2024-01-02",
        "exact": 1.2,
        "yes": True,
        "bytes": "/wA=",
        "vector": [1.5, "Infinity"],
        "struct": {"at": "2024-01-02T03:04:05.600000Z"},
        "coded": "x",
        "nothing": None,
        "view": "v",
    }
    assert set(second.values()) == {None}
    (row, empty) = csv.reader(io.StringIO(csv_lines(batch).decode()))
    assert row[3] == "1.20" and json.loads(row[6]) == [1.5, "Infinity"]
    assert empty == [""] * batch.num_columns
    assert tab_lines(batch).count(b"\n") == 2


def test_headers_are_quoted_and_escaped_like_values() -> None:
    schema = pa.schema([("a,b", pa.int64()), ('say "x"', pa.int64()), ("t\tab", pa.int64())])
    assert next(csv.reader([csv_header(schema).decode()])) == schema.names
    assert tab_header(schema) == b'a,b\tsay "x"\tt\\tab\n'
    assert csv_header(pa.schema([])) == b""
