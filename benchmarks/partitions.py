"""Many partitions in one run: how the speed falls as they grow in number.

Generated trades of 1 to 100,000 symbols, the query by symbol, through the in-process engine;
DuckDB's best formulation (see `rivals`) answers the same, and the answers must agree. Processes,
warm-up and turns are as in `local`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow.feather

from benchmarks.local import PATIENCE, Start
from benchmarks.measure import Say, columns, in_child, machine, machine_line, short
from benchmarks.trades import trades

ROWS, QUICK_ROWS, FILES = 5_000_000, 500_000, 10
PARTITIONS = (1, 1_000, 100_000)
TURNS = 2
RIVAL = "duckdb, two lists"
WINDOW, SLIDE, K = 100, 50, 10


def run(
    *,
    quick: bool,
    say: Say,
    rows: int | None = None,
    partitions: tuple[int, ...] = PARTITIONS,
    start: Start = in_child,
) -> dict[str, Any]:
    """Measure. `rows` and `partitions` make it smaller; `start` runs a contender."""
    rows = rows or (QUICK_ROWS if quick else ROWS)
    rate = 10_000 * rows / ROWS  # the same 500 s, whatever the number of rows
    measured = [_measure(rows, rate, count, say, start) for count in partitions]
    return {
        "suite": "partitions",
        "machine": machine(),
        "rows": rows,
        "window": WINDOW,
        "slide": SLIDE,
        "k": K,
        "cases": measured,
    }


def _measure(rows: int, rate: float, count: int, say: Say, start: Start) -> dict[str, Any]:
    folder = trades(rows, say, files=FILES, rate=rate, symbols=count)
    question = {
        "files": f"{folder}/*.parquet", "slide": SLIDE, "by": True, "width": WINDOW, "k": K
    }  # fmt: skip
    seconds: dict[str, float] = {}
    peaks: dict[str, float] = {}
    results = 0
    with tempfile.TemporaryDirectory() as temporary:
        outs = {name: Path(temporary, f"{name}.feather") for name in ("crestline", RIVAL)}
        for turn in range(TURNS):
            for name, out in outs.items():
                say(f"{short(count)} partitions: {name} (turn {turn + 1} of {TURNS})")
                task = {
                    "contender": name,
                    "question": question,
                    "warm_up": str(folder / "part-00000.parquet"),
                    "repeats": 1,
                    "out": str(out),
                }
                answer = start("benchmarks.contender", task, PATIENCE)
                seconds[name] = min(*answer["seconds"], seconds.get(name, float("inf")))
                peaks[name] = max(answer["peak"] / 1e6, peaks.get(name, 0))
                results = answer["rows"]
        tables = [pyarrow.feather.read_table(out) for out in outs.values()]
    return {
        "partitions": count,
        "seconds": seconds["crestline"],
        "million_rows_a_second": rows / seconds["crestline"] / 1e6,
        "result_rows": results,
        "peak_mb": peaks["crestline"],
        "rival": RIVAL,
        "rival_seconds": seconds[RIVAL],
        "rival_peak_mb": peaks[RIVAL],
        "agrees": bool(tables[0].equals(tables[1])),
    }


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    rows = [
        ["partitions", "seconds", "M rows/s", "results", "peak MB", "DuckDB s", "its MB", "answers"]
    ]
    for case in result["cases"]:
        rows.append(
            [
                f"{case['partitions']:,}",
                f"{case['seconds']:.2f}",
                f"{case['million_rows_a_second']:.2f}",
                f"{case['result_rows']:,}",
                f"{case['peak_mb']:.0f}",
                f"{case['rival_seconds']:.2f}",
                f"{case['rival_peak_mb']:.0f}",
                "agree" if case["agrees"] else "DIFFER",
            ]
        )
    return "\n\n".join(
        [
            f"{short(result['rows'])} trades in parquet by symbol, window {result['window']} s,"
            f" slide {result['slide']} s, k = {result['k']}; DuckDB panes first (two lists)",
            machine_line(result["machine"]),
            columns(rows),
            "With many partitions a large part of the records are results: compare the columns.",
        ]
    )
