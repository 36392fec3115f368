"""Plans, their refusals, their figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crestline.certain import MinTopK
from crestline.core.errors import PlanError
from crestline.language import parse
from crestline.planner import algorithms, explain, facts, harmonic, plan

QUERY = "SELECT TOP 10 id FROM s [RANGE 100 s SLIDE 10 s ON ts] {} ORDER BY x DESC {}"


@pytest.mark.parametrize(
    ("clauses", "part"),
    [
        (("WITH PROBABILITY p", ""), "WITH PROBABILITY .* not available in this version yet"),
        (("", "FREQUENCY 2 mins"), "FREQUENCY .* not available in this version yet"),
        (("", "APPROXIMATE"), "APPROXIMATE is part of the language but not available"),
        (("", "USING RAPF"), "RAPF .* is not available in this version yet"),
        (("", "USING FASTEST"), "there is no algorithm FASTEST: choose one of MINTOPK"),
        (("", "USING MINTOPK (cells => 3)"), "takes no options, but cells was given"),
        (("", "LATENESS 1 s LATE REVISE EMIT CHANGES"), "needs EMIT SNAPSHOTS"),
    ],
)
def test_refusals_are_one_sentence(clauses: tuple[str, str], part: str) -> None:
    with pytest.raises(PlanError, match=part) as caught:
        plan(parse(QUERY.format(*clauses)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("SELECT TOP 1 x FROM s [ROWS 5] ORDER BY x LATENESS 1 s", "LATENESS needs an event time"),
        (
            "SELECT TOP 1 x FROM s [ROWS 5 ON t] ORDER BY x LATENESS 1 s LATE REVISE",
            "window on time",
        ),
        ("SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x USING PRETOPK", "does not do a window"),
        ("SELECT TOP 1 x FROM s [UNBOUNDED SLIDE 5 ROWS] ORDER BY x USING PRETOPK", "does not do"),
        ("SELECT TOP 1 o FROM s [ROWS 5] COMBINE SUM(v) ACROSS r OBJECT o", "COMBINE .* not avail"),
    ],
)
def test_contradictions(text: str, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        plan(parse(text))


def test_every_algorithm_of_the_design_is_known() -> None:
    names = [a.name for a in algorithms()]
    assert len(names) == len(set(names)) == 29
    assert {a.name for a in algorithms() if a.available} == {
        "MINTOPK", "PRETOPK", "SMA", "TMA", "NAIVE",
    }  # fmt: skip


def test_explain_says_how_much_is_kept() -> None:
    made = plan(parse(QUERY.format("", "")))
    known = facts(made)
    assert known["algorithm"] == "MINTOPK" and known["panes_per_window"] == 10
    assert known["expected_kept"] == pytest.approx(10 * harmonic(10), abs=0.05)
    assert known["worst_kept"] == 100
    text = explain(made)
    assert "about 29 records" in text and "at worst 100" in text and "10 s each, 10 to a" in text


def test_the_figure_holds() -> None:
    """k H_C, measured on scores in random order."""
    run = MinTopK(k=20, window=10_000, slide=1_000)
    run.observe(np.random.default_rng(0).random(400_000))
    sizes = []
    for _ in range(200):
        run.observe(np.random.default_rng(len(sizes)).random(1_000))
        run.advance()
        sizes.append(run.candidates)
    assert np.mean(sizes) == pytest.approx(20 * harmonic(10), rel=0.05)


def test_harmonic_is_smooth_where_its_formula_changes() -> None:
    assert harmonic(1001) - harmonic(1000) == pytest.approx(1 / 1001, rel=1e-6)


def test_each_available_algorithm_has_its_page() -> None:
    docs = Path(__file__).parents[2] / "docs" / "algorithms"
    assert {a.name.lower() for a in algorithms() if a.available} <= {
        p.stem for p in docs.glob("*.md")
    }
