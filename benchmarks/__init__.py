"""Measurements, one suite per module: `crestline bench SUITE`, or `python -m benchmarks SUITE`.

A suite has `run(quick=..., say=...)`, which measures and returns what JSON can hold, and
`table(result)`, which shows it as text. Whatever is compared is measured side by side in the same
run: times differ from machine to machine and from hour to hour, ratios much less.
"""

from __future__ import annotations

#: The suites with what they measure, in the order in which all of them run.
SUITES = {
    "steps": "MinTopk on 20 million scores in memory, as a share of the speed of numpy.max",
    "arrivals": "A result after every arrival: every algorithm, a rescan loop and a SortedList",
    "uncertain": "Uncertain streams: five synopses against recomputing; exclusive records",
    "incomplete": "Incomplete streams: SLA, EAA, CORRELATED, NAIVE, running sums and a bare pass",
    "sharing": "Many queries on one stream: sharing their work against one by one",
    "local": "10 million trades in parquet: Crestline, DuckDB and Polars side by side",
    "partitions": "5 million trades by up to 100,000 symbols, each with its own top k",
    "memory": "peak memory over 5 to 60 million rows, and over windows of 10 to 10,000 s",
    "spark": "trades through Spark, as files and as DataFrames, against its own max_by",
    "cluster": "10 million trades on a standalone cluster of 1, 2 and 4 workers of one core",
    "first": "Seconds from the start of a process to the first answer, cold and warm",
}
