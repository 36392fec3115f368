"""Table 1 with its worlds and answers, Examples 3.1 and 4.1, beside ours."""

from __future__ import annotations

from typing import Any

from papers.jin2008.example import EXPECTED, TABLE_1
from papers.reproduction import golden as number

_MEANINGS = {
    "Pk-topk": "Pk-topk, with Pr_2",
    "PT-k": "PT-k for a threshold of 0.3, with Pr_2",
    "U-kRanks": "U-kRanks, with the probability at each rank",
    "U-Topk": "U-Topk, with the probability of the list",
}


def golden(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    steps = obtained["example"]["steps"]
    return [
        *_table_1(steps["table_1"]),
        *_windows_of_3(steps["windows_of_3"]),
        *_example_3_1(steps["example_3_1"]),
        *_example_4_1(steps["example_4_1"]),
    ]


def _table_1(found: dict[str, Any]) -> list[dict[str, Any]]:
    source = TABLE_1["source"]
    return [
        number(
            source, "the 16 worlds with their probabilities", TABLE_1["worlds"], found["worlds"]
        ),
        number(source, "Pr_2 of each speed", TABLE_1["pr_2"], found["pr_2"]),
        *(
            number(source, f"{_MEANINGS[meaning]}, by {name}", TABLE_1["answers"][meaning], answer)
            for name, answers in found["answers"].items()
            for meaning, answer in answers.items()
        ),
    ]


def _windows_of_3(found: dict[str, Any]) -> list[dict[str, Any]]:
    expected = EXPECTED["windows_of_3"]
    return [
        number(
            expected["source"],
            f"Pk-topk of a window of 3 after {end} records, by {name}",
            expected["answers"][end],
            answer,
        )
        for name, answers in found.items()
        for end, answer in answers.items()
    ]


def _example_3_1(found: dict[str, Any]) -> list[dict[str, Any]]:
    expected = EXPECTED["example_3_1"]
    told = {
        "r": "the array r",
        "valid": "records that meet (1), by d",
        "compact_set": "the compact set",
    }
    return [
        *(number("Example 3.1", text, expected[part], found[part]) for part, text in told.items()),
        *(
            number(
                "Example 3.1", f"the compact set, as {name} keeps it", expected["compact_set"], kept
            )
            for name, kept in found["kept"].items()
        ),
    ]


def _example_4_1(found: dict[str, Any]) -> list[dict[str, Any]]:
    expected = EXPECTED["example_4_1"]
    return [
        number(
            "Example 4.1, Figure 2", "segments of SCSQ at time 8", expected["at_8"], found["at_8"]
        ),
        number(
            "Example 4.1, Figure 2",
            "segments of SCSQ at time 9",
            [[[5, 6, 1], expected["at_9"][0][1]]],
            found["at_9"],
            right=expected["at_9"],
            note=expected["erratum"],
        ),
        number(
            "Example 4.1",
            "compact sets of the window, by time",
            expected["window_sets"],
            found["window_sets"],
        ),
    ]
