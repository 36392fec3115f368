"""The measurements: skylines of section 3.2.4, and kept items, precision and error of section 6.

**Items** are counted as the paper counts them: values for SLA, instances for EAA and for the
approximation, after everything has been forgotten that can be. **Precision** is the share of the
true top k among the objects that are reported, **error** the mean distance between the true score
and the reported one, rank by rank (6.1.3); the truth is what SLA says. All are means over 50
evaluations of one stream, half a window apart and after the first two windows. Windows count
values. Objects come once on a stream (``once``), as the paper assumes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from benchmarks.held import held_bytes
from papers.haghani2009 import approximation
from papers.haghani2009 import stream as streams_of
from papers.haghani2009.reference import dominance_set, instances, scores
from papers.haghani2009.stream import Stream, synthetic

from crestline.core.batch import Batch
from crestline.incomplete import EAA, SLA, Combination, Correlated
from crestline.types import Floats, Ints

Say = Callable[[str], None]
#: The operators that are compared. What the paper calls its approximation is not among them:
#: `CORRELATED` hopes for less than section 4 does, which is in `approximation`.
OPERATORS: dict[str, Callable[..., Any]] = {"SLA": SLA, "EAA": EAA, "CORRELATED": Correlated}
#: `CORRELATED` with the option that takes the sketches and the best scores of section 4.
WITH_SKETCHES = "CORRELATED, printed"
#: The intervals of Figure 4, whose axes are lost.
EPSILON = 0.1


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are; the paper's sizes where it gives them."""

    evaluations: int = 50
    window: int = 1_000
    k: int = 10
    streams: int = 3
    xi: float = 0.5
    # Tables 1 and 2
    all_streams: tuple[int, ...] = (3, 4, 6)
    ks: tuple[int, ...] = (10, 20, 50, 100)
    # Figure 5
    windows: tuple[int, ...] = (250, 500, 1_000, 2_000, 4_000)
    xis: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    xi_windows: tuple[int, ...] = (500, 1_000)
    # how EAA grows beyond: streams and xi, and values to go through for each window
    growth: tuple[tuple[int, float], ...] = ((2, 0.1), (3, 0.5), (6, 0.5))
    growth_windows: tuple[int, ...] = (1_000, 4_000, 16_000, 64_000)
    growth_values: int = 200_000
    # what if probabilities were smaller: for so many streams, and for 2 at the ends of xi
    weights: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0)
    weight_streams: tuple[int, ...] = (3, 6)
    # Tables 3 and 4: k, windows, and so many values at most
    real_k: int = 20
    real_values: int = 1_000_000
    real_windows: tuple[int, ...] = (500, 750, 1_000)
    # Figure 4
    skyline_runs: int = 100
    skyline_sizes: tuple[int, ...] = (200, 400, 600, 800, 1_000)
    skyline_size: int = 1_000
    epsilons: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
    # kept = the dominance set, by the definition: so many values and evaluations
    exact_window: int = 150
    exact_evaluations: int = 12


SIZES = {
    "quick": Size(
        evaluations=10, window=300, ks=(10, 20, 50), windows=(100, 200, 400),
        xis=(0.1, 0.5, 0.9), xi_windows=(150, 300), growth_windows=(500, 2_000, 8_000),
        growth_values=10_000, weights=(0.0, 0.25, 1.0), real_windows=(150, 300), skyline_runs=20,
        exact_window=60, exact_evaluations=4,
    ),
    "default": Size(),
    "full": Size(
        evaluations=100, all_streams=(2, 3, 4, 6), ks=(5, 10, 20, 50, 100),
        windows=(250, 500, 1_000, 2_000, 4_000, 8_000),
        growth_windows=(1_000, 4_000, 16_000, 64_000, 256_000), growth_values=1_000_000,
        xis=(0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0), skyline_runs=1_000,
        exact_window=300, exact_evaluations=30,
    ),
}  # fmt: skip


# -- skylines: Figure 4 and Lemma 1 ---------------------------------------------------------------


