"""Records kept, and the processing cost of sections 8.2 and 8.3 for one query at a time.

Cost is CPU time of the process (`time.process_time`), so that other programs on the machine disturb
it little; the window is filled first, and compilation is over. Answers are told where they change
(`only_changes`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from papers.pripuzic2015 import stream
from papers.pripuzic2015.sizes import Size

from crestline.certain import CPM, PA, RA, RAPF, RARF, RASF, SA, SAPF, SARF, SASF, SNN
from crestline.types import Floats

Say = Callable[[str], None]
#: From the fastest in the paper to the slowest, then those that keep the whole window. RAPF2 is
#: RAPF with the longest buffer there can be.
ALGORITHMS: dict[str, Any] = {
    "PA": PA, "RAPF2": RAPF, "RAPF": RAPF, "SAPF": SAPF, "RARF": RARF, "SARF": SARF, "RA": RA,
    "RASF": RASF, "SASF": SASF, "SA": SA, "SNN": SNN, "CPM": CPM,
}  # fmt: skip
RIVALS = ("SNN", "CPM")
MAIN = ("PA", "RAPF", "RA", "SA", "SASF", "SNN", "CPM")


def made(
    name: str, k: int, n: int, b: int, gamma: float, sigma: float, only_changes: bool = True
) -> Any:
    """The algorithm with the paper's parameters, as far as it has them."""
    make = ALGORITHMS[name]
    given = {
        "buffer": (n + 1) // 2 if name == "RAPF2" else min(b, (n + 1) // 2),
        "gamma": gamma,
        "error": sigma,
    }
    known = getattr(make, "OPTIONS", {})
    chosen = {option: value for option, value in given.items() if option in known}
    return make(k, n, only_changes=only_changes, **chosen)


def _drive(
    operator: Any, scores: Floats, fill: int, batch: int, most_seconds: float
) -> dict[str, Any]:
    """Fill the window, then measure; stops early, at the end of a batch, if it takes too long."""
    operator.observe(scores[:fill])
    operator.advance()
    spent, records, kept, references = 0.0, 0, [], []
    for first in range(fill, len(scores), batch):
        part = scores[first : first + batch]
        started = time.process_time()
        operator.observe(part)
        operator.advance()
        spent += time.process_time() - started
        records += len(part)
        kept.append(operator.candidates)
        references.append(_references(operator))
        if spent > most_seconds:
            break
    return {
        "seconds": spent,
        "records": records,
        "kept": float(np.mean(kept)),
        "references": float(np.mean(references)),
    }


def _references(operator: Any) -> int:
    """Entries of the structures of one query: band and filter, or the view above the grid."""
    if hasattr(operator, "view"):
        return len(operator.view()[0])
    filtered = operator.filter is not None  # PA's list is its band's copy, for the gate
    return len(operator._band) + (len(operator._recent.listed) if filtered else 0)


def cost(
    size: Size, name: str, scores: Floats, batch: int | None = None, **changed: Any
) -> dict[str, Any]:
    """Nanoseconds an arrival: the best of two runs or more, or of one that takes long."""
    given: dict[str, Any] = {
        "k": size.k, "n": size.n, "b": size.b, "gamma": size.gamma, "sigma": size.sigma,
    } | changed  # fmt: skip
    times: list[float] = []
    run: dict[str, Any] = {}
    total = 0.0
    while len(times) < 2 or (total < size.least_seconds and len(times) < 9):
        operator = made(name, **given)
        run = _drive(operator, scores, given["n"], batch or size.batch, size.most_seconds)
        total += run["seconds"]
        times.append(run["seconds"] / run["records"] * 1e9)
        if run["seconds"] > size.long_enough:
            break
    return {"algorithm": name, "nanoseconds": min(times)} | {
        key: run[key] for key in ("records", "kept", "references")
    }


def _all(size: Size, names: tuple[str, ...], scores: Floats, **changed: Any) -> list[Any]:
    """Each algorithm's cost."""
    return [cost(size, name, scores, **changed) for name in names]


def warm_up() -> None:
    """Compile every kernel."""
    scores = np.random.default_rng(0).random(1_000)
    for name in ALGORITHMS:
        for only_changes in (True, False):
            operator = made(name, 3, 100, 20, 0.2, 0.001, only_changes)
            operator.observe(scores)
            operator.advance()
    operator = made("RAPF", 1, 40_000, 1_000, 0.2, 0.001)
    operator.observe(np.tile(scores, 100))
    operator.advance()


