"""What the paper claims beside what was obtained. Where it gives no bound, the bounds are ours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from papers.haghani2009.example import EXPECTED
from papers.haghani2009.experiments import EPSILON, OPERATORS, WITH_SKETCHES
from papers.reproduction import agreement, judged

CLAIMS = EXPECTED["claims"]
TABLES = EXPECTED["tables"]
#: "The same number of items": at most this factor apart.
NEAR = 1.2
#: "The same precision": at most so much below the paper's.
CLOSE = 0.1
#: "Linear": this share of the variance, at least, is on a line.
LINEAR = 0.99
#: "Linear" in the long run: at least this power of the window.
LONG_RUN = 0.95
#: "Grows very little": by at most this power of the window.
SLOW = 0.25
#: "Far less": at most this share of what EAA keeps.
FAR_LESS = 1 / 2
#: "By little", "very small variations": precisions that are no further apart.
LITTLE = 0.1
#: "Less and less": nowhere more than this factor above what was before.
NOISE = 1.05
#: "Drastic gains with minor losses" on real data: at least this precision.
HIGH = 0.85
#: "Negligible": at most this share.
NEGLIGIBLE = 0.05
#: A simulated mean agrees with the exact one if it is no more of its errors away.
ERRORS = 4.0

#: The approximation as the paper has it, by which its claims are judged, and as it became here.
PRINTED = "as printed"
APPROXIMATE = (PRINTED, "CORRELATED")
Rows = list[dict[str, Any]]
_entry, _golden = partial(judged, CLAIMS), partial(agreement, CLAIMS)


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, the verdict."""
    agrees, memory = obtained["example"]["agreement"], obtained.get("memory")
    tables = {name: with_control(rows, memory, name) for name, rows in obtained["tables"].items()}
    return [
        _golden("flows", agrees["flows"], "equal at 19 moments, by SLA, EAA and NAIVE"),
        _golden("figure_2", agrees["figure_2"], "equal at 6 moments, by the reference"),
        _golden("dominance", agrees["dominance"], "equal; P1 and P2 hold at all moments"),
        _theorem_1(obtained["exact"]),
        *_skylines(obtained["skylines"]),
        *_table("1", tables["table_1"], _weights(obtained["weights"])),
        *_table("2", tables["table_2"]),
        *_windows(tables["by_window"], obtained["growth"]),
        *_bytes(memory),
        *_xis(tables["by_xi"]),
        _table_3(obtained["real"]["table_3"]),
        _table_4(obtained["real"]["table_4"]),
    ]


def with_control(rows: Rows, memory: dict[str, Rows] | None, name: str) -> Rows:
    """The rows with the values of the control group of `CORRELATED`, where they were counted."""
    varied = {"table_1": "streams", "table_2": "k", "by_window": "window"}.get(name)
    counted = {row[varied]: row["control"] for row in (memory or {}).get(name, [])}
    return [row | {"control": counted.get(row[varied]) if varied else None} for row in rows]


def kept(row: dict[str, Any], method: str) -> float:
    """What a method keeps: items, and the values of its control group."""
    more = row.get("control") if method == "CORRELATED" else None
    return float(row["items"][method] + (more or 0))


