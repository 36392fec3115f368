"""The figures of the suite `incomplete`: their goals, as text, and as a picture."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from benchmarks.measure import columns, goal, goal_lines, machine_line, short

#: The windows by which EAA is compared with NAIVE.
GOAL_WINDOW = 10_000
#: The k of all cells but those that vary it, and the operators of `crestline.incomplete`.
K = 10
OURS = {"SLA": "SLA", "EAA": "EAA", "CORRELATED": "Correlated"}


def goals(cells: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the figures with the goals."""
    found = []
    times = [
        c["contenders"]["NAIVE"]["ns"] / c["contenders"]["EAA"]["ns"]
        for c in cells
        if c["window"] == GOAL_WINDOW and "NAIVE" in c["contenders"]
    ]
    if times:
        name = f"EAA, times as fast as NAIVE at windows of {GOAL_WINDOW:,}: the least of all cells"
        found.append(goal(name, 20, min(times)))
    for once in (True, False):
        some = [c for c in cells if c["once"] == once and c["streams"] == 3 and c["k"] == K]
        for one in sorted(some, key=lambda c: (c["slide"] > 1, c["window"])):
            eaa, few = one["contenders"]["EAA"], one["contenders"]["CORRELATED"]
            where = f"window {short(one['window'])}, slide {short(one['slide'])}"
            where += ", once" if once else ""
            kept = eaa["instances"] / max(1, few["instances"])
            found.append(goal(f"EAA keeps, times CORRELATED ({where})", 3, kept))
            found.append(goal(f"precision of CORRELATED ({where})", 0.8, few["precision"]))
            if once:  # nothing is remembered of forgotten values, as in the paper
                held = eaa["bytes"] / few["bytes"]
                found.append(goal(f"EAA holds, times the bytes of CORRELATED ({where})", 2, held))
    every = [c["contenders"] for c in [*cells, *others]]
    agree = all(entry.get("agrees", True) for named in every for entry in named.values())
    found.append(goal("all exact answers agree (1 is yes)", 1, float(agree)))
    return found


