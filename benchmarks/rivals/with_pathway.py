"""The questions asked of Pathway, over a csv file that does not grow.

Its manual knows no reducer for the k best: `sorted_tuple` gathers a window's records in order, and
the best are cut off it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.rivals.question import Question

if TYPE_CHECKING:
    import pyarrow as pa


def _pathway() -> Any:
    os.environ.setdefault("PATHWAY_THREADS", str(os.cpu_count()))
    import pathway as pw

    return pw


def _trades(pw: Any, q: Question) -> Any:
    schema = pw.schema_from_types(ms=int, symbol=str, price=float)
    return pw.io.csv.read(q.csv, schema=schema, mode="static")


def _top(pw: Any, q: Question, rows: Any, time: Any, window: Any) -> Any:
    """The k best of every window: its end, the symbol, and the prices in a tuple, best first."""
    keys = {"symbol": pw.this._pw_instance} if q.by else {}
    windows = rows.windowby(time, window=window, instance=rows.symbol if q.by else None)
    gathered = windows.reduce(
        end=pw.this._pw_window_end, all=pw.reducers.sorted_tuple(-pw.this.price), **keys
    )
    k = q.k
    best = pw.apply_with_type(lambda some: tuple(-price for price in some[:k]), tuple[float, ...],
                              pw.this.all)  # fmt: skip
    return gathered.select(*([pw.this.symbol] if q.by else []), end=pw.this.end, best=best)


def _windows(pw: Any, q: Question) -> Any:
    if q.slide == q.width:
        return pw.temporal.tumbling(duration=q.width * 1000)
    return pw.temporal.sliding(hop=q.slide * 1000, duration=q.width * 1000)


def obvious(q: Question) -> pa.Table:
    """`windowby` a sliding window, and `sorted_tuple`."""
    pw = _pathway()
    trades = _trades(pw, q)
    return _collected(pw, q, _top(pw, q, trades, trades.ms, _windows(pw, q)))


def panes_first(q: Question) -> pa.Table:
    """The k best of every pane by a tumbling window, and the sliding window over those."""
    pw = _pathway()
    trades = _trades(pw, q)
    pane = pw.temporal.tumbling(duration=q.slide * 1000)
    panes = _top(pw, q, trades, trades.ms, pane)
    records = panes.flatten(pw.this.best).with_columns(price=pw.this.best, ms=pw.this.end - 1)
    return _collected(pw, q, _top(pw, q, records, records.ms, _windows(pw, q)))


def only_count(q: Question) -> pa.Table:
    """Not an answer: what it costs to read the csv."""
    import pyarrow as pa

    pw = _pathway()
    counted = _trades(pw, q).reduce(rows=pw.reducers.count(), most=pw.reducers.max(pw.this.price))
    return pa.table({"rows": [int(pw.debug.table_to_pandas(counted)["rows"].iloc[0])]})


def _collected(pw: Any, q: Question, tops: Any) -> pa.Table:
    import pyarrow as pa

    frame = pw.debug.table_to_pandas(tops, include_id=False)
    values = {
        "window_end": pa.array([1000 * end for end in frame["end"]], pa.int64()),
        "prices": pa.array(list(frame["best"]), pa.list_(pa.float64())),
    }
    if q.by:
        values["symbol"] = pa.array(frame["symbol"], pa.string())
    return pa.table(values)


QuerySpec = Callable[[Question], "pa.Table"]

OBVIOUS: dict[str, QuerySpec] = {"pathway, sliding windows": obvious}
PANES_FIRST: dict[str, QuerySpec] = {"pathway, panes": panes_first}
LIMIT: dict[str, QuerySpec] = {"pathway, only reading csv": only_count}
