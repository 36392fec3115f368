"""What all suites share: timing, peak memory, child processes, facts about the machine."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

#: The root of the clone. Children import `benchmarks` from there.
ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("crestline", "numpy", "numba", "pyarrow", "duckdb", "polars", "sortedcontainers")

Say = Callable[[str], None]


def machine() -> dict[str, Any]:
    """Where and with what a measurement was made."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_name(),
        "cpus": os.cpu_count(),
        "memory_gb": round(_memory_bytes() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def machine_line(facts: dict[str, Any]) -> str:
    """The same in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['date']}, {facts['cpus']} x {facts['cpu']}, {facts['memory_gb']} GB,"
        f" Python {facts['python']}, {versions}"
    )


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "cpu"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package == "crestline":  # run from its sources, not installed
            import crestline

            return crestline.__version__
        return None


def timed(function: Callable[[], object]) -> float:
    """Seconds on the clock that one call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def best_of(
    functions: Sequence[Callable[[], object]],
    repeats: int = 5,
    budget: float = 2.0,
    at_least: int = 2,
) -> list[float]:
    """The best time of each function, in turns: what disturbs one turn disturbs all alike.

    Turns end after `repeats`, or once `budget` seconds are spent and `at_least` turns were made.

    >>> best = best_of([lambda: None, lambda: sum(range(1000))], repeats=3)
    >>> best[0] < best[1]
    True
    """
    best = [float("inf")] * len(functions)
    spent = 0.0
    for turn in range(repeats):
        if turn >= at_least and spent > budget:
            break
        for i, function in enumerate(functions):
            seconds = timed(function)
            best[i] = min(best[i], seconds)
            spent += seconds
    return best


def peak_memory() -> int:
    """The most bytes of memory that this process has held at any time.

    Linux tells it for the program itself; what `getrusage` tells may be that of the process which
    started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def child_command(python: str, module: str, task: dict[str, Any]) -> list[str]:
    """The command with which a Python runs a module of this package, with a task as JSON."""
    return [python, "-m", module, json.dumps(task)]


def child_environment(python: str) -> dict[str, str]:
    """The environment of a child. Another Python sees nothing of this one but the clone."""
    paths = [path for path in sys.path if path] if python == sys.executable else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)])}
    return environment | {"CRESTLINE_KERNELS": "compiled"}  # whatever the size


def in_child(module: str, task: dict[str, Any], patience: float = 600) -> dict[str, Any]:
    """Run a module in a process of its own. It takes the task and prints its answer as JSON.

    After `patience` seconds the child is killed, and `TimeoutError` is raised.
    """
    command = child_command(sys.executable, module, task)
    try:
        done = subprocess.run(
            command,
            env=child_environment(sys.executable),
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"no answer within {patience:g} s") from error
    if done.returncode != 0:
        if missing := re.search(
            r"^ModuleNotFoundError: No module named '(.+)'$", done.stderr, re.M
        ):
            raise ModuleNotFoundError(missing[0], name=missing[1])
        raise RuntimeError(f"{module} failed with {json.dumps(task)}:\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def columns(rows: Sequence[Sequence[object]], *, left: int = 1) -> str:
    """Rows of cells as text, the first row as heading; the first `left` columns align left.

    >>> print(columns([["k", "ratio"], [10, 0.5], [1000, 0.25]]))
    k     ratio
    ----  -----
    10      0.5
    1000   0.25
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    cells.insert(1, ["-" * width for width in widths])
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def short(number: float) -> str:
    """1,000 as 1k and 2,500,000 as 2.5M.

    >>> short(100), short(10_000), short(2_500_000)
    ('100', '10k', '2.5M')
    """
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.3g}"


def goal(name: str, wanted: float, got: float) -> dict[str, Any]:
    """A figure that should be at least `wanted`."""
    return {"goal": name, "wanted": wanted, "got": round(got, 3), "met": bool(got >= wanted)}


def goal_lines(goals: Sequence[dict[str, Any]]) -> str:
    """One line for each goal, met or missed."""
    lines = []
    for one in goals:
        verdict = "met   " if one["met"] else "MISSED"
        lines.append(f"{verdict}  {one['goal']}: {one['got']:g} (wanted {one['wanted']:g})")
    return "\n".join(lines)
