"""Many queries on one stream: all together, as one text, against one by one.

Certain queries of mixed k, windows, slides and emit modes on generated trades; uncertain queries of
mixed k and FREQUENCY on generated readings, by the paper's distributions. Every answer of the run
together is compared with that of the query run alone. `sharing_plans` compares the plans of such
queries with one another.
"""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import crestline
from benchmarks import sharing_plans
from benchmarks.measure import (
    Say,
    columns,
    goal,
    goal_lines,
    machine,
    machine_line,
    short,
)
from benchmarks.trades import trades
from crestline.sharing import PLANS, Demand

ROWS, QUICK_ROWS, RATE = 5_000_000, 100_000, 1_000
QUERIES, QUICK_QUERIES = 300, 12
WINDOWS = (10, 30, 60, 300, 600, 1_800, 3_600)
#: A slide is the window divided by one of these.
SLIDES = (1, 2, 5, 10)
FINEST = 360
LARGEST_K = 1_000
GROWTH = (1, 3, 10, 30, 100, 300)

#: Uncertain queries: the paper's section 10.1, a reading every 10 ms.
UNCERTAIN, QUICK_UNCERTAIN = 100, 10
READINGS, QUICK_READINGS, IN_WINDOW = 60_000, 4_000, 10_000
FREQUENCIES, KS = (1, 40), (2, 100)
SETS, QUICK_SETS = 3, 1
#: Queries of each set whose answers are compared.
COMPARED = 10
#: Sets of queries that are only planned.
PLANNED = 100


# -- certain queries ------------------------------------------------------------------------------


