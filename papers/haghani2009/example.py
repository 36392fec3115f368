"""Figure 1 (with numbers of ours, worked out by hand), Figure 2, Definition 1 with P1 and P2.

The numbers of the paper's figures are lost in its text. Instances and dominance are worked out by
`reference`, scores also by the operators; all are compared with `expected.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from papers.haghani2009.reference import (
    Instance,
    Observation,
    dominance_set,
    dominates,
    dominators,
    instances,
)

from crestline.core.batch import Batch, Observations
from crestline.incomplete import EAA, SLA, Combination, Naive

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())
FLOWS: dict[str, Any] = EXPECTED["flows"]
FIGURE_2: dict[str, Any] = EXPECTED["figure_2"]
EXACT: dict[str, Any] = {"SLA": SLA, "EAA": EAA, "NAIVE": Naive}
#: The flows of the example, in order.
NAMES = "ABCD"


def observations(given: dict[str, Any]) -> list[Observation]:
    """As the reference wants them: streams are numbered from 0 there, from 1 in the paper."""
    return [(name, stream - 1, value, time) for name, stream, value, time in given["observations"]]


# -- Figure 1 -------------------------------------------------------------------------------------


def flows() -> dict[str, Any]:
    """The scores at all moments of the table, by every exact operator, and which are the first two
    where only two are asked for."""
    return {
        name: {str(k): _answers(make, k) for k in (len(NAMES), 2)} for name, make in EXACT.items()
    }


def _answers(make: Any, k: int) -> dict[str, list[list[Any]]]:
    """By moment: the flows with their scores. The window of a moment ends just after it."""
    rows = observations(FLOWS)
    combination = Combination("SUM", streams=FLOWS["routers"], low=0.0, high=1.0, once=True)
    operator = make(k, FLOWS["window"], 1, combination=combination)
    of = np.array([NAMES.index(name) for name, _, _, _ in rows])
    told: dict[int, list[list[Any]]] = {}
    moments = [int(moment) for moment in FLOWS["scores"]]
    for now in moments:  # one after the other, as a stream arrives
        new = [place for place, row in enumerate(rows) if row[3] == now]
        if new:
            operator.observe(
                Batch(
                    np.array([rows[place][2] for place in new]),
                    np.array([rows[place][3] for place in new]),
                    observations=Observations.of(
                        of[new], np.array([rows[place][1] for place in new])
                    ),
                )
            )
        for _, end, ids, scores in operator.advance(now + 1):
            pairs = zip(ids, scores, strict=True)
            told[end - 1] = [[NAMES[of[i]], float(score)] for i, score in pairs]
        operator.prune()
    return {str(now): told.get(now, []) for now in moments}


# -- instances and dominance ----------------------------------------------------------------------


def intervals() -> dict[str, list[list[Any]]]:
    """All instances of the flows at the moments of the table: the number of objects that dominate
    each comes last."""
    found = {}
    for moment in EXPECTED["intervals"]:
        if moment == "about":
            continue
        valid = _instances(FLOWS, int(moment))
        found[moment] = [
            [one.object, one.time, one.current, one.best, len(dominators(one, valid))]
            for one in valid
        ]
    return found


def figure_2() -> dict[str, list[list[float]]]:
    """The instances of p with their intervals, moment by moment."""
    return {
        moment: [[one.time, one.current, one.best] for one in _instances(FIGURE_2, int(moment))]
        for moment in FIGURE_2["instances"]
    }


def _instances(given: dict[str, Any], now: int) -> list[Instance]:
    streams = given.get("streams", given.get("routers"))
    return instances(observations(given), now, given["window"], streams)


def persistent(
    history: Sequence[Observation], window: int, streams: int, once: bool = True
) -> bool:
    """P1: what dominates an instance does so for as long as that lives; its interval shrinks."""
    before: dict[tuple[Any, int], Instance] = {}
    for now in sorted({row[3] for row in history}):
        valid = {
            (one.object, one.time): one
            for one in instances(history, now, window, streams, once=once)
        }
        living = [key for key in before if key in valid]
        for key in living:
            old, new = before[key], valid[key]
            if new.current < old.current or new.best > old.best:
                return False
            for other in living:
                if dominates(before[other], old) and not dominates(valid[other], new):
                    return False
        before = valid
    return True


def transitive(valid: Sequence[Instance]) -> bool:
    """P2: what dominates a dominator dominates. So no member of S_k is lost if others go."""
    return all(
        dominates(p, r)
        for p in valid
        for q in valid
        if dominates(p, q)
        for r in valid
        if dominates(q, r)
    )


def dominance() -> dict[str, Any]:
    """S_1 and S_2 of the flows, and whether P1 and P2 hold for them at every moment."""
    history = observations(FLOWS)
    moments = [int(moment) for moment in FLOWS["scores"]]
    sets = {
        moment: {
            str(k): [[one.object, one.time] for one in dominance_set(_instances(FLOWS, now), k)]
            for k in (1, 2)
        }
        for now, moment in ((int(moment), moment) for moment in intervals())
    }
    return {
        "sets": sets,
        "P1": persistent(history, FLOWS["window"], FLOWS["routers"]),
        "P2": all(transitive(_instances(FLOWS, now)) for now in moments),
    }


# -- all of it ------------------------------------------------------------------------------------


def steps() -> dict[str, Any]:
    return {
        "flows": flows(),
        "intervals": intervals(),
        "figure_2": figure_2(),
        "dominance": dominance(),
    }


def agreement(obtained: dict[str, Any]) -> dict[str, bool]:
    """Whether each example is as in `expected.json`."""
    scores, found = FLOWS["scores"], obtained["dominance"]
    first_two = {moment: rows[:2] for moment, rows in scores.items()}
    table = {name: rows for name, rows in EXPECTED["intervals"].items() if name != "about"}
    by_hand = {
        moment: {str(k): [row[:2] for row in rows if row[4] < k] for k in (1, 2)}
        for moment, rows in table.items()
    }
    return {
        "flows": all(
            by_k[str(len(NAMES))] == scores and by_k["2"] == first_two
            for by_k in obtained["flows"].values()
        ),
        "figure_2": obtained["figure_2"] == FIGURE_2["instances"],
        "dominance": obtained["intervals"] == table
        and found["sets"] == by_hand
        and found["P1"]
        and found["P2"],
    }
