"""Part two of the suite `arrivals`: many standing queries on one stream, run by the engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import Say, best_of, timed

#: A change of the top k: how many records had arrived, and the best of them from then on.
Changes = list[tuple[int, tuple[int, ...]]]

#: How queries rank: by a point, by weights, and by an expression without a place.
_RANKINGS = {
    "points": "DISTANCE((x, y), ({a:.6f}, {b:.6f}))",
    "weights": "{a:.6f} * x - {b:.6f} * y DESC",
    "expressions": "abs(x - {a:.6f}) * abs(y - {b:.6f})",
}


#: So many queries alone take long: they are measured once.
_MANY = 100
#: Points that follow the first window.
_FURTHER = 500_000
_BUFFER = 2_000
#: What RAPF is compared with, with the grid.
STRICT_FILTERS = ("RASF", "SASF")
#: They read answers from cells that hold the window.
FROM_CELLS = ("CPM", "SNN")


def standing(
    numbers: Sequence[int], records: int, window: int, k: int, turns: int, say: Say
) -> list[dict[str, Any]]:
    """`crestline.run` of so many queries in one text: sharing one structure, each alone and, if
    they have places, sharing one grid of records."""
    import crestline

    rng = np.random.default_rng(2)
    x, y = rng.random((2, records))
    stream = {"s": pa.table({"id": np.arange(records), "x": x, "y": y})}
    cells = []
    for ranking in _RANKINGS.values():  # compile
        for using in ("", *(f" USING {name}" for name in ("RAPF", *FROM_CELLS))):
            crestline.run(_text(2, k, window, ranking, using), stream)
    for kind, ranking in _RANKINGS.items():
        for number in numbers:
            texts = {
                name: _text(number, k, window, ranking, using)
                for name, using in (("shared", ""), ("alone", " USING RAPF"))
            }
            if kind != "expressions":
                for name in FROM_CELLS:
                    texts[name] = _text(number, k, window, ranking, f" USING {name}")
            say(f"{number} standing queries by {kind}")
            best: dict[str, float] = {}
            rows = {}
            for _ in range(turns if number < _MANY else 1):
                for name, text in texts.items():
                    began = time.process_time()
                    results = crestline.run(text, stream)
                    took = time.process_time() - began
                    rows[name] = [results.of(query) for query in results.by_query]
                    best[name] = min(took, best.get(name, took))
            cells.append(
                {
                    "kind": kind, "queries": number, "records": records, "window": window,
                    "seconds": best, "ratio": best["alone"] / best["shared"],
                    "agrees": all(each == rows["alone"] for each in rows.values()),
                    "changes": sum(map(len, rows["shared"])),
                }
            )  # fmt: skip
    return cells


def _text(number: int, k: int, window: int, ranking: str, using: str) -> str:
    """So many queries for changes, at places of their own."""
    return ";".join(
        f"CREATE QUERY q{i} AS SELECT TOP {k} id FROM s [ROWS {window}]"
        f" ORDER BY {ranking.format(a=a, b=b)} EMIT CHANGES{using}"
        for i, (a, b) in enumerate(np.random.default_rng(3).random((number, 2)))
    )


def by_filter(queries: int, n: int, k: int, seconds: float, turns: int) -> dict[str, Any]:
    """Nearest-neighbour queries on points in a square: RAPF with the grid and without, and, with
    the grid, algorithms with a strict filter and those that read cells."""
    from crestline.certain.standing import Distance, StandingQueries

    rng = np.random.default_rng(2)
    places, points = rng.random((queries, 2)), rng.random((n + _FURTHER, 2))
    runs = {}
    told: dict[str, dict[int, Changes]] = {}
    for name in ("with", "without", *STRICT_FILTERS, *FROM_CELLS):
        runs[name] = StandingQueries(
            dimensions=2,
            algorithm="RAPF" if name in ("with", "without") else name,
            resolution=1 if name == "without" else None,
            buffer=min(_BUFFER, (n + 1) // 2),
        )
        for place in places.tolist():
            runs[name].add(Distance(tuple(place)), k=k, window=n)
        by_query: dict[int, Changes] = {}
        for query, end, ids, _ in runs[name].observe(points[:n]):
            top = tuple(ids.tolist())
            mine = by_query.setdefault(query, [])
            if not mine or mine[-1][1] != top:
                mine.append((end, top))
        told[name] = by_query
    at = dict.fromkeys(runs, n)

    def go_on(name: str, count: int) -> None:
        runs[name].observe(points[at[name] : at[name] + count])
        at[name] += count

    # What follows is as the window before, so that each turn may take further points.
    most = _FURTHER // (turns + 1)
    counts = {}
    for name in runs:
        took = timed(partial(go_on, name, 1_000))
        counts[name] = max(1_000, min(most, int(1_000 * seconds / took)) // 1_000 * 1_000)
    best = best_of([partial(go_on, name, counts[name]) for name in runs], turns, at_least=turns)
    speed = {name: counts[name] / took for name, took in zip(runs, best, strict=True)}
    return {
        "queries": queries,
        "compared": sum(map(len, told["with"].values())),
        "agrees": all(each == told["with"] for each in told.values()),
        "resolution": runs["with"].resolution,
        "a_second": speed,
        "records": counts,
        "touched": {name: run.touched / at[name] for name, run in runs.items()},
        "kept": runs["with"].candidates,
        "buffered": runs["with"].buffered,
        "whole": runs["SNN"].buffered,
    }


__all__ = ["FROM_CELLS", "STRICT_FILTERS", "Changes", "by_filter", "standing"]
