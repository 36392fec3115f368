"""What the paper claims beside what was obtained. Where it gives no number, the bounds are ours."""

from __future__ import annotations

from functools import partial
from math import log, log2, log10
from typing import Any

from papers.jin2008.example import EXPECTED, MEANINGS, SYNOPSES
from papers.reproduction import agreement, judged, values_by

CLAIMS = EXPECTED["claims"]
#: "About linear": a power of k that is no further from 1 than this.
LINEAR = 0.2
#: "Quite small": at most this share of the data.
SMALL = 0.01
#: "2 to 3 orders of magnitude": this factor at least.
ORDERS = 100
#: "Basically comparable": less than this factor apart, "significantly smaller" than CSQ: by more.
COMPARABLE, SIGNIFICANT = 5, 1.5
#: "Considerably less": at most this share.
CONSIDERABLY = 1 / 2
#: "Stays the same": no more than this factor; the window has grown hundreds of times.
SAME = 1.25
#: "No faster than the bound": measured growth over that of the bound.
WITHIN = 1.5
#: How far a measured power of k may be from the claimed one.
POWER = 0.5
#: How far the number of segments may be from a multiple of log2(W / H), highest over lowest.
STEADY = 1.5

SMALL_ONES = ("CCSQ", "SCSQ", "SCSQ-Buffer")
OTHERS = tuple(meaning for meaning in MEANINGS if meaning != "Pk-topk")
Runs = list[dict[str, Any]]
_entry, _golden = partial(judged, CLAIMS), partial(agreement, CLAIMS)
#: For each synopsis, in the order of the paper.
by_synopsis = partial(values_by, "synopsis", order=SYNOPSES)


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, the verdict."""
    main = obtained["synthetic"]["Pk-topk"]
    judged = panel(main)
    agrees = obtained["example"]["agreement"]
    return [
        _golden("table_1", agrees["table_1"] and agrees["windows_of_3"],
                "worlds, Pr_2 and answers equal, by all five synopses"),
        _golden("example_3_1", agrees["example_3_1"],
                "equal; CCSQ, SCSQ and SCSQ-Buffer hold {8, 6, 5} too"),
        _golden("example_4_1", agrees["example_4_1"],
                "segments equal at times 8 and 9, with {6, 1, 4} for the set created"),
        _exact(obtained["exact"]),
        *_compact(obtained["compact"]),
        *[_entry(name, *judged[name]) for name in judged],
        _time_k(main["by_k"]),
        _similar("icebergs", {"icebergs": obtained["icebergs"]["Pk-topk"]}, judged),
        _similar("meanings", {m: obtained["icebergs"][m] for m in OTHERS}, judged),
        _segments(obtained["segments"]),
        _table_2(main, obtained["compact"]["runs"]),
    ]  # fmt: skip


def power(values: dict[int, float]) -> float:
    """The slope in logarithms, by least squares: what power of the key the values grow by."""
    xs, ys = [log(x) for x in values], [log(y) for y in values.values()]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    steep = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return steep / sum((x - x_mean) ** 2 for x in xs)


def _exact(found: dict[str, Any]) -> dict[str, Any]:
    wrong = [
        f"{run['synopsis']} ({run['meaning']} on {run['stream']})"
        for run in found["runs"]
        if not run["same"]
    ]
    got = (
        f"equal to the whole window's answer after each of {found['arrivals']:,} arrivals, window"
        f" {found['window']}, under all four meanings, on both streams"
    )
    return _entry("exact", f"differ: {', '.join(wrong)}" if wrong else got, not wrong)


# -- compact sets ---------------------------------------------------------------------------------


def _compact(found: dict[str, Any]) -> list[dict[str, Any]]:
    records = found["records"]
    sizes: dict[tuple[str, str], dict[int, float]] = {}
    for run in found["runs"]:
        sizes.setdefault((run["meaning"], run["stream"]), {})[run["k"]] = run["mean"]
    ours = sizes["Pk-topk", "synthetic"]
    got = (
        ", ".join(f"{length:.1f} (k = {k})" for k, length in ours.items())
        + f" of {records:,}: power {power(ours):.2f} of k"
    )
    shown = abs(power(ours) - 1) <= LINEAR and max(ours.values()) <= SMALL * records
    others = {which: of for which, of in sizes.items() if which != ("Pk-topk", "synthetic")}
    told = "; ".join(
        f"{meaning} on {kind} {of[max(of)]:.0f} (power {power(of):.2f})"
        for (meaning, kind), of in others.items()
    )
    tiny = all(max(of.values()) <= SMALL * records for of in others.values())
    return [
        _entry("compact", got, shown),
        _entry("compact_others", f"at k = {max(ours)}: {told}", tiny),
    ]


# -- space and time -------------------------------------------------------------------------------


def panel(costs: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """What one panel of figures is to show: of each claim what was obtained, and whether shown."""
    space_k = by_synopsis(costs["by_k"], "k", "bytes")
    space = by_synopsis(costs["by_window"], "window", "bytes")
    cost_k = by_synopsis(costs["by_k"], "k", "microseconds")
    cost = by_synopsis(costs["by_window"], "window", "microseconds")
    return {
        "space_csq": _space_csq(space_k, space),
        "space_small": _space_small(space_k, space),
        "space_alike": _space_alike(space_k, space),
        "space_bs": _space_bs(space_k),
        "time_order": _time_order(cost_k, cost),
        "time_window": _time_window(cost, tuple(name for name in SYNOPSES if name != "BS")),
        "time_window_bs": _time_window(cost, ("BS",)),
    }


Values = dict[str, dict[int, float]]


def _kilo(value: float) -> str:
    return f"{value / 1000:.1f} kB" if value < 100_000 else f"{value / 1000:,.0f} kB"


def _space_csq(over_k: Values, over_window: Values) -> tuple[str, bool]:
    shares = {w: over_window["CSQ"][w] / over_window["BS"][w] for w in over_window["BS"]}
    shares_k = {k: over_k["CSQ"][k] / over_k["BS"][k] for k in over_k["BS"]}
    got = (
        "CSQ over BS: "
        + ", ".join(f"{share:.3g} (W = {w:,})" for w, share in shares.items())
        + "; "
        + ", ".join(f"{share:.3g} (k = {k})" for k, share in shares_k.items())
    )
    # The smallest window is the exception that the paper makes.
    larger = [share for w, share in shares.items() if w > min(shares)]
    return got, max(larger + list(shares_k.values())) <= CONSIDERABLY


def _space_small(over_k: Values, over_window: Values) -> tuple[str, bool]:
    """Judged at the largest window; how it is at the largest k is told beside it."""
    space, window, k = over_window, max(over_window["BS"]), max(over_k["BS"])
    times = {name: space["BS"][window] / space[name][window] for name in SMALL_ONES}
    got = f"W = {window:,}: BS {_kilo(space['BS'][window])}, " + ", ".join(
        f"{name} {_kilo(space[name][window])} ({factor:.0f} times less,"
        f" {log10(factor):.1f} orders of magnitude)"
        for name, factor in times.items()
    )
    got += f"; over k, at k = {k}: " + ", ".join(
        f"{name} {over_k['BS'][k] / over_k[name][k]:.0f} times less" for name in SMALL_ONES
    )
    return got, min(times.values()) >= ORDERS


def _space_alike(over_k: Values, over_window: Values) -> tuple[str, bool]:
    apart, behind = [], []
    for values in (over_k, over_window):
        for at in values["BS"]:
            mine = [values[name][at] for name in SMALL_ONES]
            apart.append(max(mine) / min(mine))
            behind.append(values["CSQ"][at] / max(mine))
    got = (
        f"the largest of the three is {min(apart):.1f} to {max(apart):.1f} times the smallest;"
        f" CSQ {min(behind):.1f} to {max(behind):.1f} times the largest"
    )
    return got, max(apart) < COMPARABLE and min(behind) > SIGNIFICANT


def _space_bs(over_k: Values) -> tuple[str, bool]:
    mine = over_k["BS"]
    grown = mine[max(mine)] / mine[min(mine)]
    got = f"k = {min(mine)} to {max(mine)}: {grown:.3f} times; the others " + ", ".join(
        f"{name} {of[max(of)] / of[min(of)]:.0f} times"
        for name, of in over_k.items()
        if name != "BS"
    )
    return got, grown < SAME


def _time_order(over_k: Values, over_window: Values) -> tuple[str, bool]:
    broken, told = [], []
    for letter, values in (("k", over_k), ("W", over_window)):
        for at in values["BS"]:
            cost = {name: values[name][at] for name in SYNOPSES}
            slow = min(cost["CSQ"], cost["CCSQ"])
            if not slow > cost["SCSQ"] > cost["BS"] > cost["SCSQ-Buffer"]:
                broken.append(f"{letter} = {at:,}")
            told.append(
                f"{letter} = {at:,}: " + ", ".join(f"{name} {_us(cost[name])}" for name in SYNOPSES)
            )
    got = "us a record: " + "; ".join(told)
    got += f"; not in this order at {', '.join(broken)}" if broken else ""
    return got, not broken


def _us(value: float) -> str:
    return f"{value:.0f}" if value >= 20 else f"{value:.2g}"


def _time_window(cost: Values, names: tuple[str, ...]) -> tuple[str, bool]:
    grown = {name: cost[name][max(cost[name])] / cost[name][min(cost[name])] for name in names}
    got = f"W = {min(cost['BS']):,} to {max(cost['BS']):,}: " + ", ".join(
        f"{name} {factor:.2f} times" for name, factor in grown.items()
    )
    return got, max(grown.values()) <= SAME


def _time_k(runs: Runs) -> dict[str, Any]:
    cost = by_synopsis(runs, "k", "microseconds")
    powers = {name: power(of) for name, of in cost.items()}
    got = "powers of k: " + ", ".join(f"{name} {p:.2f}" for name, p in powers.items())
    claimed = {"CSQ": 3, "CCSQ": 3, "SCSQ": 2}
    shown = all(abs(powers[name] - by) <= POWER for name, by in claimed.items())
    if not shown and min(powers["CSQ"], powers["CCSQ"]) > powers["SCSQ"]:
        got += "; the first two grow faster than SCSQ, but not by these powers"
    return _entry("time_k", got, shown)


def _similar(
    name: str, panels: dict[str, dict[str, Any]], judged: dict[str, tuple[str, bool]]
) -> dict[str, Any]:
    """Whether the claims that hold on synthetic data hold in other panels too."""
    held = [claim for claim, (_, shown) in judged.items() if shown]
    told, alike = [], []
    for which, costs in panels.items():
        found = panel(costs)
        lost = [claim for claim in held if not found[claim][1]]
        small = found["space_small"][0]
        told.append(f"{which}: {'all' if not lost else 'not ' + ', '.join(lost)}; {small}")
        alike.append(not lost)
    got = f"of what is shown on synthetic data ({', '.join(held) or 'nothing'}), shown for "
    return _entry(name, got + "; ".join(told), bool(held) and all(alike))


# -- bounds ---------------------------------------------------------------------------------------


def _segments(runs: Runs) -> dict[str, Any]:
    told, steady = [], []
    for name in ("SCSQ", "SCSQ-Buffer"):
        mine = [run for run in runs if run["synopsis"] == name]
        ratios = [run["mean"] / log2(run["window"] / run["compact"]) for run in mine]
        told.append(
            f"{name}: "
            + ", ".join(f"{run['mean']:.1f} (W = {run['window']:,})" for run in mine)
            + f", {min(ratios):.2f} to {max(ratios):.2f} times log2(W / H)"
        )
        steady.append(max(ratios) / min(ratios) <= STEADY)
    return _entry("segments", "; ".join(told), all(steady))


def bounds(name: str, k: int, window: int, h: float) -> tuple[float, float]:
    """Table 2 without its O: space and time, up to a factor."""
    compressed = h * (k + log2(window))
    amortized = k * h * h / window + log2(window)
    return {
        "BS": (window + k * h, amortized),
        "CSQ": (h * h * log2(window), k * h * h),
        "CCSQ": (compressed, k * h * h),
        "SCSQ": (compressed, k * h * log2(window)),
        "SCSQ-Buffer": (compressed, amortized),
    }[name]


def _table_2(costs: dict[str, Any], sets: Runs) -> dict[str, Any]:
    """Growth from the first to the last k and W, beside that of the bound; H is the mean size of a
    compact set for that k."""
    h = {r["k"]: r["mean"] for r in sets if (r["stream"], r["meaning"]) == ("synthetic", "Pk-topk")}
    told, beyond = [], []
    for column, what, value in ((0, "space", "bytes"), (1, "time", "microseconds")):
        for part, key in (("by_k", "k"), ("by_window", "W")):
            cells = []
            for name in SYNOPSES:
                mine = [run for run in costs[part] if run["synopsis"] == name]  # ascending
                grown = mine[-1][value] / mine[0][value]
                first, last = (
                    bounds(name, run["k"], run["window"], h[run["k"]])[column]
                    for run in (mine[0], mine[-1])
                )
                if grown > WITHIN * last / first:
                    beyond.append(f"{name}'s {what} over {key}")
                cells.append(f"{name} {grown:.3g} of {last / first:.3g}")
            told.append(f"{what} over {key}: {', '.join(cells)}")
    got = "times grown, of what the bound grows: " + "; ".join(told)
    got += f"; beyond it: {', '.join(beyond)}" if beyond else ""
    return _entry("table_2", got, not beyond)
