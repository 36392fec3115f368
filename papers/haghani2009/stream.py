"""The streams of section 6.1.1.

Synthetic: ``crestline generate sightings``, the paper's generator; values are uniform in [0, 1],
and C, the number of recent objects of each stream, is 50: the paper does not say.

Real: the paper's requests to the servers of the 1998 World Cup are not at hand. In their place
stand flows at three routers (Westermo network traffic data set), where they are at hand (in the
folder that `CRESTLINE_DATA` names, or in `shared/data` beside the project), generated ones
elsewhere. They are treated as the paper treats its requests: the bytes of a pair of addresses at a
router are added up over chunks of five seconds, and a pair that a router reports in several chunks
is broken into different objects, so that an object is the n-th chunk of its pair at each router.
Sums are divided by the largest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from papers.haghani2009.reference import Observation

from crestline.core.batch import Observations
from crestline.streams import generate
from crestline.types import Floats, Ints

#: C of the generator.
RECENT = 50
#: Seconds that are added up before a value is sent.
CHUNK = 5.0
_REAL = "netflow_westermo_3routers_20230310.parquet"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Stream:
    """Observations in the order of arrival."""

    object: Ints
    stream: Ints
    value: Floats
    #: How many streams there are.
    streams: int

    def __len__(self) -> int:
        return len(self.value)

    def sighting(self, places: slice) -> Observations:
        return Observations.of(self.object[places], self.stream[places])

    def history(self, places: slice) -> list[Observation]:
        """As the reference wants them; the time of a record is its number."""
        columns = (self.object[places], self.stream[places], self.value[places])
        numbers = range(*places.indices(len(self)))
        return list(zip(*(column.tolist() for column in columns), numbers, strict=True))


def synthetic(count: int, streams: int, xi: float, seed: int = 1) -> Stream:
    options = {"streams": streams, "xi": xi, "recent": RECENT}
    table = pa.Table.from_batches(list(generate("sightings", count, seed, **options)))
    cameras = table.column("camera").unify_dictionaries().combine_chunks()
    return Stream(
        table.column("object").to_numpy(),
        cameras.indices.to_numpy().astype(np.int64),
        table.column("value").to_numpy(),
        streams,
    )


# -- real data ------------------------------------------------------------------------------------


def flows(streams: int) -> Stream:
    """Of so many routers, those with the most flows."""
    _, start, router, pair, size = _recorded()
    _, router, flows_each = np.unique(router, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-flows_each, kind="stable"))
    router = rank[router]
    used = router < streams
    start, router, pair, size = start[used], router[used], pair[used], size[used]

    # One observation for each chunk in which a router saw a pair.
    chunk = np.floor((start - start.min()) / CHUNK).astype(np.int64)
    order = np.lexsort((np.arange(len(start)), chunk, pair, router))
    keys = np.stack((router, pair, chunk))[:, order]
    begins = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
    router, pair, chunk = keys[:, begins]
    size = np.add.reduceat(size[order], begins)
    first = order[begins]

    # The n-th of its router and pair is the n-th object of that pair.
    anew = np.append(True, (router[1:] != router[:-1]) | (pair[1:] != pair[:-1]))
    place = np.arange(len(pair))
    nth = place - np.maximum.accumulate(np.where(anew, place, 0))
    _, objects = np.unique(pair * (nth.max() + 1) + nth, return_inverse=True)

    sent = np.lexsort((first, chunk))  # chunk by chunk, within it as the flows came
    return Stream(objects[sent], router[sent], (size / size.max())[sent], streams)


def routers() -> int:
    return len(np.unique(_recorded()[2]))


def recording() -> str:
    """What the flows are."""
    name, start, *_ = _recorded()
    return f"{len(start):,} {name}"


@cache
def _recorded() -> tuple[str, Floats, Ints, Ints, Floats]:
    """Name; start in seconds, router, pair of addresses and bytes of each flow, by start."""
    named = os.environ.get("CRESTLINE_DATA")
    path = (Path(named) if named else _BESIDE) / _REAL
    if path.is_file():
        table = pq.read_table(path)
        start = table.column("start").to_numpy()
        source, target = table.column("sAddress"), table.column("rAddress")
        size = table.column("sBytesSum").to_numpy() + table.column("rBytesSum").to_numpy()
        name = "flows at three routers (Westermo network traffic data set)"
    else:
        table = pa.Table.from_batches(list(generate("flows", 48_000, seed=1, rate=9, hosts=12)))
        start = table.column("start").cast(pa.int64()).to_numpy() / 1e6
        source, target = table.column("src"), table.column("dst")
        size = table.column("bytes").to_numpy()
        name = "generated flows at three routers"
    pairs = zip(source.to_pylist(), target.to_pylist(), strict=True)
    _, pair = np.unique([f"{a} {b}" for a, b in pairs], return_inverse=True)
    _, router = np.unique(table.column("router").to_pylist(), return_inverse=True)
    return name, start, router, pair, size.astype(np.float64)
