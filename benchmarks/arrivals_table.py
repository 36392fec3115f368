"""The figures of the suite `arrivals` as text."""

from __future__ import annotations

from typing import Any

from benchmarks import arrivals_grids
from benchmarks.arrivals_standing import FROM_CELLS
from benchmarks.measure import columns, goal_lines, machine_line, short


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    n = result["window"]
    parts = [
        f"The top k of the last {short(n)} scores after every arrival: up to"
        f" {short(result['scores'])} arrivals after the first {short(n)}, in batches of a million,"
        " results where the top k changes. Slow contenders process only the first of them, as many"
        " as fit into a turn. Best of several turns; compilation and the first window untimed."
        + (_QUICK if result["quick"] else ""),
        machine_line(result["machine"]),
    ]
    for k in dict.fromkeys(one["k"] for one in result["cases"]):
        cases = [one for one in result["cases"] if one["k"] == k]
        parts += [
            f"k = {k}: arrivals a second (~ measured on fewer than 100k)\n" + _speeds(cases),
            f"k = {k}: records kept at the end, of a window of {n:,}. {_needed(k, n)}\n"
            + _kept(cases),
        ]
    parts += [
        _answers(result),
        "Small pushes, i.i.d.: arrivals a second\n" + _batches(result["batches"]),
        *(
            f"RAPF, i.i.d., by {what}\n" + _growth(what, cells)
            for what, cells in result["growth"].items()
            if cells
        ),
        _standing(result["standing"]),
        _filters(result["filters"]),
        arrivals_grids.table(result["grids"], n),
        goal_lines(result["goals"]),
        _NOTES,
    ]
    return "\n\n".join(parts)


_QUICK = " A quick run with a smaller window: the goals are meant for the full size."
_NOTES = """About the yardsticks:
- The rescan loop is compiled: a comparison for each arrival, and when one of the k best expires,
  the k best of the window anew.
- The tuned rescan looks for the next best only, and its loops are written so that the compiler
  vectorises them.
- Both find the window in memory, copy nothing and only count the changes of the top k. A rescan
  falls due at k of n i.i.d. arrivals, and at every falling one.
Of falling scores all n may still become results: every exact algorithm must keep them."""


def _needed(k: int, n: int) -> str:
    needed = skyband(k, n)
    hundredth = n / 100
    if needed <= hundredth:
        return f"The skyband of i.i.d. scores has about {needed:,.0f}."
    return (
        f"The skyband of i.i.d. scores has about {needed:,.0f}: a hundredth of the window,"
        f" {hundredth:,.0f}, cannot be reached by an exact algorithm, and is no goal here."
    )


def skyband(k: int, n: int) -> float:
    """The records that an exact algorithm needs on scores in random order: k (1 + H_n - H_k).

    >>> round(skyband(81, 40_000)), round(skyband(9, 40_000))
    (583, 84)
    """
    return k * (1 + sum(1 / i for i in range(k + 1, n + 1)))


def _speeds(cases: list[dict[str, Any]]) -> str:
    def shown(entry: dict[str, Any]) -> str:
        mark = "~" if entry["records"] < 100_000 else ""
        return mark + _rate(entry["a_second"])

    return _matrix(cases, shown)


def _rate(a_second: float) -> str:
    if a_second >= 1e8:
        return f"{a_second / 1e6:,.0f}M"
    return f"{a_second / 1e6:.3g}M" if a_second >= 1e6 else f"{round(a_second, -1):,.0f}"


def _kept(cases: list[dict[str, Any]]) -> str:
    return _matrix(cases, lambda entry: f"{entry['kept']:,}")


def _matrix(cases: list[dict[str, Any]], shown: Any) -> str:
    rows = [["", *(one["stream"] for one in cases)]]
    for name in cases[0]["contenders"]:
        rows.append([name, *(shown(one["contenders"][name]) for one in cases)])
    return columns(rows)


def _answers(result: dict[str, Any]) -> str:
    """Who differs, and what PA misses."""
    differ, lines = [], []
    for one in result["cases"]:
        place = f"{one['stream']}, k = {one['k']}"
        wrong = [n for n, e in one["contenders"].items() if n != "PA" and not e["agrees"]]
        if wrong:
            differ.append(f"{place}: {', '.join(wrong)}")
        lines.append([place, f"{one['missed']:,}", f"{one['results']:,}"])
    verdict = "The answers DIFFER on " + "; ".join(differ) if differ else "All exact answers agree"
    return (
        f"{verdict}: every change of the top k in the first window and in some arrivals after it"
        " was compared. PA is exact for random order only, and not quite; what it misses in"
        f" {short(result['watched'])} arrivals after the first window:\n"
        + columns([["stream", "missed", "of results"], *lines])
    )


def _batches(cells: list[dict[str, Any]]) -> str:
    rows = [["arrivals a batch", "RAPF", "PA"]]
    rows += [[short(c["batch"]), _rate(c["RAPF"]), _rate(c["PA"])] for c in cells]
    return columns(rows)


def _growth(what: str, cells: list[dict[str, Any]]) -> str:
    rows = [[what, "a second", "ns each", "kept"]]
    for cell in cells:
        speed = cell["a_second"]
        value = short(cell["value"]) if cell["value"] >= 1 else f"{cell['value']:g}"
        rows.append([value, _rate(speed), f"{1e9 / speed:.3g}", f"{cell['kept']:,}"])
    return columns(rows)


def _standing(cells: list[dict[str, Any]]) -> str:
    from_cells = [name for name in FROM_CELLS if name in cells[0]["seconds"]]
    rows = [["scores differ by", "queries", "one structure", "each alone", "ratio", *from_cells]]
    for cell in cells:
        seconds = cell["seconds"]
        rows.append([
            cell["kind"], f"{cell['queries']:,}", f"{seconds['shared']:.3g} s",
            f"{seconds['alone']:.3g} s", f"{cell['ratio']:.3g}",
            *(f"{seconds[name]:.3g} s" if name in seconds else "" for name in from_cells),
        ])  # fmt: skip
    wrong = sum(not cell["agrees"] for cell in cells)
    verdict = f"{wrong} cases DIFFER" if wrong else "all changes agree"
    first = cells[0]
    return (
        f"Standing queries in one text, {short(first['records'])} records, the last"
        f" {short(first['window'])} of them, CPU time of crestline.run; {verdict}\n" + columns(rows)
    )


def _filters(found: dict[str, Any]) -> str:
    rows = [["", "records a second", "queries met by a record, coming and going"]]
    names = {"with": "RAPF with the grid", "without": "RAPF without"}
    for name, speed in found["a_second"].items():
        shown = names.get(name, f"{name} with the grid")
        rows.append([shown, _rate(speed), f"{found['touched'][name]:.3g}"])
    verdict = "agree" if found["agrees"] else "DIFFER"
    return (
        f"{found['queries']} standing queries for the nearest points in a square (resolution"
        f" {found['resolution']}); {found['compared']:,} answers {verdict}; {found['kept']:,}"
        f" references and {found['buffered']:,} buffered records are kept, by CPM and SNN"
        f" {found['whole']:,} records\n" + columns(rows)
    )