def kept(size: Size, say: Say) -> dict[str, Any]:
    """Records kept by SA and RA in random order, over k, n and gamma."""
    found = []
    settings = [(k, size.n, size.gamma) for k in size.ks]
    settings += [(size.k, n, size.gamma) for n in size.kept_ns]
    settings += [(size.ks[-1], size.n, gamma) for gamma in size.kept_gammas]
    for k, n, gamma in dict.fromkeys(settings):
        say(f"records kept: k = {k}, n = {n:,}, gamma = {gamma}")
        windows = size.kept_windows if n <= size.n else max(4, size.kept_windows // 4)
        scores = stream.scores("random", (windows + 1) * n, seed=k + n)
        for name in ("SA", "RA"):
            operator = made(name, k, n, size.b, gamma, size.sigma)
            operator.observe(scores[:n])
            operator.advance()
            # Steps of a length that no regular pruning falls in with.
            every = min(size.kept_every, n // 10) + 7
            counts = []
            for first in range(n, len(scores), every):
                operator.observe(scores[first : first + every])
                operator.advance()
                counts.append(operator.candidates)
            found.append(
                {"algorithm": name, "k": k, "n": n, "gamma": gamma, "mean": float(np.mean(counts))}
            )
    return {"runs": found}


def by_k(size: Size, say: Say) -> dict[str, Any]:
    """Figures 9, 10 and 12 for one query: growing k, on all streams."""
    found: dict[str, Any] = {}
    for kind in ("random", *stream.POINTS):
        places = 1 if kind in ("random", *stream.RANDOM_ORDER) else size.places
        runs: list[Any] = []
        for k in size.ks:
            say(f"cost on {kind}: k = {k}")
            tried = [
                _all(size, tuple(ALGORITHMS), stream.scores(kind, size.n + size.measured, place),
                     k=k)
                for place in range(places)
            ]  # fmt: skip
            for several in zip(*tried, strict=True):
                runs.append({"k": k} | _mean(several))
        found[kind] = runs
    return found


def _mean(several: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Of one algorithm's runs with several query points: means, and the fewest records."""
    one = dict(several[0])
    for key in ("nanoseconds", "kept", "references"):
        one[key] = float(np.mean([run[key] for run in several]))
    return one | {"records": min(run["records"] for run in several), "places": len(several)}


def by_n(size: Size, say: Say) -> list[Any]:
    """Figure 11(f): growing windows."""
    found = []
    for n in size.ns:
        say(f"cost: n = {n:,}")
        scores = stream.scores("random", n + size.measured)
        found += [{"n": n} | run for run in _all(size, MAIN, scores, n=n)]
    return found


def by_buffer(size: Size, say: Say) -> dict[str, Any]:
    """Figure 11(d): growing buffers; also in batches too short for RAPF to pass over whole blocks
    of them, which makes its filter's length unimportant."""
    found: dict[str, Any] = {}
    names = ("RAPF", "SAPF", "RARF", "SARF", "RASF", "SASF")
    scores = stream.scores("random", size.n + size.measured)
    long, short = size.batch, size.smaller_batch
    for k, batch in ((size.k, long), (size.k, short), (size.ks[-1], short)):
        runs = []
        for b in [b for b in size.bs if b <= (size.n + 1) // 2]:
            say(f"cost: k = {k}, b = {b:,}, batches of {batch:,}")
            for name in names:
                runs.append({"b": b} | cost(size, name, scores, batch, k=k, b=b))
        found[f"k = {k}, batches of {batch:,}"] = runs
    return found


def by_gamma(size: Size, say: Say) -> dict[str, Any]:
    """Figure 11(e): pruning more and less often."""
    found: dict[str, Any] = {}
    for k in (size.k, size.ks[-1]):
        runs = []
        scores = stream.scores("random", size.n + size.measured)
        for gamma in size.gammas:
            say(f"cost: k = {k}, gamma = {gamma}")
            for name in ("RA", "RAPF", "RARF", "SARF"):
                runs.append({"gamma": gamma} | cost(size, name, scores, k=k, gamma=gamma))
        found[f"k = {k}"] = runs
    return found