def line(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of the line with the least squares; 1 where all are equal."""
    slope, intercept = np.polyfit(xs, ys, 1)
    rest = np.array(ys) - (slope * np.array(xs) + intercept)
    whole = float(((np.array(ys) - np.mean(ys)) ** 2).sum())
    fit = 1 - float((rest**2).sum()) / whole if whole > 0 else 1.0
    return float(slope), float(intercept), fit


def _listed(rows: Rows, varied: str, value: str, form: str = ".0f") -> str:
    return ", ".join(f"{row[value]:{form}} ({varied} = {row[varied]:,})" for row in rows)


def _by_method(rows: Rows, varied: str, value: str, names: tuple[str, ...], form: str) -> str:
    """What each method has, row by row."""
    return "; ".join(
        f"{name} "
        + ", ".join(f"{row[value][name]:{form}} ({varied} = {row[varied]:,})" for row in rows)
        for name in names
    )


def _control(rows: Rows, varied: str) -> str:
    """What the control group of `CORRELATED` adds to its items."""
    told = [
        f"{row['control']:.0f} ({varied} = {row[varied]:,})"
        for row in rows
        if row["control"] is not None
    ]
    return (
        f"; its control group besides {', '.join(told)}" if told else "; no control group counted"
    )


def _rising(values: list[float]) -> bool:
    return all(a < b for a, b in zip(values, values[1:], strict=False))


# -- exactness and skylines -----------------------------------------------------------------------


def _theorem_1(found: dict[str, Any]) -> dict[str, Any]:
    runs = found["runs"]
    wrong = [run for run in runs if not (run["SLA"] and run["EAA"])]
    other = [run for run in runs if run["kept"] != run["dominance_set"]]
    got = (
        f"{len(runs) - len(wrong)} of {len(runs)} evaluations of EAA and SLA equal the definition's"
        f" (W = {found['window']}); EAA kept the dominance set in {len(runs) - len(other)}"
    )
    return _entry("theorem_1", got, not wrong and not other)


def _skylines(found: dict[str, Any]) -> list[dict[str, Any]]:
    plain = [row for row in found["by_size"] if row["epsilon"] == 0]
    wide = [row for row in found["by_size"] if row["epsilon"] > 0]
    by_interval = found["by_interval"]
    slope, _, fit = line([row["n"] for row in wide], [row["mean"] for row in wide])
    steep, _, straight = line(
        [row["epsilon"] for row in by_interval], [row["mean"] for row in by_interval]
    )
    rows = found["by_size"] + by_interval
    far = max(abs(row["mean"] - row["exact"]) / row["error"] for row in rows)
    above = min(row["mean"] - row["n"] * row["epsilon"] for row in rows)
    as_known = all(abs(row["mean"] - row["exact"]) <= ERRORS * row["error"] for row in plain)
    first, last = plain[0], plain[-1]
    return [
        _entry(
            "figure_4a",
            f"exact scores: {first['mean']:.1f} (n = {first['n']:,}) to {last['mean']:.1f}"
            f" (n = {last['n']:,}), as 1 + 1/2 + ... + 1/n has it; intervals of {EPSILON}:"
            f" {_listed(wide, 'n', 'mean')}, slope {slope:.3f}, R^2 {fit:.4f}",
            as_known and fit >= LINEAR,
        ),
        _entry(
            "figure_4b",
            f"{_listed(by_interval, 'epsilon', 'mean')}; slope {steep:.0f}, R^2 {straight:.4f}",
            straight >= LINEAR,
        ),
        _entry(
            "lemma_1",
            f"at least {above:.1f} more than n epsilon everywhere; the mean is exactly n epsilon +"
            f" the sum of (1 - epsilon^j) / j, and the simulation at most {far:.1f} standard errors"
            " from it",
            above >= 0 and far <= ERRORS,
        ),
    ]


# -- Tables 1 and 2 -------------------------------------------------------------------------------


def paper_row(table: str, value: int) -> dict[str, float] | None:
    """What the paper has in its table for this value of what is varied."""
    given = TABLES[table]
    row = given["rows"].get(str(value))
    return None if row is None else dict(zip(given["columns"], row, strict=True))


def _near(mine: float, paper: float) -> bool:
    return max(mine / paper, paper / mine) <= NEAR


def _weights(rows: Rows) -> str:
    """What the approximation would do with smaller probabilities."""
    of: dict[tuple[int, float], list[str]] = {}
    for row in rows:
        told = f"{row['items']:.0f} at precision {row['precision']:.2f} ({row['weight']:g})"
        of.setdefault((row["streams"], row["xi"]), []).append(told)
    return "; as printed with probabilities times a weight: " + "; ".join(
        f"{streams} streams, xi = {xi:g}: {', '.join(told)}" for (streams, xi), told in of.items()
    )


def _table(table: str, rows: Rows, more: str = "") -> list[dict[str, Any]]:
    varied = TABLES[table]["varied"]
    pairs = [(row, paper) for row in rows if (paper := paper_row(table, row[varied]))]
    found = []
    for name, column, method in (("eaa", "EAA", "EAA"), ("size", "approximation", PRINTED)):
        near = [_near(row["items"][method], paper[column]) for row, paper in pairs]
        grows = _rising([row["items"][method] for row in rows])
        told = ("EAA",) if method == "EAA" else APPROXIMATE
        got = _by_method(rows, varied, "items", told, ".0f")
        got += _control(rows, varied) if method == PRINTED else ""
        got += "" if all(near) else f"; {sum(near)} of {len(near)} within a factor of {NEAR}"
        got += "" if grows else "; does not always grow"
        got += more if method == PRINTED else ""
        found.append(_entry(f"table_{table}_{name}", got, all(near) and grows))
    good = [
        row["precision"][name] >= paper["precision"] - CLOSE
        and row["error"][name] <= paper["error"] * NEAR
        for row, paper in pairs
        for name in APPROXIMATE
    ]
    got = (
        f"precision: {_by_method(rows, varied, 'precision', APPROXIMATE, '.2f')}; error:"
        f" {_by_method(rows, varied, 'error', APPROXIMATE, '.4f')}"
    )
    return [*found, _entry(f"table_{table}_precision", got, all(good))]


# -- Figure 5 -------------------------------------------------------------------------------------


def power(rows: list[tuple[float, float]]) -> float:
    """What power of the first the second grows by."""
    xs, ys = zip(*rows, strict=True)
    return line(np.log(xs).tolist(), np.log(ys).tolist())[0]


def growth_powers(rows: Rows) -> dict[tuple[int, float], list[float]]:
    """By streams and xi: the power of the window from each to the next."""
    of: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for row in rows:
        of.setdefault((row["streams"], row["xi"]), []).append((row["window"], row["EAA"]))
    return {
        which: [power([a, b]) for a, b in zip(points, points[1:], strict=False)]
        for which, points in of.items()
    }


def _windows(rows: Rows, beyond: Rows) -> list[dict[str, Any]]:
    windows = [row["window"] for row in rows]
    slope, start, fit = line(windows, [row["items"]["EAA"] for row in rows])
    powers = {
        name: power([(row["window"], kept(row, name)) for row in rows])
        for name in ("EAA", *APPROXIMATE)
    }
    less = all(row["items"]["EAA"] < row["items"]["SLA"] for row in rows)
    far = all(
        kept(row, name) <= FAR_LESS * row["items"]["EAA"]
        for row in rows
        for name in APPROXIMATE
        if row["window"] == max(windows)
    )
    precisions = [row["precision"][name] for row in rows for name in APPROXIMATE]
    low, _ = EXPECTED["figure_5"]["precision_by_window"]
    steps = growth_powers(beyond)
    last = max(row["window"] for row in beyond)
    return [
        _entry(
            "figure_5a",
            f"{_by_method(rows, 'window', 'items', ('EAA',), '.0f')}; the line {start:.0f} +"
            f" {slope:.3f} W has R^2 {fit:.4f}; power {powers['EAA']:.2f} of the window",
            less and fit >= LINEAR,
        ),
        _entry(
            "figure_5a_beyond",
            "; ".join(
                f"{streams} streams, xi = {xi}: powers "
                + ", ".join(f"{p:.2f}" for p in found)
                + f" (1 - 1/d = {1 - 1 / streams:.2f})"
                for (streams, xi), found in steps.items()
            )
            + f", from window to window up to {last:,}",
            all(found[-1] >= LONG_RUN for found in steps.values()),
        ),
        _entry(
            "figure_5a_slow",
            f"{_by_method(rows, 'window', 'items', APPROXIMATE, '.0f')}{_control(rows, 'window')};"
            " powers of both together "
            + ", ".join(f"{name} {p:.2f}" for name, p in powers.items()),
            far and max(powers[name] for name in APPROXIMATE) <= SLOW,
        ),
        _entry(
            "figure_5b",
            _by_method(rows, "window", "precision", APPROXIMATE, ".2f"),
            min(precisions) >= low - CLOSE and max(precisions) - min(precisions) <= LITTLE,
        ),
    ]


def _xis(rows: Rows) -> list[dict[str, Any]]:
    by_window: dict[int, Rows] = {}
    for row in rows:
        by_window.setdefault(row["window"], []).append(row)

    def told(value: str, names: tuple[str, ...], form: str = ".0f") -> str:
        return "; ".join(
            f"W = {window:,}: {_by_method(of, 'xi', value, names, form)}"
            for window, of in by_window.items()
        )

    falls = all(
        of[-1]["items"]["EAA"] < of[0]["items"]["EAA"]
        and all(
            later["items"]["EAA"] <= NOISE * row["items"]["EAA"]
            for row, later in zip(of, of[1:], strict=False)
        )
        for of in by_window.values()
    )
    near, steady = [], []
    for window, of in by_window.items():
        paper = EXPECTED["figure_5"]["approximation_by_xi"].get(str(window))
        ends = [row["items"][PRINTED] for row in (of[0], of[-1])]
        near.append(ends[0] > ends[1])
        near += [_near(a, b) for a, b in zip(ends, paper or ends, strict=True)]
        for name in APPROXIMATE:
            precisions = [row["precision"][name] for row in of]
            little = max(precisions) - min(precisions) <= LITTLE
            steady.append(little and precisions[-1] >= precisions[0])
    return [
        _entry("figure_5c", told("items", ("EAA",)), falls),
        _entry("figure_5c_slow", told("items", APPROXIMATE), all(near)),
        _entry("figure_5d", told("precision", APPROXIMATE, ".2f"), all(steady)),
    ]


# -- bytes ----------------------------------------------------------------------------------------


def _bytes(memory: dict[str, Rows] | None) -> list[dict[str, Any]]:
    """The same in bytes, of the operators: all arrays count, the sample included."""
    names = {"table_1_bytes": ("table_1", "streams"), "table_2_bytes": ("table_2", "k"),
             "figure_5a_bytes": ("by_window", "window")}  # fmt: skip
    if memory is None:
        return [_entry(name, "no figures", None) for name in (*names, "sketches")]
    found = []
    for name, (part, varied) in names.items():
        rows = memory[part]
        got = "; ".join(
            f"{method} "
            + ", ".join(f"{row['bytes'][method] / 1000:.0f} ({varied} = {row[varied]:,})"
                        for row in rows)
            for method in (*OPERATORS, WITH_SKETCHES)
        )  # fmt: skip
        most = FAR_LESS if part == "by_window" else 1.0
        judged_rows = [max(rows, key=lambda row: row["window"])] if part == "by_window" else rows
        less = all(row["bytes"]["CORRELATED"] < most * row["bytes"]["EAA"] for row in judged_rows)
        found.append(_entry(name, f"kB: {got}", less))
    rows = [row for part, _ in names.values() for row in memory[part]]
    shares = [row["sketches"] / row["bytes"]["CORRELATED"] for row in rows]
    got = (
        f"{min(shares):.0%} to {max(shares):.0%} of CORRELATED's bytes,"
        f" {min(row['sketches'] for row in rows) / 1000:.1f} to"
        f" {max(row['sketches'] for row in rows) / 1000:.1f} kB"
    )
    return [*found, _entry("sketches", got, max(shares) <= NEGLIGIBLE)]


# -- Tables 3 and 4 -------------------------------------------------------------------------------


def _real(rows: Rows, varied: str) -> tuple[str, bool]:
    got = (
        f"items: {_by_method(rows, varied, 'items', ('EAA', *APPROXIMATE), '.0f')}; precision:"
        f" {_by_method(rows, varied, 'precision', APPROXIMATE, '.2f')}; error:"
        f" {_by_method(rows, varied, 'error', APPROXIMATE, '.4f')}"
    )
    small = all(row["items"][PRINTED] <= FAR_LESS * row["items"]["EAA"] for row in rows)
    return got, small and all(row["precision"][PRINTED] >= HIGH for row in rows)


def _table_3(rows: Rows) -> dict[str, Any]:
    got, shown = _real(rows, "streams")
    return _entry("table_3", f"{got} (other data, three streams at most)", shown)


def _table_4(rows: Rows) -> dict[str, Any]:
    got, shown = _real(rows, "window")
    powers = {
        name: power([(row["window"], row["items"][name]) for row in rows]) for name in APPROXIMATE
    }
    got += "; powers of the window: " + ", ".join(f"{name} {p:.2f}" for name, p in powers.items())
    return _entry("table_4", f"{got} (other data)", shown and powers[PRINTED] <= SLOW)
