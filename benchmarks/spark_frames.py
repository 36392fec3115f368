"""DataFrames of users: our ways, plans of Spark's own, and the bare reading.

Of streaming DataFrames, *topk* keeps its state in Spark's store. *EachBatch* is given to
`foreachBatch` and keeps its states in files; *pruned* prunes each micro-batch inside the JVM first.
Times are addBatch of the steady micro-batches, best of some turns. A bounded DataFrame is a table
of all rows, in a warm session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.measure import Say, columns, goal, short
from benchmarks.spark_rivals import (
    CONTENDERS,
    PANES_FIRST,
    Asked,
    collect,
    crestline_topk,
    prices,
    read_only,
    until,
)
from benchmarks.spark_stream import Stream, asking, batch_seconds, collected, in_order, measure
from benchmarks.trades import trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILE_ROWS = 500_000
QUESTIONS = {
    "slide 10 s": Asked(10),
    "slide 1 s": Asked(1),
    "slide 10 s by symbol": Asked(10, by=True),
}
OURS = ("topk", "EachBatch", "EachBatch, pruned")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    batches: int = 6
    #: Millions of rows of a micro-batch.
    millions: tuple[int, ...] = (1, 5)
    bounded_rows: int = 10_000_000
    turns: int = 2


QUICK = Sizes(batches=4, millions=(1,), bounded_rows=1_000_000, turns=1)
#: How many times as fast as Spark's best plan to be: over bounded DataFrames with panes of many
#: rows, and everywhere else.
LARGE_PANES, NEVER_SLOWER = 1.5, 1.0


def frames(session: Any, sizes: Sizes, say: Say) -> dict[str, Any]:
    """Measure; answers are compared before times count."""
    checked = Stream(session, in_order(trades(20_000, say, rate=100, symbols=50, files=20)), 4)
    cells = []
    for name, asked in QUESTIONS.items():
        agrees = _agree(checked, asked, say)
        for million in sizes.millions:
            rows = sizes.batches * million * 2 * _FILE_ROWS
            folder = in_order(trades(rows, say, files=rows // _FILE_ROWS))
            stream = Stream(session, folder, 2 * million)
            seconds = _seconds(f"{name}, {million} M", stream, asked, sizes, say)
            cells.append({"name": name, "million": million, "agrees": agrees, "seconds": seconds})
    bounded = [_bounded(name, asked, session, sizes, say) for name, asked in QUESTIONS.items()]
    goals = [goal for cell in cells for goal in _goals(cell)]
    goals += [_goal_of_bounded(case) for case in bounded]
    return {"cells": cells, "bounded": bounded, "goals": goals}


def _each(asked: Asked, prune: bool, into: list[pa.Table] | None = None) -> Callable[[str], Any]:
    from crestline.spark import EachBatch

    def write(rows: DataFrame, number: int) -> None:
        if into is None:
            rows.write.format("noop").mode("overwrite").save()
        else:
            into.append(prices("crestline", rows, asked).toArrow())

    return lambda folder: EachBatch(asked.text, write, state=folder, prune=prune)


def _agree(stream: Stream, asked: Asked, say: Say) -> bool:
    """Whether all give the same windows and prices, up to the earliest of their ends."""
    say(f"{asked.text}: answers to a small stream")
    answers = []
    for name in ("crestline", *PANES_FIRST):

        def plan(frame: DataFrame, name: str = name) -> DataFrame:
            return prices(name, CONTENDERS[name](frame, asked), asked)

        answers.append(collect(collected(stream, plan)))
    for prune in (False, True):
        tables: list[pa.Table] = []
        measure(stream, lambda frame: frame, each=_each(asked, prune, tables))
        answers.append(collect(pa.concat_tables(tables)))
    last = min(max(end for end, _ in answer) for answer in answers)
    cut = [until(answer, last) for answer in answers]
    return bool(cut[0]) and all(answer == cut[0] for answer in cut)


def _seconds(
    name: str, stream: Stream, asked: Asked, sizes: Sizes, say: Say
) -> dict[str, float | None]:
    contenders: dict[str, Callable[[], dict[str, Any]]] = {
        "reading only": lambda: measure(stream, lambda frame: read_only(frame, asked)),
        "topk": lambda: measure(stream, lambda frame: crestline_topk(frame, asked)),
    }
    for way, prune in (("EachBatch", False), ("EachBatch, pruned", True)):
        contenders[way] = lambda prune=prune: measure(
            stream, lambda frame: frame, each=_each(asked, prune)
        )
    for rival, formulation in PANES_FIRST.items():
        contenders[rival] = lambda formulation=formulation: measure(
            stream, lambda frame: formulation(frame, asked)
        )
    found: dict[str, float | None] = {}
    for turn in range(sizes.turns):
        for contender, run in contenders.items():
            say(f"frames, {name}: {contender} (turn {turn + 1} of {sizes.turns})")
            steady = run().get("steady")
            times = [each for each in (found.get(contender), steady) if each is not None]
            found[contender] = min(times, default=None)
    return found


def _bounded(name: str, asked: Asked, session: Any, sizes: Sizes, say: Say) -> dict[str, Any]:
    """The best of all turns after the first, which warms up."""
    stream = Stream(session, trades(sizes.bounded_rows, say))
    contenders = ("reading only", "crestline", *PANES_FIRST)
    seconds: dict[str, float] = {}
    for turn in range(sizes.turns + 1):
        say(f"a bounded frame, {name}: turn {turn} of {sizes.turns}")
        for contender in contenders:
            took = batch_seconds(stream, asking(CONTENDERS[contender], asked))
            if turn:
                seconds[contender] = min(took, seconds.get(contender, took))
    return {"name": name, "rows": sizes.bounded_rows, "seconds": seconds, "by": asked.by}


def _goal_of_bounded(case: dict[str, Any]) -> dict[str, Any]:
    seconds = case["seconds"]
    aim = NEVER_SLOWER if case["by"] else LARGE_PANES
    rival = min(seconds[name] for name in PANES_FIRST)
    name = f"bounded frames, {case['name']}: times the best plan"
    return goal(name, aim, rival / seconds["crestline"])


def _goals(cell: dict[str, Any]) -> list[dict[str, Any]]:
    seconds = cell["seconds"]
    ours = min(seconds[name] for name in OURS if seconds[name])
    rival = min(seconds[name] for name in PANES_FIRST if seconds[name])
    where = f"streaming frames, {cell['name']}, {cell['million']} M"
    return [
        goal(f"{where}: times the best plan", NEVER_SLOWER, rival / ours),
        goal(f"{where}: answers agree (1 is yes)", 1, float(cell["agrees"])),
    ]


def table(result: dict[str, Any]) -> str:
    """Seconds for a micro-batch, by contender."""
    names = list(result["cells"][0]["seconds"])
    rows = [["streaming frames", "M rows", *names, "answers"]]
    for cell in result["cells"]:
        seconds = [cell["seconds"][name] for name in names]
        shown = ["-" if each is None else f"{each:.3f}" for each in seconds]
        agrees = "agree" if cell["agrees"] else "DIFFER"
        rows.append([cell["name"], str(cell["million"]), *shown, agrees])
    names = list(result["bounded"][0]["seconds"])
    bounded = [["seconds for a bounded frame", "rows", *names]]
    for case in result["bounded"]:
        figures = [f"{case['seconds'][name]:.2f}" for name in names]
        bounded.append([case["name"], short(case["rows"]), *figures])
    return f"{columns(rows)}\n\n{columns(bounded)}"
