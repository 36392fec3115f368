"""Part two of the suite `arrivals`: many standing queries on one stream, run by the engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import Say

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


def standing(
    numbers: Sequence[int], records: int, window: int, k: int, turns: int, say: Say
) -> list[dict[str, Any]]:
    """`crestline.run` of so many queries in one text: sharing one structure, and each alone."""
    import crestline

    rng = np.random.default_rng(2)
    x, y = rng.random((2, records))
    stream = {"s": pa.table({"id": np.arange(records), "x": x, "y": y})}
    cells = []
    for ranking in _RANKINGS.values():  # compile
        for using in ("", " USING RAPF"):
            crestline.run(_text(2, k, window, ranking, using), stream)
    for kind, ranking in _RANKINGS.items():
        for number in numbers:
            texts = {
                name: _text(number, k, window, ranking, using)
                for name, using in (("shared", ""), ("alone", " USING RAPF"))
            }
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
                    "agrees": rows["shared"] == rows["alone"],
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


__all__ = ["Changes", "standing"]
