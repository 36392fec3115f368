"""What the paper claims beside what was obtained. Where it gives no number, the bounds are ours.

Cost, throughput and latency are judged twice: by walks through whole windows, as the paper computes
(the claim's own name), and in the engine (the same name with ``_engine``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log2
from typing import Any

from papers.chen_multi import definitions
from papers.chen_multi.example import EXPECTED
from papers.chen_multi.sizes import ORDER
from papers.reproduction import agreement, judged, values_by

CLAIMS = EXPECTED["claims"]
#: "Almost the same": no further apart than by this factor.
NEAR = 1.1
#: "Longer": by this factor at least, so that chance does not decide.
LONGER = 1.2
#: "Most cases": more than half.
MOST = 0.5
#: Latency is judged where NS loads the machine so much at least: else hardly anything is late.
BUSY = 0.5
#: "On average almost the same": GREEDY over DP.
ALMOST = 1.05

Runs = list[dict[str, Any]]
#: Plan -> what was varied -> the value.
Values = dict[str, dict[int, float]]

#: What is obtained of each example of the paper, where it agrees.
EXAMPLES = {
    "worlds": "worlds, Pr_2 and Pr_3 equal, from the worlds and by the engine; Pr_3 of R6 is 0.146;"
    " at 9:22 Q1 is told R3, R4, R5 and Q2 R2, R5, by DP",
    "section_4": "array equal; Pr_3(T3) = 1 and Pr_2(T3) = 0.86, by the engine too",
    "groups": "equal; Q6 joins Q4 and Q5",
    "tables_5_6": "all values equal, with the choices of Table 6",
    "table_7": "first executions 2, 2, 4 with the costs 3, 4, 9; row 2 has 8 at 4",
    "best_plan": "15, 13, 12/5; 9/4 is the least of all plans, tried one by one, and what DP and"
    " GREEDY find: {(2, 4), (4, 5)}",
    "example_2": "DP: 7/60, {(30, 3), (60, 4)}; the greedy rule finds it too",
}

_entry, _golden = partial(judged, CLAIMS), partial(agreement, CLAIMS)
#: For each plan, the dearest first.
by_plan = partial(values_by, "plan", order=ORDER)


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, the verdict."""
    agrees = obtained["example"]["agreement"]
    return [
        *[_golden(name, agrees[name], got) for name, got in EXAMPLES.items()],
        *definitions.verdicts(obtained),
        _exact(obtained["exact"]),
        *_measured(obtained, "", by_walks),
        *_measured(obtained, "_engine", by_engine),
        _never_dearer("never_dearer_engine", obtained),
        *_greedy(obtained["plans"]),
        *_planning(obtained["planning"]),
        _table_9(obtained["plans"]),
    ]  # fmt: skip


def _measured(obtained: dict[str, Any], suffix: str, basis: Any) -> list[dict[str, Any]]:
    """Figures 7 to 16 by one of the two ways to compute."""
    synthetic = obtained["synthetic"]
    over_x = basis(synthetic["x"])
    # Walks are replayed with their costs. Of the engine, latency is measured apart, on one stream.
    apart = obtained.get("engine_latency", {}) if suffix else None
    late = {over: basis(synthetic[over]) if apart is None else apart.get(over) for over in "xnk"}
    panels = {name: obtained[name] for name in ("icebergs", "streams", "seismic")}
    return [
        *([] if suffix else [_planned("planned_order", synthetic["x"])]),
        _cost_order(f"cost_order{suffix}", over_x),
        _cost_gap(f"cost_gap{suffix}", over_x),
        _throughput(f"throughput{suffix}", over_x),
        _latency(f"latency{suffix}", late["x"]),
        _growing(f"tuples{suffix}", basis(synthetic["n"]), late["n"], "n"),
        _growing(f"k_range{suffix}", basis(synthetic["k"]), late["k"], "k"),
        _gaussian(f"gg{suffix}", over_x, basis(obtained["gaussian"])),
        *[
            _alike(
                f"{name}{suffix}",
                by and {over: basis(runs) for over, runs in by.items()},
                latency=not suffix,
            )
            for name, by in panels.items()
        ],
    ]


def by_walks(runs: Runs) -> Runs:
    """Cost, throughput and latency where each computation walks through its whole window."""
    return [run | {"cost": run["walked"]} for run in runs]


def by_engine(runs: Runs) -> Runs:
    """Cost and throughput of the engine, which tells results only when they are due."""
    return [
        run | {"cost": run["engine"], "throughput": run["needed"] / run["engine"]} for run in runs
    ]


