"""What PA misses and what it reports wrongly; and that the others do neither.

An object counts as reported from the first time on that it is among the k best (Definition 3.6), so
a run is a set of objects. RAPF, which is exact, says which set is right; that it is exact is judged
apart, by sorting the window after every arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt
from typing import Any

import numpy as np
from papers.pripuzic2015 import stream
from papers.pripuzic2015.example import limited
from papers.pripuzic2015.sizes import Size

from crestline.certain import (
    CPM,
    PA,
    RA,
    RAPF,
    RARF,
    RASF,
    SA,
    SAPF,
    SARF,
    SASF,
    SNN,
    Naive,
)
from crestline.certain.probable import candidate_limit
from crestline.types import Bools, Floats

Say = Callable[[str], None]
EXACT: tuple[Any, ...] = (RAPF, RARF, RASF, SAPF, SARF, SASF, RA, SA, SNN, CPM)
EXACT_STREAMS = ("random", "rising", "falling", "sawtooth", "equal", "walks", "stations")
#: Streams in some order: adaptive PA must not miss there what PA misses.
ORDERED = ("falling", "sawtooth", "walks", "stations")
#: Long batches are gone through by whole blocks first; the judge takes the plain way.
_BATCH, _PLAIN_BATCH = 200_000, 25_000
#: What comes to adaptive PA at a time.
_SMALL_BATCH = 10_000


def reported(operator: Any, scores: Floats, batch: int = _BATCH) -> Bools:
    """Which objects are ever among the k best."""
    ever = np.zeros(len(scores), np.bool_)
    for first in range(0, len(scores), batch):
        operator.observe(scores[first : first + batch])
        ever[operator.advance().id] = True
    return ever


def random_order(size: Size, say: Say) -> dict[str, Any]:
    """Many runs over random scores, for each k: missed and wrongly reported objects, without and
    with the paper's 10 additional candidates."""
    bound = size.sigma * size.records / size.n
    found = []
    for k in size.ks:
        say(f"errors of PA: k = {k}, {size.runs} runs of {size.records:,}")
        limit = candidate_limit(k, size.n, size.sigma)
        variants = [{"limit": limit, "additional": additional} for additional in (0, 10)]
        found += _errors(size, k, size.runs, variants)
    return {"bound_missed": bound, "bound_wrong": 1.5 * bound, "runs": found}


def fewer_candidates(size: Size, say: Say) -> dict[str, Any]:
    """The same with shares of the limit: where errors begin."""
    found = []
    for k in size.ks[::2]:
        most = candidate_limit(k, size.n, size.sigma)
        limits = dict.fromkeys(max(1, round(share * most)) for share in size.shares)
        say(f"errors of PA with fewer candidates: k = {k}, {min(limits)} to {max(limits)}")
        variants = [{"limit": limit, "additional": 0} for limit in limits]
        found += [{"of": most} | run for run in _errors(size, k, size.fewer_runs, variants)]
    return {"bound_missed": size.sigma * size.records / size.n, "runs": found}


