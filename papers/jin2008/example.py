"""Table 1 with its worlds and answers, Example 3.1, and Example 4.1 with Figure 2.

The worlds and the array r are worked out here from their definitions; answers, compact sets and
segments are read from the synopses. Both are compared with `expected.json`.
"""

from __future__ import annotations

import json
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from crestline.core.batch import Batch, Uncertainty
from crestline.kernels.uncertain.lists import LEAVES, SCORE
from crestline.types import Floats
from crestline.uncertain import BS, CCSQ, CSQ, SCSQ, SCSQBuffer

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())
TABLE_1: dict[str, Any] = EXPECTED["table_1"]
SYNOPSES: dict[str, Any] = {
    "BS": BS, "CSQ": CSQ, "CCSQ": CCSQ, "SCSQ": SCSQ, "SCSQ-Buffer": SCSQBuffer,
}  # fmt: skip
#: What is asked for by the paper's names; of PT-k with the threshold of its introduction, as
#: section 6 gives none.
MEANINGS: dict[str, dict[str, Any]] = {
    "Pk-topk": {"semantics": "PK_TOPK"},
    "PT-k": {"semantics": "PT_K", "threshold": 0.3},
    "U-kRanks": {"semantics": "U_KRANKS"},
    "U-Topk": {"semantics": "U_TOPK"},
}
#: Sums of a few products of decimal fractions are right to so many digits.
DIGITS = 12

Answer = list[list[float]]


def observed(operator: Any, score: list[float], probability: list[float]) -> dict[int, Answer]:
    """By the end of each window: its answer, scores with probabilities."""
    none = np.full(len(score), -1)
    doubt = Uncertainty(np.array(probability), none, np.zeros(len(score), np.int64))
    operator.observe(Batch(np.array(score, np.float64), uncertainty=doubt))
    reported = operator.advance()
    found = {}
    for i, end in enumerate(reported.end):
        rows = slice(reported.offset[i], reported.offset[i + 1])
        chances = reported.probability[rows].round(DIGITS)
        found[int(end)] = [
            [float(s), float(p)] for s, p in zip(reported.score[rows], chances, strict=True)
        ]
    return found


# -- Table 1 --------------------------------------------------------------------------------------


def worlds(score: list[float], probability: list[float]) -> dict[tuple[float, ...], float]:
    """Every possible world, best first, with its probability."""
    ranked = sorted(zip(score, probability, strict=True), reverse=True)
    found = {}
    for exist in product((True, False), repeat=len(ranked)):
        inside = tuple(s for (s, _), here in zip(ranked, exist, strict=True) if here)
        chances = [p if here else 1 - p for (_, p), here in zip(ranked, exist, strict=True)]
        found[inside] = round(prod(chances), DIGITS)
    return found


def table_1() -> dict[str, Any]:
    """The worlds, what they say of each record, and the answers of all five synopses."""
    score, probability, k = TABLE_1["speed"], TABLE_1["probability"], TABLE_1["k"]
    known = worlds(score, probability)
    pr_2 = {
        str(s): round(sum(p for world, p in known.items() if s in world[:k]), DIGITS)
        for s in sorted(score, reverse=True)
    }
    answers = {
        name: {
            meaning: observed(make(k, 4, 4, **asked), score, probability)[4]
            for meaning, asked in MEANINGS.items()
        }
        for name, make in SYNOPSES.items()
    }
    numbered = [[list(world), known[tuple(world)]] for world, _ in TABLE_1["worlds"]]
    return {"worlds": numbered, "pr_2": pr_2, "answers": answers}


def windows_of_3() -> dict[str, dict[str, list[float]]]:
    """Pk-topk in the two windows of 3 records, by every synopsis."""
    score, probability = TABLE_1["speed"], TABLE_1["probability"]
    found = {}
    for name, make in SYNOPSES.items():
        operator = make(TABLE_1["k"], EXPECTED["windows_of_3"]["window"], 1)
        told = observed(operator, score, probability)
        found[name] = {str(end): [s for s, _ in told[end]] for end in (3, 4)}
    return found


# -- Example 3.1 ----------------------------------------------------------------------------------


def exactly(probability: list[float] | Floats, k: int) -> Floats:
    """Recursion (2): entry (i, j) is the probability that exactly j < k of the first i exist."""
    r = np.zeros((len(probability) + 1, k))
    r[0, 0] = 1.0
    for i, p in enumerate(probability, 1):
        r[i] = (1 - p) * r[i - 1]
        r[i, 1:] += p * r[i - 1, :-1]
    return r


