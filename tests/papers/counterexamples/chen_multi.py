"""Chen et al.: figures that bear every claim out, and how to make each false."""

from __future__ import annotations

from math import log2
from typing import Any

from figures import Edit, ends, put, times

PLANS = ("NS", "IN", "INCO", "GREEDY", "DP")
#: What one more query, record or k costs by each plan.
SLOPE = {"NS": 5.0, "IN": 4.0, "INCO": 3.0, "GREEDY": 0.1, "DP": 0.1}
PANELS = ("synthetic", "icebergs", "streams", "seismic")


def cost(plan: str, value: float) -> float:
    return 10 + SLOPE[plan] * value


def ideal(figures: dict[str, Any]) -> None:
    for panel in PANELS:
        for over, rows in figures[panel].items():
            _fill(rows, over)
    _fill(figures["gaussian"], "x")
    for plan in ("NS", "IN"):
        for key in ("walked", "engine"):
            times(figures["gaussian"], key, 3.0, plan=plan)
    for over, rows in figures["engine_latency"].items():
        for row in rows:
            row["late"], row["load"] = cost(row["plan"], row[over]), 1.0
    for row in figures["plans"]:
        row["ns"] = log2(row["x"]) + 1
    for row in figures["planning"]:
        row["DP"], row["GREEDY"] = 1.0 * row["most"], 0.1 * row["most"]


def _fill(rows: list[dict[str, Any]], over: str) -> None:
    for row in rows:
        value, of_plan = row[over], cost(row["plan"], row[over])
        row["planned"] = row["walked"] = row["engine"] = row["late"] = of_plan
        row["needed"] = value if over == "x" else 10
        row["throughput"] = row["needed"] / of_plan
        row["load"] = 1.0


def edit(panel: str, over: str, key: str, factor: float, plan: str, last: bool = True) -> Edit:
    """Multiply at the last value of what is varied, or at the first."""

    def change(figures: dict[str, Any]) -> None:
        rows = figures[panel] if panel == "gaussian" else figures[panel][over]
        times(rows, key, factor, plan=plan, **{over: ends(rows, over)[last]})

    return change


def swapped(key: str, panel: str = "synthetic", over: str = "x") -> list[Edit]:
    """Each plan as dear as, or dearer than, the one before it."""
    return [edit(panel, over, key, 100.0, plan) for plan in ("IN", "INCO", "DP")]


def apart(key: str) -> Edit:
    return edit("synthetic", "x", key, 1.15, "GREEDY")


def flat(key: str, over: str, *plans: str) -> Edit:
    """No dearer at the last value than at the first."""

    def change(figures: dict[str, Any]) -> None:
        rows = figures["synthetic"][over]
        for plan in plans:
            put(rows, key, lambda row: cost(row["plan"], ends(rows, over)[0]), plan=plan)

    return change


def falling(key: str) -> Edit:
    """Throughput of DP falls with the number of queries, in the right order."""

    def change(figures: dict[str, Any]) -> None:
        for row in figures["synthetic"]["x"]:
            if key == "engine":
                row["needed"] = 1.0
            else:
                row["throughput"] = 1 / row["walked"]

    return change


def differ(name: str) -> Edit:
    return lambda figures: figures["example"]["agreement"].update({name: False})


def wrong(figures: dict[str, Any]) -> None:
    figures["exact"][0]["right"] -= 1


def rows_of(part: str, key: str, value: Any) -> Edit:
    return lambda figures: put(figures[part][:1], key, value)


def all_rows_of(part: str, key: str, value: Any) -> Edit:
    return lambda figures: put(figures[part], key, value)


def late(panel: str, over: str = "x") -> Edit:
    return edit(panel, over, "late", 100.0, "DP")


