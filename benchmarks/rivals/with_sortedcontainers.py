"""The question after every record asked of `sortedcontainers`: the window in a `SortedList`."""

from __future__ import annotations

import glob
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.rivals.question import EveryRecord

if TYPE_CHECKING:
    import pyarrow as pa


def sorted_list(q: EveryRecord) -> pa.Table:
    """Add the record, remove the one that leaves; look at the end of the list if it changed."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from sortedcontainers import SortedList

    files = ds.dataset(sorted(glob.glob(q.files)), format="parquet")
    table = files.to_table(columns=["score", "id"])
    pairs = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    window, kth = SortedList(), (float("-inf"), -1)
    ats, tops = [], []
    for at, pair in enumerate(pairs):
        changed = pair > kth or len(window) < q.k
        if at >= q.window:
            expired = pairs[at - q.window]
            changed = changed or expired >= kth
            window.remove(expired)
        window.add(pair)
        if changed:
            best = window[-q.k :]
            kth = best[0]
            ats.append(at + 1)
            tops.append([number for _, number in reversed(best)])
    return pa.table({"at": pa.array(ats, pa.int64()), "best": pa.array(tops, pa.list_(pa.int64()))})


EVERY_RECORD: dict[str, Callable[[EveryRecord], pa.Table]] = {
    "sortedcontainers, SortedList": sorted_list
}
