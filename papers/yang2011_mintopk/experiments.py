"""The measurements of section 6, and the number of records kept.

CPU time is that of the process (`time.process_time`), so that other programs on the machine disturb
it little. A stream is delivered in batches of one slide, or of several slides where a slide has
fewer than 10,000 records: each batch is one `observe` and one `advance`. The windows are filled
first, which is not timed; nor is compilation. Only under uneven arrival (`by_arrival`) is each
slide a batch of its own, however small, because there the time to respond to it is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.held import held_bytes
from papers.yang2011_mintopk import recomputation
from papers.yang2011_mintopk.stream import Trades

from crestline.certain import SMA, TMA, MinTopK, Naive, PreTopK
from crestline.core.batch import Batch
from crestline.core.operator import Operator
from crestline.types import Floats, Ints

Say = Callable[[str], None]
Make = Callable[..., Operator]
ALGORITHMS: dict[str, Make] = {"MinTopk": MinTopK, "PreTopk": PreTopK, "SMA": SMA, "TMA": TMA}
RIVALS = ("MinTopk", "PreTopk", "SMA")
#: Batches hold at least this many records.
LEAST_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are; the paper's windows, slides and k unless told otherwise."""

    window: int = 1_000_000
    slide: int = 100_000
    slides: int = 20
    naive_slides: int = 3
    ks: tuple[int, ...] = (10, 100, 1_000, 10_000)
    k: int = 1_000
    windows: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    fixed_slide: int = 10_000
    wider: tuple[int, ...] = (100_000, 300_000, 1_000_000, 3_000_000)
    slide_sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    kept_panes: tuple[int, ...] = (10, 100, 1_000)
    kept_ks: tuple[int, ...] = (10, 100, 1_000)
    kept_slides: int = 500
    seconds: tuple[int, ...] = (1, 10, 100)
    seconds_window: int = 1_000
    responses: int = 1_000
    # who enters SMA's skyband: so many slides are counted
    recomputed_slides: tuple[int, ...] = (100, 1_000)
    # bytes: PreTopk takes minutes to fill a window of shorter slides
    least_bytes_slide: int = 1_000


SIZES = {
    "quick": Size(
        window=50_000, slide=5_000, slides=10, naive_slides=1, ks=(10, 100, 500), k=200,
        windows=(1_000, 10_000, 50_000), fixed_slide=2_000, wider=(20_000, 60_000, 200_000),
        slide_sizes=(100, 1_000, 5_000), kept_panes=(10, 100), kept_ks=(10, 100), kept_slides=200,
        responses=100, recomputed_slides=(50, 200),
    ),
    "default": Size(),
    "full": Size(slides=100, naive_slides=10, kept_slides=2_000, responses=10_000),
}  # fmt: skip


