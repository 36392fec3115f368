"""Part three of the suite `arrivals`: the window in a grid, over the score or over attributes."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from benchmarks.measure import columns, short
from crestline import certain
from crestline.certain.grid import GridOperator
from crestline.certain.preferences import Distance, Preference, WeightedSum
from crestline.core.batch import Batch
from crestline.types import Floats

#: The algorithms, each with its slide as a share of the window (0: after every record) and a score.
_ALGORITHMS = (
    ("CPM", 0.0, "distance"), ("SNN", 0.0, "distance"), ("TMA", 0.1, "sum"), ("SMA", 0.1, "sum"),
)  # fmt: skip
DIMENSIONS = (2, 4, 6)


def grids(n: int, ks: tuple[int, ...], count: int, turns: int) -> list[dict[str, Any]]:
    """CPU nanoseconds a record, recomputations and bytes a record, by grid."""
    found = []
    for name, share, score in _ALGORITHMS:
        for dimensions in DIMENSIONS:
            points = np.random.default_rng(dimensions).random((n + count * turns, dimensions))
            preference, scores = _scored(score, points)
            for k in ks:
                slide = max(1, int(share * n))
                runs = [
                    _Run(name, k, n, slide, scores, points, each) for each in (None, preference)
                ]
                times = [float("inf"), float("inf")]
                for _ in range(turns):
                    for i, run in enumerate(runs):
                        began = process_time()
                        run.further(count)
                        times[i] = min(times[i], process_time() - began)
                agree = runs[0].top() == runs[1].top()
                for run, took in zip(runs, times, strict=True):
                    found.append(
                        {
                            "algorithm": name, "k": k, "dimensions": dimensions, "score": score,
                            "grid": "score" if run.preference is None else "attributes",
                            "nanoseconds": 1e9 * took / count, "bytes": run.bytes_each(),
                            "recomputed": run.operator.recomputed, "agrees": agree,
                        }
                    )  # fmt: skip
    return found


def _scored(score: str, points: Floats) -> tuple[Preference, Floats]:
    dimensions = points.shape[1]
    if score == "distance":
        place = np.full(dimensions, 0.4)
        away = -np.sqrt(((points - place) ** 2).sum(axis=1))
        return Distance(tuple(place.tolist())), away
    weights = np.linspace(1.0, -0.5, dimensions)
    return WeightedSum(tuple(weights.tolist())), points @ weights


class _Run:
    """An operator whose window is full."""

    def __init__(
        self, name: str, k: int, n: int, slide: int, scores: Floats, points: Floats,
        preference: Preference | None,
    ) -> None:  # fmt: skip
        self.scores, self.points, self.preference, self.at = scores, points, preference, 0
        make = getattr(certain, name)
        self.operator: GridOperator = make(k, n, slide, only_changes=True, preference=preference)
        self.further(n)
        self.operator.recomputed = 0

    def further(self, count: int) -> None:
        """Take further records in."""
        part = slice(self.at, self.at + count)
        points = None if self.preference is None else self.points[part]
        self.operator.observe(Batch(self.scores[part], points=points))
        self.operator.advance()
        self.at += count

    def top(self) -> list[int]:
        """The ids of the latest answer."""
        return [int(each) for each in self.operator.top()]

    def bytes_each(self) -> float:
        """Bytes of the state for each record of the window."""
        state = self.operator.state()["own"]
        used = len(state["score"]) - len(state["free"])
        record = sum(a.itemsize for n, a in state.items() if _is_slot(a, state))
        cells = sum(state[name].nbytes for name in ("cell_first", "cell_last"))
        return record + cells / max(used, 1)


def _is_slot(values: Any, state: dict[str, Any]) -> bool:
    return isinstance(values, np.ndarray) and len(values) == len(state["score"])


def table(found: list[dict[str, Any]], n: int) -> str:
    """The measured figures as text."""
    rows = [["", "k", "dimensions", "over the score", "over attributes", "times", "bytes"]]
    pairs = zip(found[::2], found[1::2], strict=True)
    for score, attributes in pairs:
        ratio = attributes["nanoseconds"] / score["nanoseconds"]
        rows.append(
            [
                f"{score['algorithm']}, {score['score']}", str(score["k"]),
                str(score["dimensions"]), f"{score['nanoseconds']:.0f}",
                f"{attributes['nanoseconds']:.0f}", f"{ratio:.2f}",
                f"{score['bytes']:.0f} / {attributes['bytes']:.0f}",
            ]
        )  # fmt: skip
    verdict = "agree" if all(each["agrees"] for each in found) else "DIFFER"
    return (
        f"The window of {short(n)} points in a grid, cells over the score or over the attributes"
        f" (`preference`): nanoseconds a record, and bytes kept for each. CPM and SNN answer after"
        f" every record, TMA and SMA ten times a window. The answers {verdict}\n" + columns(rows)
    )


__all__ = ["DIMENSIONS", "grids", "table"]
