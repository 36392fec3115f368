"""What is asked: the workloads, and how many rows each system gets.

`CUTS` of a workload names the contenders that get fewer rows than all, since they would take too
long. These get the first rows of the same stream, and their speed is that on these rows. It cuts
both ways: windows that are not full yet hold less, but what a job costs whatever its size weighs
more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rivals.data import Stream
from benchmarks.rivals.systems import System

#: Sizes are given for a run of so many trades, and shrink with it.
ROWS, QUICK_ROWS = 10_000_000, 1_000_000
#: In seconds of event time, a stream of trades always lasts so long.
LASTS = 1_000
#: Trades of the small question, which last 200 seconds.
CHECKED = 20_000
M, K = 1_000_000, 1_000

_WINDOWS = ("CRESTLINE", "PANES_FIRST", "OBVIOUS", "LIMIT")
_AFTER_EVERY_RECORD = ("EVERY_RECORD", "LIMIT")


@dataclass(frozen=True, slots=True)
class Workload:
    """A question, how many rows it is asked of, and who gets fewer or none."""

    name: str
    title: str
    asked: Mapping[str, Any]
    rows: int = ROWS
    kind: str = "trades"
    symbols: int | None = 500
    #: Whether it is also told what only reading csv costs: the same in all.
    reads_csv: bool = False
    #: Rows of the contenders that get fewer.
    cuts: Mapping[str, int] = field(default_factory=dict)
    #: Who is not asked, by the beginning of the name, and why.
    not_asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return _AFTER_EVERY_RECORD if "window" in self.asked else _WINDOWS

    def stream(self, scale: float) -> Stream:
        """At the same time, fewer records a second."""
        return Stream(self.kind, self.rows * scale / LASTS, self.symbols)

    def question(self, scale: float) -> dict[str, Any]:
        """What is asked; windows of so many rows shrink with the stream."""
        if "window" not in self.asked:
            return dict(self.asked)
        return {**self.asked, "window": max(100, round(self.asked["window"] * scale))}

    def title_for(self, scale: float) -> str:
        return self.title.format(**self.question(scale))

    def rows_for(self, contender: str, scale: float) -> int:
        return round(min(self.cuts.get(contender, self.rows), self.rows) * scale)

    def contenders(self, system: System) -> dict[str, str]:
        """The formulations of a system that are asked, each with its kind."""
        return {
            name: kind
            for kind in self.kinds
            for name in system.contenders(kind)
            if not any(name.startswith(beginning) for beginning in self.not_asked)
            and not (kind == "LIMIT" and system.csv and not self.reads_csv)
        }

    def check(self) -> tuple[Stream, int, Mapping[str, Any]]:
        """The small question that everybody answers first, over more windows than one."""
        if "window" in self.asked:
            return Stream("random", 1_000), 5_000, {**self.asked, "window": 1_000}
        return Stream("trades", CHECKED / 200, 50), CHECKED, self.asked


_TWO_LISTS = {"duckdb, two lists": "relies on the symbol being the group"}
_NO_STREAM = {"spark bounded, window": "the stream is asked the same"}
_SAME_TWICE = "with one pane to a window it is the same as the obvious one"
_FLINK_READING, _PATHWAY_READING = "flink, only reading csv", "pathway, only reading csv"

WORKLOADS = (
    Workload(
        "10s",
        "top 10 by price of the last 100 s, every 10 s",
        {"slide": 10},
        reads_csv=True,
        cuts={
            "spark stream, window + max_by": 1 * M,
            "spark stream, panes, max_by": 2 * M,
            "spark stream, panes, lists": 2 * M,
            "spark bounded, panes, max_by": 2 * M,
            "crestline on spark, stream": 2 * M,
            "crestline on spark, bounded": 2 * M,
            "flink, Window Top-N": 100 * K,
            "flink, panes": 1 * M,
            _FLINK_READING: 1 * M,
            "pathway, sliding windows": 50 * K,
            "pathway, panes": 100 * K,
            _PATHWAY_READING: 100 * K,
        },
        not_asked=_TWO_LISTS | _NO_STREAM,
    ),
    Workload(
        "1s",
        "the same, every 1 s",
        {"slide": 1},
        cuts={
            "duckdb, obvious max_by": 2 * M,
            "polars, obvious top_k_by": 2 * M,
            "spark stream, window + max_by": 100 * K,
            "spark stream, panes, max_by": 2 * M,
            "spark stream, panes, lists": 2 * M,
            "spark bounded, panes, max_by": 2 * M,
            "crestline on spark, stream": 2 * M,
            "crestline on spark, bounded": 2 * M,
            "flink, Window Top-N": 20 * K,
            "flink, panes": 1 * M,
            "pathway, sliding windows": 10 * K,
            "pathway, panes": 100 * K,
        },
        not_asked=_TWO_LISTS
        | _NO_STREAM
        | {"duckdb, obvious row_number": "would sort a hundred copies of every row"},
    ),
    Workload(
        "by-symbol",
        "every 10 s, by 500 symbols",
        {"slide": 10, "by": True},
        cuts={
            "duckdb, obvious row_number": 4 * M,
            "polars, obvious top_k_by": 4 * M,
            "spark stream, window + max_by": 500 * K,
            "spark stream, panes, max_by": 2 * M,
            "spark stream, panes, lists": 2 * M,
            "spark bounded, panes, max_by": 2 * M,
            "crestline on spark, stream": 2 * M,
            "crestline on spark, bounded": 2 * M,
            "flink, Window Top-N": 100 * K,
            "flink, panes": 1 * M,
            "pathway, sliding windows": 50 * K,
            "pathway, panes": 100 * K,
        },
        not_asked=_NO_STREAM,
    ),
    Workload(
        "every-record",
        "after every record, top 9 of the last {window:,}",
        {"window": 40_000, "k": 9},
        kind="random",
        symbols=None,
        rows=4 * M,
        cuts={
            "duckdb, max_by OVER ROWS": 1 * M,
            "sortedcontainers, SortedList": 500 * K,
            "polars, rolling": 60 * K,
        },
        not_asked={
            "spark": "its streams have no windows of so many rows",
            "flink": "its OVER windows know no aggregate for the k best",
            "pathway": "it has no windows of so many rows",
            "crestline on spark": "one task would see all records, as it does in process",
        },
    ),
    Workload(
        "tumbling",
        "top 10 of every 10 s, windows that do not overlap",
        {"slide": 10, "width": 10},
        cuts={
            "spark stream, window + max_by": 2 * M,
            "spark bounded, window + max_by": 2 * M,
            "crestline on spark, stream": 2 * M,
            "crestline on spark, bounded": 2 * M,
            "flink, Window Top-N": 1 * M,
            "pathway, sliding windows": 100 * K,
        },
        not_asked=_TWO_LISTS
        | {
            "spark stream, panes": _SAME_TWICE,
            "spark bounded, panes": _SAME_TWICE,
            "flink, panes": _SAME_TWICE,
            "pathway, panes": _SAME_TWICE,
        },
    ),
    Workload(
        "thin",
        "every 50 s, by 100,000 symbols with few trades each",
        {"slide": 50, "by": True},
        symbols=100_000,
        rows=5 * M,
        cuts={
            "duckdb, obvious row_number": 2 * M,
            "polars, over": 2 * M,
            "polars, obvious top_k_by": 1 * M,
            "spark stream, window + max_by": 500 * K,
            "spark bounded, window + max_by": 1 * M,
            "spark bounded, panes, max_by": 1 * M,
            "crestline on spark, stream": 500 * K,
            "crestline on spark, bounded": 1 * M,
            "flink, Window Top-N": 500 * K,
            "pathway, sliding windows": 50 * K,
        },
        not_asked={
            "spark stream, panes": "two copies of a row are not worth a second step",
            "flink, panes": "two copies of a row are not worth a second step",
            "pathway, panes": "two copies of a row are not worth a second step",
        },
    ),
)
