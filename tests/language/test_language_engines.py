"""Every function and operator gives in DuckDB what it gives in Spark.

``spark_values.jsonl`` holds, for each expression, the values that Spark computed from its
``to("spark")`` on the edge cases below. Record it again, after a change of
the expressions or of Spark, with

    python tests/language/test_language_engines.py
"""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from crestline.language import Expression, functions
from crestline.language.functions import CASTS, EXTRACTED, FUNCTIONS

RECORDED = Path(__file__).with_name("spark_values.jsonl")
NAN, INF = math.nan, math.inf

# Each column repeats its values with a stride of its own, so that many pairs of values meet.
DOUBLES = [None, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1.005, 3.7, -3.7, 1e-5, 123456.789, 1e17]
DOUBLES += [-1e19, 1e300, NAN, INF, -INF, 0.125, 2.675, 0.49999999999999994, 1e7]
INTS = [None, 0, 1, -1, 7, -7, 3, 2**31 - 1, -(2**31), 100]
LONGS = [None, 0, 1, -1, 7, -7, 2**63 - 1, -(2**63), 2**53 + 1, 10**9, -1_500_001]
SHORTS = [None, 0, 1, -1, 300, -300, 32767, -32768, 5, 7]
TEXTS = [None, "", "abc", " 12 ", "1.5", "-3", "1e3", "1_000", "1d", "nan", "Infinity", "-inf"]
TEXTS += ["2024-02-29", "2024-02-30", "2024-01-01 10:11:12.5", "2024-01-01T10:11:12Z", "a_b%"]
TEXTS += ["2024-01-01T10:11:12+02:00", "2024-01-01 10:11:12-05", "2024", "Ünï ", "  x ", "it's"]
TEXTS += ["\\", "99999999999", "2024-01-01 10:11", "a\nb", "10:11", "naïve 🙂 text"]
TIMES = [None, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)]
TIMES += [datetime(2024, 2, 29, 13, 14, 15, 123456), datetime(2024, 12, 30), datetime(1900, 1, 1)]
TIMES += [datetime(2024, 1, 7, 23, 59, 59), datetime(2000, 1, 2, 3, 4, 5)]
DATES = [None, date(2024, 2, 29), date(1969, 12, 31), date(2001, 1, 1), date(2024, 12, 30)]
ARRAYS = [None, [1.0, 2.0], [0.5], [0.0, 0.0], [-3.0, None], [1.0, 2.0, 3.0], []]
ROWS = 34

COLUMNS: dict[str, tuple[list[Any], int, pa.DataType]] = {
    "d": (DOUBLES, 1, pa.float64()),
    "d2": (DOUBLES, 7, pa.float64()),
    "i": (INTS, 1, pa.int32()),
    "i2": (INTS, 3, pa.int32()),
    "b": (LONGS, 1, pa.int64()),
    "b2": (LONGS, 4, pa.int64()),
    "s": (SHORTS, 1, pa.int16()),
    "s2": (SHORTS, 7, pa.int16()),
    "t": (TEXTS, 1, pa.string()),
    "t2": (TEXTS, 5, pa.string()),
    "ts": (TIMES, 1, pa.timestamp("us")),
    "ts2": (TIMES, 3, pa.timestamp("us")),
    "dt": (DATES, 1, pa.date32()),
    "v": (ARRAYS, 1, pa.list_(pa.float64())),
    "p": ([True, False, None], 1, pa.bool_()),
}


def edge_cases() -> pa.Table:
    # The smallest integers meet -1 in the last rows.
    last = {"i": -(2**31), "i2": -1, "b": -(2**63), "b2": -1, "s": -32768, "s2": -1}
    return pa.table(
        {
            name: pa.array(
                [values[row * stride % len(values)] for row in range(ROWS - 1)]
                + [last.get(name, values[0])],
                kind,
            )
            for name, (values, stride, kind) in COLUMNS.items()
        }
    )


def recorded() -> list[tuple[str, list[Any]]]:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [(record["expression"], [decoded(v) for v in record["values"]]) for record in records]


def encoded(value: Any) -> Any:
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"interval": value // timedelta(microseconds=1)}
    return value


