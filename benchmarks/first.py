"""First answers: from the start of a process, with nothing compiled yet and with everything.

Each measurement is a process of its own with an empty home for compiled kernels, then the same
again with what the first one left there. CPU seconds include the processes that compile beside.

``CRESTLINE_BENCH_BEFORE`` may name the Python of an environment with another version of Crestline,
which is then measured in the same run, in turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Say, columns, goal, goal_lines, machine, machine_line, short

#: Names the Python of an environment with another version, to be measured beside this one.
BEFORE_VARIABLE = "CRESTLINE_BENCH_BEFORE"
QUERIES = {
    "certain": "SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY x DESC",
    "every arrival": "SELECT TOP 3 id FROM s [ROWS 100] ORDER BY x DESC",
    "uncertain": "SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts]"
    " WITH PROBABILITY p ORDER BY x DESC",
    "incomplete": "SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts]"
    " COMBINE SUM(x) ACROSS way IN ('a', 'b') OBJECT id",
}
ROWS = (20, 3_000)
#: The first records of a long stream: what is waited for before it flows.
LARGE = 100_000
#: Seconds that a first answer may take: CPU for a few rows, on the clock for many.
FEW_GOAL, WARM_GOAL, IMPORT_GOAL = 2.0, 0.7, 0.1
LARGE_GOALS = {"certain": 8.0, "every arrival": 8.0, "uncertain": 20.0, "incomplete": 20.0}

_IMPORT = "import crestline"
_FEW = """
import json, sys
import crestline
task = json.loads(sys.argv[1])
rows = [
    {"id": n * 7 % 40, "ts": f"2024-01-01T{n // 7200:02}:{n // 120 % 60:02}:{n // 2 % 60:02}Z",
     "x": n * 37 % 101 / 1.0, "p": (n % 9 + 1) / 10, "way": "ab"[n // 40 % 2]}
    for n in range(task["rows"])
]
table = crestline.run(task["query"], {"s": rows}, engine="local").to_arrow()
print(json.dumps([table.num_rows, sum(table.column("score").to_pylist())]))
"""
_LARGE = """
import json, sys
import numpy as np, pyarrow as pa
import crestline
task = json.loads(sys.argv[1])
number = np.arange(task["rows"])
table = pa.table({
    "id": number * 7 % 4000, "ts": (number * 500).astype("datetime64[us]"),
    "x": np.random.default_rng(1).random(len(number)), "p": (number % 9 + 1) / 10,
    "way": pa.array(np.array(["a", "b"])[number // 4000 % 2]),
})
answer = crestline.open(task["query"]).push(table.to_batches()[0])
print(json.dumps([answer.num_rows, sum(answer.column("score").to_pylist())]))
"""


def measure(python: str, code: str, task: dict[str, Any], home: Path) -> dict[str, Any]:
    """Run code in a process; seconds on the clock and of CPU, and what it printed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "CRESTLINE_", "NUMBA_"))
    }
    places = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR")
    environment |= dict.fromkeys(places, str(home))
    if python == sys.executable:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [python, "-c", code, json.dumps(task)],
            env=environment,
            cwd=home,
            stdout=printed,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if status != 0:
            errors.seek(0)
            raise RuntimeError(f"{python} failed with {task}:\n{errors.read()[-3000:]}")
        printed.seek(0)
        answer = json.loads(printed.read() or "null")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "answer": answer}


def cold_and_warm(
    python: str, code: str, task: dict[str, Any], home: Path, repeats: int
) -> dict[str, Any]:
    """The same with an empty and with a filled home; the best of several warm turns counts."""
    home.mkdir(parents=True)
    cold = measure(python, code, task, home)
    warm = [measure(python, code, task, home) for _ in range(repeats)]
    best = min(warm, key=lambda one: one["cpu"])
    if any(one["answer"] != cold["answer"] for one in warm):
        raise RuntimeError(f"{task}: the second answer differs from the first")
    return {
        "cold_seconds": cold["seconds"], "cold_cpu": cold["cpu"], "warm_seconds": best["seconds"],
        "warm_cpu": best["cpu"], "answer": cold["answer"],
    }  # fmt: skip


def run(
    *,
    quick: bool,
    say: Say,
    rows: tuple[int, ...] = ROWS,
    large: int = LARGE,
    families: tuple[str, ...] = tuple(QUERIES),
) -> dict[str, Any]:
    """Measure. The other parameters make it smaller."""
    versions = {"now": sys.executable}
    if before := os.environ.get(BEFORE_VARIABLE):
        versions["before"] = before
    repeats = 1 if quick else 3
    jobs = [("import", _IMPORT, 0)]
    jobs += [(name, _FEW, count) for name in families for count in rows]
    jobs += [(name, _LARGE, large) for name in families]
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="crestline-first-") as homes:
        for number, (name, code, count) in enumerate(jobs):
            say(name if count == 0 else f"{name}, {short(count)} rows")
            task = {"rows": count, "query": QUERIES.get(name, "")}
            answers = []
            for version, python in versions.items():
                home = Path(homes, f"{version}-{number}")
                cell = cold_and_warm(python, code, task, home, repeats)
                answers.append(cell.pop("answer"))
                cells.append({"family": name, "rows": count, "version": version} | cell)
            if any(answer != answers[0] for answer in answers):
                raise RuntimeError(f"{name}, {count} rows: the versions differ: {answers}")
    return {
        "suite": "first",
        "machine": machine(),
        "large": large,
        "cells": cells,
        "goals": _goals(cells, large),
    }


def _goals(cells: list[dict[str, Any]], large: int) -> list[dict[str, Any]]:
    """What was aimed at, as how many times faster than the limit it is."""
    goals = []
    for cell in cells:
        if cell["version"] != "now":
            continue
        name, count = cell["family"], cell["rows"]
        if name == "import":
            aims = [("CPU s of the import", "warm_cpu", IMPORT_GOAL)]
        elif count == large:
            aims = [("s to the first answer, cold", "cold_seconds", LARGE_GOALS[name])]
        else:
            aims = [("CPU s, cold", "cold_cpu", FEW_GOAL)]
            if count == ROWS[0]:
                aims.append(("CPU s, warm", "warm_cpu", WARM_GOAL))
        for what, key, most in aims:
            told = f"{name}, {short(count)} rows: {most:g} {what}, at {cell[key]:.2f}"
            goals.append(goal(told + "; limit / figure", 1.0, most / cell[key]))
    return goals


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    lines = [["", "rows", "version", "cold CPU s", "warm CPU s", "cold s", "warm s"]]
    for cell in result["cells"]:
        keys = ("cold_cpu", "warm_cpu", "cold_seconds", "warm_seconds")
        figures = [f"{cell[key]:.2f}" for key in keys]
        lines.append([cell["family"], short(cell["rows"]), cell["version"], *figures])
    return "\n\n".join(
        [
            "From the start of a process to the first answer. Cold: no kernel is compiled yet."
            f" {short(result['large'])} rows are the first batch of a long stream.",
            machine_line(result["machine"]),
            columns(lines, left=1),
            goal_lines(result["goals"]),
        ]
    )
