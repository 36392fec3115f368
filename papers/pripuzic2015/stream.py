"""The streams of the experiments: scores, or points in the unit cube that are scored by distance.

Random order: scores drawn one by one; points uniform or in two clusters, as the paper has them; and
the readings of weather stations, shuffled. Correlated in time: points that walk at random and take
turns; and the same readings in the order of time. The readings are real where they are at hand (in
the folder that `CRESTLINE_DATA` names, or in `shared/data` beside the project), generated
elsewhere; the paper's own (LUCE, from the same sensor project) are not among them.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crestline.streams import generate
from crestline.types import Floats

_REAL = "sensorscope_stbernard_2007.parquet"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
#: What is not random order comes last.
POINTS = ("uniform", "clustered", "stations, shuffled", "walks", "stations")
RANDOM_ORDER = POINTS[:3]


def points(kind: str, count: int, dimensions: int = 2, seed: int = 1) -> Floats:
    """Points of the unit cube in the order of arrival; stations have no more than they have."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.random((count, dimensions))
    if kind == "clustered":
        return _clustered(rng, count, dimensions)
    if kind == "walks":
        return _walks(rng, count, dimensions)
    read = stations()[1]
    return rng.permutation(read)[:count] if kind == "stations, shuffled" else read[:count]


def _clustered(rng: np.random.Generator, count: int, dimensions: int) -> Floats:
    """Two centres, variance 0.1 in each dimension; what falls outside the cube is drawn again."""
    centres = rng.random((2, dimensions))
    drawn, found = 0, []
    while drawn < count:
        whose = rng.integers(0, 2, 2 * count)
        some = rng.normal(centres[whose], np.sqrt(0.1))
        inside = some[((some >= 0) & (some <= 1)).all(axis=1)]
        found.append(inside)
        drawn += len(inside)
    return np.concatenate(found)[:count]


def _walks(rng: np.random.Generator, count: int, dimensions: int, walkers: int = 20) -> Floats:
    """Walkers in turn, each with steps of 0.01, turned back at the sides of the cube."""
    rounds = -(-count // walkers)
    steps = rng.normal(0, 0.01, (rounds, walkers, dimensions))
    steps[0] = rng.random((walkers, dimensions))
    folded = np.abs(np.cumsum(steps, axis=0)) % 2
    walked: Floats = np.where(folded > 1, 2 - folded, folded).reshape(-1, dimensions)[:count]
    return walked


@cache
def stations() -> tuple[str, Floats]:
    """What the readings are, and temperature and humidity, each scaled to 0 .. 1, by time."""
    named = os.environ.get("CRESTLINE_DATA")
    path = (Path(named) if named else _BESIDE) / _REAL
    if path.is_file():
        table = pq.read_table(path, columns=["ambient_temp", "rel_humidity"])
        name = "readings of 23 weather stations, Grand St Bernard 2007"
    else:
        table = pa.Table.from_batches(list(generate("sensors", 560_000, seed=1)))
        table = table.select(["temperature", "humidity"])
        name = "generated readings of weather stations"
    columns = [pc.fill_null(column, np.nan).to_numpy() for column in table.columns]
    values = np.column_stack(columns).astype(np.float64)
    values = values[np.isfinite(values).all(axis=1)]
    # Sensor faults lie far outside and would leave all else in a corner.
    low, high = np.percentile(values, (0.5, 99.5), axis=0)
    values = values[((values >= low) & (values <= high)).all(axis=1)]
    return f"{len(values):,} {name}", np.ascontiguousarray((values - low) / (high - low))


def distances(at: Floats, query: Floats) -> Floats:
    """Scores: the nearest is the best, so distances are negative."""
    apart: Floats = -np.sqrt(((at - query) ** 2).sum(axis=1))
    return apart


def query_of(at: Floats, number: int) -> Floats:
    """One of the stream's own points, as the paper samples its queries from the data."""
    chosen: Floats = at[np.random.default_rng(1_000 + number).integers(0, len(at))]
    return chosen


def scores(kind: str, count: int, seed: int = 1) -> Floats:
    """Streams of scores, for the errors of PA and for the judge of exactness."""
    if kind == "random":
        return np.random.default_rng(seed).random(count)
    if kind in ("falling", "rising"):
        return np.linspace(1, 0, count) if kind == "falling" else np.linspace(0, 1, count)
    if kind == "sawtooth":  # five teeth, each falls
        return -(np.arange(count) % max(1, count // 5)).astype(np.float64)
    if kind == "equal":
        return np.ones(count)
    at = points(kind, count)
    return distances(at, query_of(at, seed))
