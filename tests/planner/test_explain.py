"""``crestline.explain``: an object with fields that is shown as the command prints it."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

import pytest

import crestline
from crestline.core.errors import PlanError
from crestline.planner import QueryFacts

TOP = "SELECT TOP 3 id FROM s [RANGE 60 s SLIDE 10 s ON ts] ORDER BY x DESC"
OFTEN = "SELECT TOP 3 id FROM s [RANGE 9 s ON ts] ORDER BY x DESC FREQUENCY {} s"


def test_the_facts_are_fields() -> None:
    told = crestline.explain(TOP)
    assert (told.query, told.algorithm, told.panes_per_window) == ("query", "MINTOPK", 6)
    assert told.worst_kept == 18 and told.emit == "SNAPSHOTS" and told.shares_with == []
    assert told == crestline.explain(crestline.parse(TOP))
    assert list(told.to_dict()) == [field.name for field in fields(QueryFacts)]
    assert json.loads(json.dumps(told.to_dict())) == told.to_dict()


def test_it_is_shown_as_the_command_prints_it() -> None:
    told = crestline.explain(TOP)
    assert repr(told) == str(told) == told.to_text()
    names = [line.split("  ")[0] for line in str(told).splitlines()]
    assert names == ["query", "window", "algorithm", "cost", "panes", "kept", "late", "emits"]


def test_of_several_queries_the_fields_are_those_of_the_first() -> None:
    told = crestline.explain(f"CREATE QUERY b AS {TOP}; CREATE QUERY a AS {OFTEN.format(2)}")
    assert told.query == "b" and list(told.by_query) == list(told.queries) == ["b", "a"]
    assert told.by_query["a"].algorithm == "DP" and told.by_query["b"].algorithm == told.algorithm
    assert told.by_query["b"].to_dict() == told.to_dict()


@pytest.mark.parametrize("count", [1, 2, 40])
def test_as_html_it_tells_the_same_and_nothing_in_it_is_markup(count: int) -> None:
    name = "<script>alert(1)</script>"
    text = ";".join(f"CREATE QUERY `{name}{n}` AS {OFTEN.format(n + 2)}" for n in range(count))
    shown = crestline.explain(text)._repr_html_()
    assert "<script" not in shown and "&lt;script&gt;" in shown
    assert "<pre>" in shown  # the timeline
    assert "one band of candidates" in shown


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(PlanError, match="no algorithm NOTHING"):
        crestline.explain(f"{TOP} USING NOTHING")


def test_uncertain_plans_as_they_are_written() -> None:
    """Where a meaning needs the whole window, no bound of a synopsis stands beside it. Written with
    WRITE_GOLDEN=1."""
    golden = Path(__file__).parent / "golden" / "explain_uncertain.txt"
    asked = [case.partition("\n")[0] for case in golden.read_text("utf-8").split("====\n")]
    said = "\n====\n".join(f"{text}\n\n{crestline.explain(text)}\n" for text in asked)
    if os.environ.get("WRITE_GOLDEN"):
        golden.write_text(said, "utf-8")
    assert said == golden.read_text("utf-8")
