"""MinTopk on scores in memory, against `numpy.max` over the same array.

`numpy.max` is the least that any answer must do: look at every score once. Scores are fed as a
stream would: batches of up to 4 million, each `observe` followed by `advance`. The batches are
smaller where results are many, so that a batch returns about 4 million result rows at most (the
engine does likewise). Compilation is not timed: a warm-up precedes. The two take turns; the best
time of each counts.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import crestline
from benchmarks.measure import (
    Say,
    best_of,
    columns,
    goal,
    goal_lines,
    machine,
    machine_line,
    short,
    timed,
)
from crestline.certain import SMA, MinTopK
from crestline.core.operator import Operator
from crestline.types import Floats

SCORES, QUICK_SCORES = 20_000_000, 2_000_000
BATCH = 4_000_000
KS = (1, 10, 100, 1_000, 10_000)
SLIDES = (1_000, 10_000, 100_000, 1_000_000)
WINDOWS = (1_000_000, 10_000_000)
#: Slides so small that every few records give a result.
TINY_SLIDES = (1, 10, 100)
#: The slides of the paper's Figure 11, and the batches in which an operator gets their records.
CHANGES_SLIDES = (100_000, 10_000, 1_000, 100)
CHANGES_BATCH = 100_000
#: k, window and slide of the paper's Figures 7 and 9, and the batches of its reproduction.
PAPERS_CASES = (
    *((k, 1_000_000, 100_000) for k in (10, 100, 1_000, 10_000)),
    *((1_000, window, window // 10) for window in (1_000, 10_000, 100_000)),
)
PAPERS_BATCH = 10_000
#: The share of SMA's time to save in these cases, and at each slide; the speed at the shortest of
#: ``CHANGES_SLIDES`` as a share of that at the longest.
SAVED, SAVED_AT_SLIDES, SHORTEST = 0.85, 0.5, 0.2
#: A measurement covers fewer scores where it would return more result rows than this.
RESULT_ROWS = 40_000_000


def goal_of(k: int, slide: int) -> float | None:
    """The share of numpy.max's speed to reach, if one was set."""
    if k in (10, 100) and slide >= 100_000:
        return 0.5
    return 0.2 if k in (1_000, 10_000) and slide >= 1_000_000 else None


