"""Parquet files through the in-process engine, against DuckDB and Polars.

Every contender runs in a process of its own, so that its peak memory is its own. It warms up first
(imports, compiled kernels, thread pools; not timed) on the first file. The contenders take turns,
and the best time of all turns counts. An answer that differs from Crestline's does not count.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.feather

from benchmarks.measure import (
    Say,
    columns,
    goal,
    goal_lines,
    in_child,
    machine,
    machine_line,
    short,
)
from benchmarks.rivals import OBVIOUS, PANES_FIRST, PARTIAL
from benchmarks.trades import trades

ROWS, QUICK_ROWS, FILES = 10_000_000, 1_000_000, 20
#: Turns of the fast contenders; each turn answers `REPEATS` times. The obvious ones get one turn.
TURNS, REPEATS = 3, 2
#: Seconds after which a contender is given up.
PATIENCE = 600
#: What "hardly changing" means: the least speed at slide 1 s as a share of that at slide 10 s.
HARDLY = 0.8

Start = Callable[[str, dict[str, Any], float], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A query to run, and how many times as fast as the best and the obvious rivals to be."""

    name: str
    slide: int
    by: bool
    best: float
    obvious: float | None = None


CASES = (
    Case("slide 10 s", 10, False, best=1.5, obvious=6),
    Case("slide 1 s", 1, False, best=1.5, obvious=40),
    Case("slide 10 s by symbol", 10, True, best=1.5),
)


def run(
    *,
    quick: bool,
    say: Say,
    rows: int | None = None,
    rate: float = 10_000,
    cases: tuple[Case, ...] = CASES,
    turns: int = TURNS,
    start: Start = in_child,
) -> dict[str, Any]:
    """Measure. `rows`, `cases` and `turns` make it smaller; `start` runs a contender.

    `rate` is the number of trades in a second of event time.
    """
    rows = rows or (QUICK_ROWS if quick else ROWS)
    folder = trades(rows, say, files=FILES, rate=rate)
    measured = [_case(case, folder, rows, say, turns, start) for case in cases]
    result = {
        "suite": "local",
        "machine": machine(),
        "rows": rows,
        "files": FILES,
        "megabytes": round(sum(f.stat().st_size for f in folder.iterdir()) / 1e6, 1),
        "cases": measured,
    }
    return result | {"goals": _goals(cases, measured)}


def contenders_of(case: Case) -> dict[str, str]:
    """Who takes part in a case, and as what."""
    kinds = {"crestline": "crestline"}
    kinds |= dict.fromkeys(PANES_FIRST, "panes first")
    if not case.by:
        del kinds["duckdb, two lists"]  # it relies on the symbol being the group
    kinds |= dict.fromkeys(OBVIOUS, "obvious") | dict.fromkeys(PARTIAL, "partial")
    if case.slide == 1:
        del kinds["duckdb, obvious row_number"]  # it would sort a hundred copies of every row
    return kinds | {"bare scan": "limit"}


def _case(
    case: Case, folder: Path, rows: int, say: Say, turns: int, start: Start
) -> dict[str, Any]:
    kinds = contenders_of(case)
    found: dict[str, dict[str, Any]] = {name: {"kind": kind} for name, kind in kinds.items()}
    with tempfile.TemporaryDirectory() as temporary:
        for turn in range(turns):
            for name, entry in found.items():
                slow = entry["kind"] in ("obvious", "partial")
                if (slow and turn) or "gave_up" in entry:
                    continue
                say(f"{case.name}: {name} (turn {turn + 1} of {1 if slow else turns})")
                out = Path(temporary, f"{name}.feather")
                asked = {"files": f"{folder}/*.parquet", "slide": case.slide, "by": case.by}
                task = {
                    "contender": name,
                    "question": asked,
                    "warm_up": str(folder / "part-00000.parquet"),
                    "repeats": 1 if slow else REPEATS,
                    "out": str(out) if turn == 0 and entry["kind"] != "limit" else None,
                }
                try:
                    _take(entry, start("benchmarks.contender", task, PATIENCE), rows)
                except TimeoutError as error:
                    entry["gave_up"] = str(error)
                if turn == 0:
                    _compare(found, name, Path(temporary))
    return {"name": case.name, "slide": case.slide, "by": case.by, "contenders": found} | _ratios(
        found
    )


