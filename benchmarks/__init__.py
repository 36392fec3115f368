"""Measurements, one suite a module: `crestline bench SUITE`, or `python -m benchmarks SUITE`.

A suite has a `DESCRIPTION`, `run(quick=..., say=...)`, which measures and returns what JSON can
hold, and `table(result)`, which shows it as text. Whatever is compared is measured side by side in
the same run: times differ from machine to machine and from hour to hour, ratios much less.
"""

from __future__ import annotations

#: The suites, in the order in which all of them run.
SUITES = (
    "steps", "arrivals", "uncertain", "incomplete", "sharing", "local", "partitions", "memory",
    "spark", "first",
)  # fmt: skip