def batch_size(k: int, slide: int, most: int = BATCH) -> int:
    """Whole slides, at most `most` scores and about as many result rows, but one slide at least."""
    return max(1, min(most, most * slide // k) // slide) * slide


def feed(scores: Floats, k: int, window: int, slide: int) -> MinTopK:
    """Run the scores through an operator, batch by batch."""
    operator = MinTopK(k=k, window=window, slide=slide)
    size = batch_size(k, slide)
    for first in range(0, len(scores), size):
        operator.observe(scores[first : first + size])
        operator.advance()
    return operator


def measure(scores: Floats, k: int, window: int, slide: int) -> dict[str, Any]:
    """One cell of the tables: both times, their ratio, and the records kept at the end."""
    most = max(4 * slide, RESULT_ROWS // k * slide)
    part = scores[: min(len(scores), most)]
    last: list[MinTopK] = []

    def mintopk() -> None:
        last[:] = [feed(part, k, window, slide)]

    plain, ours = best_of([lambda: np.max(part), mintopk])
    if plain == 0:
        plain = timed(lambda: np.max(part)) or 1e-9
    return {
        "k": k,
        "window": window,
        "slide": slide,
        "scores": len(part),
        "batch": batch_size(k, slide),
        "max_seconds": plain,
        "seconds": ours,
        "million_a_second": len(part) / ours / 1e6,
        "ratio": plain / ours,
        "kept": last[0].candidates,
    }


def small_slides(window: int, k: int, slides: tuple[int, ...], records: int) -> dict[str, Any]:
    """One window, slides of very different lengths, only changes reported: nanoseconds a record.

    `Operator` is fed batches of 100,000 records, whatever the slide; the window is filled first,
    which is not timed. `Engine` runs a query over a table, the filling of the window included.
    """
    scores = np.random.default_rng(2).random(window + records)
    table = pa.table({"v": scores})
    operators: list[list[Any]] = []
    engines: list[Any] = []
    for slide in slides:
        for algorithm in (MinTopK, SMA):
            operators.append([algorithm, slide])
            query = (
                f"SELECT TOP {k} v FROM s [ROWS {window} SLIDE {slide}] ORDER BY v DESC"
                f" EMIT CHANGES USING {algorithm.__name__.upper()}"
            )
            engines.append(partial(crestline.run, query, {"s": table}))
    batch = min(CHANGES_BATCH, window)
    spent = [
        min(_fed(algorithm(k, window, slide, only_changes=True), batch, window, scores)
            for _ in range(2))
        for algorithm, slide in operators
    ]  # fmt: skip
    whole = best_of(engines)
    return {
        "k": k,
        "window": window,
        "records": records,
        "runs": [
            {
                "slide": slide,
                "algorithm": algorithm.__name__,
                "operator": fed / records * 1e9,
                "engine": run / len(scores) * 1e9,
            }
            for (algorithm, slide), fed, run in zip(operators, spent, whole, strict=True)
        ],
    }


def _fed(operator: Operator, batch: int, window: int, scores: Floats) -> float:
    """CPU seconds for the scores after the first window."""
    spent = 0.0
    for first in range(0, len(scores), batch):
        started = time.process_time()
        operator.observe(scores[first : first + batch])
        operator.advance()
        spent += time.process_time() - started if first >= window else 0.0
    return spent


def papers_cases(cases: tuple[tuple[int, int, int], ...]) -> list[dict[str, Any]]:
    """Every snapshot, as the paper measures it: nanoseconds a record, and the share saved."""
    found = []
    for k, window, slide in cases:
        batch = slide * max(1, -(-PAPERS_BATCH // slide))
        filled = -(-window // batch) * batch
        scores = np.random.default_rng(3).random(filled + 10 * batch)
        spent = {"MinTopK": np.inf, "SMA": np.inf}
        for _ in range(2):
            for algorithm in (MinTopK, SMA):
                took = _fed(algorithm(k, window, slide), batch, filled, scores)
                spent[algorithm.__name__] = min(spent[algorithm.__name__], took)
        each = {name: took / (10 * batch) * 1e9 for name, took in spent.items()}
        saved = 1 - each["MinTopK"] / each["SMA"]
        found.append({"k": k, "window": window, "slide": slide, "saved": saved} | each)
    return found


def orders(count: int, seed: int = 1) -> dict[str, Floats]:
    """The same number of scores in orders that are kind and unkind."""
    rng = np.random.default_rng(seed)
    rising = np.arange(count, dtype=np.float64)
    return {
        "random": rng.random(count),
        "rising": rising,
        "falling": rising[::-1].copy(),
        "all equal": np.ones(count),
        "10 distinct values": rng.integers(0, 10, count).astype(np.float64),
        "1,000 distinct values": rng.integers(0, 1_000, count).astype(np.float64),
    }


def run(
    *,
    quick: bool,
    say: Say,
    scores: int | None = None,
    ks: tuple[int, ...] = KS,
    slides: tuple[int, ...] = SLIDES,
    windows: tuple[int, ...] = WINDOWS,
    papers: tuple[tuple[int, int, int], ...] = PAPERS_CASES,
) -> dict[str, Any]:
    """Measure. The other parameters make it smaller."""
    count = scores or (QUICK_SCORES if quick else SCORES)
    say("warming up (compilation, not timed)")
    stream = np.random.default_rng(1).random(count)
    for k in ks:
        feed(stream[: max(20_000, count // 100)], k, 10_000, 1_000)
    np.max(stream)
    grid = []
    for window in windows:
        for slide in slides:
            say(f"window {short(window)}, slide {short(slide)}: k = {', '.join(map(short, ks))}")
            grid += [measure(stream, k, window, slide) for k in ks]
    say(f"slides of {', '.join(map(str, TINY_SLIDES))}")
    few = stream[: max(10_000, count // 10)]
    tiny = [measure(few, k, windows[0], slide) for slide in TINY_SLIDES for k in ks if k <= 1_000]
    say("small slides with EMIT CHANGES")
    short_slides = [slide for slide in CHANGES_SLIDES if 10 * slide <= windows[0]]
    records = max(count // 50, min(count, CHANGES_BATCH))
    changes = small_slides(windows[0], windows[0] // 1_000, tuple(short_slides), records)
    say("the cases of the paper")
    against_sma = papers_cases(papers)
    say("numbers of scores")
    parts = [count // 8, count // 4, count // 2, count]
    growth = [measure(stream[:part], 100, windows[0], slides[-2]) for part in parts]
    say("other orders of the scores")
    by_order = [
        {"order": name} | measure(values, 100, windows[0], slide)
        for name, values in orders(max(10_000, count // 10)).items()
        for slide in (slides[1], slides[-2])
    ]
    result = {
        "suite": "steps",
        "machine": machine(),
        "scores": count,
        "max_gb_a_second": 8 * count / min(cell["max_seconds"] for cell in growth[-1:]) / 1e9,
        "grid": grid,
        "tiny": tiny,
        "changes": changes,
        "papers": against_sma,
        "growth": growth,
        "orders": by_order,
    }
    return result | {"goals": [*_goals(grid), *_paper_goals(changes, against_sma)]}


def _paper_goals(changes: dict[str, Any], papers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    spent = {(run["slide"], run["algorithm"]): run["operator"] for run in changes["runs"]}
    slides = [run["slide"] for run in changes["runs"]]
    longest, shortest = max(slides), min(slides)
    share = spent[longest, "MinTopK"] / spent[shortest, "MinTopK"]
    name = f"slide {short(shortest)}, only changes: share of the speed at slide {short(longest)}"
    goals = [goal(name, SHORTEST, share)]
    for slide in dict.fromkeys(slides):
        saved = 1 - spent[slide, "MinTopK"] / spent[slide, "SMA"]
        name = f"slide {short(slide)}, only changes: share of SMA's time that is saved"
        goals.append(goal(name, SAVED_AT_SLIDES, saved))
    for case in papers:
        name = (
            f"k {short(case['k'])}, window {short(case['window'])}, slide {short(case['slide'])}:"
            " share of SMA's time that is saved"
        )
        goals.append(goal(name, SAVED, case["saved"]))
    return goals


def _goals(grid: list[dict[str, Any]]) -> list[dict[str, Any]]:
    goals = []
    for cell in grid:
        wanted = goal_of(cell["k"], cell["slide"])
        if wanted is not None:
            name = (
                f"k {short(cell['k'])}, slide {short(cell['slide'])},"
                f" window {short(cell['window'])}: share of numpy.max's speed"
            )
            goals.append(goal(name, wanted, cell["ratio"]))
    return goals


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    return "\n\n".join(
        [
            f"MinTopk over {short(result['scores'])} scores in memory, in batches of up to"
            f" {short(BATCH)}; best of several turns with numpy.max over the same scores"
            f" ({result['max_gb_a_second']:.1f} GB/s). Compilation is not timed."
            + ("" if result["scores"] >= SCORES else _FEW),
            machine_line(result["machine"]),
            "Speed as a share of numpy.max's (+ goal met, - goal missed)\n"
            + _matrix(result["grid"], lambda cell: f"{cell['ratio']:.3f}{_mark(cell)}"),
            "Million scores a second\n"
            + _matrix(result["grid"], lambda cell: f"{cell['million_a_second']:.1f}"),
            "Records kept at the end\n" + _matrix(result["grid"], lambda cell: f"{cell['kept']:,}"),
            f"Weak spots: a result every few records ({short(result['tiny'][0]['scores'])} scores),"
            " million scores a second\n"
            + _matrix(result["tiny"], lambda cell: f"{cell['million_a_second']:.3f}"),
            _changes(result["changes"]),
            "Every snapshot: nanoseconds a record, and the share of SMA's time that is saved\n"
            + _papers(result["papers"]),
            "How the time grows with the number of scores\n" + _growth(result["growth"]),
            "Other orders of the scores\n" + _orders(result["orders"]),
            goal_lines(result["goals"]),
            _LIMITS,
        ]
    )


_FEW = (
    " So few scores fit into the processor's cache, where numpy.max is at its best, and the first"
    " pane of all weighs heavily: the goals are meant for the full size."
)
_LIMITS = """What limits, by the cost of the algorithm (derived, not profiled):
- large slides, small k: the memory. Each score is read once, as by numpy.max; what is missing to 1
  goes to the blocks that hold a candidate and are looked at again.
- small slides, large k: the results. Every slide writes k result rows, so the cost a record is
  k / slide; with only changes, the rows of the slides that change anything. Panes are merged into
  the list of M kept records together, about M records at a time, so short batches cost more.
- the window: only through M = k H_C, which grows with the logarithm of window / slide.
- falling scores: M is k C, the most it can be; rising ones: M is k, but every block of scores holds
  a new candidate, so that none can be skipped.
- many equal scores: all that tie with a pane's k-th are kept until ties are broken."""


def _mark(cell: dict[str, Any]) -> str:
    wanted = goal_of(cell["k"], cell["slide"])
    if wanted is None:
        return " "
    return "+" if cell["ratio"] >= wanted else "-"


def _matrix(cells: list[dict[str, Any]], show: Any) -> str:
    ks = list(dict.fromkeys(cell["k"] for cell in cells))
    by_place = {(c["window"], c["slide"], c["k"]): show(c) for c in cells}
    places = list(dict.fromkeys((c["window"], c["slide"]) for c in cells))
    rows: list[list[str]] = [["window", "slide", *(f"k={short(k)}" for k in ks)]]
    for window, slide in places:
        shown = [by_place.get((window, slide, k), "") for k in ks]
        rows.append([short(window), short(slide), *shown])
    return columns(rows, left=2)


def _changes(result: dict[str, Any]) -> str:
    """Each figure, and how many times that of the longest slide it is."""
    runs = result["runs"]
    first = {run["algorithm"]: run for run in reversed(runs) if run["slide"] == runs[0]["slide"]}
    rows = [["slide", "algorithm", "operator", "times", "engine", "times"]]
    for run in runs:
        row = [short(run["slide"]), run["algorithm"]]
        for where in ("operator", "engine"):
            times = run[where] / first[run["algorithm"]][where]
            row += [f"{run[where]:.1f}", f"{times:.2f}"]
        rows.append(row)
    return (
        f"Small slides, window {short(result['window'])}, k = {short(result['k'])}, only changes:"
        " nanoseconds a record, and how many times those of the longest slide\n"
        + columns(rows, left=2)
    )


def _papers(cases: list[dict[str, Any]]) -> str:
    rows = [["k", "window", "slide", "MinTopK", "SMA", "saved"]]
    for case in cases:
        where = (short(case[name]) for name in ("k", "window", "slide"))
        each = (f"{case[name]:.1f}" for name in ("MinTopK", "SMA"))
        rows.append([*where, *each, f"{case['saved']:.0%}"])
    return columns(rows, left=3)


def _growth(cells: list[dict[str, Any]]) -> str:
    rows = [["scores", "seconds", "numpy.max", "ratio"]]
    for cell in cells:
        times = f"{cell['seconds']:.4f}", f"{cell['max_seconds']:.4f}"
        rows.append([short(cell["scores"]), *times, f"{cell['ratio']:.3f}"])
    return columns(rows)


def _orders(cells: list[dict[str, Any]]) -> str:
    rows = [["order", "slide", "M scores/s", "ratio", "kept"]]
    for cell in cells:
        speed = f"{cell['million_a_second']:.1f}", f"{cell['ratio']:.3f}"
        rows.append([cell["order"], short(cell["slide"]), *speed, f"{cell['kept']:,}"])
    return columns(rows)
