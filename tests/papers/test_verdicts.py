"""Every verdict can fail: for each claim of each paper there are figures for which it is false.

`counterexamples/PAPER.py` has `ideal`, which turns measured figures into some that bear every claim
out, and `FALSE`, which for each claim has the edits of these that make it false, one at a time. A
claim of several parts has an edit for each.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
COMMITTED = HERE.parents[1] / "docs" / "reproduction"
TABLES = sorted(file.stem for file in (HERE / "counterexamples").glob("*.py"))


@cache
def table(name: str) -> Any:
    spec = spec_from_file_location(f"counterexamples_{name}", HERE / f"counterexamples/{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _text(name: str) -> str:
    return (COMMITTED / name / "obtained.json").read_text()


def committed(name: str) -> dict[str, Any]:
    """A copy of its own: tests change it."""
    figures: dict[str, Any] = json.loads(_text(name))
    return figures


def ideal(name: str) -> dict[str, Any]:
    figures = committed(name)
    table(name).ideal(figures)
    return figures


def verdicts(name: str, figures: dict[str, Any]) -> dict[str, str]:
    paper = import_module(f"papers.{name}.run").PAPER
    return {one["claim"]: one["verdict"] for one in paper.judge(figures)}


def test_every_paper_has_counterexamples() -> None:
    from papers import PAPERS

    assert sorted(PAPERS) == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_every_claim_has_counterexamples(name: str) -> None:
    expected = import_module(f"papers.{name}.example").EXPECTED["claims"]
    assert set(expected) == set(verdicts(name, committed(name)))
    assert set(expected) == set(table(name).FALSE)
    assert all(table(name).FALSE.values())


@pytest.mark.parametrize("name", TABLES)
def test_figures_that_bear_every_claim_out(name: str) -> None:
    found = verdicts(name, ideal(name))
    assert {claim: verdict for claim, verdict in found.items() if verdict != "shown"} == {}


@pytest.mark.parametrize(
    ("name", "claim", "number"),
    [
        pytest.param(name, claim, number, id=f"{name}-{claim}-{number}")
        for name in TABLES
        for claim, edits in table(name).FALSE.items()
        for number in range(len(edits))
    ],
)
def test_a_false_claim_is_not_shown(name: str, claim: str, number: int) -> None:
    figures = ideal(name)
    table(name).FALSE[claim][number](figures)
    assert verdicts(name, figures)[claim] == "not shown"


@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name in TABLES for part in table(name).APART]
)
def test_without_figures_a_claim_is_not_measured(name: str, part: str) -> None:
    figures = ideal(name)
    table(name).drop(figures, part)
    found = verdicts(name, figures)
    assert {c for c, v in found.items() if v == "not measured"} == table(name).APART[part]


@pytest.mark.parametrize("name", TABLES)
def test_the_committed_verdicts_are_those_of_the_committed_figures(name: str) -> None:
    figures = committed(name)
    paper = import_module(f"papers.{name}.run").PAPER
    assert paper.judge(figures) == figures["claims"]