def _exact(runs: Runs) -> dict[str, Any]:
    total, right = (sum(run[what] for run in runs) for what in ("results", "right"))
    got = (
        f"{right:,} of {total:,} results of 8 queries are those of a walk through their windows, by"
        " all five plans, without and with generation rules"
    )
    return _entry("exact", got, right == total > 0)


# -- order ----------------------------------------------------------------------------------------


def misplaced(values: Values, dearest_first: bool = True) -> list[int]:
    """Where the order NS, IN, INCO and then both DP and GREEDY does not hold."""
    sign = 1 if dearest_first else -1
    found = []
    for at in values["NS"]:
        ns, within, inco, greedy, best = (sign * values[plan][at] for plan in ORDER)
        if not ns > within > inco > max(greedy, best):
            found.append(at)
    return found


def misplaced_when_busy(runs: Runs, over: str) -> list[int]:
    """The same of the latency, where the machine has something to do."""
    load = by_plan(runs, over, "load")["NS"]
    return [at for at in misplaced(by_plan(runs, over, "late")) if load[at] >= BUSY]


def _when_idle(runs: Runs, over: str) -> str:
    """Where the latency is not in order, but was not judged."""
    busy = misplaced_when_busy(runs, over)
    idle = [at for at in misplaced(by_plan(runs, over, "late")) if at not in busy]
    return (
        f"; not judged, as NS loads less than {BUSY:.0%}, and not in order: latency at"
        f" {_where(idle, over)}"
        if idle
        else ""
    )


def apart(values: Values) -> float:
    """How far GREEDY and DP are apart at most, as a factor."""
    pairs = [(values["GREEDY"][at], values["DP"][at]) for at in values["DP"]]
    return max(max(a, b) / min(a, b) for a, b in pairs)


def _told(values: Values, at: int, factor: float = 1.0, digits: int = 3) -> str:
    return ", ".join(f"{plan} {values[plan][at] * factor:.{digits}g}" for plan in ORDER)


def _where(places: Sequence[int], over: str) -> str:
    return ", ".join(f"{over} = {at:,}" for at in places)


def _order(name: str, runs: Runs, measure: str, what: str, factor: float) -> dict[str, Any]:
    values = by_plan(runs, "x", measure)
    wrong, near = misplaced(values), apart(values)
    first, last = min(values["NS"]), max(values["NS"])
    got = (
        f"{what}: {_told(values, first, factor)} (x = {first}); {_told(values, last, factor)}"
        f" (x = {last}); GREEDY and DP at most {near:.2f} times apart"
        + (f"; not in this order at {_where(wrong, 'x')}" if wrong else "")
    )
    return _entry(name, got, not wrong and near <= NEAR)


def _planned(name: str, runs: Runs) -> dict[str, Any]:
    return _order(name, runs, "planned", "k a second", 1.0)


def _cost_order(name: str, runs: Runs) -> dict[str, Any]:
    found = _order(name, runs, "cost", "CPU ms a second", 1000.0)
    if not name.endswith("_engine"):
        return found
    work, last = by_plan(runs, "x", "work"), max(run["x"] for run in runs)
    more = f"; records looked at times k, thousands: {_told(work, last, 0.001)} (x = {last})"
    return found | {"obtained": f"{found['obtained']}{more}. {_noise(runs, 'x')}"}


def _cost_gap(name: str, runs: Runs) -> dict[str, Any]:
    values = by_plan(runs, "x", "cost")
    xs = sorted(values["NS"])
    gaps = [(values["NS"][x] - values["DP"][x]) * 1000 for x in xs]
    ratios = [values["NS"][x] / values["DP"][x] for x in xs]
    grows = all(a < b for a, b in zip(gaps, gaps[1:], strict=False)) and ratios[-1] > ratios[0]
    got = (
        f"x = {xs[0]} to {xs[-1]}: NS less DP {gaps[0]:.3g} to {gaps[-1]:.3g} CPU ms a second, NS"
        f" over DP {ratios[0]:.2f} to {ratios[-1]:.2f}"
    )
    return _entry(name, got, gaps[0] > 0 and grows)


def _throughput(name: str, runs: Runs) -> dict[str, Any]:
    values = by_plan(runs, "x", "throughput")
    wrong, near = misplaced(values, dearest_first=False), apart(values)
    first, last = min(values["DP"]), max(values["DP"])
    grows = all(values[plan][last] > values[plan][first] for plan in ("DP", "GREEDY"))
    got = (
        f"results a CPU second: {_told(values, first)} (x = {first}); {_told(values, last)}"
        f" (x = {last}); DP and GREEDY at most {near:.2f} times apart"
    )
    if not name.endswith("_engine"):
        due = {run["plan"]: {last: run["needed"] / run["cost"]} for run in runs if run["x"] == last}
        got += (
            ". Shared plans give results more often than asked for; counting only those that are"
            f" due: {_told(due, last)} (x = {last})"
        )
    got += f"; not in this order at {_where(wrong, 'x')}" if wrong else ""
    return _entry(name, got, not wrong and grows and near <= NEAR)


