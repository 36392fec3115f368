"""The measurements of section 6: sizes of compact sets, space and time of the five synopses.

**Space** is counted as the paper counts it: 6 bytes for every tuple that is written down (several
times, if it is in several sets), 4 for every entry of the array r, of which there are k for each
tuple of the window's compact set. **Time** is CPU time of the process (`time.process_time`), so
that other programs on the machine disturb it little; the window is full, compilation is over, and
answers are told where they change. Each synopsis is measured until it has seen enough records or
has taken long enough: the slow ones see fewer.

Windows are of time, with a record a tick, which is the same as counting records. So a window can be
filled with a part of its records, each at its own tick: the slow synopses are filled with what a
faster one has kept, as what it has forgotten is in no compact set to come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from papers.jin2008.example import EXPECTED, MEANINGS, SYNOPSES
from papers.jin2008.stream import KINDS, Stream, stream

from crestline.core.batch import Batch
from crestline.kernels.uncertain.csq import SETS
from crestline.kernels.uncertain.lists import CHANCE, FLOATS, INTS, RULE, RecordList
from crestline.kernels.uncertain.ranked import DEPTH
from crestline.kernels.uncertain.steps import depth
from crestline.types import Ints
from crestline.uncertain import Naive
from crestline.uncertain.csq import CSQPartition
from crestline.uncertain.window import WindowPartition

Say = Callable[[str], None]
#: Bytes of a tuple, and of an entry of r.
TUPLE, ENTRY = EXPECTED["bytes"]["tuple"], EXPECTED["bytes"]["entry"]
#: Records a batch: so few that a slow synopsis stops in time, so many that calling it costs little.
BATCH = {"BS": 10_000, "CSQ": 200, "CCSQ": 200, "SCSQ": 2_000, "SCSQ-Buffer": 10_000}
#: From the fastest to the slowest: each is filled with what the one before it has kept.
_CHAIN = ("SCSQ-Buffer", "SCSQ", "CCSQ", "CSQ")


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are. The paper's k and W stand in its figures, which are lost."""

    records: int = 1_000_000
    # compact sets of all records: for the ks below and larger ones, for so many data sets
    compact_ks: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    data_sets: int = 10
    # space and time: over k with this window, over the windows with this k
    window: int = 100_000
    ks: tuple[int, ...] = (5, 10, 20, 40)
    k: int = 10
    windows: tuple[int, ...] = (1_000, 10_000, 100_000, 500_000)
    measured: int = 200_000
    seconds: float = 0.4
    # segments: counted at so many places of the stream
    places: int = 12
    # exactness: against the whole window, after every arrival
    exact_records: int = 200
    exact_window: int = 60


SIZES = {
    "quick": Size(
        records=60_000, compact_ks=(5, 10, 20, 40), data_sets=3, window=10_000, ks=(5, 10, 20),
        windows=(1_000, 10_000, 40_000), measured=20_000, seconds=0.05, places=4,
        exact_records=100, exact_window=30,
    ),
    "default": Size(),
    "full": Size(
        data_sets=40, ks=(5, 10, 20, 40, 80), measured=400_000, seconds=4.0, places=40,
        exact_records=600, exact_window=100,
    ),
}  # fmt: skip


# -- compact sets ---------------------------------------------------------------------------------


def compact_size(meaning: str, k: int, records: Stream) -> int:
    """How many of the highest ranks decide the answer; all records, if nothing less does."""
    query = SYNOPSES["BS"](k, 1, **MEANINGS[meaning])._query
    total, some = len(records.score), 4 * k + 50
    while True:
        some = min(some, total)
        floats, ints = np.zeros((FLOATS, some)), np.zeros((INTS, some), np.int64)
        floats[CHANCE], ints[RULE] = records.best(some), -1
        found = depth(query, RecordList(floats, ints), 0, some)
        if found >= 0 or some == total:
            return int(found) if found >= 0 else total
        some *= 4


def compact(size: Size, say: Say) -> dict[str, Any]:
    """Figure 3, for all four meanings and both streams."""
    found: dict[tuple[str, str, int], list[int]] = {}
    for seed in range(1, size.data_sets + 1):
        for kind in KINDS:
            say(f"compact sets: data set {seed}, {kind}")
            records = stream(kind, size.records, seed)
            for meaning in MEANINGS:
                for k in size.compact_ks:
                    length = compact_size(meaning, k, records)
                    found.setdefault((kind, meaning, k), []).append(length)
    runs = [
        {"stream": kind, "meaning": meaning, "k": k, "mean": float(np.mean(lengths)),
         "least": min(lengths), "most": max(lengths)}
        for (kind, meaning, k), lengths in found.items()
    ]  # fmt: skip
    return {"records": size.records, "data_sets": size.data_sets, "runs": runs}


# -- space and time -------------------------------------------------------------------------------


def feed(operator: Any, records: Stream, places: Ints) -> float:
    """Let records arrive, each at its place as the time; the seconds taken."""
    scores, doubt = records.score[places], records.doubt(places)
    started = time.process_time()
    operator.observe(Batch(scores, places, uncertainty=doubt))
    operator.advance(int(places[-1]))
    return time.process_time() - started