def _speed(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "-"
    return short(entry["a_second"]) + ("" if entry.get("agrees", True) else " DIFFERS")


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    head = (
        "Objects on several streams, xi = 0.5, C = 50, values uniform in [0, 1]; the score is their"
        f" sum, k = {K}. Windows count observations; with slide 1 the answer is told where it"
        " changes, with others each time. Best of several turns; compilation and the first window"
        " untimed."
        + (" A quick run: the goals are meant for the full size." if result["quick"] else "")
    )
    parts = [head, machine_line(result["machine"])]
    names = ("SLA", "EAA", "CORRELATED", "NAIVE", "running sums", "DuckDB, GROUP BY")
    for streams in dict.fromkeys(one["streams"] for one in result["cells"]):
        some = [one for one in result["cells"] if one["streams"] == streams]
        rows: list[list[object]] = [["window", "slide", *names, "lookup only"]]
        for one in some:
            shown = [_speed(one["contenders"].get(name)) for name in names]
            limit = short(1e9 / one["bare"]["lookup"])
            rows.append([short(one["window"]), short(one["slide"]), *shown, limit])
        parts.append(f"{streams} streams: observations a second\n" + columns(rows, left=0))
    parts.append("Kept\n" + columns(_kept_rows(result["cells"] + result["once"]), left=0))
    for what, cells in result["growth"].items():
        others = ", ".join(f"{n} {short(v)}" for n, v in result["base"].items() if n != what)
        parts.append(f"By {what} ({others})\n" + columns(_growth_rows(what, cells), left=0))
    query = result["query"]
    parts += [
        f"A whole query (crestline.run, a table of {short(query['rows'])} rows in memory, windows"
        f" of 10,000 sliding by 100, EAA): {short(query['a_second'])} observations a second",
        goal_lines(result["goals"]),
        _NOTES,
    ]
    return "\n\n".join(parts)


def _kept_rows(cells: list[dict[str, Any]]) -> list[list[object]]:
    rows: list[list[object]] = [
        [
            "streams", "window", "slide", "once", "SLA values", "EAA instances", "values",
            "CORRELATED instances", "values", "precision", "expected", "bytes SLA", "EAA", "CORR.",
        ]
    ]  # fmt: skip
    for one in cells:
        sla, eaa, few = (one["contenders"][name] for name in ("SLA", "EAA", "CORRELATED"))
        expected = "-" if few["expected"] is None else f"{few['expected']:.2f}"
        rows.append(
            [
                one["streams"], short(one["window"]), short(one["slide"]),
                "yes" if one["once"] else "no", f"{sla['stored']:,}", f"{eaa['instances']:,}",
                f"{eaa['stored']:,}", f"{few['instances']:,}", f"{few['stored']:,}",
                f"{few['precision']:.2f}", expected, *(short(x["bytes"]) for x in (sla, eaa, few)),
            ]
        )  # fmt: skip
    return rows


def _growth_rows(what: str, cells: list[dict[str, Any]]) -> list[list[object]]:
    rows: list[list[object]] = [
        [
            what, "SLA ns", "EAA ns", "CORRELATED ns", "EAA instances", "CORRELATED instances",
            "precision",
        ]
    ]  # fmt: skip
    for one in cells:
        sla, eaa, few = (one["contenders"][name] for name in ("SLA", "EAA", "CORRELATED"))
        rows.append(
            [
                short(one[what]), *(f"{x['ns']:,.0f}" for x in (sla, eaa, few)),
                f"{eaa['instances']:,}", f"{few['instances']:,}", f"{few['precision']:.2f}",
            ]
        )  # fmt: skip
    return rows


_NOTES = """\
NAIVE and the rivals are timed on as many observations as take a fraction of a second, and
left out (-) where one answer takes too long. "running sums" keeps the sum of each object in a NumPy
array and picks the k largest of all at every slide; it relies on objects being numbered in the
order in which they come. It and DuckDB tell scores only: no upper bound, nothing certain, no
repeats. "lookup only" finds the object of each value that comes or leaves in a compiled table.
Values are counted as they stood at the end, waiting to be forgotten or not; instances after
forgetting, as the paper counts. Bytes are those of all arrays, with room to grow, the sample of
CORRELATED and what is remembered to notice repeats; where objects come once, nothing is. Precision
is measured on the observations of the turns: for the longest windows that is less than one window,
in which few objects are ever shown."""


def picture(result: dict[str, Any]) -> bytes:
    """A PNG: speed and kept values over the window, for the fewest and the most streams."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style = {
        "SLA": ("#333333", "P"), "EAA": ("#0072B2", "s"), "CORRELATED": ("#E69F00", "v"),
        "NAIVE": ("#CC79A7", "x"), "running sums": ("#009E73", "o"),
        "DuckDB, GROUP BY": ("#D55E00", "^"),
    }  # fmt: skip
    counts = list(dict.fromkeys(one["streams"] for one in result["cells"]))
    figure = Figure(figsize=(13.5, 3.9 * len(counts)), dpi=130, layout="constrained")
    grid: Any = figure.subplots(len(counts), 3, squeeze=False)
    for row, streams in enumerate(counts):
        some = [one for one in result["cells"] if one["streams"] == streams]
        every = [one for one in some if one["slide"] == 1]
        steps = [one for one in some if one["slide"] > 1]
        panels = (
            (every, "a_second", "observations a second, slide 1"),
            (steps, "a_second", "observations a second, slide of window / 100"),
            (every, "instances", "kept instances, slide 1"),
        )
        for column, (cells, what, title) in enumerate(panels):
            ax = grid[row][column]
            for name, (colour, marker) in style.items():
                points = [
                    (c["window"], c["contenders"][name][what])
                    for c in cells
                    if name in c["contenders"] and (what == "a_second" or name in OURS)
                ]
                if points:
                    xs, ys = zip(*points, strict=True)
                    ax.plot(xs, ys, color=colour, marker=marker, ms=6, linewidth=1.6, label=name)
            ax.set(xscale="log", yscale="log", xlabel="window, observations")
            ax.set_title(f"{streams} streams: {title}", loc="left", fontsize=10.5)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(True, which="major", color="#e6e6e6", linewidth=0.8)
            ax.set_axisbelow(True)
    grid[0][1].legend(frameon=False, fontsize=8.5)
    content = BytesIO()
    FigureCanvasAgg(figure).print_png(content)  # type: ignore[no-untyped-call]
    return content.getvalue()


__all__ = ["K", "OURS", "goals", "picture", "table"]