def batch_of(slide: int) -> int:
    """Records a batch: one slide, or as many slides as make `LEAST_BATCH` records."""
    return slide * max(1, -(-LEAST_BATCH // slide))


def drive(
    operator: Operator, scores: Floats, fill: int, slide: int, fill_batch: int | None = None
) -> dict[str, Any]:
    """Fill the window with the first `fill` scores, then measure over the rest."""
    step = fill_batch or batch_of(slide)
    for first in range(0, fill, step):
        operator.observe(scores[first : min(first + step, fill)])
        operator.advance()
    recomputed = getattr(operator, "recomputed", 0)
    batch, spent, kept = batch_of(slide), 0.0, []
    for first in range(fill, len(scores), batch):
        part = scores[first : first + batch]
        started = time.process_time()
        operator.observe(part)
        operator.advance()
        spent += time.process_time() - started
        kept.append(operator.candidates)
    records = len(scores) - fill
    measured = {
        "microseconds_a_record": spent / records * 1e6,
        "kept_mean": float(np.mean(kept)),
        "kept_most": int(max(kept)),
        "records": records,
        "batch": batch,
    }
    if hasattr(operator, "recomputed"):
        measured["recomputed_a_slide"] = (operator.recomputed - recomputed) / (records / slide)
    return measured


def warm_up() -> None:
    """Compile every kernel, for counting and for timed windows."""
    scores = np.random.default_rng(0).random(400)
    times = np.arange(400)
    for make in ALGORITHMS.values():
        for at in (None, times):
            operator = make(k=3, window=100, slide=10)
            operator.observe(Batch(scores, at))
            operator.advance(None if at is None else 400)


def kept(size: Size, say: Say) -> dict[str, Any]:
    """Records kept, in multiples of k, against H_C and the paper's 2."""
    found = []
    for panes in size.kept_panes:
        for k in size.kept_ks:
            say(f"records kept: C = {panes}, k = {k}")
            window, count = panes * k, (panes + size.kept_slides) * k
            scores = np.random.default_rng(panes + k).random(count)
            operator = MinTopK(k=k, window=window, slide=k)
            counts = []
            for first in range(0, count, k):
                operator.observe(scores[first : first + k])
                operator.advance()
                counts.append(operator.candidates)
            steady = np.array(counts[panes:]) / k
            h = float((1 / np.arange(1, panes + 1)).sum())
            sorted_scores = np.arange(2.0 * window)
            found.append(
                {
                    "panes": panes, "k": k, "slides": len(steady), "mean": float(steady.mean()),
                    "most": float(steady.max()), "h": h,
                    "rising": _kept_of(sorted_scores, k, window) / k,
                    "falling": _kept_of(-sorted_scores, k, window) / k,
                }
            )  # fmt: skip
    return {"multiples_of_k": found}


def _kept_of(scores: Floats, k: int, window: int) -> int:
    operator = MinTopK(k=k, window=window, slide=k)
    operator.observe(scores)
    operator.advance()
    return operator.candidates


def by_k(size: Size, trades: Trades, say: Say) -> dict[str, Any]:
    """Figures 7 and 8: CPU time and records kept for growing k."""
    scores = trades.longer(size.window + size.slides * size.slide)
    found = []
    for k in size.ks:
        for name, make in ALGORITHMS.items():
            say(f"k = {k:,}: {name}")
            operator = make(k=k, window=size.window, slide=size.slide)
            run = drive(operator, scores, size.window, size.slide)
            found.append({"k": k, "algorithm": name} | run)
    few = scores[: size.window + size.naive_slides * size.slide]
    say("the whole window sorted at every slide (Naive)")
    k = size.ks[-1]
    naive = drive(Naive(k, size.window, size.slide), few, size.window, size.slide, size.window)
    return {"runs": [*found, {"k": k, "algorithm": "Naive"} | naive]}


def by_window(size: Size, trades: Trades, say: Say) -> dict[str, Any]:
    """Figures 9 and 10: growing windows, the slide a tenth of them; then with the slide fixed."""
    found = []
    for window in size.windows:
        for name in RIVALS:
            say(f"window {window:,}, slide a tenth: {name}")
            run = _windowed(name, size, trades, window, window // 10)
            found.append({"window": window, "slide": window // 10, "algorithm": name} | run)
    fixed = []
    for window in size.wider:
        for name in RIVALS:
            say(f"window {window:,}, slide {size.fixed_slide:,}: {name}")
            run = _windowed(name, size, trades, window, size.fixed_slide)
            fixed.append({"window": window, "slide": size.fixed_slide, "algorithm": name} | run)
    return {"k": size.k, "tenth": found, "fixed": fixed}


def by_slide(size: Size, trades: Trades, say: Say) -> dict[str, Any]:
    """Figures 11 and 12: one window, slides of very different lengths."""
    found = []
    for slide in size.slide_sizes:
        for name in RIVALS:
            say(f"window {size.window:,}, slide {slide:,}: {name}")
            run = _windowed(name, size, trades, size.window, slide)
            found.append({"window": size.window, "slide": slide, "algorithm": name} | run)
    return {"k": size.k, "window": size.window, "runs": found}


def _windowed(name: str, size: Size, trades: Trades, window: int, slide: int) -> dict[str, Any]:
    measured = max(size.slides * slide, 5 * LEAST_BATCH)
    scores = trades.longer(window + measured)
    operator = ALGORITHMS[name](k=size.k, window=window, slide=slide)
    return drive(operator, scores, window, slide, max(slide, window // 10))


def by_arrival(size: Size, trades: Trades, say: Say) -> dict[str, Any]:
    """Figure 13: the time to respond to each slide of a stream that arrives unevenly."""
    day = trades.on_one_day()
    found = []
    for seconds in size.seconds:
        slide, window = seconds * 1_000_000, size.seconds_window * 1_000_000
        start = _busy_start(day.time) // slide * slide
        last = min(start + window + size.responses * slide, int(day.time[-1]))
        ends = np.arange(start + window, last + 1, slide)
        for name in RIVALS:
            say(f"uneven arrival, slide {seconds} s: {name}")
            operator = ALGORITHMS[name](k=size.k, window=window, slide=slide)
            spent, records = _respond(operator, day, start, ends)
            found.append({"seconds": seconds, "algorithm": name} | _spread(spent, records))
    return {"k": size.k, "window_seconds": size.seconds_window, "runs": found}


def _busy_start(time_of: Ints) -> int:
    """When trading begins in earnest: the first twentieth of the records has passed."""
    return int(time_of[len(time_of) // 20])


def _respond(operator: Operator, day: Trades, start: int, ends: Ints) -> tuple[Floats, Ints]:
    """Milliseconds and records of each slide: from its records having arrived to its result."""
    places = np.searchsorted(day.time, np.concatenate(([start], ends)))
    operator.observe(Batch(day.amount[places[0] : places[1]], day.time[places[0] : places[1]]))
    operator.advance(int(ends[0]))
    spent = np.empty(len(ends) - 1)
    for i, end in enumerate(ends[1:]):
        part = slice(places[i + 1], places[i + 2])
        scores, times = day.amount[part], day.time[part]
        started = time.process_time()
        operator.observe(Batch(scores, times))
        operator.advance(int(end))
        spent[i] = (time.process_time() - started) * 1e3
    return spent, np.diff(places[1:])


def _spread(milliseconds: Floats, records: Ints) -> dict[str, Any]:
    return {
        "windows": len(milliseconds),
        "records_least": int(records.min()),
        "records_mean": float(records.mean()),
        "records_most": int(records.max()),
        "least_ms": float(milliseconds.min()),
        "most_ms": float(milliseconds.max()),
        "mean_ms": float(milliseconds.mean()),
        "sd_ms": float(milliseconds.std()),
    }


def recomputed(size: Size, say: Say) -> list[dict[str, Any]]:
    """Recomputations a slide by the two rules of who enters SMA's skyband, on random scores."""
    found = []
    panes = size.window // size.slide
    for k in size.ks:
        for slides in size.recomputed_slides:
            say(f"recomputations, counted: k = {k:,}, {slides:,} slides")
            scores = recomputation.best_of_slides(k, size.slide, panes, slides, seed=k)
            for rule in recomputation.RULES:
                rate = recomputation.rate(rule, k, panes, scores)
                found.append({"rule": rule, "k": k, "slides": slides, "a_slide": rate})
    return found


def held(size: Size, trades: Trades, say: Say) -> dict[str, Any]:
    """Figures 8, 10 and 12: bytes held once the window is full."""
    usual = size.k, size.window, size.slide
    settings = {
        "k": [(k, size.window, size.slide) for k in size.ks],
        "window": [(size.k, window, window // 10) for window in size.windows],
        "slide": [
            (size.k, size.window, slide)
            for slide in size.slide_sizes
            if slide >= size.least_bytes_slide
        ],
    }
    known: dict[tuple[int, int, int], dict[str, int]] = {}
    for k, window, slide in dict.fromkeys([usual, *sum(settings.values(), [])]):
        say(f"bytes: k = {k:,}, window {window:,}, slide {slide:,}")
        scores = trades.longer(window + slide)
        known[k, window, slide] = {name: _held(name, k, window, slide, scores) for name in RIVALS}
    return {
        panel: [
            {"k": k, "window": window, "slide": slide, "algorithm": name, "bytes": count}
            for k, window, slide in rows
            for name, count in known[k, window, slide].items()
        ]
        for panel, rows in settings.items()
    }


def _held(name: str, k: int, window: int, slide: int, scores: Floats) -> int:
    operator = ALGORITHMS[name](k=k, window=window, slide=slide)
    for first in range(0, len(scores), batch_of(slide)):
        operator.observe(scores[first : first + batch_of(slide)])
        operator.advance()
    return held_bytes(operator)
