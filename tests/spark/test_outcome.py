"""The rows of a round are put in order by runs: as if each row were sorted by itself."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.order import sort_codes
from crestline.language import parse
from crestline.spark.outcome import _in_order, _starts

#: Values of a partition by their type, the hostile ones among them.
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [1, 2, None, -(2**63), 2**63 - 1],
    pa.string(): ["a", "b", "", None],
    pa.binary(): [b"", b"\xff", None],
    pa.float64(): [0.0, -0.0, float("nan"), float("inf"), None],
    pa.bool_(): [True, False, None],
    pa.decimal128(5, 2): [Decimal("1.10"), Decimal("-1.10"), None],
    pa.duration("us"): [timedelta(1), timedelta(0), None],
    pa.list_(pa.int64()): [[1], [2], None],
    pa.null(): [None],
}
QUERY = parse("SELECT TOP 1 x FROM s [RANGE 1 SECOND ON ts] PARTITION BY p, q ORDER BY x DESC")


@given(st.data())
def test_runs_of_rows_are_sorted_as_the_rows(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 20))

    def column(kind: pa.DataType, values: list[Any]) -> pa.ChunkedArray:
        drawn = st.lists(st.sampled_from(values), min_size=count, max_size=count)
        cut = data.draw(st.integers(0, count))
        array = pa.array(data.draw(drawn), kind)
        return pa.chunked_array([array[:cut], array[cut:]])

    kinds = [data.draw(st.sampled_from(sorted(VALUES, key=str))) for _ in range(2)]
    columns = {
        "query": pa.chunked_array([pa.repeat("top", count)]),
        "window_end": column(pa.timestamp("us"), [0, 1, 2]),
        "p": column(kinds[0], VALUES[kinds[0]]),
        "q": column(kinds[1], VALUES[kinds[1]]),
        "number": pa.chunked_array([np.arange(count)]),
    }
    table = pa.table(columns)
    keys = [sort_codes(table.column(name)) for name in ("q", "p", "window_end")]
    ordered = _in_order(table, "top", QUERY)
    assert ordered.column("number").to_pylist() == np.lexsort(keys).tolist()
    assert ordered.schema == table.schema


def test_rows_of_one_moment_and_partition_are_one_run() -> None:
    keys = pa.table({"at": [1, 1, 1, 2, 2, 1], "p": ["a", "a", "b", "b", "b", "b"]})
    assert _starts(keys).tolist() == [0, 2, 3, 5]