def skyline(current: Floats, best: Floats) -> int:
    """How many of these points, by time, no later one dominates (k = 1)."""
    later = np.maximum.accumulate(current[::-1])[::-1]  # the largest score from here on
    return int((later[1:] <= best[:-1]).sum()) + 1


def expected_skyline(n: int, epsilon: float) -> float:
    """The mean of `skyline`, worked out: n epsilon + the sum of (1 - epsilon^j) / j over j = 1..n.

    The point with j - 1 later ones is not dominated if all these are at most its best score: the
    integral of min(x + epsilon, 1) ^ (j - 1) over x. So Lemma 1's bound holds, and what it leaves
    out grows with the logarithm of n only.
    """
    return n * epsilon + fsum((1 - epsilon**j) / j for j in range(1, n + 1))


def skylines(size: Size, say: Say) -> dict[str, Any]:
    """Figure 4: by the number of points, and by the length of the interval."""
    say("skylines")
    rng = np.random.default_rng(4)
    by_size = [
        {"n": n, "epsilon": epsilon} | _skyline_mean(rng, n, epsilon, size.skyline_runs)
        for n in size.skyline_sizes
        for epsilon in (0.0, EPSILON)
    ]
    by_interval = [
        {"n": size.skyline_size, "epsilon": epsilon}
        | _skyline_mean(rng, size.skyline_size, epsilon, size.skyline_runs)
        for epsilon in size.epsilons
    ]
    return {"runs": size.skyline_runs, "by_size": by_size, "by_interval": by_interval}


def _skyline_mean(rng: np.random.Generator, n: int, epsilon: float, runs: int) -> dict[str, float]:
    sizes = []
    for _ in range(runs):
        current = rng.random(n)
        sizes.append(skyline(current, np.minimum(current + epsilon, 1.0)))
    error = float(np.std(sizes) / np.sqrt(runs))
    return {"mean": float(np.mean(sizes)), "error": error, "exact": expected_skyline(n, epsilon)}


# -- kept items, precision, error -----------------------------------------------------------------


def evaluated(count: int, window: int) -> Ints:
    """So many evaluations, half a window apart, after the first two windows."""
    return 2 * window + window * np.arange(1, count + 1) // 2


def operator(method: str, k: int, window: int, streams: int, **options: Any) -> Any:
    combination = Combination("SUM", streams=streams, low=0.0, high=1.0, once=True)
    return OPERATORS[method](k, window, 1, combination=combination, **options)


def followed(op: Any, records: Stream, places: Ints) -> list[tuple[Ints, Floats, int]]:
    """At each of these places, after so many records: the top objects, their scores, the items."""
    found, before = [], 0
    for place in places.tolist():
        piece = slice(before, place)
        op.observe(Batch(records.value[piece], observations=records.sighting(piece)))
        told = op.advance()
        last = slice(int(told.offset[-2]), int(told.offset[-1]))
        found.append((records.object[told.id[last]], told.score[last], op.instances))
        before = place
    return found


def compare(records: Stream, k: int, window: int, places: Ints) -> dict[str, Any]:
    """All methods on one stream: items, precision and error, each a mean by method."""
    told = {
        name: followed(operator(name, k, window, records.streams), records, places)
        for name in OPERATORS
    }
    told["as printed"] = approximation.followed(records, k, window, places)
    found: dict[str, Any] = {"items": {}, "precision": {}, "error": {}}
    for name, rows in told.items():
        pairs = zip(rows, told["SLA"], strict=True)
        precision, error = zip(*(judged(mine, true, k) for mine, true in pairs), strict=True)
        found["items"][name] = float(np.mean([items for _, _, items in rows]))
        found["precision"][name] = float(np.mean(precision))
        found["error"][name] = float(np.mean(error))
    return found


def judged(mine: tuple[Ints, Floats, int], true: tuple[Ints, Floats, int], k: int) -> list[float]:
    """Precision and relative error; ranks that are not filled score 0."""
    hits = len(np.intersect1d(mine[0], true[0]))
    reported, right = np.zeros(k), np.zeros(k)
    reported[: len(mine[1])], right[: len(true[1])] = mine[1], true[1]
    return [hits / max(len(true[0]), 1), float(np.abs(reported - right).sum() / k)]