def example_3_1() -> dict[str, Any]:
    """The array r as far as it is needed, which records meet (1) for each d, and the compact set,
    from the definition and from the synopses that write it down."""
    k = TABLE_1["k"]
    ranked = sorted(zip(TABLE_1["speed"], TABLE_1["probability"], strict=True), reverse=True)
    r = exactly([p for _, p in ranked], k)
    valid: dict[str, list[float]] = {}
    for d in range(1, len(ranked) + 1):
        bound = round(float(r[d].sum()), DIGITS)
        valid[str(d)] = [
            s
            for a, (s, p) in enumerate(ranked[:d])
            if round(float(p * r[a].sum()), DIGITS) >= bound
        ]
        if len(valid[str(d)]) >= k:
            break
    kept = {}
    for name in ("CCSQ", "SCSQ", "SCSQ-Buffer"):
        operator = SYNOPSES[name](k, 4, 4)
        observed(operator, TABLE_1["speed"], TABLE_1["probability"])
        kept[name] = operator._parts[0].records("whole")[0][SCORE].tolist()
    return {
        "r": r[: d + 1].round(DIGITS).tolist(),
        "valid": valid,
        "compact_set": [s for s, _ in ranked[:d]],
        "kept": kept,
    }


# -- Example 4.1 ----------------------------------------------------------------------------------


def example_4_1() -> dict[str, Any]:
    """The segments of SCSQ after 8 and after 9 tuples, and the compact set of the window."""
    given = EXPECTED["example_4_1"]
    operator = SCSQ(given["k"], given["window"], 1)
    found: dict[str, Any] = {"window_sets": {}}
    for step, rank in enumerate(given["ranks"], 1):
        observed(operator, [rank], [1.0])
        if step >= given["window"]:
            part: Any = operator._parts[0]
            segments = [[_by_arrival(of) for of in segment] for segment in part.segments()]
            found[f"at_{step}"] = segments[::-1]
            found["window_sets"][str(step)] = _by_arrival(part.records("whole"))
    return found


def _by_arrival(records: Any) -> list[int]:
    floats, ints = records
    return [int(rank) for rank in floats[SCORE, np.argsort(ints[LEAVES])]]


# -- what the errata are about --------------------------------------------------------------------


def no_compact_set() -> dict[str, Any]:
    """Records so improbable that nothing closes: what each synopsis keeps and answers."""
    given = EXPECTED["no_compact_set"]
    found = {}
    for name, make in SYNOPSES.items():
        operator = make(given["k"], given["window"], 1)
        told = observed(operator, given["score"], given["probability"])
        found[name] = {"kept": operator.candidates, "answers": told}
    return found


def conditions_8_and_9(probability: list[float], k: int) -> dict[str, bool]:
    """Whether (9) holds, (8) as printed, and (8) as Lemma 5.1 proves it (l up to j only)."""
    r = exactly(probability, k)
    at_rank = np.array(probability)[:, None] * r[:-1]  # record i, rank j + 1
    reached, behind = at_rank.max(axis=0).round(DIGITS), r[-1].round(DIGITS)
    return {
        "9": bool(reached[k - 1] >= behind.max()),
        "8_as_printed": bool((reached >= behind.max()).all()),
        "8_up_to_j": all(bool(reached[j] >= behind[: j + 1].max()) for j in range(k)),
    }


# -- all of it ------------------------------------------------------------------------------------


def steps() -> dict[str, Any]:
    return {
        "table_1": table_1(),
        "windows_of_3": windows_of_3(),
        "example_3_1": example_3_1(),
        "example_4_1": example_4_1(),
    }


def agreement(obtained: dict[str, Any]) -> dict[str, bool]:
    """Whether each example is exactly the paper's (of Example 4.1: with its erratum)."""
    table, small = obtained["table_1"], EXPECTED["windows_of_3"]
    compact = EXPECTED["example_3_1"]
    known, fourth = obtained["example_3_1"], EXPECTED["example_4_1"]
    return {
        "table_1": table["worlds"] == TABLE_1["worlds"]
        and table["pr_2"] == TABLE_1["pr_2"]
        and all(answers == TABLE_1["answers"] for answers in table["answers"].values()),
        "windows_of_3": all(
            found == small["answers"] for found in obtained["windows_of_3"].values()
        ),
        "example_3_1": all(known[part] == compact[part] for part in ("r", "valid", "compact_set"))
        and all(kept == compact["compact_set"] for kept in known["kept"].values()),
        "example_4_1": all(
            found == fourth[part] for part, found in obtained["example_4_1"].items()
        ),
    }