def _take(entry: dict[str, Any], answer: dict[str, Any], rows: int) -> None:
    """Add what a turn measured to what is known of a contender."""
    seconds = min(answer["seconds"] + [entry.get("seconds", float("inf"))])
    entry["seconds"] = seconds
    entry["million_rows_a_second"] = rows / seconds / 1e6
    entry["peak_mb"] = max(answer["peak"] / 1e6, entry.get("peak_mb", 0))
    entry["result_rows"] = answer["rows"]


def _compare(found: dict[str, dict[str, Any]], name: str, folder: Path) -> None:
    """Whether windows, ranks and prices are those of Crestline, exactly."""
    out = folder / f"{name}.feather"
    if out.exists():
        answer = pyarrow.feather.read_table(out)
        judge = pyarrow.feather.read_table(folder / "crestline.feather")
        found[name]["agrees"] = bool(answer.equals(judge))


def _ratios(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    def fastest(kind: str) -> str | None:
        names = [n for n, e in found.items() if e["kind"] == kind and e.get("agrees")]
        return min(names, key=lambda n: found[n]["seconds"], default=None)

    mine = found["crestline"]["seconds"]
    best, obvious = fastest("panes first"), fastest("obvious")
    scan = found["bare scan"]["seconds"]
    return {
        "best_rival": best,
        "times_best": found[best]["seconds"] / mine if best else None,
        "best_obvious": obvious,
        "times_obvious": found[obvious]["seconds"] / mine if obvious else None,
        "share_of_scan": scan / mine,
        "all_agree": all(entry.get("agrees", True) for entry in found.values()),
    }


def _goals(cases: tuple[Case, ...], measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    goals = []
    for case, got in zip(cases, measured, strict=True):
        if got["times_best"]:
            name = f"{case.name}: times the best ({got['best_rival']})"
            goals.append(goal(name, case.best, got["times_best"]))
        if case.obvious and got["times_obvious"]:
            name = f"{case.name}: times the obvious ({got['best_obvious']})"
            goals.append(goal(name, case.obvious, got["times_obvious"]))
    speeds = {
        (got["slide"], got["by"]): got["contenders"]["crestline"]["million_rows_a_second"]
        for got in measured
    }
    if (1, False) in speeds and (10, False) in speeds:
        share = speeds[1, False] / speeds[10, False]
        goals.append(goal("speed at slide 1 s as a share of that at slide 10 s", HARDLY, share))
    agreeing = all(got["all_agree"] for got in measured)
    return [*goals, goal("all answers agree (1 is yes)", 1, float(agreeing))]


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    parts = [
        f"{short(result['rows'])} trades in {result['files']} parquet files"
        f" ({result['megabytes']:g} MB), window 100 s, k = 10. Best of several turns;"
        " imports and compilation are not timed.",
        machine_line(result["machine"]),
    ]
    for case in result["cases"]:
        mine = case["contenders"]["crestline"]["seconds"]
        rows = [["contender", "seconds", "M rows/s", "crestline is", "peak MB", "answer"]]
        for name, entry in case["contenders"].items():
            if "gave_up" in entry:
                rows.append([name, "-", "-", "-", "-", entry["gave_up"]])
                continue
            agrees = {True: "agrees", False: "DIFFERS", None: "(reads only)"}[entry.get("agrees")]
            rows.append(
                [
                    name,
                    f"{entry['seconds']:.3f}",
                    f"{entry['million_rows_a_second']:.2f}",
                    f"{entry['seconds'] / mine:.2f} x",
                    f"{entry['peak_mb']:.0f}",
                    agrees,
                ]
            )
        parts.append(f"{case['name']}\n{columns(rows)}")
    parts.append(goal_lines(result["goals"]))
    shares = ", ".join(f"{case['name']} {case['share_of_scan']:.0%}" for case in result["cases"])
    parts.append(
        "The bare scan decodes the same three columns with Arrow and does nothing else. Its time as"
        f" a share of Crestline's (the higher, the more reading is what limits): {shares}."
    )
    return "\n\n".join(parts)
