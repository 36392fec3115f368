"""The streams of the experiments: ranks that are all different, in random order of arrival.

Synthetic, as the paper has it: ranks are a random permutation, probabilities uniform. Icebergs:
sightings drawn at random with replacement, as the paper does, each with the probability of its
method. The paper ranks them by the days that a berg has drifted, a column that the file at hand
lacks; here it is the days since the berg was first sighted in its ice year. Equal ones are put in
random order, since the paper assumes that no two tuples rank equally. The sightings are real where
they are at hand (in the folder that `CRESTLINE_DATA` names, or in `shared/data` beside the
project), generated elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from papers.jin2008.example import EXPECTED

from crestline.core.batch import Uncertainty
from crestline.streams import generate
from crestline.types import Floats, Ints

_REAL = "iip_icebergs_2014_2021.parquet"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
_DAY = 86_400_000_000
KINDS = ("synthetic", "icebergs")


@dataclass(frozen=True, slots=True)
class Stream:
    """Scores, all different (the larger, the better), and probabilities, in order of arrival."""

    score: Floats
    probability: Floats

    def doubt(self, places: Ints) -> Uncertainty:
        """Of the records in these places: no two exclude one another."""
        none = np.full(len(places), -1)
        return Uncertainty(self.probability[places], none, np.zeros(len(places), np.int64))

    def best(self, count: int) -> Floats:
        """The probabilities of the records that rank highest, best first."""
        places = np.argpartition(-self.score, count - 1)[:count]
        chosen: Floats = self.probability[places[np.argsort(-self.score[places])]]
        return chosen


def stream(kind: str, count: int, seed: int = 1) -> Stream:
    """So many records of one of the two kinds."""
    rng = np.random.default_rng(seed)
    if kind == "synthetic":
        # 1 - [0, 1): a probability of 0 does not exist
        return Stream(rng.permutation(count).astype(np.float64), 1.0 - rng.random(count))
    _, days, probability = sightings()
    drawn = rng.integers(0, len(days), count)
    score = np.empty(count)
    score[np.lexsort((rng.random(count), days[drawn]))] = np.arange(count)
    return Stream(score, probability[drawn])


@cache
def sightings() -> tuple[str, Floats, Floats]:
    """What the sightings are; the days since their bergs were first seen; their probabilities."""
    named = os.environ.get("CRESTLINE_DATA")
    path = (Path(named) if named else _BESIDE) / _REAL
    if path.is_file():
        table = pq.read_table(path, columns=["ts", "ice_year", "berg_number", "method"])
        year, berg = table.column("ice_year").to_numpy(), table.column("berg_number").to_numpy()
        whose = year.astype(np.int64) * 1_000_000 + berg  # numbers begin anew with every ice year
        name = "iceberg sightings of the ice years 2014 and 2021 (International Ice Patrol)"
    else:
        table = pa.Table.from_batches(list(generate("icebergs", 23_000, seed=1)))
        whose = table.column("berg").to_numpy()
        name = "generated sightings of icebergs"
    at = table.column("ts").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    _, number = np.unique(whose, return_inverse=True)
    first = np.full(number.max() + 1, at.max())
    np.minimum.at(first, number, at)
    trust = EXPECTED["icebergs"]["probability"]
    probability = np.array([trust[method] for method in table.column("method").to_pylist()])
    return f"{len(at):,} {name}", (at - first[number]) / _DAY, probability
