"""Only reading: what no system that reads these files can beat by much."""

from __future__ import annotations

import glob
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.rivals.question import Asked, Question

if TYPE_CHECKING:
    import pyarrow as pa


def bare_scan(q: Asked) -> pa.Table:
    """Not an answer: what it costs only to read the columns, with Arrow's own threads."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    columns = ["ts", "symbol", "price"] if isinstance(q, Question) else ["id", "score"]
    files = ds.dataset(sorted(glob.glob(q.files)), format="parquet")
    rows = sum(batch.num_rows for batch in files.to_batches(columns=columns))
    return pa.table({"rows": [rows]})


LIMIT: dict[str, Callable[[Asked], pa.Table]] = {"bare scan": bare_scan}
