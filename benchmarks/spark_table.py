"""The figures of the suite `spark` as text."""

from __future__ import annotations

from typing import Any

from benchmarks import spark_files, spark_frames
from benchmarks.measure import columns, goal_lines, machine_line, short


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    facts = ", ".join(f"{name} {value}" for name, value in result["session"].items())
    parts = [
        f"{short(result['rows'])} trades through Spark in micro-batches of"
        f" {short(result['rows_a_batch'])} rows, window 100 s, k = 10. Seconds for a micro-batch:"
        " 'first' is the first one of a new query (addBatch), 'steady' the median of all but the"
        " first two (addBatch; goals are judged by it), 'trigger' the same with planning, logging"
        " and commit (triggerExecution).",
        machine_line(result["machine"]),
        facts,
    ]
    if "files" in result:
        parts.append(spark_files.table(result["files"]))
    if "frames" in result:
        parts.append(spark_frames.table(result["frames"]))
    parts += [_case_table(case) for case in result.get("cases", ())]
    if "goals" in result:
        parts.append(goal_lines(result["goals"]))
    if "cases" in result:
        parts.append(_state_table(result["cases"]))
    if "stages" in result:
        parts.append(_stage_table(result["stages"]))
    parts += [_series_table(name, rows) for name, rows in result.get("growth", {}).items()]
    parts += [_batch_table(case) for case in result.get("batch", ())]
    return "\n\n".join(parts)


def _case_table(case: dict[str, Any]) -> str:
    ours = case["contenders"]["crestline"]
    rows = [["contender", "first", "steady", "trigger", "M rows/s", "crestline is", "by trigger",
             "state kB", "answer"]]  # fmt: skip
    for name, entry in case["contenders"].items():
        if "gave_up" in entry:
            rows.append([name, *["-"] * 7, entry["gave_up"]])
            continue
        agrees = {True: "agrees", False: "DIFFERS", None: "(reads only)"}[entry["agrees"]]
        scaled = entry.get("scaled_from_rows")
        whole = case["contenders"]["reading only"]["rows_a_batch"]
        rows.append(
            [
                name,
                f"{entry['first']:.2f}",
                f"{entry['steady']:.3f}",
                f"{entry['steady_trigger']:.3f}",
                f"{whole / entry['steady'] / 1e6:.2f}",
                f"{entry['steady'] / ours['steady']:.2f} x",
                f"{entry['steady_trigger'] / ours['steady_trigger']:.2f} x",
                f"{entry['state_bytes'] / 1e3:.0f}",
                agrees + (f", scaled from {short(scaled)} rows" if scaled else ""),
            ]
        )
    return f"{case['name']} ({case['windows_compared']:,} windows compared)\n{columns(rows)}"


def _state_table(cases: list[dict[str, Any]]) -> str:
    rows = [["Crestline's state", "keys", "bytes", "bytes/key", "k H_C", "bytes per k H_C"]]
    for case in cases:
        state = case["state"]
        rows.append(
            [
                case["name"],
                state["keys"],
                f"{state['bytes']:,}",
                f"{state['bytes_a_key']:,.0f}",
                f"{state['expected_records_a_key']:.1f}",
                f"{state['bytes_an_expected_record']:.1f}",
            ]
        )
    return columns(rows)


def _stage_table(stages: list[dict[str, Any]]) -> str:
    names = list(stages[0]["seconds"])
    rows = [["seconds that a stage adds (share)", *(case["name"] for case in stages)]]
    for name in names:
        cells = [f"{case['added'][name]:.3f} ({case['shares'][name]:.0%})" for case in stages]
        rows.append([name, *cells])
    rows.append(["all", *(f"{sum(case['added'].values()):.3f}" for case in stages)])
    return columns(rows)


def _series_table(name: str, series: list[dict[str, Any]]) -> str:
    rows: list[list[object]] = [[name, "steady seconds", "times the first", "state kB"]]
    first = series[0]["seconds"]
    for one in series:
        if one["seconds"] is None:
            rows.append([one["value"], "gave up", "-", "-"])
            continue
        ratio = f"{one['seconds'] / first:.2f} x" if first else "-"
        state = f"{one['state_bytes'] / 1e3:.0f}"
        rows.append([one["value"], f"{one['seconds']:.3f}", ratio, state])
    return columns(rows)


def _batch_table(case: dict[str, Any]) -> str:
    rows = [[f"bounded, {case['name']}", "seconds", "M rows/s", "crestline is"]]
    ours = case["seconds"]["crestline"]
    for name, seconds in case["seconds"].items():
        speed = case["million_rows_a_second"][name]
        rows.append([name, f"{seconds:.2f}", f"{speed:.2f}", f"{seconds / ours:.2f} x"])
    return columns(rows)


__all__ = ["table"]
