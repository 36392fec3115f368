"""Figures 1 and 2 with numbers of ours, and Tables 1 to 4 beside ours, number by number."""

from __future__ import annotations

from typing import Any

from papers.haghani2009.example import EXPECTED, FIGURE_2, FLOWS, NAMES
from papers.reproduction import golden as number

_OURS = "the figure's numbers are lost in the text at hand; these are ours, worked out by hand"


def golden(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    steps = obtained["example"]["steps"]
    first_two = {moment: rows[:2] for moment, rows in FLOWS["scores"].items()}
    table = {at: rows for at, rows in EXPECTED["intervals"].items() if at != "about"}
    return [
        *(
            number("Figure 1", f"scores, k = {k}, by {name}", expected, found[k], note=_OURS)
            for name, found in steps["flows"].items()
            for k, expected in ((str(len(NAMES)), FLOWS["scores"]), ("2", first_two))
        ),
        number("Figure 2", "the instances", FIGURE_2["instances"], steps["figure_2"], note=_OURS),
        number(
            "Definition 1",
            "instances, intervals, dominators",
            table,
            steps["intervals"],
            note=_OURS,
        ),
    ]