def _latency(name: str, runs: Runs | None) -> dict[str, Any]:
    if runs is None:
        return _entry(name, "no figures", None)
    late, delay = by_plan(runs, "x", "late"), by_plan(runs, "x", "delay")
    load = by_plan(runs, "x", "load")
    wrong = misplaced_when_busy(runs, "x")
    busy = [x for x in load["NS"] if load["NS"][x] >= BUSY]
    told = "; ".join(
        f"x = {x}: {_told(late, x)} (mean delay of a result {_told(delay, x)}; load of NS"
        f" {load['NS'][x]:.0%}, of DP {load['DP'][x]:.0%})"
        for x in (min(late["NS"]), max(late["NS"]))
    )
    got = f"seconds late, summed up for a query: {told}{_when_idle(runs, 'x')}"
    got += f"; not in this order at {_where(wrong, 'x')}" if wrong else ""
    return _entry(name, got, not wrong if busy else None)


def _noise(runs: Runs, over: str) -> str:
    """Where the engine does the same work for GREEDY and DP: how far are its times apart?"""
    work, cost = (by_plan(runs, over, m) for m in ("work", "engine"))
    same = [
        max(cost["GREEDY"][at], cost["DP"][at]) / min(cost["GREEDY"][at], cost["DP"][at])
        for at in cost["DP"]
        if work["GREEDY"][at] == work["DP"][at]
    ]
    if not same:
        return "GREEDY and DP are nowhere the same work here"
    return f"Where GREEDY and DP are the same work, times differ up to {max(same):.2f} times"


def _growing(name: str, runs: Runs, latency: Runs | None, over: str) -> dict[str, Any]:
    """Over n or the range of k: the order at every place, cost up and throughput down for all, and
    NS and IN up by more than the others."""
    cost, rate = by_plan(runs, over, "cost"), by_plan(runs, over, "throughput")
    first, last = min(cost["NS"]), max(cost["NS"])
    grown = {plan: (cost[plan][last] - cost[plan][first]) * 1000 for plan in ORDER}
    wrong = {"cost": misplaced(cost), "throughput": misplaced(rate, False)}
    slower = all(cost[p][last] > cost[p][first] and rate[p][last] < rate[p][first] for p in ORDER)
    most = min(grown["NS"], grown["IN"]) > max(grown[p] for p in ("INCO", "DP", "GREEDY"))
    got = (
        f"CPU ms a second: {_told(cost, first, 1000)} ({over} = {first:,});"
        f" {_told(cost, last, 1000)} ({over} = {last:,}). Throughput falls to "
        + ", ".join(f"{rate[p][last] / rate[p][first]:.0%} ({p})" for p in ORDER)
    )
    if latency is None:
        got += ". Latency not measured"
    else:
        wrong["latency"] = misplaced_when_busy(latency, over)
        late = by_plan(latency, over, "late")
        got += f". Late: {_told(late, max(late['NS']))} s{_when_idle(latency, over)}"
    for what, places in wrong.items():
        got += f"; {what} not in order at {_where(places, over)}" if places else ""
    shown = slower and most and not any(wrong.values())
    return _entry(name, got, None if shown and latency is None else shown)


def _gaussian(name: str, uniform: Runs, normal: Runs) -> dict[str, Any]:
    told, more = [], True
    uu, gg = by_plan(uniform, "x", "cost"), by_plan(normal, "x", "cost")
    for plan in ("NS", "IN"):
        of_uu, of_gg = ({x: v[plan][x] / v["DP"][x] for x in v["DP"]} for v in (uu, gg))
        more &= all(of_gg[x] > of_uu[x] for x in of_uu)
        first, last = min(of_uu), max(of_uu)
        told.append(
            f"{plan} over DP: gg {of_gg[first]:.1f} to {of_gg[last]:.1f}, uu {of_uu[first]:.1f} to"
            f" {of_uu[last]:.1f}"
        )
    return _entry(name, "; ".join(told), more)


