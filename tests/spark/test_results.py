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
