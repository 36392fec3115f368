"""Texts that are large, deep, broken or malicious: a query or a clear error, and soon."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from crestline.core.errors import QueryError
from crestline.language import Combine, Expression, Query, StreamDefaults, parse, parse_all

QUERY = "SELECT TOP 3 x FROM s [ROWS 10] ORDER BY "


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 10_000 + "x" + ")" * 10_000,
        "(" * 10_000,
        "x" + ")" * 10_000,
        "sqrt(" * 10_000 + "x" + ")" * 10_000,
        "CASE WHEN x THEN " * 10_000 + "x" + " END" * 10_000,
        "NOT " * 10_000 + "x",
        "- " * 10_000 + "x",
        "NOT (- " * 10_000 + "x" + ")" * 10_000,
        "x" + "[0" * 10_000,
        "x" + " + x" * 2_000,
        "x = 1" + " = 1" * 2_000,
        "x" + " BETWEEN 1 AND 2" * 2_000,
        "greatest(" + ", ".join(["x"] * 100_000) + ")",
        "greatest(" + ", ".join(f"round(x + {i}, 2)" for i in range(2_400)) + ")",
        "x IN (" + ", ".join(map(str, range(100_000))) + ")",
        " OR ".join(["x = 1"] * 50_000),
        "CASE " + "WHEN x = 1 THEN 2 " * 50_000 + "END",
        "DISTANCE((" + ", ".join(["x"] * 90_000) + "), (1))",
        "INTERVAL " * 10_000,
        "x." * 10_000 + "x",
        "'" + "''" * 10_000,
        "9" * 10_000,
        "1e999",
        "x IN (" + "(" * 10_000,
    ],
    ids=lambda text: text[:20],
)
def test_too_much_is_a_query_error(deep: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(QUERY + deep)
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize("level", ["({})", "SQRT({})", "CASE WHEN TRUE THEN {} END", "NOT {}"])
def test_reasonable_nesting_works_from_a_deep_stack(level: str) -> None:
    """As deep as the limit says, also when the caller has already used frames."""
    text = "x"
    for _ in range(31):
        text = level.format(text)

    def called_from(frames: int) -> Query:
        return parse(QUERY + text) if frames == 0 else called_from(frames - 1)

    assert sys.getrecursionlimit() == 1000
    query = called_from(100)
    assert parse(str(query)) == query


@pytest.mark.parametrize(
    "large",
    [
        "x FROM s [ROWS 10] WHERE "
        + " OR ".join(f"x <> 'a symbol of the stream: {i:012}'" for i in range(2_000))
        + " ORDER BY x",
        "x FROM s [ROWS 10] WHERE x IN ("
        + ", ".join(f"{i:020}" for i in range(4_500))
        + ") ORDER BY x",
        "x FROM s [ROWS 10] WHERE t = '" + "long " * 20_000 + "' ORDER BY x",
        ", ".join(f"column_of_the_stream_{i:04}" for i in range(4_000))
        + " FROM s [ROWS 10] ORDER BY x",
        "x FROM s [ROWS 10] ORDER BY "
        + ", ".join(f"column_of_the_stream_{i:04} * 2" for i in range(3_500)),
        "x FROM s [ROWS 10] ORDER BY COSINE(v, ARRAY("
        + ", ".join(["0.1234567890123456"] * 4_900)
        + "))",
        "x /* " + "comment " * 12_000 + "*/ FROM s [ROWS 10] ORDER BY x",
        "x FROM " + ", ".join(f"s{i:05}" for i in range(4_000)) + " [ROWS 10 ON ts]"
        " COMBINE WEIGHTED_SUM(v, ("
        + ", ".join(f"S{i:05} => 1" for i in range(4_000))
        + ")) ACROSS c IN ("
        + ", ".join(f"'S{i:05}'" for i in range(4_000))
        + ") OBJECT x",
    ],
    ids=["or", "in", "text", "columns", "terms", "vector", "comment", "inputs"],
)
def test_a_query_of_100_kilobytes(large: str) -> None:
    text = f"SELECT TOP 3 {large}"
    assert len(text) > 90_000
    query = parse(text)
    assert parse(str(query)) == query


def test_many_queries_that_list_their_streams() -> None:
    one = "SELECT TOP 3 x FROM s [ROWS 10] COMBINE SUM(v) ACROSS c IN ('a', 2) OBJECT x"
    queries = parse_all(";".join([one] * 5_000))
    assert {query.known_streams for query in queries} == {("a", "2")}


@pytest.mark.parametrize(
    "streams",
    ["('a'", "('a',)", "'a'", "(a.b)", "(NULL)", "(- 'a')", "(-)", "(1e3)", "(TRUE)", "(('a'))"],
)
def test_lists_of_streams_that_are_none(streams: str) -> None:
    with pytest.raises(QueryError):
        parse(f"SELECT TOP 3 x FROM s [ROWS 10] COMBINE SUM(v) ACROSS c IN {streams} OBJECT x")


@pytest.mark.parametrize("column", ["TRUE", "1", "'c'", "c + d", "abs(c)", "t.c", "s.c.d", ""])
def test_columns_of_streams_that_are_none(column: str) -> None:
    for listed in ("", "IN ('a')"):
        with pytest.raises(QueryError):
            parse(
                f"SELECT TOP 3 x FROM s [ROWS 10] COMBINE SUM(v) ACROSS {column} {listed} OBJECT x"
            )


#: Calls and operators that write an argument more than once, or whose engines do.
REPEATING = [
    "round({}, 2)", "ln({})", "log2({})", "log(2, {})", "pow({}, 2)", "pow(2, {})", "sign({})",
    "mod({}, 7)", "mod(7, {})", "(7 % {})", "ceil({})", "floor({})", "abs({})", "(1 / {})",
    "cast({} as int)", "cast({} as double)", "({} DIV 2)", "(7 DIV {})", "nullif({}, 5)",
    "haversine({}, 1, 2, 3)", "haversine(1, {}, 2, 3)", "if({} between 1 and 2, 1, 2)",
    "if({} not between 1 and 2, 1, 2)", "if({} in (1, 2, 3), 1, 2)",
    "case {} when 1 then 2 when 3 then 4 when 5 then 6 else 3 end",
]  # fmt: skip
TWICE_NESTED = [
    "unix_seconds(timestamp_seconds({}))", "unix_millis(timestamp_millis({}))",
    "year(to_timestamp(cast({} as string)))", "day(cast(cast({} as string) as date))",
    "cosine(array({}, 1), array(1, 2))",
]  # fmt: skip


@pytest.mark.parametrize("level", [*REPEATING, *TWICE_NESTED])
def test_the_deepest_nesting_is_short_and_quick(level: str) -> None:
    """Written out in full, the text would double or triple with every level."""
    text = "x"
    for _ in range(31 if level in REPEATING else 10):
        text = level.replace("{}", text)
    expression = Expression(text)
    assert max(len(expression.to(engine)) for engine in ("duckdb", "spark")) < 60_000
    duckdb.execute(f"SELECT {expression.to('duckdb')} FROM (SELECT 1.5e0 AS x)")


@pytest.mark.parametrize(
    "level", ["round({} * 1.7, 2)", "pow({}, 1.1)", "mod({} + 5, 7)", "1 / {}"]
)
def test_a_nested_value_is_that_of_one_step_after_another(level: str) -> None:
    text, value = "x", 1.3
    step = Expression(level.replace("{}", "x")).to("duckdb")
    for _ in range(14):
        text = level.replace("{}", f"({text})")
        source = f"(SELECT CAST({value!r} AS DOUBLE) AS x)"
        ((value,),) = duckdb.execute(f"SELECT {step} FROM {source}").fetchall()
    nested = Expression(text).to("duckdb")
    assert duckdb.execute(f"SELECT {nested} FROM (SELECT 1.3e0 AS x)").fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("many", "limit"),
    [
        ("x IN ({})", "5,000 terms"),
        ("greatest({})", "5,000 terms"),
        ("(" * 40, "32 levels"),
        ("x" + " + x" * 200, "100 operations"),
        ("coalesce(" + ", ".join(["round(x + 1, 2)"] * 1_200) + ")", "300,000 characters"),
    ],
)
def test_an_error_names_the_limit(many: str, limit: str) -> None:
    with pytest.raises(QueryError, match=limit):
        Expression(many.format(", ".join(map(str, range(5_001)))))


@pytest.mark.parametrize("digits", [19, 308, 309, 400, 401])
def test_whole_numbers_of_many_digits(digits: int) -> None:
    for text in ("{}", "-{}", "x IN ({})", "v[{}]", "round(x, {})", "cosine(v, array({}))"):
        with pytest.raises(QueryError):
            Expression(text.format("9" * digits) + " = 1")


def test_long_conditions_reach_the_engine() -> None:
    condition = Expression(" OR ".join(f"x = {i}" for i in range(1_000)))
    chain = Expression("x" + " + 1" * 98)
    joined = Expression("length(concat(" + ", ".join(["x"] * 4_000) + "))")
    texts = ", ".join(expression.to("duckdb") for expression in (condition, chain, joined))
    row = duckdb.execute(f"SELECT {texts} FROM (SELECT 999 AS x)").fetchall()
    assert row == [(True, 1097, 12_000)]


def test_the_length_is_limited() -> None:
    with pytest.raises(QueryError, match="1,000,000"):
        parse(QUERY + "x" * 1_000_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (QUERY + "x\x00", "U+0000"),
        (QUERY + "'\ud800'", "U+D800"),
        (QUERY + "'abc", "no closing quote"),
        (QUERY + "`abc", "no closing backtick"),
        (QUERY + '"abc', "no closing quote"),
        (QUERY + "x /* abc", "never closed"),
        (QUERY + "``", "cannot be empty"),
        (QUERY + "x @ 2", "not part of the language"),
        (QUERY + "'\\uD83D'", "hexadecimal"),
        ("\ufeff", "no query"),
        ("", "no query"),
        (";;;", "no query"),
    ],
)
def test_broken_text(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert message in str(caught.value)
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize(
    "expression",
    [
        "(SELECT max(x) FROM s)",
        "EXISTS (SELECT 1)",
        "x IN (SELECT y FROM t)",
        "x = ANY (SELECT 1)",
        "count(*)",
        "sum(x)",
        "max(x) FILTER (WHERE y)",
        "row_number() OVER (ORDER BY x)",
        "abs(x) OVER ()",
        "read_csv('/etc/passwd')",
        "read_text('x')",
        "getenv('HOME')",
        "java_method('java.lang.System', 'exit', 0)",
        "my_udf(x)",
        "main.abs(x)",
        "`abs`(x)",
        "transform(v, y -> y + 1)",
        "list_transform(v, lambda y: y)",
        "x -> x",
        "?",
        ":name",
        "$1",
        "@variable",
        "{{ jinja }}",
        "current_timestamp()",
        "random()",
        "x::int",
        "x COLLATE utf8",
        "x RLIKE '.*'",
        "x ILIKE 'a'",
        "x LIKE y",
        "x & y",
        "x | y",
        "~x",
        "x ** 2",
        "*",
        "s.*",
        "a.b.c",
        "(x, y)",
        "DISTANCE(x, y)",
        "STRUCT(x)",
        "MAP('a', 1)",
        "[1, 2]",
        "v[-1]",
        "v[i]",
        "v[0:1]",
        "CAST(x AS ARRAY<INT>)",
        "CAST(x AS BOOLEAN)",
        "CAST(x AS DECIMAL(10, 2))",
        "x AT TIME ZONE 'UTC'",
        "X'AB'",
        "r'raw'",
        "1L",
        "'a' 'b'",
        "x y",
        "x IS TRUE",
        "f(x => 1)",
        "x; DROP TABLE s",
        "x) FROM s; --",
    ],
)
def test_refused_expressions(expression: str) -> None:
    with pytest.raises(QueryError):
        Expression(expression)
    with pytest.raises(QueryError):
        parse(f"SELECT TOP 3 x FROM s [ROWS 10] WHERE {expression} ORDER BY x")


@pytest.mark.parametrize(
    "name", ['a"b', "a`b", "a'b", "a b", "a;b", "a--b", "a\\b", "ä\n", '"', "`"]
)
def test_names_cannot_break_out_of_their_quotes(name: str) -> None:
    column = Expression("`" + name.replace("`", "``") + "`")
    assert column.column == name
    relation = duckdb.from_arrow(_one_row(name))
    assert relation.project(column.to("duckdb")).fetchall() == [(7,)]
    query = parse(f"SELECT TOP 1 x FROM {column.sql} [ROWS 1] ORDER BY {column.sql}")
    assert query.stream == name
    assert parse(str(query)) == query


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE s; --", "it's", "\\", "\\'", "a\nb", "%_", '"', "{0}"]
)
def test_texts_cannot_break_out_of_their_quotes(text: str) -> None:
    literal = Expression("'" + text.replace("\\", "\\\\").replace("'", "''") + "'")
    assert duckdb.execute(f"SELECT {literal.to('duckdb')}").fetchall() == [(text,)]


def test_braces_in_names_do_not_disturb_templates() -> None:
    expression = Expression("pow(`{0}`, `{d[1]}`) + CAST(`{}` AS DOUBLE) % `}`")
    assert expression.columns == ("{0}", "{d[1]}", "{}", "}")
    assert '"{d[1]}"' in expression.to("duckdb")


def test_errors_point_into_the_right_line() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT TOP 3 x\nFROM s [ROWS 10]\nORDER BY x +\n  sqrrt(y) DESC")
    assert (caught.value.line, caught.value.column) == (4, 3)
    assert "did you mean SQRT?" in str(caught.value)


def test_one_query_is_one_query() -> None:
    with pytest.raises(QueryError, match="second query"):
        parse(f"{QUERY} x; {QUERY} x")
    assert len(parse_all(f"{QUERY} x; {QUERY} x;")) == 2


def test_errors_in_defaults_show_the_default() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT TOP 3 FROM s [RANGE 1 s]", {"S": StreamDefaults("value DSC", "ts")})
    assert "value DSC" in str(caught.value)


def test_defaults_do_not_override_what_is_written() -> None:
    query = parse(
        "SELECT TOP 3 FROM s [RANGE 1 s ON t] ORDER BY x", {"s": StreamDefaults("y DESC", "ts")}
    )
    assert query.window.on == "t"
    assert [term.expression.sql for term in query.order_by] == ["x"]


def test_queries_made_by_hand_are_checked() -> None:
    query = parse(QUERY + "x")
    for change in ({"k": 0}, {"order_by": ()}, {"select": query.select * 2}):
        fields = {name: getattr(query, name) for name in query.__dataclass_fields__}
        with pytest.raises(QueryError):
            Query(**{**fields, **change})


def test_combinations_made_by_hand_are_checked() -> None:
    good = Combine("WEIGHTED_SUM", Expression("v"), "c", "o", weights=(("a", 1.0), ("b", 2.0)))
    for change in (
        {"function": "MEDIAN"},
        {"function": "SUM"},
        {"weights": ()},
        {"weights": (("a", 1.0), ("a", 2.0))},
        {"streams": ("a", "a")},
        {"streams": ("a", "c")},
        {"low": 1.0},
        {"low": 1.0, "high": 1.0},
        {"repeats": "SUM"},
        {"at_most": 2},
        {"repeats": "SUM", "at_most": 0},
    ):
        with pytest.raises(QueryError):
            replace(good, **change)
    query = parse(str(parse(QUERY + "x")).replace("ORDER BY x ASC", f"{replace(good, object='x')}"))
    assert replace(query, stream="a", others=("b",)).known_streams == ("a", "b")
    plain = replace(query, combine=None, order_by=parse(QUERY + "x").order_by)
    for base, inputs in (
        (query, ("a", "c")), (query, ("a", "b", "B")), (query, ("A", "b")), (plain, ("a", "b")),
    ):  # fmt: skip
        with pytest.raises(QueryError):
            replace(base, stream=inputs[0], others=inputs[1:])


def _one_row(name: str) -> object:
    import pyarrow as pa

    return pa.table({name: [7]})
