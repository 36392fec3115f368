"""``*`` in the select list, and selected columns in ORDER BY, from the text to the rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import QueryError, SourceError, StateError
from crestline.language import in_full
from crestline.planner import arrange, explain
from crestline.runtime.queries import named_queries
from crestline.testing import Record, Spec, expect
from local.engines import ask, assert_same_rows, examples, in_place, rows_of
from strategies import SCHEMA, cases, splits, streams, to_table

RECORDS: list[Record] = [
    {"id": "a", "g": 1, "x": 1.0, "tags": ["u"]},
    {"id": "b", "g": 2, "x": 3.0, "tags": []},
    {"id": "c", "g": 1, "x": math.nan, "tags": None},
    {"id": "d", "g": 1, "x": 2.0, "tags": ["v", "w"]},
]

STAR = "SELECT TOP 2 * FROM s [ROWS 4 SLIDE 3] ORDER BY x DESC"


def names(query: str, data: Any = RECORDS) -> list[str]:
    """The columns of the result, from the rank to the score."""
    columns = list(crestline.run(query, {"s": data}).to_arrow().column_names)
    return columns[columns.index("rank") + 1 : columns.index("score")]


# -- * ----------------------------------------------------------------------------------------
def test_a_star_is_all_columns_in_the_order_of_the_stream() -> None:
    rows = ask(STAR, RECORDS)
    assert [(row["id"], row["g"], row["x"], row["tags"]) for row in rows] == [
        ("b", 2, 3.0, []), ("d", 1, 2.0, ["v", "w"]),
    ]  # fmt: skip
    assert names(STAR) == ["id", "g", "x", "tags"]
    assert names(STAR.replace("*", "s.*")) == ["id", "g", "x", "tags"]
    assert names(STAR.replace("*", "-x AS less, *, x * 2 AS more")) == [
        "less", "id", "g", "x", "tags", "more",
    ]  # fmt: skip


def test_a_column_that_the_row_has_already_is_left_out_of_the_star() -> None:
    assert names(STAR.replace("ORDER", "PARTITION BY G, x > 1 AS big ORDER")) == ["id", "x", "tags"]
    scored = [{"id": 1, "score": 3}, {"id": 2, "score": 4}]
    query = "SELECT TOP 1 * FROM s [ROWS 2 SLIDE 2] ORDER BY score DESC"
    assert [(row["id"], row["score"]) for row in ask(query, scored)] == [(2, 4.0)]
    assert names(query, scored) == ["id"]


@pytest.mark.parametrize(
    ("columns", "query", "complaint"),
    [
        (["x", "Rank"], STAR, "'Rank', but the result has a column of that name"),
        (["x", "score"], STAR, "'score', but the result has"),
        (["x", "query"], STAR, "query AS query_2"),
        (["x", "a", "A"], STAR, "'A', but another column has that name"),
        (["x", "a", "a"], STAR, "'a', but another column has that name"),
        (["x", "y"], STAR.replace("*", "*, 1 + x AS Y"), "'y', but another column"),
        (["x", "y"], STAR.replace("ORDER", "PARTITION BY x > 1 AS y ORDER"), "'y', but another"),
        (["x", ""], STAR, "a name cannot be empty"),
        (["a", "b"], STAR, "has no column 'x'"),
    ],
)
def test_names_that_a_star_cannot_show(columns: list[str], query: str, complaint: str) -> None:
    table = pa.table([pa.array([1, 2])] * len(columns), names=columns)
    for refused in (
        lambda: crestline.run(query, {"s": table}),
        lambda: crestline.open(query).push(table),
    ):
        with pytest.raises(SourceError, match="stream 's'.*" + complaint):
            refused()


def test_columns_that_differ_in_case_are_told_apart_where_the_query_does() -> None:
    table = pa.table({"x": [1.0], "g": [1], "G": [2]})
    partitioned = STAR.replace("SLIDE 3", "SLIDE 1").replace("ORDER", "PARTITION BY g ORDER")
    with pytest.raises(SourceError, match="'G', but another column has that name"):
        crestline.run(partitioned, {"s": table})


def test_an_empty_file_has_no_columns_to_show(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.csv"
    nothing.touch()
    assert len(crestline.run(STAR, {"s": str(nothing)})) == 0


def test_files_are_read_with_all_their_columns(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(RECORDS).drop_columns(["tags"])
    pq.write_table(table, tmp_path / "s.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "s.csv")
    both = f"{STAR}; SELECT TOP 2 x FROM s [ROWS 4 SLIDE 3] ORDER BY x DESC"
    wanted = crestline.run(both, {"s": table})
    for file in ("s.parquet", "s.csv"):
        found = crestline.run(both, {"s": str(tmp_path / file)})
        for name in ("query_1", "query_2"):
            assert found.of(name).to_pylist() == wanted.of(name).to_pylist(), file
            assert found.of(name).column_names == wanted.of(name).column_names


def test_ties_go_by_the_columns_of_the_star_in_their_order() -> None:
    records = [{"b": 1, "ts": 0, "a": 2, "x": 0}, {"b": 2, "ts": 0, "a": 1, "x": 0}]
    query = "SELECT TOP 1 * FROM s [RANGE 1 SECOND SLIDE 1 SECOND ON timestamp_seconds(ts)]"
    assert [row["b"] for row in ask(f"{query} ORDER BY x", records)] == [1]
    assert [row["b"] for row in ask(f"{query} ORDER BY x KEY (a)", records)] == [2]


def test_queries_with_a_star_share_with_those_that_write_the_columns() -> None:
    named = STAR.replace("2 *", "3 id, g, x, tags")
    text = "; ".join([STAR, STAR.replace("2 *", "1 *"), named])
    queries = named_queries(text)
    assert len(arrange(in_full(queries, list(RECORDS[0])))) == 1
    results = crestline.run(text, {"s": RECORDS})
    for name, query in queries.items():
        alone = crestline.run(query, {"s": RECORDS}).to_arrow().drop_columns(["query"])
        assert results.of(name).drop_columns(["query"]).equals(alone)


def test_explain_tells_of_a_star_without_the_stream() -> None:
    parsed = {"q": crestline.parse(STAR.replace("*", "*, x / 2 AS half"))}
    assert "columns    all columns of the stream, half" in str(explain(parsed))
    assert explain(parsed).columns == "all columns of the stream, half"
    plain = {"q": crestline.parse(STAR.replace("*", "x"))}
    assert "columns" not in str(explain(plain))
    both = {"a": crestline.parse(STAR), "b": plain["q"]}
    assert [known.shares_with for known in explain(both).by_query.values()] == [[], []]


def test_an_audit_compares_rows_with_all_columns() -> None:
    query = "SELECT TOP 2 * FROM s [ROWS 4] ORDER BY x DESC APPROXIMATE"
    metrics = crestline.run(query, {"s": RECORDS}, audit=True).metrics
    assert metrics.approximation["audited_precision"] == 1.0


# -- sessions ---------------------------------------------------------------------------------
def test_a_later_column_does_not_change_the_rows() -> None:
    session = crestline.open(STAR)
    first = session.push(RECORDS[:2])
    more = [{**record, "y": 1} for record in RECORDS[2:]]
    resumed = crestline.open(STAR, state=session.snapshot())
    by_text = crestline.open(session.text, state=session.snapshot())
    for standing in (session, resumed, by_text):
        later = standing.push(more)
        assert later.schema == first.schema
        assert [row["id"] for row in rows_of(later)] == ["b", "d"]
    turned = crestline.open(STAR)
    turned.push([{"x": 0.0, "id": "z", "y": 1}])
    with pytest.raises(StateError):
        crestline.open(session.text, state=turned.snapshot())


def test_a_batch_without_a_column_of_the_star_is_refused_whole() -> None:
    session = crestline.open(STAR)
    session.push(RECORDS[:2])
    with pytest.raises(SourceError, match="no column 'tags'"):
        session.push(pa.table({"id": ["e"], "g": [1], "x": [9.0]}))
    assert [row["id"] for row in rows_of(session.push(RECORDS[3:]))] == ["b", "d"]


def test_a_star_that_joins_has_the_columns_of_the_session() -> None:
    session = crestline.open("SELECT TOP 1 id FROM s [ROWS 1] ORDER BY x DESC")
    session.push(RECORDS[:1])
    session.add(STAR.replace(" SLIDE 3", ""), name="all")
    assert session.queries["all"].star is None
    rows = [row for row in rows_of(session.push(RECORDS[1:])) if row["query"] == "all"]
    assert [(row["id"], row["g"]) for row in rows] == [("b", 2), ("b", 2), ("d", 1)]


@examples(60)
@given(cases(), st.data())
def test_a_session_with_a_star_saved_and_resumed_equals_the_oracle(
    case: Any, data: st.DataObject
) -> None:
    """Each time with the text that was opened, or with the one that the session tells."""
    partition = case.spec.partition
    select = tuple(name for name in SCHEMA.names if name not in partition)
    case = case.with_spec(select=select)
    assert "*" in case.spec.text()
    text, got = case.spec.text(), []
    session = crestline.open(text)
    for start, end in data.draw(splits(len(case.records))):
        got += rows_of(session.push(case.table.slice(start, end - start)))
        text = data.draw(st.sampled_from([case.spec.text(), session.text]))
        session = crestline.open(text, state=session.snapshot())
    got += rows_of(session.finish())
    wanted = expect(case.spec, case.records, following=True)
    assert_same_rows(in_place(case.spec, got), wanted.rows, case.spec.text())


# -- ORDER BY names and numbers ---------------------------------------------------------------
NEGATED = ("-num AS num", "-num AS Num", "0 - s.num AS `num`")

RANKED = ("num", "NUM", "`num`", "num * 1", "num + 0", "2", "-s.num")


@examples(80)
@given(streams(), st.sampled_from(NEGATED), st.sampled_from(RANKED), st.booleans())
def test_a_name_of_the_select_list_ranks_before_the_column(
    records: list[Record], selected: str, ranked: str, falling: bool
) -> None:
    """As in SQL; the judge is given records whose ``num`` is negative already."""
    records = [r | {"num": None if r["num"] is None else max(r["num"], -7)} for r in records]
    seen = [r | {"num": None if r["num"] is None else -r["num"]} for r in records]
    spec = Spec(3, "rows", 5, 2, order=(("num", falling),), select=("id", "num"))
    query = spec.text().replace("`id`, `num`", f"`id`, {selected}")
    query = query.replace("ORDER BY `num`", f"ORDER BY {ranked}")
    got = [{k.lower(): v for k, v in row.items()} for row in ask(query, to_table(records))]
    assert_same_rows(got, expect(spec, seen).rows, query)


def test_further_terms_may_be_names_and_numbers_too() -> None:
    records = [{"id": 1, "x": 1, "y": 1}, {"id": 2, "x": 1, "y": 2}, {"id": 3, "x": 1, "y": 3}]
    query = "SELECT TOP 3 id, ABS(y - 2) AS y, id AS n FROM s [ROWS 3 SLIDE 3] ORDER BY x, "
    for terms, wanted in {
        "y, n": [2, 1, 3], "y, n DESC": [2, 3, 1], "2, 1 DESC": [2, 3, 1], "s.y DESC": [3, 2, 1],
        "10 * y + n": [2, 1, 3],
    }.items():  # fmt: skip
        assert [row["id"] for row in ask(query + terms, records)] == wanted, terms


def test_queries_share_whether_they_write_the_expression_or_its_name() -> None:
    text = "SELECT TOP {} x * 2 AS v FROM s [RANGE 9 SECONDS SLIDE 1 SECOND ON t] ORDER BY {} DESC"
    written = ("v", "x * 2", "1", "V")
    queries = {f"q{n}": crestline.parse(text.format(n + 1, t)) for n, t in enumerate(written)}
    assert len({query.order_by for query in queries.values()}) == 1
    assert all(len(known.shares_with) == 3 for known in explain(queries).by_query.values())


@pytest.mark.parametrize("term", ["1", "2", "v"])
def test_a_selected_text_is_no_score(term: str) -> None:
    query = f"SELECT TOP 1 id, id || 'x' AS v FROM s [ROWS 1] ORDER BY {term}"
    with pytest.raises(SourceError, match="is of type string, but a number is needed"):
        crestline.run(query, {"s": pa.Table.from_pylist(RECORDS)})


@pytest.mark.parametrize("term", ["0", "3", "1 + 0", "1.5", "-1", "'x'", "PI()", "NULL", "one"])
def test_what_ranks_nothing_is_refused(term: str) -> None:
    with pytest.raises(QueryError):
        crestline.parse(f"SELECT TOP 1 id, 1 AS one FROM s [ROWS 1] ORDER BY {term}")


def test_a_long_chain_of_names_is_refused_before_it_is_written_out() -> None:
    long = " + ".join(["x"] * 99)
    with pytest.raises(QueryError, match="terms|characters|deep"):
        many = ", ".join(["v"] * 4_000)
        crestline.parse(f"SELECT TOP 1 {long} AS v FROM s [ROWS 1] ORDER BY GREATEST({many})")
    name = "x" * 200_000
    with pytest.raises(QueryError, match="more than 1,000,000 characters"):
        crestline.parse(f"SELECT TOP 1 -{name} AS v FROM s [ROWS 1] ORDER BY v * v + v * v + v * v")


def test_a_negative_k_is_an_error() -> None:
    with pytest.raises(QueryError, match="k is a whole number from 1 to 10,000,000, not -3"):
        crestline.run("SELECT TOP -3 id FROM s [ROWS 1] ORDER BY x", {"s": RECORDS})


def test_a_query_without_selected_columns_over_many_records() -> None:
    """A table without columns forgot how many rows it had."""
    table = pa.table({"x": np.arange(2_000.0)})
    results = crestline.run("SELECT TOP 3 FROM s [ROWS 100 SLIDE 50] ORDER BY x DESC", {"s": table})
    assert len(results) == 3 * 40
    assert results.to_arrow().column_names == [
        "query", "window_start", "window_end", "rank", "score",
    ]  # fmt: skip