def certain_queries(count: int, seed: int = 1) -> list[str]:
    """Queries that rank trades by value; k is log-uniform, and no more than a fiftieth of the
    window; half of them want changes only."""
    rng = np.random.default_rng(seed)
    texts = []
    for number in range(count):
        window = int(rng.choice(WINDOWS))
        slide = window // int(rng.choice(SLIDES))
        k = int(np.exp(rng.uniform(0, np.log(min(LARGEST_K, window * RATE // 50) + 0.5))))
        if number == 0:  # the most demanding of all is always there
            window, slide, k = WINDOWS[-1], WINDOWS[-1] // FINEST, LARGEST_K
        emit = " EMIT CHANGES" if rng.random() < 0.5 else ""
        texts.append(
            f"CREATE QUERY q{number} AS SELECT TOP {k} symbol, price, size"
            f" FROM trades [RANGE {window} SECONDS SLIDE {slide} SECONDS ON ts]"
            f" ORDER BY price * size DESC{emit}"
        )
    return texts


def digest(table: pa.Table) -> str:
    """Of the rows, however they are cut into pieces."""
    sink = hashlib.blake2b(digest_size=16)
    with pa.ipc.new_stream(pa.PythonFile(_Hashed(sink), "w"), table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=1 << 30)
    return sink.hexdigest()


class _Hashed:
    """A file that keeps nothing but a hash."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink, self._at = sink, 0

    def write(self, data: Any) -> int:
        self._sink.update(data)
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None: ...

    def close(self) -> None: ...


def timed_run(text: str, stream: dict[str, Any]) -> tuple[float, crestline.Results]:
    began = time.perf_counter()
    results = crestline.run(text, stream)
    return time.perf_counter() - began, results


def certain_case(rows: int, count: int, say: Say, grown: tuple[int, ...]) -> dict[str, Any]:
    stream = {"trades": str(trades(rows, say, rate=RATE))}
    texts = certain_queries(count)
    for text in (texts[0], ";\n".join(texts[:2]), texts[0].replace(" EMIT CHANGES", "")):
        crestline.run(text, {"trades": _some(stream["trades"])})  # compile
    say(f"{count} queries one by one")
    alone, digests, kept, result_rows = [], {}, 0, 0
    for number, text in enumerate(texts):
        seconds, results = timed_run(text, stream)
        alone.append(seconds)
        digests[f"q{number}"] = digest(results.to_arrow())
        kept = max(kept, results.metrics.kept_peak)
        result_rows += len(results)
    cells = []
    agrees = True
    for some in (*[size for size in grown if size < count], count):
        say(f"{some} queries together")
        seconds, results = timed_run(";\n".join(texts[:some]), stream)
        agrees &= all(digest(results.of(f"q{n}")) == digests[f"q{n}"] for n in range(some))
        cells.append(
            {
                "queries": some,
                "together_s": seconds,
                "one_by_one_s": sum(alone[:some]),
                "kept": results.metrics.kept_peak,
            }
        )
    last = cells[-1]
    return {
        "rows": rows,
        "queries": count,
        "result_rows": result_rows,
        "cells": cells,
        "ratio": last["one_by_one_s"] / last["together_s"],
        "kept_together": last["kept"],
        "kept_by_the_largest": kept,
        "agrees": agrees,
    }


def _some(path: str) -> pa.Table:
    """The first trades, to compile with."""
    import pyarrow.dataset as ds

    return ds.dataset(path).head(20_000)


# -- uncertain queries ----------------------------------------------------------------------------


def readings(count: int, seed: int = 1) -> pa.Table:
    """Values and probabilities uniform, one every 10 ms."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 10_000, pa.timestamp("us", "UTC")),
            "id": np.arange(count),
            "value": rng.random(count),
            "p": 1.0 - rng.random(count),
        }
    )


def uncertain_queries(count: int, window: int, seed: int) -> list[str]:
    """k and FREQUENCY uniform, as in the paper (uu)."""
    rng = np.random.default_rng(seed)
    return [
        f"CREATE QUERY u{number} AS SELECT TOP {rng.integers(KS[0], KS[1] + 1)} id, value"
        f" FROM readings [RANGE {window * 10} MS ON ts] WITH PROBABILITY p ORDER BY value DESC"
        f" FREQUENCY {rng.integers(FREQUENCIES[0], FREQUENCIES[1] + 1)} SECONDS"
        for number in range(count)
    ]


def uncertain_case(count: int, rows: int, window: int, sets: int, say: Say) -> dict[str, Any]:
    table = readings(rows)
    stream = {"readings": table}
    found = []
    for number in range(sets):
        say(f"{count} uncertain queries, set {number + 1} of {sets}")
        texts = uncertain_queries(count, window, seed=number + 1)
        crestline.run(";\n".join(texts[:2]), {"readings": table.slice(0, 2_000)})  # compile
        together, results = timed_run(";\n".join(texts), stream)
        alone = sum(timed_run(text, stream)[0] for text in texts)
        agrees = True
        for n in range(0, count, max(1, count // COMPARED)):
            # Alone, the plan picks other moments: so all of them, of which both have some.
            often = texts[n].partition(" FREQUENCY")[0].replace(" ON ts]", " SLIDE 1 SECOND ON ts]")
            agrees &= _agree(results.of(f"u{n}"), crestline.run(often, stream).to_arrow())
        found.append({"together_s": together, "one_by_one_s": alone, "agrees": agrees})
    mean = {name: sum(one[name] for one in found) / sets for name in ("together_s", "one_by_one_s")}
    return {
        "queries": count,
        "rows": rows,
        "window": window,
        "sets": found,
        "mean": mean,
        "ratio": mean["one_by_one_s"] / mean["together_s"],
        "cost_ratio": planned_ratio(count),
        "agrees": all(one["agrees"] for one in found),
    }


def planned_ratio(count: int) -> float:
    """What NS costs, times what DP costs, by their plans: the mean of many sets of queries."""
    ratios = []
    for seed in range(PLANNED):
        rng = np.random.default_rng(seed)
        frequency = rng.integers(FREQUENCIES[0], FREQUENCIES[1] + 1, count).tolist()
        k = rng.integers(KS[0], KS[1] + 1, count).tolist()
        asked = [Demand(str(n), frequency[n], k[n]) for n in range(count)]
        ratios.append(float(PLANS["NS"](asked).cost / PLANS["DP"](asked).cost))
    return sum(ratios) / len(ratios)


def _agree(together: pa.Table, every: pa.Table) -> bool:
    """Whether the answers are those that a query alone gives at the same moments."""
    last = pc.max(every.column("window_end"))
    mine = together.filter(pc.less_equal(together.column("window_end"), last))
    picked = pc.is_in(every.column("window_end"), value_set=pc.unique(mine.column("window_end")))
    columns = [name for name in every.column_names if name != "query"]
    return len(mine) > 0 and bool(mine.select(columns).equals(every.filter(picked).select(columns)))


# -- all of it ------------------------------------------------------------------------------------


def run(
    *, quick: bool, say: Say, rows: int | None = None, queries: int | None = None,
    uncertain: int | None = None, readings_rows: int | None = None, window: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Measure. The other parameters make it smaller."""
    rows = rows or (QUICK_ROWS if quick else ROWS)
    count = queries or (QUICK_QUERIES if quick else QUERIES)
    certain = certain_case(rows, count, say, GROWTH)
    doubtful = uncertain_case(
        uncertain or (QUICK_UNCERTAIN if quick else UNCERTAIN),
        readings_rows or (QUICK_READINGS if quick else READINGS),
        window or (IN_WINDOW // 10 if quick else IN_WINDOW),
        QUICK_SETS if quick else SETS,
        say,
    )
    plans = sharing_plans.run(quick=quick, say=say)
    return {
        "suite": "sharing",
        "machine": machine(),
        "quick": quick,
        "certain": certain,
        "uncertain": doubtful,
        "plans": plans,
        "goals": [*goals(certain, doubtful), *sharing_plans.goals(plans)],
    }


def goals(certain: dict[str, Any], doubtful: dict[str, Any]) -> list[dict[str, Any]]:
    """What the figures should be."""
    bound = math.log2(doubtful["queries"])
    state = certain["kept_by_the_largest"] / certain["kept_together"]
    return [
        goal("certain queries together, times as fast as one by one", 20, certain["ratio"]),
        goal("records of the largest query alone, of those kept together", 0.5, state),
        goal("uncertain queries together, times as fast as one by one", bound, doubtful["ratio"]),
        goal("planned cost of NS, times that of DP", bound, doubtful["cost_ratio"]),
        goal("certain answers are those of each query alone (1 is yes)", 1, certain["agrees"]),
        goal("uncertain answers are those of each query alone (1 is yes)", 1, doubtful["agrees"]),
    ]


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    certain, doubtful = result["certain"], result["uncertain"]
    head = (
        f"{certain['queries']} queries on {certain['rows']:,} trades, {RATE:,} a second, in"
        f" parquet: k from 1 to {LARGEST_K:,} (a fiftieth of the window at most), windows from"
        f" {WINDOWS[0]} s to {WINDOWS[-1]:,} s, slides from a second to the window, snapshots and"
        " changes;"
        f" {certain['result_rows']:,} result rows in all. Compilation untimed."
        + (" A quick run: the goals are meant for the full size." if result["quick"] else "")
    )
    rows: list[list[object]] = [["queries", "together s", "one by one s", "times", "records kept"]]
    rows += [
        [
            cell["queries"], f"{cell['together_s']:,.2f}", f"{cell['one_by_one_s']:,.1f}",
            f"{cell['one_by_one_s'] / cell['together_s']:,.1f}", f"{cell['kept']:,}",
        ]
        for cell in certain["cells"]
    ]  # fmt: skip
    kept = (
        f"The query that keeps most keeps {certain['kept_by_the_largest']:,} records alone; all"
        f" together keep {certain['kept_together']:,}."
    )
    mean = doubtful["mean"]
    uncertain = (
        f"{doubtful['queries']} uncertain queries (PK_TOPK, k {KS[0]} to {KS[1]}, FREQUENCY"
        f" {FREQUENCIES[0]} to {FREQUENCIES[1]} s) on {short(doubtful['rows'])} readings, windows"
        f" of {doubtful['window']:,}; mean of {len(doubtful['sets'])} sets: together"
        f" {mean['together_s']:,.2f} s, one by one {mean['one_by_one_s']:,.2f} s"
        f" ({doubtful['ratio']:,.1f} times). By the plans NS costs {doubtful['cost_ratio']:,.1f}"
        f" times what DP costs (mean of {PLANNED} sets)."
    )
    plans = (
        f"Plans in the engine: {sharing_plans.RATE} records a second, windows of"
        f" {sharing_plans.WINDOW} s, FREQUENCY {FREQUENCIES[0]} to {FREQUENCIES[1]} s; milliseconds"
        " from the records of a second to its results:\n\n" + sharing_plans.table(result["plans"])
    )
    return "\n\n".join(
        [head, machine_line(result["machine"]), columns(rows, left=0), kept, uncertain, plans,
         goal_lines(result["goals"])]
    )  # fmt: skip


__all__ = ["run", "table"]
