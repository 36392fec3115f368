"""Part two of the suite `arrivals`: many standing queries on one stream of points."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Say, best_of, timed

#: A change of the top k: how many records had arrived, and the best of them from then on.
Changes = list[tuple[int, tuple[int, ...]]]
#: Points that follow the first window.
_FURTHER = 500_000
_BUFFER = 2_000
#: What RAPF is compared with, with the grid.
STRICT_FILTERS = ("RASF", "SASF")


def standing(
    queries: int, n: int, k: int, seconds: float, turns: int, say: Say
) -> dict[str, Any] | None:
    """Nearest-neighbour queries on points in a square: RAPF with the grid and without, and
    algorithms with a strict filter, with the grid."""
    try:
        from crestline.certain.standing import Distance, StandingQueries
    except ImportError:
        say("standing queries left out: crestline.certain.standing is missing")
        return None
    rng = np.random.default_rng(2)
    places, points = rng.random((queries, 2)), rng.random((n + _FURTHER, 2))
    boards = {}
    told: dict[str, dict[int, Changes]] = {}
    for name in ("with", "without", *STRICT_FILTERS):
        boards[name] = StandingQueries(
            dimensions=2,
            algorithm=name if name in STRICT_FILTERS else "RAPF",
            resolution=1 if name == "without" else None,
            buffer=min(_BUFFER, (n + 1) // 2),
        )
        for place in places.tolist():
            boards[name].add(Distance(tuple(place)), k=k, window=n)
        by_query: dict[int, Changes] = {}
        for query, end, ids, _ in boards[name].observe(points[:n]):
            top = tuple(ids.tolist())
            mine = by_query.setdefault(query, [])
            if not mine or mine[-1][1] != top:
                mine.append((end, top))
        told[name] = by_query
    at = dict.fromkeys(boards, n)

    def go_on(name: str, count: int) -> None:
        boards[name].observe(points[at[name] : at[name] + count])
        at[name] += count

    # What follows is as the window before, so that each turn may take further points.
    most = _FURTHER // (turns + 1)
    counts = {}
    for name in boards:
        took = timed(partial(go_on, name, 1_000))
        counts[name] = max(1_000, min(most, int(1_000 * seconds / took)) // 1_000 * 1_000)
    best = best_of([partial(go_on, name, counts[name]) for name in boards], turns, at_least=turns)
    speed = {name: counts[name] / took for name, took in zip(boards, best, strict=True)}
    return {
        "queries": queries,
        "compared": sum(map(len, told["with"].values())),
        "agrees": all(each == told["with"] for each in told.values()),
        "resolution": boards["with"].resolution,
        "a_second": speed,
        "records": counts,
        "touched": {name: board.touched / at[name] for name, board in boards.items()},
        "kept": boards["with"].candidates,
        "buffered": boards["with"].buffered,
    }