def measured(size: Size, *, streams: int, k: int, window: int, xi: float) -> dict[str, Any]:
    """One row of a table: synthetic streams."""
    places = evaluated(size.evaluations, window)
    records = synthetic(int(places[-1]), streams, xi)
    setting = {"streams": streams, "k": k, "window": window, "xi": xi}
    return setting | compare(records, k, window, places)


def tables(size: Size, say: Say) -> dict[str, Any]:
    """Tables 1 and 2, Figure 5: what is varied, and the rows."""
    usual = {"streams": size.streams, "k": size.k, "window": size.window, "xi": size.xi}
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def rows(varied: str, values: tuple[Any, ...], **other: Any) -> list[dict[str, Any]]:
        found = []
        for value in values:
            asked = usual | other | {varied: value}
            key = tuple(asked.values())
            if key not in known:
                say(", ".join(f"{name} = {number:,}" for name, number in asked.items()))
                known[key] = measured(size, **asked)
            found.append(known[key])
        return found

    return {
        "table_1": rows("streams", size.all_streams),
        "table_2": rows("k", size.ks),
        "by_window": rows("window", size.windows),
        "by_xi": [
            row
            for window in size.xi_windows
            for row in rows("xi", size.xis, streams=2, window=window)
        ],
    }


def memory(size: Size, say: Say) -> dict[str, Any]:
    """The rows of Tables 1 and 2 and of Figure 5(a) once more, for the bytes of all arrays. Of
    `CORRELATED` also the values of its sample, which is its control group, and the bytes of the
    sample and of what was counted in it; and all that for the operator with the paper's sketches.

    The operators are `trusting`: like the paper's, they remember no value only to refuse its
    repetition.
    """
    usual = {"streams": size.streams, "k": size.k, "window": size.window}
    varied = {"table_1": ("streams", size.all_streams), "table_2": ("k", size.ks),
              "by_window": ("window", size.windows)}  # fmt: skip
    found = {}
    for name, (what, values) in varied.items():
        found[name] = []
        for value in values:
            setting = usual | {what: value}
            say("memory: " + ", ".join(f"{key} = {number:,}" for key, number in setting.items()))
            found[name].append(setting | {"xi": size.xi} | _memory(size, **setting))
    return found


def _memory(size: Size, *, streams: int, k: int, window: int) -> dict[str, Any]:
    places = evaluated(size.evaluations, window)
    records = synthetic(int(places[-1]), streams, size.xi)
    found: dict[str, Any] = {"items": {}, "bytes": {}}
    for name in (*OPERATORS, WITH_SKETCHES):
        options = {} if name == "SLA" else {"trusting": True}
        if name == WITH_SKETCHES:
            op = operator("CORRELATED", k, window, streams, **options, printed=True)
        else:
            op = operator(name, k, window, streams, **options)
        before, rows = 0, []
        for place in places.tolist():
            piece = slice(before, place)
            op.observe(Batch(records.value[piece], observations=records.sighting(piece)))
            op.advance()
            row = [op.instances, held_bytes(op)]
            if isinstance(op, Correlated):
                estimators = held_bytes([op._sample, op._correlation, op._sketched])
                row += [len(op._sample.observations), estimators]
            rows.append(row)
            before = place
        means = np.mean(rows, axis=0).tolist()
        found["items"][name], found["bytes"][name] = means[:2]
        if name == "CORRELATED":
            found["control"], found["sketches"] = means[2:]
    return found


def real(size: Size, say: Say) -> dict[str, Any]:
    """Tables 3 and 4, on other data; evaluations are spread over the recording."""
    known: dict[tuple[int, int], dict[str, Any]] = {}
    by_streams = [(n, size.real_windows[0]) for n in range(2, streams_of.routers() + 1)]
    by_window = [(2, window) for window in size.real_windows]
    for streams, window in {*by_streams, *by_window}:
        say(f"flows: {streams} routers, W = {window:,}")
        records = streams_of.flows(streams)
        last = min(len(records), size.real_values)
        places = np.linspace(2 * window, last, size.evaluations).astype(np.int64)
        setting = {"streams": streams, "k": size.real_k, "window": window, "values": len(records)}
        known[streams, window] = setting | compare(records, size.real_k, window, places)
    return {
        "table_3": [known[point] for point in by_streams],
        "table_4": [known[point] for point in by_window],
    }


