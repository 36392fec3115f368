"""``*`` and names of the select list on Spark: DataFrames, files, and folders that are followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import SourceError
from crestline.runtime.rounds import Round
from crestline.spark import topk
from crestline.spark.follow import Follow, checkpoint_at

TABLE = pa.table(
    {
        "id": [1, 2, 3, 4, 5, 6],
        "g": ["u", None, "u", "v", "v", None],
        "x": [1.5, 4.0, -2.0, 4.0, None, 0.0],
        "t": pa.array([n * 1_000_000 for n in (0, 1, 2, 3, 4, 12)], pa.timestamp("us", "UTC")),
    }
)
WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON t]"
QUERIES = {
    "whole": f"SELECT TOP 2 * {WINDOW} ORDER BY x DESC",
    "grouped": f"SELECT TOP 1 *, -x AS x2 {WINDOW} PARTITION BY g ORDER BY x2",
    "negated": f"SELECT TOP 2 id, -x AS x {WINDOW} ORDER BY x * 2 DESC, 1",
}
TEXT = "; ".join(f"CREATE QUERY {name} AS {query}" for name, query in QUERIES.items())


def rows(table: pa.Table) -> list[Any]:
    kept = [name for name in table.column_names if name != "query"]
    return sorted(map(repr, table.select(kept).to_pylist()))


@pytest.mark.parametrize("name", QUERIES)
def test_a_frame_gives_the_rows_of_one_process(spark: Any, name: str) -> None:
    wanted = crestline.run(QUERIES[name], {"s": TABLE}).to_arrow()
    found = topk(spark.createDataFrame(TABLE.to_pandas()), QUERIES[name]).toArrow()
    assert found.column_names == wanted.column_names
    shown = ["rank", "id", "score"]
    assert rows(found.select(shown)) == rows(wanted.select(shown))


@pytest.mark.parametrize("kind", ["table", "parquet", "csv"])
def test_files_give_the_rows_of_one_process(spark: Any, tmp_path: Path, kind: str) -> None:
    stream: Any = TABLE
    if kind == "parquet":
        pq.write_table(TABLE, stream := str(tmp_path / "s.parquet"))
    if kind == "csv":
        pyarrow.csv.write_csv(TABLE, stream := str(tmp_path / "s.csv"))
    wanted = crestline.run(TEXT, {"s": stream})
    found = crestline.run(TEXT, {"s": stream}, engine="spark")
    for name in QUERIES:
        assert found.of(name).column_names == wanted.of(name).column_names
        assert rows(found.of(name)) == rows(wanted.of(name))


def test_a_name_that_a_star_cannot_show_is_told_before_anything_runs(spark: Any) -> None:
    ranked = TABLE.rename_columns(["rank", "g", "x", "t"])
    with pytest.raises(SourceError, match="'rank', but the result has a column of that name"):
        topk(spark.createDataFrame(ranked.to_pandas()), QUERIES["whole"])
    with pytest.raises(SourceError, match="'rank', but the result has a column of that name"):
        crestline.run(QUERIES["whole"], {"s": ranked}, engine="spark")


def test_order_by_a_name_means_what_it_means_in_spark(spark: Any) -> None:
    """The name comes before the column of the same name, also inside an expression."""
    frame = spark.createDataFrame([(1, 1.0), (2, 3.0), (3, 2.0)], "id int, x double")
    frame.createOrReplaceTempView("in_spark")
    data = [{"id": 1, "x": 1.0}, {"id": 2, "x": 3.0}, {"id": 3, "x": 2.0}]
    for select, term in (
        ("id, -x AS x", "x"), ("id, -x AS x", "x * 2"), ("id, -x AS X", "ABS(x) + x"),
        ("id, -x AS y", "2"), ("id, x AS y", "y - 2 * x"),
    ):  # fmt: skip
        theirs = spark.sql(f"SELECT {select} FROM in_spark ORDER BY {term}, 1").toArrow()
        query = f"SELECT TOP 3 {select} FROM s [ROWS 3 SLIDE 3] ORDER BY {term}, 1"
        ours = crestline.run(query, {"s": data}).to_arrow()
        assert ours["id"].to_pylist() == theirs["id"].to_pylist(), (select, term)


def test_a_folder_that_is_followed_keeps_the_columns_it_began_with(
    spark: Any, tmp_path: Path
) -> None:
    folder, query = tmp_path / "in", crestline.parse(QUERIES["whole"])
    folder.mkdir()
    rounds: list[Round] = []
    wider = TABLE.append_column("more", pa.array(range(6)))
    for number, table in enumerate((TABLE.slice(0, 4), wider.slice(4), wider.slice(5))):
        shifted = pa.array([5 * number] * table.num_rows, pa.duration("s"))
        times = pa.compute.add(table["t"], shifted)
        pq.write_table(
            table.set_column(3, "t", times.cast(pa.timestamp("us", "UTC"))),
            folder / f"{number}.parquet",
        )
        checkpoint = checkpoint_at(tmp_path / "checkpoint", {"query": query}, None)
        assert checkpoint.resumed == bool(number)
        follow = Follow(
            spark, {"query": query}, str(folder), checkpoint, rounds.append, "available-now"
        )
        follow.start()
        try:
            assert follow.wait(120)
        finally:
            follow.stop()
    found = [each.rows["query"] for each in rounds]
    assert len({tuple(table.column_names) for table in found}) == 1
    assert "more" not in found[-1].column_names
    assert sum(table.num_rows for table in found) > 2
    assert checkpoint_at(tmp_path / "checkpoint", {"query": query}, None).columns(["z"]) == [
        "id", "g", "x", "t",
    ]  # fmt: skip


@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_queries_may_spell_a_column_in_several_ways(spark: Any, sensitive: str) -> None:
    frame = spark.createDataFrame([(i, i * 7 % 10 / 1.0) for i in range(20)], "id int, x double")
    query = "SELECT TOP 1 id FROM s [ROWS 5 SLIDE 5] WHERE {0} < 9 ORDER BY {1} + 1 DESC"
    spellings = [("x", "x"), ("X", "X"), ("x", "X")]
    before = spark.conf.get("spark.sql.caseSensitive")
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    try:
        rows = topk(frame.coalesce(1), ";".join(query.format(*each) for each in spellings))
        found = rows.toArrow().to_pylist()
    finally:
        spark.conf.set("spark.sql.caseSensitive", before)
    scores = [[r["score"] for r in found if r["query"] == f"query_{i}"] for i in (1, 2, 3)]
    assert scores[0] == scores[1] == scores[2] == [9.0, 7.0, 9.0]
