"""The queries of a session as a table to show."""

from __future__ import annotations

from collections.abc import Mapping

from crestline.core.display import cell
from crestline.language import Query
from crestline.runtime.joining import moment
from crestline.runtime.metrics import Metrics

HEADINGS = ("query", "stream", "in", "set aside", "kept", "rows out", "watermark")
#: Whether each column is aligned to the right.
RIGHT = (False, False, True, True, True, True, False)


def query_rows(
    queries: Mapping[str, Query],
    metrics: Mapping[str, Metrics],
    watermarks: Mapping[str, int | None],
) -> list[list[str]]:
    """One row for each query, with its counts and its watermark, if it has one."""
    rows = []
    for name, counts in metrics.items():
        rejected, watermark = sum(counts.rejected.values()), watermarks.get(name)
        numbers = (counts.rows_in, rejected, counts.kept, counts.result_rows)
        inputs = ", ".join(queries[name].inputs)
        last = "" if watermark is None else moment(watermark)
        rows.append([cell(name), cell(inputs), *(f"{number:,}" for number in numbers), last])
    return rows