def decoded(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        if kind == "timestamp":
            return datetime.fromisoformat(content)
        return date.fromisoformat(content) if kind == "date" else timedelta(microseconds=content)
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Equal in value and type; doubles but for the last digits, where C and Java differ."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return math.isclose(ours, theirs, rel_tol=1e-13, abs_tol=1e-15)
    return type(ours) is type(theirs) and ours == theirs


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("edge_cases", edge_cases())
    return connection


@pytest.mark.parametrize(("expression", "values"), recorded(), ids=lambda x: str(x)[:60])
def test_equals_spark(
    engine: duckdb.DuckDBPyConnection, expression: str, values: list[Any]
) -> None:
    sql = f"SELECT {Expression(expression).to('duckdb')} FROM edge_cases"
    ours = [row[0] for row in engine.execute(sql).fetchall()]
    inputs = edge_cases().select(list(Expression(expression).columns)).to_pylist()
    differing = [
        (row, a, b) for row, a, b in zip(inputs, ours, values, strict=True) if not same(a, b)
    ]
    assert not differing, "\n".join(f"{r}: DuckDB {a!r}, Spark {b!r}" for r, a, b in differing[:5])


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an expression repeats is bound to a name, also if it is but a column."""
    monkeypatch.setattr(functions, "SHARED_FROM", 2)


def shared(dialect: str) -> list[tuple[str, list[Any]]]:
    """The recorded expressions that bind an argument to a name, and what Spark says without."""
    return [
        (expression, values)
        for expression, values in recorded()
        if functions.SHARED in Expression(expression).to(dialect)
    ]


@pytest.mark.usefixtures("sharing")
def test_shared_arguments_have_the_same_values(engine: duckdb.DuckDBPyConnection) -> None:
    assert len(shared("duckdb")) > 70
    for expression, values in shared("duckdb"):
        test_equals_spark(engine, expression, values)


@pytest.mark.usefixtures("sharing")
def test_shared_arguments_have_the_same_values_in_spark(spark: Any) -> None:
    assert len(shared("spark")) > 50
    texts = [Expression(expression).to("spark") for expression, _ in shared("spark")]
    frame = spark.createDataFrame(edge_cases()).coalesce(1)
    rows = frame.selectExpr(*(f"{text} AS c{n}" for n, text in enumerate(texts))).collect()
    for n, (expression, values) in enumerate(shared("spark")):
        assert all(map(same, (row[n] for row in rows), values)), expression


def test_deep_nesting_in_spark(spark: Any) -> None:
    """Catalyst would double every level once more, and again below a filter."""
    text, value = "x", 3
    for _ in range(10):
        text, value = f"mod(7, abs({text}) + 4)", 7 % (abs(value) + 4)
    nested = Expression(text).to("spark")
    frame = spark.sql("SELECT 3 AS x").filter(f"{nested} IS NOT NULL")
    assert [row[0] for row in frame.selectExpr(nested).collect()] == [value]


def test_every_function_is_compared() -> None:
    text = " ".join(Expression(expression).sql for expression, _ in recorded())
    called = set(re.findall(r"\b([A-Z][A-Z0-9_]*)\(", text))
    assert set(FUNCTIONS) <= called
    assert set(EXTRACTED.values()) <= called
    assert set(CASTS) <= set(re.findall(r" AS ([A-Z]+)\)", text))


# What Spark documents and people stumble over, in plain sight.
TRAPS = [
    ("5 / 2", 2.5),
    ("5 div 2", 2),
    ("-7 div 2", -3),
    ("-7 % 3", -1),
    ("mod(7, -3)", 1),
    ("5 / 0", None),
    ("5 % 0", None),
    ("2147483647 + 1", None),
    ("2147483648 + 1", 2147483649),
    ("0.1 + 0.2", 0.1 + 0.2),
    ("log(2, 8)", 3.0),
    ("log(exp(1))", 1.0),
    ("ln(0)", None),
    ("round(2.5)", 3.0),
    ("round(1.005, 2)", 1.01),
    ("floor(-1.5)", -2),
    ("dayofweek(date '2024-01-07')", 1),
    ("extract(week from date '2024-12-30')", 1),
    ("substring('hello', 2, 3)", "ell"),
    ("concat('a', null)", None),
    ("'a' || 'b'", "ab"),
    ("trim('  a ')", "a"),
    ("length('naïve 🙂')", 7),
    ("cast('twelve' as double)", None),
    ("cast(2.9 as int)", 2),
    ("cast('2.9' as int)", None),
    ("greatest(1, null, 3)", 3),
    ("coalesce(null, 2)", 2),
    ("null = null", None),
    ("null <=> null", True),
    ("'a_b' like 'a\\_b'", True),
    ("'axb' like 'a\\_b'", False),
    ("array(10, 20)[0]", 10),
    ("array(10, 20)[2]", None),
    ("timestamp '2024-01-01 00:00:00+02:00'", datetime(2023, 12, 31, 22)),
    ("timestamp_seconds(1.5)", datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    ("date_trunc('week', timestamp '2024-01-07 12:00:00')", datetime(2024, 1, 1)),
    ("distance((1, 2), (4, 6))", 5.0),
    ("weighted_distance((1, 2), (4, 6), (1, 0.25))", math.sqrt(9 + 4)),
    ("attribute_distance((1, 2), (4, 7))", 5.0),
    ("attribute_distance((1, 2), (4, 7), (2, 1))", 6.0),
    ("attribute_distance((1, NULL), (4, 7))", None),
    ("cosine(array(1, 0), array(1, 1))", math.sqrt(0.5)),
    # Berlin to Paris, 877.46 km on a sphere of the mean radius.
    ("round(haversine(52.52, 13.405, 48.8566, 2.3522) / 1000)", 877.0),
]


@pytest.mark.parametrize(("expression", "value"), TRAPS)
def test_trap(engine: duckdb.DuckDBPyConnection, expression: str, value: Any) -> None:
    sql = f"SELECT {Expression(expression).to('duckdb')}"
    assert same(engine.execute(sql).fetchall()[0][0], value)


def record() -> None:
    """Lets Spark compute the expressions of the file again and writes the file."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only to record

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    frame = spark.createDataFrame(edge_cases()).coalesce(1).cache()
    lines = []
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        expression = json.loads(line)["expression"]
        rows = frame.selectExpr(f"{Expression(expression).to('spark')} AS value").collect()
        values = [encoded(row["value"]) for row in rows]
        lines.append(json.dumps({"expression": expression, "values": values}, ensure_ascii=False))
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
