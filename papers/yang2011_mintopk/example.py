"""The running example of Figures 1 to 5, step by step.

The paper draws the scores and does not print them; `expected.json` holds scores that fit its lists.
Window W_i ends after 16 + 4 i objects; o1 is the first object.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from crestline.certain import MinTopK

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())
EXAMPLE: dict[str, Any] = EXPECTED["example"]

#: (object, first window, last window) of each listed object, best first.
Marks = list[tuple[int, int, int]]


def steps() -> dict[str, dict[str, Any]]:
    """What Figure 5 shows in its three columns, from the operator."""
    window, slide, k = EXAMPLE["window"], EXAMPLE["slide"], EXAMPLE["k"]
    scores = np.array(EXAMPLE["scores"], np.float64)
    operator = MinTopK(k=k, window=window, slide=slide)
    operator.observe(scores[:window])
    operator.advance()
    at_w0 = marks_of(operator, window, slide)
    operator.observe(scores[window:])
    operator.advance()
    at_w1 = marks_of(operator, window, slide)
    return {
        "at_w0": described(at_w0, k),
        "after_slide": described(purged(at_w0, 1), k),
        "at_w1": described(at_w1, k),
    }


def marks_of(operator: MinTopK, window: int, slide: int) -> Marks:
    """The operator's marks are window ends and its ids count from 0: here as the paper has them."""
    return [
        (id + 1, (first - window) // slide, (last - window) // slide)
        for id, first, last in operator.window_marks()
    ]


def purged(marks: Marks, window: int) -> Marks:
    """Figure 5's step 1, which the operator does together with step 2: forget earlier windows."""
    moved = [(name, max(first, window), last) for name, first, last in marks]
    return [(name, first, last) for name, first, last in moved if first <= last]


def described(marks: Marks, k: int) -> dict[str, Any]:
    """The list with its marks, each window's pointer, and the predicted results they encode."""
    windows = range(min(first for _, first, _ in marks), max(last for *_, last in marks) + 1)
    predicted = {
        f"W{w}": [name for name, first, last in marks if first <= w <= last][:k] for w in windows
    }
    return {
        "list": [name for name, _, _ in marks],
        "marks": {str(name): [f"W{first}", f"W{last}"] for name, first, last in marks},
        "lower_bound_pointers": {window: names[-1] for window, names in predicted.items()},
        "predicted": predicted,
    }


def agreement(obtained: dict[str, dict[str, Any]]) -> dict[str, bool]:
    """Whether each step is exactly the paper's, the order of the list included."""
    return {name: step == EXAMPLE[name] for name, step in obtained.items()}
