"""Peak memory of the in-process engine: it grows neither with the rows nor with the window.

Every run is a process of its own. Its peak is compared with what it held after a warm-up (imports,
compiled kernels, a thousand rows): the difference is what the run itself took. That is the row
groups read ahead, one batch in work, the records kept, and the result rows. Arrow allocates from
the system here: its default allocator holds on to freed memory for a while (about 100 MB more at
the peak), which says nothing about what the run needs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import (
    Say,
    columns,
    goal,
    goal_lines,
    in_child,
    machine,
    machine_line,
    peak_memory,
    short,
)
from benchmarks.trades import trades

#: Files of `ROWS_A_FILE` trades, 1,000 a second, so that the widest window fits into the stream.
ROWS_A_FILE, QUICK_ROWS_A_FILE, RATE = 1_000_000, 200_000, 1_000
#: How many files a run reads, and the pattern that names them.
FILES = {5: "part-0000[0-4].parquet", 20: "part-000[01]?.parquet", 60: "part-*.parquet"}
MOST_FILES = max(FILES)
WINDOWS = (10, 1_000, 10_000)
K = 10
#: "Does not grow": the smallest peak as a share of the largest.
FLAT = 0.85
#: A shorter run does not fill what is read ahead, so it says nothing about growth.
LEAST_ROWS = 1_000_000

#: What tells Arrow, as it starts, where to allocate from.
ALLOCATOR = "ARROW_DEFAULT_MEMORY_POOL"

Start = Callable[[str, dict[str, Any]], dict[str, Any]]


def run(
    *, quick: bool, say: Say, rows_a_file: int | None = None, start: Start = in_child
) -> dict[str, Any]:
    """Measure. `rows_a_file` makes it smaller; `start` does one run."""
    share = rows_a_file or (QUICK_ROWS_A_FILE if quick else ROWS_A_FILE)
    rate = RATE * share / ROWS_A_FILE  # a smaller stream is thinner, not shorter
    folder = trades(share * MOST_FILES, say, files=MOST_FILES, rate=rate)
    by_rows, by_window = [], []
    for files in FILES:
        say(f"{short(share * files)} rows, window 100 s")
        by_rows.append(_measure(start, folder, files, 100, share))
    for window in WINDOWS:
        say(f"{short(share * MOST_FILES)} rows, window {window:,} s")
        by_window.append(_measure(start, folder, MOST_FILES, window, share))
    return {
        "suite": "memory",
        "machine": machine(),
        "k": K,
        "rate": rate,
        "by_rows": by_rows,
        "by_window": by_window,
        "goals": [
            goal(
                f"least peak by the largest, over rows from {short(LEAST_ROWS)} on",
                FLAT,
                _flatness(by_rows),
            ),
            goal("least peak by the largest, over windows", FLAT, _flatness(by_window)),
        ],
    }


def _measure(start: Start, folder: Path, files: int, window: int, share: int) -> dict[str, Any]:
    task = {"files": str(folder / FILES[files]), "window": window}
    allocator = os.environ.get(ALLOCATOR)
    os.environ[ALLOCATOR] = "system"
    try:
        return {"rows": share * files, "window": window} | start("benchmarks.memory", task)
    finally:
        if allocator is None:
            del os.environ[ALLOCATOR]
        else:
            os.environ[ALLOCATOR] = allocator


def _flatness(measured: list[dict[str, Any]]) -> float:
    long = [entry for entry in measured if entry["rows"] >= LEAST_ROWS] or measured
    peaks: list[float] = [entry["peak_mb"] for entry in long]
    return min(peaks) / max(peaks)


def child(task: dict[str, Any]) -> dict[str, Any]:
    """One run over the files; results are taken and dropped, as if written somewhere."""
    from crestline.language import parse
    from crestline.local import BoundedRun
    from crestline.streams import generate

    query = (
        f"SELECT TOP {K} symbol, price, ts FROM trades"
        f" [RANGE {task['window']} SECONDS SLIDE {max(1, task['window'] // 10)} SECONDS ON ts]"
        " ORDER BY price DESC"
    )

    def over(stream: Any) -> BoundedRun:
        bounded = BoundedRun({"memory": parse(query)}, {"trades": stream})
        for _ in bounded:
            pass
        return bounded

    over(next(generate("trades", 1_000)))
    before = peak_memory()
    metrics = over(task["files"]).metrics("memory")
    return {
        "peak_mb": peak_memory() / 1e6,
        "warm_mb": before / 1e6,
        "kept_peak": metrics.kept_peak,
        "window_records": metrics.window_records_peak,
        "result_rows": metrics.result_rows,
        "rows_read": metrics.rows_in,
    }


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    heading = ["rows", "window s", "peak MB", "warm MB", "records kept", "in the window", "results"]

    def shown(entries: list[dict[str, Any]]) -> str:
        rows: list[list[str]] = [heading]
        for e in entries:
            sizes = f"{e['peak_mb']:.0f}", f"{e['warm_mb']:.0f}"
            counts = (f"{e[n]:,}" for n in ("kept_peak", "window_records", "result_rows"))
            rows.append([short(e["rows"]), f"{e['window']:,}", *sizes, *counts])
        return columns(rows)

    return "\n\n".join(
        [
            f"Peak memory of one process, k = {result['k']}, slide a tenth of the window,"
            f" {result['rate']:g} trades a second in parquet",
            machine_line(result["machine"]),
            "More rows\n" + shown(result["by_rows"]),
            "Wider windows\n" + shown(result["by_window"]),
            goal_lines(result["goals"]),
            "What limits: the fixed cost of Python, Arrow, DuckDB and the compiled kernels, the row"
            " groups read ahead, and one batch in work.",
        ]
    )


if __name__ == "__main__":
    print(json.dumps(child(json.loads(sys.argv[1]))))
