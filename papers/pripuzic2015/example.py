"""The running example of Figure 1, step by step, and the tables of numbers.

Objects o1 to o11 arrive one at a time; window 6, k = 1. The paper draws their scores and does not
print them; `expected.json` holds scores that fit Tables II, III, VI and VII. There smaller is
better, here larger, so they are fed negated; thresholds are told as the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from crestline.certain import CPM, PA, RA, SASF, SNN, arrivals
from crestline.certain.probable import candidate_limit, convex_beyond
from crestline.core.errors import CrestlineError

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())
EXAMPLE: dict[str, Any] = EXPECTED["example"]
SCORES: list[float] = [float(score) for score in EXAMPLE["scores"]]


@contextmanager
def limited(candidates: int) -> Iterator[None]:
    """PA with a given limit on its candidates, as the example and one experiment need it."""
    with patch.object(arrivals, "candidate_limit", lambda *given: candidates):
        yield


def tables() -> dict[str, Any]:
    """Tables V and X, computed."""
    v, x = EXPECTED["table_v"], EXPECTED["table_x"]
    return {
        "table_v": {
            n: [candidate_limit(k, int(n), v["sigma"]) for k in v["k"]] for n in v["limit"]
        },
        "table_x": {n: [ceil(convex_beyond(k, int(n))) for k in x["k"]] for n in x["rank"]},
    }


def steps() -> dict[str, Any]:
    """What Tables II, III, VI and VII show, read from the operators after each arrival."""
    return {
        "table_ii": table_ii(),
        "table_iii": table_iii(),
        "table_vi": table_vi(),
        "table_vii": table_vii(),
    }


def _fed(operator: Any) -> Iterator[int]:
    """The steps 1 to 11, each after its object has arrived."""
    for step, score in enumerate(SCORES, 1):
        operator.observe(np.array([-score]))
        operator.advance()
        yield step


def _named(threshold: float) -> str:
    """A threshold (as the paper counts: smaller is better) by the objects it is made from."""
    if np.isinf(threshold):
        return "none"
    if threshold in SCORES:
        return f"s{SCORES.index(threshold) + 1}"
    raised = SCORES[7] + (SCORES[7] - SCORES[8]) / 2
    return "s8 + (s8 - s9) / 2" if threshold == raised else f"{threshold:g}"


def _band(operator: Any) -> list[int]:
    return [int(id) + 1 for id in operator._band["id"]]


def table_ii() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for make in (CPM, SNN):
        operator = make(EXAMPLE["k"], EXAMPLE["window"])
        rows: dict[str, list[Any]] = {"list": [], "threshold": []}
        for _ in _fed(operator):
            ids, threshold = operator.view()
            rows["list"].append([int(id) + 1 for id in ids])
            rows["threshold"].append(_named(-threshold))
        found[make.__name__] = rows
    return found


def table_iii() -> dict[str, Any]:
    """SASF. The grid keeps objects beyond the monitored cells from the filter; here they are left
    out when it is read: being the worst, they decide nothing. The threshold is raised when the
    filter's first object lies beyond it, and else left alone."""
    expected = EXAMPLE["table_iii"]
    operator = SASF(EXAMPLE["k"], EXAMPLE["window"], buffer=expected["buffer"])
    rows: dict[str, list[Any]] = {"band": [], "filter": [], "threshold": [], "recent": []}
    threshold = -np.inf
    for _ in _fed(operator):
        listed = [int(born) + 1 for born in operator._recent.listed["born"]]
        threshold = max(threshold, SCORES[listed[0] - 1])
        rows["band"].append(_band(operator))
        rows["filter"].append([i for i in listed if SCORES[i - 1] < expected["edge"]])
        rows["threshold"].append(_named(threshold))
        rows["recent"].append([int(at) + 1 for at in operator._recent.buffer["at"][::-1]])
    return rows


def table_vi() -> dict[str, Any]:
    expected = EXAMPLE["table_vi"]
    rows: dict[str, list[Any]] = {"top": [], "candidates": [], "threshold": []}
    with limited(expected["limit"]):
        operator = PA(EXAMPLE["k"], EXAMPLE["window"], additional=expected["additional"])
        for _ in _fed(operator):
            held = _band(operator)
            rows["top"].append(held[:1])
            rows["candidates"].append(held[1:])
            rows["threshold"].append(_named(-float(operator._own["limits"][0])))
    return rows


def table_vii() -> dict[str, Any]:
    """RA. A pruning belongs to the arrival that sets it off, so what was there before it is put
    together: the band of the step before, without what has expired from its top, and the arrival.
    """
    expected = EXAMPLE["table_vii"]
    operator = RA(EXAMPLE["k"], EXAMPLE["window"], gamma=expected["gamma"])
    rows: dict[str, list[Any]] = {"top": [], "candidates": [], "struck": [], "limits": []}
    before: list[int] = []
    for step in _fed(operator):
        after = _band(operator)
        if before and before[0] <= step - EXAMPLE["window"]:
            before = before[1:]
        held = sorted([*before, step], key=lambda i: SCORES[i - 1])
        rows["top"].append(after[:1])
        rows["candidates"].append(held[1:])
        rows["struck"].append([i for i in held if i not in after])
        rows["limits"].append(int(operator._own["limits"][0]))
        before = after
    return rows


def refused() -> dict[str, Any]:
    """Theorem 5.1: the longest buffer is taken, one record more is refused with the reason."""
    window = 2 * EXAMPLE["table_iii"]["buffer"] - 1
    longest = (window + 1) // 2
    SASF(EXAMPLE["k"], window, buffer=longest)
    try:
        SASF(EXAMPLE["k"], window, buffer=longest + 1)
    except CrestlineError as error:
        return {"window": window, "longest": longest, "reason": str(error)}
    return {"window": window, "longest": longest, "reason": ""}


def agreement(steps: dict[str, Any], tables: dict[str, Any]) -> dict[str, bool]:
    """Whether each table is exactly the paper's (of Table VII: with its erratum)."""
    agrees = {
        "table_v": tables["table_v"] == EXPECTED["table_v"]["limit"],
        "table_x": tables["table_x"] == EXPECTED["table_x"]["rank"],
    }
    for name, found in steps.items():
        expected = EXAMPLE[name.removesuffix("_grid")]
        agrees[name] = all(expected[part] == found[part] for part in found)
    return agrees
