"""Golden pairs of refusals: the name of a refusal, a query, and the sentence that the query gets.

After a change that is meant, write the sentences again and read the difference:

    WRITE_GOLDEN=1 python -m pytest tests/planner/test_refusals.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crestline.core.errors import PlanError
from crestline.language import parse
from crestline.planner import plan
from crestline.planner.refusals import REFUSALS

GOLDEN = Path(__file__).with_name("golden") / "refusals.txt"


def pairs() -> list[list[str]]:
    return [block.splitlines() for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")]


def refused(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        plan(parse(text))
    return str(caught.value)


def test_sentences() -> None:
    expected = pairs()
    actual = [[name, text, refused(text)] for name, text, *_ in expected]
    if os.environ.get("WRITE_GOLDEN"):
        GOLDEN.write_text("\n\n".join(map("\n".join, actual)) + "\n", encoding="utf-8")
    assert actual == pairs()


def test_a_pair_triggers_its_refusal_and_no_other() -> None:
    for name, text, _ in pairs():
        query = parse(text)
        assert [refusal.__name__ for refusal in REFUSALS if refusal(query)] == [name]


def test_every_refusal_has_a_pair() -> None:
    names = [refusal.__name__ for refusal in REFUSALS]
    assert list(dict.fromkeys(name for name, *_ in pairs())) == names
