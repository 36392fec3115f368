"""Several inputs as one stream: the order, who is late, the types; nothing is read ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import SourceError
from crestline.language import Query, parse
from crestline.local.inputs import source_of
from crestline.sources import Source, source
from crestline.sources.grouping import read_together
from crestline.sources.merging import merged, merging_key, tagged, tagged_schema

Record = dict[str, Any]
NAMES = ("north", "south", "west")
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("v", pa.float64()), ("o", pa.int64()), ("n", pa.int64())]
)


def ask(inputs: int = 3, on: str = "ts", where: str = "", more: str = "") -> Query:
    condition = f"WHERE {where}" if where else ""
    return parse(
        f"SELECT TOP 3 o FROM {', '.join(NAMES[:inputs])} [RANGE 10 SECONDS ON {on}] {condition}"
        f" COMBINE SUM(v) ACROSS road OBJECT o {more}"
    )


def batches_of(table: pa.Table, sizes: list[int]) -> Iterator[pa.Table]:
    """The table in batches of these sizes, over and over; some are empty."""
    start, number = 0, 0
    while start < table.num_rows:
        size = sizes[number % len(sizes)]
        yield table.slice(start, size)
        yield table.slice(start, 0)
        start, number = start + size, number + 1


def in_batches(table: pa.Table, sizes: list[int]) -> Source:
    return Source(table.schema, True, lambda columns: batches_of(table.select(columns), sizes))


def counts(record: Record, query: Query) -> bool:
    """Whether a record takes part in the query."""
    assert query.combine is not None
    high = query.combine.high
    if None in (record["ts"], record["v"], record["o"]) or record["v"] != record["v"]:
        return False
    if high is not None and not query.combine.low <= record["v"] <= high:
        return False
    return query.where is None or record["n"] % 2 == 0


def reference(inputs: dict[str, list[Record]], query: Query) -> list[tuple[str, int]]:
    """The order by its definition: names of inputs and numbers of records."""
    placed = []
    for which, (name, records) in enumerate(inputs.items()):
        reached = -(10**30)
        for record in records:
            if counts(record, query):
                reached = max(reached, record["ts"])
            placed.append((reached, which, record["n"], name))
    return [(name, number) for _, _, number, name in sorted(placed)]


def told(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(table.column("road").to_pylist(), table.column("n").to_pylist(), strict=True))


def read(given: Source, columns: list[str] | None = None) -> pa.Table:
    return pa.concat_tables(given.read(columns or [*SCHEMA.names, "road"])).unify_dictionaries()


def late(times: list[int | None], lateness: int) -> list[bool]:
    """Record by record: before the largest time so far, less the lateness."""
    found, largest = [], -(10**30)
    for time in times:
        found.append(time is not None and time < largest - lateness)
        largest = largest if time is None else max(largest, time)
    return found


@st.composite
def streams(draw: st.DrawFn, bad: bool = True) -> dict[str, list[Record]]:
    """Few times, so that many are equal; steps back; records that take no part."""
    inputs = {}
    for name in NAMES[: draw(st.integers(2, 3))]:
        times: Any = st.integers(-4, 12)
        values: Any = st.sampled_from([0.0, 1.0, 2.5])
        objects: Any = st.integers(0, 3)
        if bad:
            times, objects = st.none() | times, st.none() | objects
            values = st.none() | values | st.just(float("nan"))
        rows = draw(st.lists(st.tuples(times, values, objects), max_size=25))
        keys = ("ts", "v", "o")
        inputs[name] = [
            dict(zip(keys, row, strict=True)) | {"n": number} for number, row in enumerate(rows)
        ]
    return inputs


def table_of(records: list[Record]) -> pa.Table:
    columns = [pa.array([r[f.name] for r in records], f.type) for f in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


queries = st.sampled_from([{}, {"where": "n % 2 = 0"}, {"more": "VALUES BETWEEN 0 AND 2"}])
sizes = st.lists(st.integers(1, 7), min_size=1, max_size=3)


@given(streams(), queries, st.lists(sizes, min_size=3, max_size=3))
def test_the_order_is_that_of_the_reference(
    inputs: dict[str, list[Record]], asked: dict[str, str], cuts: list[list[int]]
) -> None:
    query = ask(len(inputs), **asked)
    given_as = {
        name: in_batches(table_of(records), cut)
        for (name, records), cut in zip(inputs.items(), cuts, strict=False)
    }
    stream = merged(query, given_as)
    tables = list(stream.read([*SCHEMA.names, "road"]))
    assert all(table.num_rows for table in tables)
    found = pa.concat_tables([tagged_schema(SCHEMA, "road").empty_table(), *map(plain, tables)])
    assert told(found) == reference(inputs, query)
    expected = {(name, r["n"]): r for name, records in inputs.items() for r in records}
    for key, row in zip(told(found), found.to_pylist(), strict=True):
        record = expected[key]
        time = None if row["ts"] is None else round(row["ts"].timestamp() * 1e6)
        assert (time, row["o"], repr(row["v"])) == (record["ts"], record["o"], repr(record["v"]))


def plain(table: pa.Table) -> pa.Table:
    """The table with texts as texts."""
    return table.cast(tagged_schema(SCHEMA, "road"))


@given(streams(bad=False), st.integers(0, 6), st.booleans(), sizes)
def test_late_in_the_merged_stream_is_late_in_the_own_input(
    inputs: dict[str, list[Record]], lateness: int, filtered: bool, cut: list[int]
) -> None:
    query = ask(len(inputs), where="n % 2 = 0" if filtered else "")
    given_as = {name: in_batches(table_of(records), cut) for name, records in inputs.items()}
    tables = [plain(table) for table in merged(query, given_as).read([*SCHEMA.names, "road"])]
    taking_part = {
        name: [r for r in records if counts(r, query)] for name, records in inputs.items()
    }
    own = {
        (name, record["n"])
        for name, records in taking_part.items()
        for record, is_late in zip(records, late([r["ts"] for r in records], lateness), strict=True)
        if is_late
    }
    order = [key for table in tables for key in told(table)]
    times = {(name, r["n"]): r["ts"] for name, records in taking_part.items() for r in records}
    order = [key for key in order if key in times]
    together = late([times[key] for key in order], lateness)
    assert {key for key, is_late in zip(order, together, strict=True) if is_late} == own


def test_inputs_are_read_batch_by_batch() -> None:
    """An input without end: nothing is read that is not needed yet."""
    asked: list[int] = []

    def endless(columns: list[str]) -> Iterator[pa.Table]:
        for number in range(10**9):
            asked.append(number)
            yield table_of([{"ts": number, "v": 1.0, "o": 1, "n": number}]).select(columns)

    ended = table_of([{"ts": t, "v": 1.0, "o": 1, "n": t} for t in (2, 2, 5)])
    stream = merged(ask(2), {"north": Source(SCHEMA, True, endless), "south": source(ended, "s")})
    found: list[tuple[str, int]] = []
    for table in stream.read(["n", "road"]):
        found += told(table)
        assert len(asked) <= len(found) + 2
        if len(found) > 10:
            break
    assert found[:8] == [
        ("north", 0), ("north", 1), ("north", 2), ("south", 2), ("south", 2), ("north", 3),
        ("north", 4), ("north", 5),
    ]  # fmt: skip


@pytest.mark.parametrize("on", ["timestamp_micros(n)", "ts + INTERVAL 1 SECOND", "TS"])
def test_event_time_may_be_an_expression(on: str) -> None:
    north = table_of([{"ts": t, "v": 1.0, "o": 1, "n": t} for t in (1, 4, 3, 9)])
    south = table_of([{"ts": t, "v": 1.0, "o": 1, "n": t} for t in (2, 5, 9)])
    stream = merged(ask(2, on), {"north": source(north, "n"), "south": source(south, "s")})
    numbers = [n for _, n in told(read(stream))]
    assert numbers == [1, 2, 4, 3, 5, 9, 9]


def test_conditions_may_ask_for_the_input() -> None:
    """What WHERE leaves out does not move the time of its input."""
    north = table_of([{"ts": t, "v": 1.0, "o": 1, "n": t} for t in (50, 51)])
    south = table_of([{"ts": t, "v": 1.0, "o": 1, "n": t} for t in (60, 61)])
    query = ask(2, where="road <> 'south'")
    stream = merged(query, {"north": source(north, "n"), "south": source(south, "s")})
    assert told(read(stream)) == [("south", 60), ("south", 61), ("north", 50), ("north", 51)]


def test_what_is_known_of_the_inputs_is_passed_on() -> None:
    north = table_of([{"ts": 1, "v": 1.0, "o": 1, "n": 1}])
    empty = pa.table({})
    tables = dict(zip(NAMES, (north, empty, north), strict=True))
    stream = merged(ask(3), {name: source(table, name) for name, table in tables.items()})
    assert stream.rows == 2 and stream.typed
    assert stream.schema == tagged_schema(SCHEMA, "road")
    assert told(read(stream)) == [("north", 1), ("west", 1)]
    unknown = merged(ask(2), {"north": in_batches(north, [1]), "south": source(north, "s")})
    assert unknown.rows is None
    nothing = merged(ask(2), {"north": source(empty, "n"), "south": source(empty, "s")})
    assert not nothing.schema.names


def test_a_column_called_like_the_inputs_is_not_read() -> None:
    north = table_of([{"ts": 1, "v": 1.0, "o": 1, "n": 1}])
    named = north.append_column("Road", pa.array([7]))
    stream = merged(ask(2), {"north": source(named, "n"), "south": source(named, "s")})
    assert stream.schema.names == [*SCHEMA.names, "road"]
    assert told(read(stream)) == [("north", 1), ("south", 1)]
    assert tagged(named, "north", "road").column_names == [*SCHEMA.names, "road"]


def test_several_inputs_need_an_event_time() -> None:
    query = parse("SELECT TOP 3 o FROM a, b [ROWS 9] COMBINE SUM(v) ACROSS road OBJECT o")
    data = table_of([])
    with pytest.raises(SourceError, match=r"\[ROWS 1000 ON ts\]"):
        merged(query, {"a": source(data, "a"), "b": source(data, "b")})


# -- types ------------------------------------------------------------------------------------


def two(north: pa.Table, south: pa.Table, typed: bool = True) -> Source:
    inputs = {"north": source(north, "north"), "south": source(south, "south")}
    return merged(ask(2), {n: replace(given, typed=typed) for n, given in inputs.items()})


BASE = table_of([{"ts": 1_000_000, "v": 1.0, "o": 1, "n": 1}])


def with_column(name: str, values: pa.Array) -> pa.Table:
    return BASE.set_column(BASE.column_names.index(name), name, values)


@pytest.mark.parametrize(
    ("name", "values", "common"),
    [
        ("v", pa.array([3], pa.int32()), pa.float64()),
        ("v", pa.array([2.5], pa.float32()), pa.float64()),
        ("v", pa.array([None]), pa.float64()),
        ("o", pa.array([1], pa.int16()), pa.int64()),
        ("o", pa.array([1]).dictionary_encode(), pa.int64()),
        ("ts", pa.array([1], pa.timestamp("s")), pa.timestamp("us", "UTC")),
        ("ts", pa.array([1_000_000_001], pa.timestamp("ns", "UTC")), pa.timestamp("us", "UTC")),
        ("ts", pa.array([-1], pa.timestamp("ns", "Europe/Berlin")), pa.timestamp("us", "UTC")),
        ("ts", pa.array([0], pa.date32()), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_types_that_fit_are_made_one(name: str, values: pa.Array, common: pa.DataType) -> None:
    stream = two(BASE, with_column(name, values))
    assert stream.schema.field(name).type == common
    table = read(stream)
    assert table.schema.field(name).type == common
    assert table.num_rows == 2


def test_nanoseconds_go_down_to_microseconds() -> None:
    south = with_column("ts", pa.array([-1], pa.timestamp("ns", "Europe/Berlin")))
    times = read(two(BASE, south)).column("ts").cast(pa.int64()).to_pylist()
    assert times == [-1, 1_000_000]


def test_types_that_do_not_fit_are_told() -> None:
    south = with_column("v", pa.array(["high"]))
    with pytest.raises(SourceError, match="'v': it is double in 'north', string in 'south'"):
        two(BASE, south)
    loose = two(BASE, south, typed=False)  # there, text is read record by record
    assert loose.schema.field("v").type == pa.string()
    assert read(loose).column("v").to_pylist() == ["high", "1"]
    # A column that the query does not read is left out.
    stream = two(BASE, with_column("n", pa.array(["one"])))
    assert stream.schema.names == ["ts", "v", "o", "road"]
    assert read(stream, ["v", "road"]).num_rows == 2


def test_numbers_that_do_not_fit_are_told() -> None:
    south = with_column("o", pa.array([2.0]))
    large = table_of([{"ts": 1, "v": 1.0, "o": 2**53 + 1, "n": 1}])
    with pytest.raises(SourceError, match="'o' does not fit"):
        read(two(large, south))


def test_columns_that_are_missing_are_told() -> None:
    with pytest.raises(SourceError, match="stream 'south' has no column 'v'"):
        two(BASE, BASE.drop_columns("v"))
    stream = two(BASE, BASE.drop_columns("n"))
    assert stream.schema.names == ["ts", "v", "o", "road"]


def test_names_may_differ_in_case() -> None:
    stream = two(BASE, BASE.rename_columns(["TS", "V", "o", "n"]))
    assert stream.schema.names == [*SCHEMA.names, "road"]
    assert read(stream).column("v").to_pylist() == [1.0, 1.0]


# -- files ------------------------------------------------------------------------------------


def test_files_of_several_kinds(tmp_path: Path) -> None:
    """Parquet hands over dictionaries, CSV inferred types and lines that are none."""
    moments = [datetime(2024, 5, 1, 10, 0, second, tzinfo=UTC) for second in range(4)]
    north = pa.table({"ts": moments, "v": [1.0, 2.0, 3.0, 4.0], "o": ["a", "b", "a", "b"]})
    pq.write_table(north, tmp_path / "north.parquet", row_group_size=2)
    rows = [f"{moment:%Y-%m-%d %H:%M:%S},{value},c" for value, moment in enumerate(moments)]
    rows[2] = rows[2].replace(",2,", ",none,")
    (tmp_path / "south.csv").write_text("\n".join(["ts,v,o", *rows]) + "\n")
    stream = source_of(
        ask(2), {"north": tmp_path / "north.parquet", "south": str(tmp_path / "south.csv")}
    )
    assert not stream.typed and stream.rows is None
    table = read(stream, ["ts", "v", "o", "road"])
    times, roads = table.column("ts").to_pylist(), table.column("road").to_pylist()
    # So few lines make DuckDB take the values for text; none is no number and moves no time.
    assert [(time.second, road[0]) for time, road in zip(times, roads, strict=True)] == [
        (0, "n"), (0, "s"), (1, "n"), (1, "s"), (2, "s"), (2, "n"), (3, "n"), (3, "s"),
    ]  # fmt: skip
    assert table.column("o").to_pylist() == list("acbccabc")
    assert table.column("v").to_pylist()[4] == "none"


def test_lines_that_are_none_name_their_input(tmp_path: Path) -> None:
    good = [f"2024-05-01 10:00:{i % 60:02},{i},c" for i in range(30_000)]
    text = "\n".join(["ts,v,o", *good, "2024-05-01 10:59:00,none,c", ""])
    for name in NAMES[:2]:
        (tmp_path / f"{name}.csv").write_text(text if name == "south" else "ts,v,o\n" + good[0])
    stream = source_of(ask(2), {name: str(tmp_path / f"{name}.csv") for name in NAMES[:2]})
    assert read(stream, ["v", "road"]).num_rows == 30_001
    (reject,) = stream.rejects().to_pylist()
    assert (reject["stream"], reject["row"], reject["reason"]) == ("south", 30_000, "not a number")


# -- who reads together -------------------------------------------------------------------------


def test_queries_in_the_same_order_read_together() -> None:
    asked = {
        "first": ask(2),
        "fewer": replace(ask(2), k=1),
        "other": ask(2, where="n > 1"),
        "three": ask(3),
        "alone": parse("SELECT TOP 1 o FROM north [ROWS 9] ORDER BY v DESC"),
    }
    groups = read_together(asked, dict.fromkeys(NAMES, BASE))
    assert [list(group) for group in groups] == [
        ["first", "fewer"],
        ["other"],
        ["three"],
        ["alone"],
    ]
    assert merging_key(asked["alone"]) == ()


def test_what_is_read_once_is_not_read_twice() -> None:
    asked = {"one": ask(2), "two": ask(3)}
    once = {name: iter(BASE.to_batches()) for name in NAMES}
    assert len(read_together({"one": asked["one"]}, once)) == 1
    with pytest.raises(SourceError, match="'north' can be read only once"):
        read_together(asked, once)


def test_every_input_must_be_given() -> None:
    with pytest.raises(SourceError, match="reads the stream 'south'"):
        source_of(ask(2), {"north": BASE})
    assert source_of(ask(2), {"NORTH": BASE, "South": BASE}).rows == 2
