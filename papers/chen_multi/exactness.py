"""Every result of the engine, by each plan, against a walk through its whole window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from papers.chen_multi.experiments import stream_of
from papers.chen_multi.sizes import ORDER, FigurePoint, Size
from papers.chen_multi.stream import SECOND, WIDTH, Stream, demands
from papers.chen_multi.walk import walk_with_rules
from papers.reproduction import Say

import crestline
from crestline.sharing import Demand


def exact(size: Size, say: Say) -> list[dict[str, Any]]:
    """Queries as one text, by each plan, through the whole engine: every result against a walk
    through all the records of its window."""
    found = []
    n = size.exact_window
    every = WIDTH * SECOND // n
    for kind in ("synthetic", "icebergs"):
        stream = stream_of(FigurePoint(kind), 2 * n)
        assert stream is not None
        rule = pa.array([None if r < 0 else r for r in stream.rule.tolist()], pa.int64())
        table = pa.table(
            {"ts": pa.array(np.arange(2 * n) * every, pa.timestamp("us", "UTC")),
             "id": np.arange(2 * n), "value": stream.score, "p": stream.probability, "rule": rule}
        )  # fmt: skip
        asked = demands("uu", size.exact_queries, (2, 20), seed=1)
        for plan in ORDER:
            say(f"exactness: {plan} on {kind}")
            results = crestline.run(queries(asked, plan), {"s": table})
            told = [_answers(results.of(d.name)) for d in asked]
            same = [
                _is_right(stream, n, every, d.k, end, answer)
                for d, answers in zip(asked, told, strict=True)
                for end, answer in answers.items()
            ]
            found.append({"stream": kind, "plan": plan, "results": len(same), "right": sum(same)})
    return found


def queries(asked: Sequence[Demand], plan: str) -> str:
    return ";\n".join(
        f"CREATE QUERY {d.name} AS SELECT TOP {d.k} id FROM s [RANGE {WIDTH} SECONDS ON ts]"
        f" WITH PROBABILITY p EXCLUSIVE BY rule ORDER BY value DESC"
        f" FREQUENCY {d.frequency} SECONDS USING {plan}"
        for d in asked
    )


def _answers(results: pa.Table) -> dict[int, list[float]]:
    """By the end of the window: the probabilities told, best first."""
    found: dict[int, list[float]] = {}
    ends = results.column("window_end").cast(pa.int64()).to_pylist()
    for end, p in zip(ends, results.column("probability").to_pylist(), strict=True):
        found.setdefault(end, []).append(p)
    return found


def _is_right(stream: Stream, n: int, every: int, k: int, end: int, answer: list[float]) -> bool:
    first = max(0, -(-(end - WIDTH * SECOND) // every))
    stop = min(len(stream.score), -(-end // every))
    value = walk_with_rules(k, *stream.ranked(first, stop - first))
    best = np.sort(value)[::-1][:k]
    return len(best) == len(answer) and bool(np.allclose(best, answer, rtol=1e-9, atol=1e-15))
