"""The numbers of Figures 1 to 5, step by step, beside those of the operator."""

from __future__ import annotations

from typing import Any

from papers.reproduction import golden as number
from papers.yang2011_mintopk.example import EXAMPLE

_STEPS = {
    "at_w0": "when W0 ends",
    "after_slide": "when the window has slid",
    "at_w1": "when W1 ends",
}
_PARTS = {
    "list": "the list",
    "marks": "first and last window of each object",
    "lower_bound_pointers": "lower bound pointers",
    "predicted": "predicted results",
}


def golden(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    steps = obtained["example"]["steps"]
    return [
        number("Figures 3 to 5", f"{part_text}, {text}", EXAMPLE[step][part], steps[step][part])
        for step, text in _STEPS.items()
        for part, part_text in _PARTS.items()
    ]