def growing(key: str, over: str) -> list[Edit]:
    """Not in order; all as cheap at the last value; INCO grows by more than IN."""
    steep = edit("synthetic", over, key, 50.0, "INCO")
    found = [*swapped(key, "synthetic", over), flat(key, over, *PLANS), steep]
    if key == "walked":
        found.append(edit("synthetic", over, "throughput", 1e6, "NS"))
    return found


FALSE: dict[str, list[Edit]] = {
    "definitions": [rows_of("definitions", by, []) for by in ("worlds", "alone", "shared")],
    "printed": [rows_of("printed", by, []) for by in ("worlds", "engine")],
    **{
        name: [differ(name)]
        for name in (
            "worlds",
            "section_4",
            "groups",
            "tables_5_6",
            "table_7",
            "best_plan",
            "example_2",
        )
    },
    "exact": [wrong],
    "planned_order": [*swapped("planned"), apart("planned")],
    "cost_order": [*swapped("walked"), apart("walked")],
    "cost_gap": [
        edit("synthetic", "x", "walked", 0.1, "NS"),
        flat("walked", "x", "NS", "DP"),
        edit("synthetic", "x", "walked", 0.01, "DP", last=False),
    ],
    "throughput": [
        edit("synthetic", "x", "throughput", 20.0, "NS"),
        edit("synthetic", "x", "throughput", 20.0, "INCO"),
        edit("synthetic", "x", "throughput", 1.15, "GREEDY"),
        falling("walked"),
    ],
    "latency": [late("synthetic"), edit("synthetic", "x", "late", 20.0, "IN")],
    "tuples": [*growing("walked", "n"), late("synthetic", "n")],
    "k_range": [*growing("walked", "k"), late("synthetic", "k")],
    "gg": [edit("gaussian", "x", "walked", 0.1, "NS"), edit("gaussian", "x", "walked", 0.1, "IN")],
    **{
        name: [
            *swapped("walked", name),
            late(name),
            edit(name, "x", "throughput", 20.0, "NS"),
        ]
        for name in ("icebergs", "streams", "seismic")
    },
    "cost_order_engine": [*swapped("engine"), apart("engine")],
    "cost_gap_engine": [
        edit("synthetic", "x", "engine", 0.1, "NS"),
        flat("engine", "x", "NS", "DP"),
        edit("synthetic", "x", "engine", 0.01, "DP", last=False),
    ],
    "throughput_engine": [*swapped("engine"), apart("engine"), falling("engine")],
    "latency_engine": [late("engine_latency"), edit("engine_latency", "x", "late", 20.0, "IN")],
    "tuples_engine": [*growing("engine", "n"), late("engine_latency", "n")],
    "k_range_engine": [*growing("engine", "k"), late("engine_latency", "k")],
    "gg_engine": [
        edit("gaussian", "x", "engine", 0.1, "NS"),
        edit("gaussian", "x", "engine", 0.1, "IN"),
    ],
    **{f"{name}_engine": swapped("engine", name) for name in ("icebergs", "streams", "seismic")},
    "never_dearer_engine": [edit(panel, "x", "engine", 1e4, "DP", last=False) for panel in PANELS],
    "ga_bound": [rows_of("plans", "greedy_most", 2.01)],
    "ga_equal": [all_rows_of("plans", "equal", 0.4), all_rows_of("plans", "greedy", 1.2)],
    "planning": [rows_of("planning", "GREEDY", 1e9), rows_of("planning", "optimal", 0)],
    "planning_growth": [all_rows_of("planning", "DP", 1.0), all_rows_of("planning", "GREEDY", 0.1)],
    "table_9": [all_rows_of("plans", "ns", 4.0)],
}

#: Figures that may be missing, and the claims that then cannot be judged.
APART: dict[str, set[str]] = {
    "engine_latency": {"latency_engine", "tuples_engine", "k_range_engine"},
    "seismic": {"seismic", "seismic_engine"},
}


def drop(figures: dict[str, Any], part: str) -> None:
    if part == "seismic":  # where the recording is not at hand
        figures[part] = None
    else:
        del figures[part]
