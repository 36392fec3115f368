"""Plans, their refusals, their figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crestline.certain import MinTopK
from crestline.core.errors import PlanError
from crestline.language import parse
from crestline.language.query import SEMANTICS
from crestline.planner import algorithms, harmonic, named, plan
from crestline.planner.catalogue import uncertain_default
from crestline.running import explain

QUERY = "SELECT TOP 10 id FROM s [RANGE 100 s SLIDE 10 s ON ts] {} ORDER BY x DESC {}"


@pytest.mark.parametrize(
    ("clauses", "part"),
    [
        (("", "FREQUENCY 2 mins"), "SLIDE and FREQUENCY contradict each other"),
        (
            ("", "USING DP"),
            "DP plans queries .* as in FREQUENCY 2 MINUTES, or choose one of MINTOPK",
        ),
        (("", "APPROXIMATE"), "APPROXIMATE is for windows that report at every arrival"),
        (("", "USING RAPF"), "RAPF does not do a window that slides in steps"),
        (("", "USING EAA"), "EAA is for incomplete streams and needs COMBINE"),
        (("", "USING FASTEST"), "there is no algorithm FASTEST: choose one of MINTOPK"),
        (("", "USING MINTOPK (cells => 3)"), "has no option cells: it takes none"),
        (
            ("WITH PROBABILITY p", "USING MINTOPK"),
            "MINTOPK does not know probabilities, but .*: choose one of .*NAIVE\\.",
        ),
        (
            ("", "USING SCSQ"),
            "SCSQ is for uncertain streams and needs WITH PROBABILITY: choose one",
        ),
        (("WITH PROBABILITY p", "USING FASTEST"), "no algorithm FASTEST: choose one of .*NAIVE"),
        (("WITH PROBABILITY p", "USING NAIVE (cells => 3)"), "has no option cells"),
        (("WITH PROBABILITY p", "APPROXIMATE"), "APPROXIMATE is for certain streams"),
        (
            ("WITH PROBABILITY p AS U_TOPK BY SUM OF PROBABILITY", ""),
            "leave out AS U_TOPK, or BY SUM OF PROBABILITY",
        ),
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
        ("SELECT TOP 1 x FROM s [ROWS 5 ON t] ORDER BY x FREQUENCY 1 s", "needs a window on time"),
        (
            "SELECT TOP 1 x FROM s [UNBOUNDED SLIDE 5 s ON t] ORDER BY x FREQUENCY 9 s",
            "needs a window on time",
        ),
        (
            "SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x FREQUENCY 1 s USING MINTOPK",
            "USING names the plan .*, and MINTOPK is none: choose one of DP, GREEDY, INCO, IN, NS",
        ),
        (
            "SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x FREQUENCY 1 s USING DP (error => 1)",
            "DP takes no options",
        ),
        (
            "SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x LATENESS 1 s LATE REVISE"
            " FREQUENCY 1 s",
            "FREQUENCY and LATE REVISE contradict",
        ),
        (
            "SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x FREQUENCY 1 s APPROXIMATE",
            "FREQUENCY is answered exactly",
        ),
        (
            "SELECT TOP 1 o FROM a, b [ROWS 5] COMBINE SUM(v) ACROSS r OBJECT o",
            "several streams need an event time",
        ),
    ],
)
def test_contradictions(text: str, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        plan(parse(text))


def test_every_algorithm_of_the_design_is_known() -> None:
    names = [(a.family, a.name) for a in algorithms()]
    assert len(names) == len(set(names)) == 31
    assert {a.name for a in algorithms() if a.family not in ("uncertain", "incomplete")} == {
        "MINTOPK", "PRETOPK", "SMA", "TMA", "NAIVE",
        "RAPF", "PA", "SA", "RA", "SASF", "SARF", "SAPF", "RASF", "RARF", "SNN", "CPM",
        "DP", "GREEDY", "INCO", "IN", "NS",
    }  # fmt: skip
    uncertain = [a.name for a in algorithms() if a.family == "uncertain"]
    assert uncertain == ["SCSQ_BUFFER", "SCSQ", "CCSQ", "CSQ", "BS", "NAIVE"]
    incomplete = [a.name for a in algorithms() if a.family == "incomplete"]
    assert incomplete == ["EAA", "CORRELATED", "SLA", "NAIVE"]


def test_a_name_that_stands_twice_is_of_the_family_that_fits() -> None:
    for clause, family in (("", "certain"), ("WITH PROBABILITY p", "uncertain")):
        made = plan(parse(QUERY.format(clause, "USING naive")))
        assert (made.algorithm.name, made.algorithm.family) == ("NAIVE", family)
        assert type(made.make_operator()).__module__.split(".")[1] == family
    found = named("NAIVE", "uncertain")
    assert found is not None and found.family == "uncertain"
    assert named("scsq_buffer") == named("SCSQ_BUFFER", "certain")


UNCERTAIN = "SELECT TOP 3 id FROM s {} WITH PROBABILITY p {} ORDER BY x DESC {}"


@pytest.mark.parametrize("window", ["[ROWS 9]", "[ROWS 9 SLIDE 3]", "[RANGE 9 s ON ts]"])
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_uncertain_streams_take_every_window(window: str, semantics: str) -> None:
    asked = {"PT_K": "PT_K(0.5)", "PRF": "PRF(0.5)"}.get(semantics, semantics)
    made = plan(parse(UNCERTAIN.format(window, f"AS {asked}", "")))
    whole = semantics == "EXPECTED_RANK"
    assert made.algorithm == (named("BS") if whole else uncertain_default())
    assert semantics in str(explain(made.query))


def test_explain_tells_semantics_and_rules() -> None:
    text = str(explain(UNCERTAIN.format("[ROWS 9]", "AS PT_K(0.3)", "EMIT CHANGES")))
    assert "among the top k with probability 0.3 or more" in text
    assert "independently" in text and "a probability that changes is a move" in text
    summed = "EXCLUSIVE BY rule BY SUM OF PROBABILITY"
    known = explain(UNCERTAIN.format("[ROWS 9]", summed, "USING NAIVE"))
    assert "the k values of id" in known.semantics and "the same rule" in known.rules
    assert known.keeps == "the whole window"
    assert "no other record can" in str(explain(UNCERTAIN.format("[ROWS 9]", "", "")))
    asked = "EXCLUSIVE BY rule AS U_TOPK"
    text = str(explain(UNCERTAIN.format("[ROWS 9]", asked, "")))
    assert "the whole window: nothing smaller is known to decide U_TOPK with EXCLUSIVE BY" in text
    assert explain(EACH.format("")).semantics is None


EACH = "SELECT TOP 3 id FROM s [ROWS 100] ORDER BY x DESC {}"


@pytest.mark.parametrize(
    ("clauses", "name", "options"),
    [
        ("", "RAPF", {}),
        ("APPROXIMATE", "PA", {"adaptive": True, "error": 0.001}),
        ("APPROXIMATE ERROR 0.05", "PA", {"adaptive": True, "error": 0.05}),
        ("USING PA", "PA", {}),
        (
            "APPROXIMATE ERROR 0.05 USING PA (adaptive => false)",
            "PA",
            {"adaptive": False, "error": 0.05},
        ),
        ("USING rapf (buffer => 50, gamma => 0.5)", "RAPF", {"buffer": 50, "gamma": 0.5}),
        ("USING MINTOPK", "MINTOPK", {}),
    ],
)
def test_a_result_after_every_arrival(clauses: str, name: str, options: dict[str, float]) -> None:
    made = plan(parse(EACH.format(clauses)))
    assert (made.algorithm.name, dict(made.options)) == (name, options)
    assert made.on_arrival


@pytest.mark.parametrize(
    ("clauses", "part"),
    [
        ("USING RAPF (buffer => 51)", "too long for a window of 100: it may hold 50, half of"),
        ("USING RAPF (cells => 3)", "has no option cells: it knows buffer, gamma, error"),
        ("USING RAPF (buffer => 'many')", "the option buffer of RAPF is a number, not 'many'"),
        ("USING PA (adaptive => 1)", "is true or false, not 1"),
        ("USING PA (error => 2)", "error must lie between 0 and 1"),
        ("USING RA (gamma => -1)", "gamma must not be negative"),
        ("APPROXIMATE USING RA", "RA is exact, which is more than APPROXIMATE asks for"),
        ("APPROXIMATE ERROR 0.1 USING PA (error => 0.2)", "contradict each other"),
    ],
)
def test_options_are_checked(clauses: str, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        plan(parse(EACH.format(clauses)))


def test_revisions_need_what_the_arrival_family_forgets() -> None:
    text = "SELECT TOP 1 x FROM s [RANGE 5 s ON t] ORDER BY x LATENESS 1 s LATE REVISE {}"
    assert plan(parse(text.format(""))).algorithm.name == "MINTOPK"
    for clauses, part in (("USING RAPF", "LATE REVISE needs MINTOPK"), ("APPROXIMATE", "contrad")):
        with pytest.raises(PlanError, match=part):
            plan(parse(text.format(clauses)))


def test_explain_tells_the_bound_and_the_options() -> None:
    text = str(explain(EACH.format("APPROXIMATE ERROR 0.01")))
    assert "fewer than 0.01 N/n results missed" in text and "streams in random order" in text
    assert "gamma 0.2" in str(explain(EACH.format("USING RA")))


def test_explain_says_how_much_is_kept() -> None:
    made = plan(parse(QUERY.format("", "")))
    known = explain(made.query)
    assert known.algorithm == "MINTOPK" and known.panes_per_window == 10
    assert known.expected_kept == pytest.approx(10 * harmonic(10), abs=0.05)
    assert known.worst_kept == 100
    text = str(known)
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
    assert {a.name.lower() for a in algorithms()} <= {p.stem for p in docs.glob("*.md")}