def weighted(size: Size, say: Say) -> list[dict[str, Any]]:
    """The approximation as printed, had its probabilities been smaller."""
    settings = [(streams, size.xi) for streams in size.weight_streams]
    settings += [(2, xi) for xi in (size.xis[0], size.xis[-1])]
    k, window, found = size.k, size.window, []
    places = evaluated(size.evaluations, window)
    for streams, xi in settings:
        say(f"weights: {streams} streams, xi = {xi}")
        records = synthetic(int(places[-1]), streams, xi)
        true = followed(operator("SLA", k, window, streams), records, places)
        for weight in size.weights:
            mine = approximation.followed(records, k, window, places, weight)
            pairs = zip(mine, true, strict=True)
            precision, error = zip(*(judged(*pair, k) for pair in pairs), strict=True)
            found.append(
                {
                    "streams": streams, "xi": xi, "weight": weight,
                    "items": float(np.mean([items for _, _, items in mine])),
                    "precision": float(np.mean(precision)), "error": float(np.mean(error)),
                }
            )  # fmt: skip
    return found


# -- growth with the window -----------------------------------------------------------------------


def growth(size: Size, say: Say) -> list[dict[str, Any]]:
    """How many instances EAA keeps in windows much larger than the paper's."""
    found = []
    for streams, xi in size.growth:
        for window in size.growth_windows:
            say(f"growth: {streams} streams, xi = {xi}, W = {window:,}")
            count = max(3, min(size.evaluations, size.growth_values // window))
            places = evaluated(count, window)
            records = synthetic(int(places[-1]), streams, xi)
            told = followed(operator("EAA", size.k, window, streams), records, places)
            mean = float(np.mean([items for _, _, items in told]))
            found.append({"streams": streams, "xi": xi, "window": window, "EAA": mean})
    return found


# -- exactness ------------------------------------------------------------------------------------


def exact(size: Size, say: Say) -> dict[str, Any]:
    """EAA and SLA against the definition, from the whole history; and the number of instances that
    EAA keeps beside that of the dominance set."""
    window, found = size.exact_window, []
    for streams, xi in ((2, 0.5), (3, 0.5), (3, 0.9), (4, 0.2)):
        say(f"exactness: {streams} streams, xi = {xi}")
        places = np.linspace(window // 2, 4 * window, size.exact_evaluations).astype(np.int64)
        records = synthetic(int(places[-1]), streams, xi, seed=5)
        history = records.history(slice(0, len(records)))
        for k in (1, 4):
            told = {
                name: followed(operator(name, k, window, streams), records, places)
                for name in ("SLA", "EAA")
            }
            for i, place in enumerate(places.tolist()):
                now = place - 1
                right = scores(history, now, window, streams)[:k]
                kept = len(dominance_set(instances(history, now, window, streams), k))
                answers = {name: _pairs(rows[i]) for name, rows in told.items()}
                found.append(
                    {
                        "streams": streams, "xi": xi, "k": k, "values": place,
                        "SLA": _same(answers["SLA"], right), "EAA": _same(answers["EAA"], right),
                        "kept": told["EAA"][i][2], "dominance_set": kept,
                    }
                )  # fmt: skip
    return {"window": window, "runs": found}


def _pairs(row: tuple[Ints, Floats, int]) -> list[tuple[int, float]]:
    return list(zip(row[0].tolist(), row[1].tolist(), strict=True))


def _same(mine: list[tuple[int, float]], right: list[tuple[Any, float]]) -> bool:
    return [thing for thing, _ in mine] == [thing for thing, _ in right] and bool(
        np.allclose([score for _, score in mine], [score for _, score in right], rtol=1e-12)
    )