def _rapf(size: Size, k: int) -> RAPF:
    return RAPF(k, size.n, only_changes=True, buffer=min(size.b, size.n // 2))


def _errors(size: Size, k: int, runs: int, variants: list[dict[str, int]]) -> list[Any]:
    """Each variant of PA over the same runs."""
    missed, wrong, right = [0] * len(variants), [0] * len(variants), 0
    for seed in range(runs):
        scores = stream.scores("random", size.records, seed)
        exact = reported(_rapf(size, k), scores, _PLAIN_BATCH)
        right += int(exact.sum())
        for i, variant in enumerate(variants):
            operator = PA(k, size.n, only_changes=True, additional=variant["additional"])
            with limited(variant["limit"]):
                ever = reported(operator, scores)
            missed[i] += int((exact & ~ever).sum())
            wrong[i] += int((ever & ~exact).sum())
    return [
        {"k": k} | variant | {
            "runs": runs,
            "reported_a_run": right / runs,
            "missed_a_run": missed[i] / runs,
            "missed_at_most": most_likely_below(missed[i]) / runs,
            "wrong_a_run": wrong[i] / runs,
            "wrong_at_most": most_likely_below(wrong[i]) / runs,
        }
        for i, variant in enumerate(variants)
    ]  # fmt: skip


def most_likely_below(events: int, doubt: float = 0.05) -> float:
    """The largest mean of a Poisson count for which so few events are not yet unlikely."""
    low, high = 0.0, 10.0 + 2 * events + 10 * sqrt(events)
    for _ in range(60):
        mean = (low + high) / 2
        term = total = exp(-mean)
        for i in range(1, events + 1):
            term *= mean / i
            total += term
        low, high = (mean, high) if total > doubt else (low, mean)
    return high


def in_order(size: Size, say: Say) -> dict[str, Any]:
    """Streams in some order (and one in none): missed by PA and by adaptive PA."""
    found = []
    for kind in ("random", *ORDERED):
        scores = stream.scores(kind, size.ordered_records)
        for k in (size.k, size.ks[-1]):
            say(f"PA on a stream in order: {kind}, k = {k}")
            exact = reported(_rapf(size, k), scores, _PLAIN_BATCH)
            run: dict[str, Any] = {"stream": kind, "k": k, "reported": int(exact.sum())}
            for name, adaptive in (("PA", False), ("adaptive", True)):
                operator = PA(k, size.n, only_changes=True, error=size.sigma, adaptive=adaptive)
                ever = reported(operator, scores, _SMALL_BATCH)
                run[f"{name}_missed"] = int((exact & ~ever).sum())
                run[f"{name}_wrong"] = int((ever & ~exact).sum())
                if adaptive:
                    notes = operator.notes()
                    run["switches"] = notes["switches"]
                    run["exactly"] = notes["answered_exactly"] / len(scores)
            found.append(run)
    return {"runs": found, "n": size.n, "records": size.ordered_records}


def exactness(size: Size, say: Say) -> dict[str, Any]:
    """Every exact algorithm against the sorted window, after every arrival."""
    found = []
    for kind in EXACT_STREAMS:
        say(f"exactness: {kind}")
        scores = stream.scores(kind, size.exact_records)
        for k in (1, size.k, 2 * size.exact_n):  # the last: a window smaller than k
            right = _answers(Naive(k, size.exact_n, 1), scores)
            for make in EXACT:
                mine = _answers(make(k, size.exact_n), scores)
                same = all(np.array_equal(one, two) for one, two in zip(right, mine, strict=True))
                found.append({"stream": kind, "k": k, "algorithm": make.__name__, "same": same})
    return {
        "runs": found, "arrivals": size.exact_records, "n": size.exact_n,
        "long": _long_batches(size, say),
    }  # fmt: skip


def _long_batches(size: Size, say: Say) -> dict[str, Any]:
    """Results of the algorithms that pass over whole blocks of a long batch, against SA's."""
    n = size.n // 4
    records = 20 * n
    found = []
    for k in size.ks[:3]:
        say(f"exactness in long batches: k = {k}")
        different = dict.fromkeys(("RAPF", "SAPF"), 0)
        for seed in range(size.long_runs):
            scores = stream.scores("random", records, seed)
            right = reported(SA(k, n, only_changes=True), scores)
            for make in (RAPF, SAPF):
                mine = reported(make(k, n, only_changes=True, buffer=n // 2), scores, records)
                different[make.__name__] += int((right != mine).sum())
        found += [{"k": k, "algorithm": name, "different": d} for name, d in different.items()]
    return {"runs": found, "n": n, "records": records, "streams": size.long_runs}


def _answers(operator: Any, scores: Floats) -> tuple[Any, Any, Any]:
    """Ends, ids and scores of all snapshots, taken in batches of many lengths."""
    ends, ids, best = [], [], []
    cuts = np.cumsum(np.random.default_rng(2).integers(1, 150, len(scores)))
    for part in np.split(scores, cuts[cuts < len(scores)]):
        operator.observe(part)
        answered = operator.advance()
        ends.append(np.repeat(answered.end, np.diff(answered.offset)))
        ids.append(answered.id)
        best.append(answered.score)
    return np.concatenate(ends), np.concatenate(ids), np.concatenate(best)
