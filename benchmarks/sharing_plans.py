"""Plans for uncertain queries with FREQUENCY, measured in the engine: whole queries, rows included.

Every plan runs the same queries through `crestline.run`. **Cost** is CPU seconds a minute of the
stream, from the text to the last result row; plans take turns, and the least of several rounds
counts. **Throughput** is results a CPU second, of those that are due. **Latency** is measured in a
session that is given the stream second by second: the mean time from the records of a second to its
results, and the time that 99 of 100 results stay below.

k and FREQUENCY are uniform, as in section 10.1 of Chen et al.; streams differ in how many records
decide a result. `readings`: probabilities are uniform, and about 2 k records decide. `large k`: the
same with k up to 1,000. `icebergs`: sightings with generation rules (real where they are at hand,
see `papers.chen_multi.stream`). `doubtful`: all probabilities are below 2 %, so that thousands of
records decide.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from papers.chen_multi import stream as streams

import crestline
from benchmarks.measure import Say, columns, goal
from crestline.types import Floats, Ints

#: In the order of the paper's claim, the dearest first.
PLANS = ("NS", "IN", "INCO", "GREEDY", "DP")
FREQUENCIES = (1, 40)
#: Records a second, and the seconds that a window reaches back.
RATE, WINDOW = 100, 100
#: Seconds of stream that are pushed one by one, behind a full window.
FOLLOWED = 60


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of stream, the range of k, seconds of stream, and numbers of queries."""

    name: str
    ks: tuple[int, int]
    seconds: int
    queries: tuple[int, ...]

    @property
    def exclusive(self) -> bool:
        return self.name == "icebergs"


CASES = (
    Case("readings", (2, 100), 1_200, (2, 5, 10, 20, 100)),
    Case("large k", (2, 1_000), 300, (2, 10, 100)),
    Case("icebergs", (2, 100), 600, (2, 10, 20, 100)),
    Case("doubtful", (2, 20), 200, (2, 10, 100)),
)


def records(case: Case) -> pa.Table:
    """The records of a case in order of arrival, ``RATE`` a second."""
    count = case.seconds * RATE
    rng = np.random.default_rng(1)
    score: Floats = rng.random(count)
    chance: Floats = 1.0 - rng.random(count)
    rule: Ints = np.full(count, -1)
    if case.name == "doubtful":
        chance *= 0.02
    elif case.exclusive:
        drawn = streams.sightings(count)
        score, chance, rule = drawn.score, drawn.probability, drawn.rule
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * (1_000_000 // RATE), pa.timestamp("us", "UTC")),
            "id": np.arange(count),
            "value": score,
            "p": chance,
            "rule": pa.array(rule, mask=rule < 0),
        }
    )


def queries(case: Case, count: int, plan: str, seed: int = 1) -> str:
    """One text; k and FREQUENCY are uniform."""
    rng = np.random.default_rng([seed, count])
    k = rng.integers(case.ks[0], case.ks[1] + 1, count)
    frequency = rng.integers(FREQUENCIES[0], FREQUENCIES[1] + 1, count)
    rules = " EXCLUSIVE BY rule" if case.exclusive else ""
    return ";\n".join(
        f"CREATE QUERY u{n} AS SELECT TOP {k[n]} id, value FROM s [RANGE {WINDOW} SECONDS ON ts]"
        f" WITH PROBABILITY p{rules} ORDER BY value DESC FREQUENCY {frequency[n]} SECONDS"
        f" USING {plan}"
        for n in range(count)
    )


def measured(case: Case, table: pa.Table, count: int, rounds: int) -> dict[str, Any]:
    """Cost, throughput and latency of every plan for one set of queries."""
    stream = {"s": table}
    spent: dict[str, list[float]] = {plan: [] for plan in PLANS}
    plans: dict[str, Any] = {}
    for plan in PLANS:
        text = queries(case, count, plan)
        results = crestline.run(text, stream)  # not timed: it may compile
        plans[plan] = {"results": _results(results), "rows": len(results)}
        plans[plan] |= latency(text, table)
    for _ in range(rounds):
        for plan, times in spent.items():
            began = time.process_time()
            crestline.run(queries(case, count, plan), stream)
            times.append(time.process_time() - began)
    for plan, times in spent.items():
        plans[plan]["cpu_s"] = min(times)
        # As many are due by every plan; some give more.
        plans[plan]["throughput"] = plans["NS"]["results"] / min(times)
    return {
        "case": case.name,
        "queries": count,
        "seconds": case.seconds,
        "plans": plans,
        "ratio": plans["NS"]["cpu_s"] / plans["DP"]["cpu_s"],
    }


def _results(results: crestline.Results) -> int:
    """How many results there are: windows of all queries."""
    return sum(
        pc.count_distinct(results.of(name).column("window_end")).as_py()
        for name in results.by_query
    )


def latency(text: str, table: pa.Table) -> dict[str, float]:
    """Milliseconds from the records of a second to its results."""
    session = crestline.open(text)
    full = WINDOW * RATE if len(table) > WINDOW * RATE else 0
    session.push(table.slice(0, full))
    waits: list[float] = []
    for start in range(full, min(len(table), full + FOLLOWED * RATE), RATE):
        began = time.perf_counter()
        rows = session.push(table.slice(start, RATE))
        took = time.perf_counter() - began
        waits += [1_000 * took] * (rows.num_rows > 0)
    found = np.array(waits or [0.0])
    return {"mean_ms": float(found.mean()), "p99_ms": float(np.quantile(found, 0.99))}


def run(*, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Measure every case with every number of queries."""
    found = []
    for case in CASES:
        if quick:
            case = Case(case.name, (2, 20), 20, case.queries[:1])
        table = records(case)
        for count in case.queries:
            say(f"plans in the engine: {count} queries, {case.name}")
            found.append(measured(case, table, count, rounds=1 if quick else 5))
    return found


def goals(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the figures should be."""
    most = {cell["case"]: cell for cell in cells}  # the last of each case has the most queries
    least = min(cells, key=lambda cell: cell["ratio"])
    where = f"{least['queries']} queries, {least['case']}"
    return [
        *[
            goal(
                f"CPU of NS, times that of DP: {cell['queries']} queries, {name}", 3, cell["ratio"]
            )
            for name, cell in most.items()
        ],
        goal(f"the same, the least of all sets ({where})", 0.95, least["ratio"]),
    ]


def table(cells: list[dict[str, Any]]) -> str:
    """The measured figures as text."""
    rows: list[list[object]] = [
        ["stream", "queries", "plan", "CPU ms a minute", "results a CPU s", "mean ms", "99 % ms",
         "NS over it"]
    ]  # fmt: skip
    for cell in cells:
        for plan, each in cell["plans"].items():
            rows.append(
                [
                    cell["case"], cell["queries"], plan,
                    f"{each['cpu_s'] * 60_000 / cell['seconds']:,.1f}",
                    f"{each['throughput']:,.0f}", f"{each['mean_ms']:.2f}", f"{each['p99_ms']:.2f}",
                    f"{cell['plans']['NS']['cpu_s'] / each['cpu_s']:.2f}",
                ]
            )  # fmt: skip
    return columns(rows, left=3)


__all__ = ["goals", "run", "table"]