def filled(
    records: Stream, meaning: str, k: int, window: int, start: int = 0
) -> Iterator[tuple[str, Any]]:
    """Every synopsis with a full window of the records from ``start`` on."""
    everything = needed = np.arange(start, start + window)
    for name in (*_CHAIN, "BS"):
        operator = _made(name, meaning, k, window)
        feed(operator, records, needed if name in _CHAIN else everything)
        if name in _CHAIN:
            needed = needed[np.sort(operator.ids())]
        yield name, operator


def _made(name: str, meaning: str, k: int, window: int) -> Any:
    return SYNOPSES[name](k, window, only_changes=True, **MEANINGS[meaning])


def window_set(operator: Any) -> int:
    """How many records the compact set of the whole window has."""
    part = operator._parts[0]
    if isinstance(part, WindowPartition):
        return int(part.meta[DEPTH])
    if isinstance(part, CSQPartition):
        return int(part.extra["bounds"][1]) if part.meta[SETS] else part.filled("newest")
    return int(part.filled("whole"))


def measure(size: Size, name: str, operator: Any, records: Stream, at: int) -> dict[str, Any]:
    """Time a record, and the mean space: records arrive from the place ``at`` on."""
    batch = min(BATCH[name], size.measured)
    spent, seen = 0.0, 0
    tuples, entries = [], []
    while seen == 0 or (spent < size.seconds and seen + batch <= size.measured):
        spent += feed(operator, records, np.arange(at + seen, at + seen + batch))
        seen += batch
        tuples.append(operator.space)
        entries.append(operator.k * window_set(operator))
    return {
        "synopsis": name,
        "microseconds": spent / seen * 1e6,
        "records": seen,
        "tuples": float(np.mean(tuples)),
        "bytes": float(TUPLE * np.mean(tuples) + ENTRY * np.mean(entries)),
        "compact": float(np.mean(entries)) / operator.k,
    }


def costs(size: Size, kind: str, meaning: str, say: Say) -> dict[str, Any]:
    """Space and time over k and over the window: one panel of Figures 4 to 10 each."""
    records = stream(kind, size.records)
    settings = {(k, size.window) for k in size.ks} | {(size.k, w) for w in size.windows}
    runs = []
    for k, window in sorted(settings):
        say(f"{meaning} on {kind}: k = {k}, W = {window:,}")
        for name, operator in filled(records, meaning, k, window):
            found = measure(size, name, operator, records, window)
            runs.append({"k": k, "window": window} | found)
    return {
        "k": size.k,
        "window": size.window,
        "by_k": [run for run in runs if run["window"] == size.window and run["k"] in size.ks],
        "by_window": [run for run in runs if run["k"] == size.k and run["window"] in size.windows],
    }


def warm_up() -> None:
    """Compile every kernel, by going once through all that is measured."""
    tiny = Size(measured=400, seconds=0.01)
    for meaning in MEANINGS:
        records = stream("synthetic", 2_000)
        compact_size(meaning, 3, records)
        for name, operator in filled(records, meaning, 3, 500):
            measure(tiny, name, operator, records, 500)


# -- segments and exactness -----------------------------------------------------------------------


def segments(size: Size, say: Say) -> list[dict[str, Any]]:
    """Lemma 4.4: how many segments there are, over the window."""
    found = []
    records = stream("synthetic", size.records, seed=2)
    for window in size.windows:
        say(f"segments: W = {window:,}")
        starts = np.linspace(0, size.records - window, size.places, dtype=np.int64)
        counts: dict[str, list[int]] = {}
        sets = []
        for start in starts:
            for name, operator in filled(records, "Pk-topk", size.k, window, int(start)):
                counts.setdefault(name, []).append(len(operator._parts[0].segments()))
                sets.append(window_set(operator))
                if name == "SCSQ":  # the others have no segments
                    break
        found += [
            {"synopsis": name, "window": window, "k": size.k, "mean": float(np.mean(of)),
             "most": max(of), "compact": float(np.mean(sets))}
            for name, of in counts.items()
        ]  # fmt: skip
    return found


def exact(size: Size, say: Say) -> dict[str, Any]:
    """Every synopsis against the answer from the whole window, after every arrival."""
    found = []
    for kind in KINDS:
        records = stream(kind, size.exact_records, seed=3)
        for meaning, asked in MEANINGS.items():
            say(f"exactness: {meaning} on {kind}")
            judged = _answers(Naive(4, size.exact_window, 1, **asked), records)
            for name, make in SYNOPSES.items():
                mine = _answers(make(4, size.exact_window, 1, **asked), records)
                same = all(_same(*pair) for pair in zip(mine, judged, strict=True))
                found.append({"stream": kind, "meaning": meaning, "synopsis": name, "same": same})
    return {"arrivals": size.exact_records, "window": size.exact_window, "runs": found}


def _answers(operator: Any, records: Stream) -> tuple[Any, ...]:
    places = np.arange(len(records.score))
    operator.observe(Batch(records.score, uncertainty=records.doubt(places)))
    told = operator.advance()
    return told.end, told.offset, told.id, told.probability


def _same(mine: Any, judged: Any) -> bool:
    return mine.shape == judged.shape and bool(np.allclose(mine, judged, rtol=1e-9, atol=0))
