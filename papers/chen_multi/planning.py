"""Plans alone, without a stream: their costs, and the time that planning takes."""

from __future__ import annotations

import time
from statistics import fmean as mean
from typing import Any

import numpy as np
from papers.chen_multi.sizes import Size
from papers.chen_multi.stream import demands
from papers.reproduction import Say

from crestline.sharing import PLANS, Demand


def plans(size: Size, say: Say) -> list[dict[str, Any]]:
    """Planned costs of many sets of queries: GREEDY against DP, NS against DP."""
    found = []
    cases = [("uu", (2, 100)), ("ug", (2, 100)), ("gu", (2, 100)), ("gg", (2, 100)), ("uu", (2, 5))]
    for kind, ks in cases:
        say(f"plans: {kind}, k from {ks[0]} to {ks[1]}")
        for x in size.planned_x:
            greedy, unshared, within = [], [], []
            for seed in range(size.planned_sets):
                asked = demands(kind, x, ks, seed)
                cost = {name: PLANS[name](asked).cost for name in ("NS", "IN", "GREEDY", "DP")}
                greedy.append(float(cost["GREEDY"] / cost["DP"]))
                unshared.append(float(cost["NS"] / cost["DP"]))
                within.append(float(cost["IN"] / cost["DP"]))
            found.append(
                {"queries": kind, "ks": list(ks), "x": x, "sets": len(greedy),
                 "greedy": mean(greedy), "greedy_most": max(greedy),
                 "equal": mean(ratio == 1.0 for ratio in greedy),
                 "ns": mean(unshared), "ns_least": min(unshared), "in": mean(within),
                 "ns_reaches_log2": mean(ratio >= np.log2(x) for ratio in unshared)}
            )  # fmt: skip
    return [{name: _plain(value) for name, value in one.items()} for one in found]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.floating) else value


def planning(size: Size, say: Say) -> list[dict[str, Any]]:
    """Figure 17: CPU seconds that planning takes, for larger and larger frequencies."""
    say(f"planning: f up to {max(size.frequencies):,}")
    taken: dict[tuple[int, str], list[float]] = {}
    optimal = dict.fromkeys(size.frequencies, 0)
    for seed in range(size.planning_sets):
        for most in size.frequencies:  # in turn, as with walks
            rng = np.random.default_rng(seed)
            f, k = rng.integers(1, most + 1, 20).tolist(), rng.integers(2, 101, 20).tolist()
            asked = [Demand(f"q{i}", *pair) for i, pair in enumerate(zip(f, k, strict=True))]
            for name in ("DP", "GREEDY"):
                times = []
                for _ in range(3):
                    began = time.process_time()
                    made = PLANS[name](asked)
                    times.append(time.process_time() - began)
                taken.setdefault((most, name), []).append(min(times))
                optimal[most] += name == "DP" and not made.note
    return [
        {"most": most, "sets": size.planning_sets, "optimal": int(optimal[most])}
        | {name: mean(taken[most, name]) for name in ("DP", "GREEDY")}
        | {f"{name}_most": max(taken[most, name]) for name in ("DP", "GREEDY")}
        for most in size.frequencies
    ]
