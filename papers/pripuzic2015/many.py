"""Many standing queries on one stream, with a grid over the queries and without (section 6).

Queries are points sampled from the stream. SA and RA have no threshold that a grid could use. CPM/w
and SNN have a grid of the objects, too, and are measured where the paper has them: in Figure 9.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from papers.pripuzic2015 import stream
from papers.pripuzic2015.example import EXAMPLE, SCORES
from papers.pripuzic2015.judging import RIVALS
from papers.pripuzic2015.sizes import Size

from crestline.certain.standing import Distance, StandingQueries
from crestline.types import Floats

Say = Callable[[str], None]
ALGORITHMS = ("PA", "RAPF", "SAPF", "RASF", "SASF", "RA", "SA")
WITHOUT_THRESHOLD = ("RA", "SA")
#: All that have a threshold. RAPF2 is RAPF with the longest buffer there can be.
INDEXED = ("PA", "RAPF2", "RAPF", "SAPF", "RARF", "SARF", "RASF", "SASF", *RIVALS)
#: The streams of Figure 9; all but the last are those of Figure 10.
FIGURE_9 = ("uniform", "clustered", "stations, shuffled", "stations")


def table_iii() -> dict[str, Any]:
    """SASF with the grid itself, in one dimension: band, filter and the threshold in force."""
    expected = EXAMPLE["table_iii"]
    queries = StandingQueries(
        1, algorithm="SASF", low=0.0, high=3.0 * expected["edge"], resolution=3,
        buffer=expected["buffer"],
    )  # fmt: skip
    number = queries.add(Distance((0.0,)), k=EXAMPLE["k"], window=EXAMPLE["window"])
    rows: dict[str, list[Any]] = {"band": [], "filter": [], "threshold": []}
    for score in SCORES:
        queries.observe(np.array([[score]]))
        rows["band"].append([int(i) + 1 for i in queries.band(number)[0]])
        rows["filter"].append([int(i) + 1 for i in queries.filter(number)[0]])
        covered = -queries.covered(number)
        rows["threshold"].append(f"s{SCORES.index(covered) + 1}" if covered in SCORES else covered)
    return rows


def _standing(
    size: Size, algorithm: str, queries: int, k: int, n: int, b: int, resolution: int | None,
    points: Floats,
) -> StandingQueries:  # fmt: skip
    """Queries at points of the stream, their windows filled."""
    longest = algorithm == "RAPF2"
    run = StandingQueries(
        points.shape[1], algorithm="RAPF" if longest else algorithm, resolution=resolution,
        buffer=n // 2 if longest else min(b, n // 2), gamma=size.gamma, error=size.sigma,
    )  # fmt: skip
    for number in range(queries):
        point = stream.query_of(points, number)
        run.add(Distance(tuple(point.tolist())), k=k, window=n)
    run.observe(points[:n])
    return run


def _measured(
    size: Size,
    algorithm: str,
    queries: int,
    grid: bool,
    points: Floats,
    k: int | None = None,
    resolution: int | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    run = _standing(
        size, algorithm, queries, k or size.k, size.many_n, size.b, resolution if grid else 1,
        points,
    )  # fmt: skip
    touched, spent, records = run.touched, 0.0, 0
    for first in range(size.many_n, len(points), size.many_batch):
        part = points[first : first + size.many_batch]
        started = time.process_time()
        run.observe(part)
        spent += time.process_time() - started
        records += len(part)
        if spent > (seconds or size.many_seconds):
            break
    return {
        "algorithm": algorithm,
        "grid": grid,
        "queries": queries,
        "dimensions": points.shape[1],
        "resolution": run.resolution,
        "microseconds": spent / records * 1e6,
        "touched": (run.touched - touched) / records,
        "references": run.candidates / queries,
        "records": records,
    }


def _both(size: Size, queries: int, points: Floats) -> list[Any]:
    found = []
    for algorithm in ALGORITHMS:
        found.append(_measured(size, algorithm, queries, False, points))
        if algorithm not in WITHOUT_THRESHOLD:
            found.append(_measured(size, algorithm, queries, True, points))
    return found


def warm_up() -> None:
    """Compile the kernels."""
    tiny = Size(many_n=100, many_measured=100, many_batch=50, b=20)
    points = stream.points("uniform", 200)
    _both(tiny, 3, points)
    for rival in RIVALS:
        _measured(tiny, rival, 3, True, points)


def by_queries(size: Size, say: Say) -> list[Any]:
    """Figure 11(c): growing numbers of queries."""
    found = []
    points = stream.points("uniform", size.many_n + size.many_measured)
    for queries in size.queries:
        say(f"many queries: {queries}")
        found += _both(size, queries, points)
    return found


def by_dimensions(size: Size, say: Say) -> list[Any]:
    """Figure 11(a): growing dimensions."""
    found = []
    for dimensions in size.dimensions:
        say(f"many queries: {dimensions} dimensions")
        points = stream.points("uniform", size.many_n + size.many_measured, dimensions)
        found += _both(size, size.queries_by_dimensions, points)
    return found


def by_kind(size: Size, say: Say) -> dict[str, Any]:
    """Figures 9 and 10: the streams."""
    found = {}
    for kind in stream.POINTS:
        say(f"many queries: {kind}")
        points = stream.points(kind, size.many_n + size.many_measured)
        found[kind] = _both(size, size.queries_by_dimensions, points)
    return found


def many_by_k(size: Size, say: Say) -> dict[str, Any]:
    """Figures 9 and 10: growing k, with the grid and, for a few, without; by stream."""
    found: dict[str, Any] = {}
    for kind in FIGURE_9:
        points = stream.points(kind, size.many_n + size.many_measured)
        runs = []
        for grid, ks, names in (
            (True, size.many_ks, INDEXED),
            (False, size.plain_ks if kind in stream.RANDOM_ORDER else (), ("PA", "RAPF", "SASF")),
        ):
            for k in ks:
                say(f"many queries: {kind}, k = {k}{'' if grid else ', without grid'}")
                for name in names:
                    run = _measured(
                        size, name, size.queries_by_k, grid, points, k, seconds=size.by_k_seconds
                    )
                    runs.append({"k": k} | run | {"algorithm": name})
        found[kind] = runs
    return {"n": size.many_n, "queries": size.queries_by_k, "runs": found}


def by_resolution(size: Size, say: Say) -> dict[str, Any]:
    """Figure 11(b): grids of growing resolution, in four dimensions."""
    points = stream.points("uniform", size.many_n + size.many_measured, 4)
    found = []
    for resolution in size.resolutions:
        say(f"many queries: resolution {resolution}")
        for name in ("PA", "RAPF", "SAPF", "RASF", "SASF"):
            found.append(
                _measured(size, name, size.queries_by_k, True, points, resolution=resolution)
            )
    return {"n": size.many_n, "queries": size.queries_by_k, "runs": found}


def stored(size: Size, say: Say) -> dict[str, Any]:
    """Figure 12(a): distinct objects in memory for each query, without a grid. An object is stored
    once, however many queries refer to it; those of the recent buffer are stored anyway."""
    share = size.stored_share
    n, b, queries = size.n // share, size.b // share, 400 // share
    points = stream.points("uniform", 3 * n // 2)
    found = []
    for k in size.ks:
        say(f"objects stored: k = {k}")
        for name in ("SA", "RA", "SASF", "SAPF", "RAPF", "PA"):
            run = _standing(size, name, queries, k, n, b, 1, points)
            run.observe(points[n:])
            found.append({"k": k, "algorithm": name, "objects": len(run.ids()) / queries})
    return {"n": n, "b": b, "queries": queries, "runs": found}
