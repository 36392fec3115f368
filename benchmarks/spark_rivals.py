"""The same question asked of Spark's own operators, and the bare reading of the stream.

Every formulation takes a batch or a streaming frame of trades and answers: the k trades of highest
price of the last `width` seconds, every `slide` seconds, of all symbols together or `by` symbol.
*Obvious* is what the manual suggests: `window` copies every row into every window that holds it,
and `max_by(struct, price, k)` (Spark 4.2 or later) keeps the best. *Panes first* is what an expert
writes: the k best of every pane of `slide` seconds, and then the windows over panes, as a second
stateful step. None of them breaks ties, so only windows and prices (and symbol, where it is the
group) can be compared.

All run on Spark's default state store, which holds state in the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: What is read of a trade.
COLUMNS = ("ts", "symbol", "price", "size")
#: max_by is an object-hash aggregate; beyond 128 groups it would begin to sort.
SETTINGS = {"spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000000"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a frame of trades."""

    slide: int
    by: bool = False
    width: int = 100
    k: int = 10
    key: str = "symbol"

    @property
    def text(self) -> str:
        """The question in our language."""
        selected = "price, size" if self.by else "symbol, price, size"
        by = f"PARTITION BY {self.key} " if self.by else ""
        return (
            f"SELECT TOP {self.k} {selected} FROM trades [RANGE {self.width} SECONDS"
            f" SLIDE {self.slide} SECONDS ON ts] {by}ORDER BY price DESC"
        )

    @property
    def keys(self) -> list[str]:
        return [self.key] if self.by else []


def read_only(trades: DataFrame, q: Asked) -> DataFrame:
    """Not an answer: what it costs to read the columns."""
    return trades


def crestline_topk(trades: DataFrame, q: Asked) -> DataFrame:
    from crestline.spark import topk

    return topk(trades, q.text)


def obvious(trades: DataFrame, q: Asked) -> DataFrame:
    """Every row into every window that holds it, then max_by."""
    from pyspark.sql import functions as F

    window = F.window("ts", f"{q.width} seconds", f"{q.slide} seconds")
    return _top(trades.withWatermark("ts", "0 seconds"), window, q)


def panes_then_max_by(trades: DataFrame, q: Asked) -> DataFrame:
    """Panes first; every record of a pane into every window that holds the pane, then max_by."""
    from pyspark.sql import functions as F

    records = _panes(trades, q).select("window", *q.keys, F.explode("best").alias("record"))
    top = F.max_by("record", F.col("record.price"), q.k)
    return records.groupBy(_over_panes(q), *q.keys).agg(top.alias("best"))


def panes_then_lists(trades: DataFrame, q: Asked) -> DataFrame:
    """Panes first; every pane's list into every window that holds the pane, then sort and cut."""
    from pyspark.sql import functions as F

    records = F.flatten(F.collect_list("best"))
    top = F.slice(F.sort_array(records, asc=False), 1, q.k)
    return _panes(trades, q).groupBy(_over_panes(q), *q.keys).agg(top.alias("best"))


def _panes(trades: DataFrame, q: Asked) -> DataFrame:
    from pyspark.sql import functions as F

    return _top(trades.withWatermark("ts", "0 seconds"), F.window("ts", f"{q.slide} seconds"), q)


def _over_panes(q: Asked) -> Column:
    from pyspark.sql import functions as F

    return F.window("window", f"{q.width} seconds", f"{q.slide} seconds")


def _top(trades: DataFrame, window: Column, q: Asked) -> DataFrame:
    from pyspark.sql import functions as F

    record = F.struct("price", "size") if q.by else F.struct("price", "symbol", "size")
    top = F.max_by(record, F.col("price"), q.k)
    return trades.groupBy(window, *q.keys).agg(top.alias("best"))


Formulation = Callable[["DataFrame", Asked], "DataFrame"]

#: Who takes part, by kind.
PANES_FIRST: Mapping[str, Formulation] = {
    "panes first, max_by": panes_then_max_by,
    "panes first, lists": panes_then_lists,
}
OBVIOUS: Mapping[str, Formulation] = {"window + max_by": obvious}
CONTENDERS: Mapping[str, Formulation] = {
    "reading only": read_only,
    "crestline": crestline_topk,
    **PANES_FIRST,
    **OBVIOUS,
}

#: (end of the window in microseconds, partition) -> its prices, highest first
Answer = dict[tuple[int, Any], tuple[float, ...]]


def prices(name: str, answer: DataFrame, q: Asked) -> DataFrame:
    """The part of a contender's answer that can be compared."""
    from pyspark.sql import functions as F

    key = F.col(q.key) if q.by else F.lit(None).cast("string")
    ours = name == "crestline"
    end = F.unix_micros("window_end" if ours else F.col("window.end"))
    found = F.array("price") if ours else F.col("best.price")
    return answer.select(end.alias("end"), key.alias("key"), found.alias("prices"))


def collect(table: pa.Table) -> Answer:
    """The rows of `prices`, window by window.

    >>> one = {"end": 7, "key": None, "prices": [1.0]}
    >>> collect(pa.Table.from_pylist([one, {**one, "prices": [3.0, 2.0]}]))
    {(7, None): (3.0, 2.0, 1.0)}
    """
    found: dict[tuple[int, Any], list[float]] = {}
    ends, keys, lists = (table.column(name).to_pylist() for name in ("end", "key", "prices"))
    for end, key, some in zip(ends, keys, lists, strict=True):
        found.setdefault((end, key), []).extend(some)
    return {window: tuple(sorted(some, reverse=True)) for window, some in found.items()}


def until(answer: Answer, end: int) -> Answer:
    """The windows up to one: how far contenders have come when a stream stops may differ."""
    return {window: some for window, some in answer.items() if window[0] <= end}
