"""Files followed on Spark, and read once: Crestline's workers read them, Spark's plans scan them.

Seconds for a micro-batch. Of Spark's plans, *addBatch* counts: the work on a micro-batch, without
listing files, planning, the write-ahead log and the commit. Of Crestline, the whole round counts,
from the results of one round to those of the next: it lists files, notes them, reads and prunes
them, merges them into the state, stores the state and hands the results over.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.measure import Say, columns, goal, short
from benchmarks.spark_rivals import (
    CONTENDERS,
    OBVIOUS,
    PANES_FIRST,
    Answer,
    Asked,
    collect,
    prices,
    until,
)
from benchmarks.spark_stream import (
    START,
    Stream,
    asking,
    batch_seconds,
    collected,
    in_order,
    measure,
)
from benchmarks.trades import trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from crestline.runtime.rounds import Round

#: Million rows of a micro-batch: how many times as fast as Spark's best plan to be at least.
TIMES_BEST = {1: 2.0, 5: 4.0}
#: The share of reading only to reach with micro-batches of five million rows.
OF_READING = 0.5
#: How many times as fast as the obvious plan to be, by slide.
TIMES_OBVIOUS = {10: 10.0, 1: 100.0}
#: A bounded run: times Spark's best plan, and the share of one process to reach.
BOUNDED_BEST, BOUNDED_LOCAL = 4.0, 1 / 3
_FILE_ROWS = 500_000
#: Micro-batches of plans that take minutes.
FEW = START + 1
QUESTIONS = {
    "slide 10 s": Asked(10),
    "slide 1 s": Asked(1),
    "slide 10 s by symbol": Asked(10, by=True),
    "slide 1 s by symbol": Asked(1, by=True),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    batches: int = 6
    #: Millions of rows of a micro-batch.
    millions: tuple[int, ...] = (1, 5)
    file_rows: int = _FILE_ROWS
    bounded_rows: int = 10_000_000
    turns: int = 2


QUICK = Sizes(batches=5, millions=(1,), bounded_rows=1_000_000, turns=1)


def files(session: Any, sizes: Sizes, say: Say) -> dict[str, Any]:
    """Measure; answers are compared before times count."""
    checked = in_order(trades(20_000, say, rate=100, symbols=50, files=20))
    cells = []
    for name, asked in QUESTIONS.items():
        agreed = _compare(Stream(session, checked, 4), asked, say)
        for million in sizes.millions:
            rows = sizes.batches * million * 2 * sizes.file_rows
            folder = in_order(trades(rows, say, files=rows // sizes.file_rows))
            stream = Stream(session, folder, 2 * million)
            smaller = cells[-1] if cells and cells[-1]["name"] == name else None
            cells.append(_cell(name, asked, stream, million, agreed, sizes, say, smaller))
    bounded = [_bounded(n, a, session, sizes, say) for n, a in QUESTIONS.items() if a.slide == 10]
    return {"cells": cells, "bounded": bounded, "goals": _goals(cells, bounded)}


# -- followed -----------------------------------------------------------------------------------


def follow(stream: Stream, asked: Asked) -> tuple[list[float], list[Round]]:
    """Seconds of each round but the first, and the rounds."""
    from crestline.runtime.queries import named_queries
    from crestline.spark.follow import Follow, checkpoint_at

    queries = named_queries(asked.text)
    moments, rounds = [], []
    folder = Path(tempfile.mkdtemp(prefix="crestline-bench-"))

    def sink(round: Round) -> None:
        moments.append(time.perf_counter())
        rounds.append(round)

    run = Follow(
        stream.session, queries, str(stream.folder), checkpoint_at(folder / "checkpoint", queries),
        sink, "available-now", files_per_trigger=stream.files_a_batch,
    )  # fmt: skip
    try:
        run.start()
        run.wait()
    finally:
        run.stop()
        shutil.rmtree(folder)
    return [b - a for a, b in zip(moments, moments[1:], strict=False)], rounds


def _compare(stream: Stream, asked: Asked, say: Say) -> dict[str, bool]:
    """Which contenders give the windows and prices that Crestline gives."""
    say(f"{asked.text}: answers to a small stream")
    rows = pa.concat_tables([round.rows["query"] for round in follow(stream, asked)[1]])
    mine = collect(
        pa.table(
            {
                "end": rows["window_end"].cast(pa.int64()),
                "key": rows[asked.key] if asked.by else pa.nulls(len(rows), pa.string()),
                "prices": pa.array([[price] for price in rows["price"].to_pylist()]),
            }
        )
    )
    answers: dict[str, Answer] = {}
    for name in (*PANES_FIRST, *OBVIOUS):

        def plan(frame: DataFrame, name: str = name) -> DataFrame:
            return prices(name, CONTENDERS[name](frame, asked), asked)

        answers[name] = collect(collected(stream, plan))
    # They may have come to different ends when the stream stops.
    last = min(max(end for end, _ in answer) for answer in (mine, *answers.values()))
    judge = until(mine, last)
    return {name: bool(judge) and until(a, last) == judge for name, a in answers.items()}


def _cell(
    name: str, asked: Asked, stream: Stream, million: int, agreed: dict[str, bool], sizes: Sizes,
    say: Say, smaller: dict[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    """The best steady round of all turns, of every contender. ``smaller`` is the cell of smaller
    micro-batches, from which the times of very slow plans are scaled."""
    seconds: dict[str, float] = {}
    for turn in range(sizes.turns):
        say(f"{name}, {million} M rows: turn {turn + 1} of {sizes.turns}")
        rounds = follow(stream, asked)[0]
        times = {"crestline": median(rounds[START - 1 :])}
        for rival in ("reading only", *PANES_FIRST, *OBVIOUS):
            copies = asked.width // asked.slide * (5 if asked.by else 1)
            # What takes minutes is measured once, on small micro-batches.
            if rival in OBVIOUS and (turn or million > 1 or copies > 50):
                continue
            if rival in PANES_FIRST and copies > 200:
                continue
            batches = FEW if rival in OBVIOUS else None
            answer = measure(stream, asking(CONTENDERS[rival], asked), batches=batches)
            if "steady" in answer:
                times[rival] = answer["steady"]
                say(f"{rival} {times[rival]:.3f}")
        seconds |= {n: min(took, seconds.get(n, took)) for n, took in times.items()}
        say(", ".join(f"{n} {took:.3f}" for n, took in times.items()))
    for rival in (*PANES_FIRST, *OBVIOUS):
        if rival in seconds:
            continue
        if smaller is not None:
            seconds[rival] = smaller["seconds"][rival] * million / smaller["million"]
        else:
            part = 10 if rival in OBVIOUS else 4
            seconds[rival] = _scaled(stream, rival, asked, part, sizes, say) * million
    return {"name": name, "million": million, "slide": asked.slide, "seconds": seconds,
            "agrees": agreed}  # fmt: skip


def _scaled(stream: Stream, rival: str, asked: Asked, part: int, sizes: Sizes, say: Say) -> float:
    """The time for a million rows of a plan that copies every row many times, from micro-batches of
    a tenth or a quarter of them."""
    say(f"{rival} on micro-batches of a million rows divided by {part}")
    folder = in_order(trades(4 * 2 * sizes.file_rows // part, say, files=8))
    plan = asking(CONTENDERS[rival], asked)
    answer = measure(Stream(stream.session, folder, 2), plan, batches=FEW)
    return float(answer["steady"]) * part


# -- bounded ------------------------------------------------------------------------------------


def _bounded(name: str, asked: Asked, session: Any, sizes: Sizes, say: Say) -> dict[str, Any]:
    """All rows at once, in a warm session; the answers of both engines must be equal."""
    import crestline

    folder = trades(sizes.bounded_rows, say)
    stream = Stream(session, folder)
    seconds: dict[str, float] = {}
    answers = {}
    for turn in range(sizes.turns + 1):
        say(f"bounded, {name}: turn {turn} of {sizes.turns}")
        times = {}
        for engine in ("local", "spark"):
            began = time.perf_counter()
            answers[engine] = crestline.run(asked.text, str(folder), engine=engine).to_arrow()
            times[f"crestline, {engine}"] = time.perf_counter() - began
        for rival in ("reading only", *PANES_FIRST):
            times[rival] = batch_seconds(stream, asking(CONTENDERS[rival], asked))
        if turn:  # the first one warms up
            seconds |= {n: min(took, seconds.get(n, took)) for n, took in times.items()}
    return {"name": name, "rows": sizes.bounded_rows, "seconds": seconds,
            "agrees": answers["spark"].equals(answers["local"])}  # fmt: skip


# -- goals and tables ---------------------------------------------------------------------------


def _best(seconds: dict[str, float]) -> float:
    return min(seconds[name] for name in PANES_FIRST if name in seconds)


def _goals(cells: list[dict[str, Any]], bounded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    goals = []
    for cell in cells:
        seconds, mine = cell["seconds"], cell["seconds"]["crestline"]
        name = f"files, {cell['name']}, {cell['million']} M rows"
        goals.append(goal(f"{name}: times the best plan", TIMES_BEST[cell["million"]],
                          _best(seconds) / mine))  # fmt: skip
        if cell["million"] == max(TIMES_BEST):
            goals.append(goal(f"{name}: reading only as a share of ours", OF_READING,
                              seconds["reading only"] / mine))  # fmt: skip
        obvious = min(seconds[rival] for rival in OBVIOUS)
        goals.append(goal(f"{name}: times the obvious plan", TIMES_OBVIOUS[cell["slide"]],
                          obvious / mine))  # fmt: skip
    for case in bounded:
        seconds, mine = case["seconds"], case["seconds"]["crestline, spark"]
        goals.append(goal(f"bounded files, {case['name']}: times the best plan", BOUNDED_BEST,
                          _best(seconds) / mine))  # fmt: skip
        goals.append(goal(f"bounded files, {case['name']}: one process as a share of ours",
                          round(BOUNDED_LOCAL, 3), seconds["crestline, local"] / mine))  # fmt: skip
    agrees = all(all(cell["agrees"].values()) for cell in cells)
    agrees &= all(case["agrees"] for case in bounded)
    return [*goals, goal("files: all answers agree (1 is yes)", 1, float(agrees))]


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    names = list(result["cells"][0]["seconds"])
    rows: list[list[object]] = [["seconds for a micro-batch of files", "M rows", *names]]
    for cell in result["cells"]:
        figures = [f"{cell['seconds'][name]:.3f}" for name in names]
        rows.append([cell["name"], cell["million"], *figures])
    names = list(result["bounded"][0]["seconds"])
    bounded: list[list[object]] = [["seconds for bounded files", "rows", *names]]
    for case in result["bounded"]:
        figures = [f"{case['seconds'][name]:.2f}" for name in names]
        bounded.append([case["name"], short(case["rows"]), *figures])
    return f"{columns(rows)}\n\n{columns(bounded)}"


__all__ = ["QUICK", "Sizes", "files", "follow", "table"]