def _alike(name: str, panels: dict[str, Runs] | None, latency: bool) -> dict[str, Any]:
    """Whether cost, throughput and, of walks, latency are in the same order in other panels."""
    if panels is None:
        return _entry(name, "the data is not at hand", None)
    told, right = [], True
    for over, runs in panels.items():
        cost = by_plan(runs, over, "cost")
        wrong = {
            "cost": misplaced(cost),
            "throughput": misplaced(by_plan(runs, over, "throughput"), False),
            "latency": misplaced_when_busy(runs, over) if latency else [],
        }
        lost = [f"{what} at {_where(places, over)}" for what, places in wrong.items() if places]
        last = max(cost["NS"])
        told.append(
            f"over {over}: {'not ' + ', '.join(lost) if lost else 'all in order'}; at {over} ="
            f" {last:,} NS takes {cost['NS'][last] / cost['DP'][last]:.1f} times as long as DP"
            + (_when_idle(runs, over) if latency else "")
        )
        right &= not lost
    return _entry(name, ". ".join(told), right)


def _never_dearer(name: str, obtained: dict[str, Any]) -> dict[str, Any]:
    """Whether DP costs the engine no more than NS, noise apart, at every point of every panel."""
    ratios = {}
    for panel in ("synthetic", "icebergs", "streams", "seismic"):
        for over, runs in (obtained[panel] or {}).items():
            cost = by_plan(by_engine(runs), over, "cost")
            ratios |= {(panel, over, at): cost["NS"][at] / cost["DP"][at] for at in cost["DP"]}
    (panel, over, at), least = min(ratios.items(), key=lambda item: item[1])
    got = (
        f"NS over DP {least:.2f} to {max(ratios.values()):.2f} at {len(ratios)} points, least at"
        f" {over} = {at:,} ({panel})"
    )
    return _entry(name, got, least * NEAR >= 1)


# -- plans ----------------------------------------------------------------------------------------


def _greedy(runs: Runs) -> list[dict[str, Any]]:
    total = sum(run["sets"] for run in runs)
    most = max(run["greedy_most"] for run in runs)
    kinds = sorted({(run["queries"], *run["ks"]) for run in runs})
    told = []
    for kind, low, high in kinds:
        mine = [r for r in runs if (r["queries"], *r["ks"]) == (kind, low, high)]
        equal = sum(r["equal"] * r["sets"] for r in mine) / sum(r["sets"] for r in mine)
        ratio = sum(r["greedy"] * r["sets"] for r in mine) / sum(r["sets"] for r in mine)
        range_of_k = f", k {low} to {high}" if kind[1] == "u" else ""
        told.append(f"{kind}{range_of_k}: {equal:.0%} equal, {ratio:.4f} times on average")
    equal = sum(r["equal"] * r["sets"] for r in runs) / total
    ratio = sum(r["greedy"] * r["sets"] for r in runs) / total
    return [
        _entry("ga_bound", f"at most {most:.3f} times DP in {total:,} sets of queries", most <= 2),
        _entry(
            "ga_equal",
            f"equal in {equal:.1%} of {total:,} sets, {ratio:.4f} times on average; "
            + "; ".join(told),
            equal > MOST and ratio <= ALMOST,
        ),
    ]


def _planning(runs: Runs) -> list[dict[str, Any]]:
    got = "; ".join(
        f"f up to {run['most']:,}: DP {run['DP'] * 1000:.3g} ms, GREEDY {run['GREEDY'] * 1000:.3g}"
        " ms"
        for run in runs
    )
    optimal = all(run["optimal"] == run["sets"] for run in runs)
    got += "" if optimal else "; DP gave up on some and took the greedy plan"
    less = all(run["GREEDY"] < run["DP"] for run in runs)
    grown = {name: runs[-1][name] / runs[0][name] for name in ("DP", "GREEDY")}
    told = ", ".join(f"{name} {factor:.2f} times" for name, factor in grown.items())
    return [
        _entry("planning", got, less and optimal),
        _entry(
            "planning_growth",
            f"f up to {runs[0]['most']:,} to {runs[-1]['most']:,}: {told}",
            min(grown.values()) >= LONGER,
        ),
    ]


def _table_9(runs: Runs) -> dict[str, Any]:
    told, reached = [], []
    printed = EXPECTED["table_9"]
    for x, ratio in zip(printed["x"], printed["ratio"], strict=True):
        cells = []
        for high in (5, 100):
            mine = [r for r in runs if (r["queries"], r["ks"][1], r["x"]) == ("uu", high, x)]
            for run in mine:
                cells.append(
                    f"{run['ns']:.2f} (k 2 to {high}; {run['ns_reaches_log2']:.0%} of the sets"
                    " reach it)"
                )
                reached.append(high == 100 or run["ns"] >= log2(x))
        told.append(f"x = {x}, log2 x = {log2(x):.3f}: {', '.join(cells)}, printed {ratio:.2f}")
    return _entry("table_9", "; ".join(told), bool(reached) and all(reached))
