"""Results of Spark are looked at like those of one process, names of columns included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import crestline
from crestline.spark import topk
from local.engines import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = pa.table(
    {
        "ts": pa.array(range(0, 30_000_000, 1_000_000), pa.timestamp("us", "UTC")),
        "x": [float(n * 7 % 11) for n in range(28)] + [None, float("nan")],
        "name": [f"<b>{n % 5}" for n in range(30)],
    }
)
WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
TEXT = f"""
    CREATE QUERY a AS SELECT TOP 2 name AS at, x AS change, ts AS probability {WINDOW}
    ORDER BY x DESC;
    CREATE QUERY b AS SELECT TOP 2 name AS window_end, x AS revision {WINDOW}
    ORDER BY x EMIT CHANGES
"""


@pytest.mark.usefixtures("spark")
def test_results_of_spark_are_shown_and_drawn_like_those_of_one_process() -> None:
    here = crestline.run(TEXT, {"s": STREAM})
    there = crestline.run(TEXT, {"s": STREAM}, engine="spark")
    assert list(there) == list(here) and len(here)
    shown, table = repr(there).splitlines(), repr(here).splitlines()
    assert [line for line in shown if "kept" not in line] == [
        line for line in table if "kept" not in line
    ]
    html = there._repr_html_()
    assert "&lt;b&gt;" in html and "<b><" not in html and "MINTOPK" in html
    assert there.to_polars().height == len(there)
    figure = there.plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_a_dataframe_may_have_columns_of_such_names(spark: SparkSession) -> None:
    frame = spark.createDataFrame(STREAM.to_pandas())
    for query in crestline.parse_all(TEXT):
        wanted = crestline.run(query, {"s": STREAM}).to_arrow()
        assert rows_of(topk(frame, query).toArrow()) == rows_of(wanted)


#: Names that the stages, the projection and Spark use for columns of their own.
OURS = (
    "bucket", "chunk", "_row", "batch", "member", "payload", "__crestline_c0", "__CRESTLINE_e0",
    "__crestline_b0",
)  # fmt: skip
ROLES = ("moment", "value", "label", "group", "second")
NAMED = pa.table(
    {
        "moment": STREAM["ts"],
        "value": STREAM["x"],
        "label": STREAM["name"],
        "group": [n % 3 for n in range(30)],
        "second": [n // 4 for n in range(30)],
    }
)
ASKED = (
    "SELECT TOP 2 `{label}` AS one, `{second}` + `{group}` AS two"
    " FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON `{moment}`] WHERE `{second}` > 0"
    " PARTITION BY `{group}` AS three ORDER BY `{value}` + 1 DESC, `{second}` KEY (`{label}`)"
)


@pytest.mark.parametrize("first", [0, 2, 5])
def test_a_dataframe_may_have_columns_named_like_ours(spark: SparkSession, first: int) -> None:
    """Each column plays another role under each name, in a batch frame and in a bounded run."""
    names = [OURS[(first + i) % len(OURS)] for i in range(len(ROLES))]
    table = NAMED.rename_columns(names)
    text = ASKED.format(**dict(zip(ROLES, names, strict=True)))
    wanted = crestline.run(text, {"s": table})
    frame = spark.createDataFrame(table.to_pandas())
    order = [(name, "ascending") for name in ("window_end", "three", "rank")]
    assert len(wanted) > 20
    assert rows_of(topk(frame, text, buckets=3).toArrow().sort_by(order)) == rows_of(
        wanted.to_arrow()
    )
    bounded = crestline.run(text, {"s": table}, engine="spark")
    assert rows_of(bounded.to_arrow()) == rows_of(wanted.to_arrow())
    assert bounded.metrics.rejected == wanted.metrics.rejected
