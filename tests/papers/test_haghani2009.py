"""Haghani et al. 2009: the examples by hand, the properties of dominance, and that the experiments
run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

PAPER = "haghani2009"

Observation = tuple[int, int, float, int]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Observation], int]:
    """A few objects on three streams, with equal scores and equal times; and a window."""
    gaps = draw(st.lists(st.integers(0, 3), min_size=1, max_size=14))
    times = np.cumsum(gaps).tolist()
    row = st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from((0.0, 0.25, 0.5, 1.0)))
    history = [(*draw(row), time) for time in times]
    return history, draw(st.integers(1, 12))


# -- the examples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["SLA", "EAA", "NAIVE"])
def test_flows_score_as_worked_out_by_hand(paper: Any, steps: Any, method: str) -> None:
    scores = paper.FLOWS["scores"]
    assert steps["flows"][method]["4"] == scores
    assert steps["flows"][method]["2"] == {moment: rows[:2] for moment, rows in scores.items()}


def test_the_reference_scores_them_so_too(paper: Any) -> None:
    from papers.haghani2009 import reference

    history = paper.observations(paper.FLOWS)
    for moment, rows in paper.FLOWS["scores"].items():
        found = reference.scores(history, int(moment), 100, 3)
        assert [list(row) for row in found] == rows
        valid = reference.instances(history, int(moment), 100, 3)
        for k in (1, 2, 3, 4):
            found = reference.top(reference.dominance_set(valid, k), k)
            assert [list(row) for row in found] == rows[:k]


@pytest.mark.parametrize("moment", ["90", "105"])
def test_intervals_and_dominators_by_hand(paper: Any, steps: Any, moment: str) -> None:
    assert steps["intervals"][moment] == paper.EXPECTED["intervals"][moment]


def test_dominance_sets_by_hand(steps: Any) -> None:
    found = steps["dominance"]["sets"]["105"]
    assert ["A", 30] not in found["1"] and ["A", 30] in found["2"]  # dominated by C only
    assert ["A", 80] not in found["2"]  # by C and by D
    assert steps["dominance"]["P1"] and steps["dominance"]["P2"]


def test_figure_2_by_hand(paper: Any, steps: Any) -> None:
    assert steps["figure_2"] == paper.FIGURE_2["instances"]


def test_everything_agrees(paper: Any, steps: Any) -> None:
    assert all(paper.agreement(steps).values())


# -- the properties of section 3.2.2 --------------------------------------------------------------


@given(histories(), st.booleans())
def test_dominance_is_persistent_and_transitive(
    given_history: tuple[list[Observation], int], once: bool
) -> None:
    from papers.haghani2009 import example, reference

    history, window = given_history
    history = reference.without_repeats(history, window, once)
    assert example.persistent(history, window, 3, once)
    for now in {row[3] for row in history}:
        assert example.transitive(reference.instances(history, now, window, 3, once=once))


@given(histories(), st.booleans(), st.integers(1, 3))
def test_the_dominance_set_is_enough(
    given_history: tuple[list[Observation], int], once: bool, k: int
) -> None:
    """Theorem 1: it tells the scores of the top k, at every moment."""
    from papers.haghani2009 import reference

    history, window = given_history
    history = reference.without_repeats(history, window, once)
    for now in range(history[-1][3] + window):
        kept = reference.dominance_set(reference.instances(history, now, window, 3, once=once), k)
        right = [score for _, score in reference.scores(history, now, window, 3)[:k]]
        assert [score for _, score in reference.top(kept, k)] == right


@given(histories(), st.integers(1, 3))
def test_what_is_forgotten_at_once_is_never_missed(
    given_history: tuple[list[Observation], int], k: int
) -> None:
    """What has once left the set never comes back, so it need not be looked at again."""
    from papers.haghani2009 import reference

    history, window = given_history
    history = reference.without_repeats(history, window)
    gone: set[tuple[Any, int]] = set()
    for now in sorted({row[3] for row in history}):
        valid = reference.instances(history, now, window, 3)
        kept = {(one.object, one.time) for one in reference.dominance_set(valid, k)}
        assert not kept & gone
        gone |= {(one.object, one.time) for one in valid} - kept


def test_an_object_that_returns_begins_anew() -> None:
    from papers.haghani2009.reference import Instance, instances, without_repeats

    history = [("a", 0, 0.5, 0), ("a", 1, 0.25, 6), ("a", 0, 1.0, 12), ("a", 0, 0.75, 30)]
    assert without_repeats(history, 10) == [*history[:2], history[3]]
    assert without_repeats(history, 10, once=False) == history
    # At 11 the value of stream 0 has left; whether another may come depends.
    assert instances(history, 11, 10, 2) == [Instance("a", 6, 0.25, 0.25)]
    assert instances(history, 11, 10, 2, once=False) == [Instance("a", 6, 0.25, 1.25)]
    assert instances(history, 30, 10, 2) == [Instance("a", 30, 0.75, 1.75)]


# -- skylines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.125, 0.5])
def test_skylines_are_dominance_sets(epsilon: float) -> None:
    from papers.haghani2009.experiments import skyline
    from papers.haghani2009.reference import Instance, dominance_set

    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 40):
        current = rng.integers(0, 9, n) / 8
        best = np.minimum(current + epsilon, 1.0)
        points = zip(current.tolist(), best.tolist(), strict=True)
        valid = [Instance(i, i, low, high) for i, (low, high) in enumerate(points)]
        assert skyline(current, best) == len(dominance_set(valid, 1))


def test_the_mean_of_a_skyline_is_known() -> None:
    from papers.haghani2009.experiments import expected_skyline

    assert expected_skyline(3, 0.0) == pytest.approx(1 + 1 / 2 + 1 / 3)
    assert expected_skyline(50, 1.0) == 50
    # Two points: the later one stays, the earlier if the later is at most epsilon above it.
    assert expected_skyline(2, 0.25) == pytest.approx(1 + (1 - 0.75**2 / 2))


# -- section 4 to the letter ----------------------------------------------------------------------


def test_the_approximation_without_doubt_is_the_dominance_set() -> None:
    """One stream: nothing is to come, so nothing is guessed."""
    from papers.haghani2009 import approximation, reference, stream

    records, window, k = stream.synthetic(200, streams=1, xi=0.0, seed=3), 30, 3
    places = np.arange(10, 201, 19)
    history = records.history(slice(0, 200))
    told = approximation.followed(records, k, window, places)
    for place, (things, scores, items) in zip(places.tolist(), told, strict=True):
        valid = reference.instances(history, place - 1, window, 1)
        assert items == len(reference.dominance_set(valid, k))
        pairs = list(zip(things.tolist(), scores.tolist(), strict=True))
        assert pairs == reference.scores(history, place - 1, window, 1)[:k]


def test_probabilities_are_shares_of_the_window() -> None:
    from papers.haghani2009.approximation import _Seen

    seen = _Seen(window=6, streams=3)
    for thing, stream in [(9, 0), (1, 0), (1, 1), (2, 0), (2, 2), (3, 1), (1, 2)]:
        seen.add(thing, stream)  # the first has left
    assert seen.to_come(0b001) == 1 / 2 + 2 / 2  # of 1 and 2: one on the second, both on the third
    assert seen.to_come(0b010) == 1 / 2 + 1 / 2  # of 1 and 3
    assert seen.to_come(0b011) == 1
    assert seen.to_come(0b111) == 0


# -- streams --------------------------------------------------------------------------------------


def test_flows_come_once_a_router() -> None:
    from papers.haghani2009 import stream

    for count in (2, 3):
        records = stream.flows(count)
        assert len(np.unique(records.object * count + records.stream)) == len(records)
        assert records.streams == count == len(np.unique(records.stream))
        assert 0 <= records.value.min() < records.value.max() == 1


def test_without_the_recording_flows_are_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from papers.haghani2009 import stream

    monkeypatch.setenv("CRESTLINE_DATA", str(tmp_path))
    stream._recorded.cache_clear()
    try:
        assert "generated" in stream.recording()
        assert len(stream.flows(2)) > 5_000
    finally:
        monkeypatch.undo()
        stream._recorded.cache_clear()


# -- the experiments run and say the right thing (never: how much is kept) ------------------------


def test_precision_and_error() -> None:
    from papers.haghani2009.experiments import judged

    true = (np.array([1, 2, 3, 4]), np.array([1.0, 0.75, 0.5, 0.25]), 0)
    assert judged(true, true, 4) == [1.0, 0.0]
    mine = (np.array([1, 4, 9]), np.array([1.0, 0.25, 0.25]), 0)
    assert judged(mine, true, 4) == [0.5, (0.5 + 0.25 + 0.25) / 4]


def test_all_experiments_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from papers.haghani2009 import experiments, run

    tiny = experiments.Size(
        evaluations=4, window=80, k=3, all_streams=(3, 4), ks=(3, 10), windows=(40, 80),
        xis=(0.1, 0.9), xi_windows=(40,), growth=((3, 0.5),),
        growth_windows=(100, 400), growth_values=500, real_k=5, real_windows=(60, 120),
        real_values=1_000, weights=(0.0, 1.0), weight_streams=(3,),
        skyline_runs=20, skyline_sizes=(50, 100), skyline_size=100, epsilons=(0.0, 0.1, 0.3),
        exact_window=30, exact_evaluations=4,
    )  # fmt: skip
    monkeypatch.setitem(experiments.SIZES, "quick", tiny)
    obtained = run.PAPER.run("quick", lambda line: None, tmp_path)
    assert json.loads((tmp_path / "obtained.json").read_text()) == obtained
    assert {one["verdict"] for one in obtained["golden"]} <= {"equal", "erratum"}
    claims = {one["claim"]: one["verdict"] == "shown" for one in obtained["claims"]}
    assert claims.keys() == {*run.example.EXPECTED["claims"]}
    assert all(claims[name] for name in ("flows", "figure_2", "dominance", "theorem_1", "lemma_1"))
    rows = [row for of in obtained["tables"].values() for row in of]
    rows += [row for of in obtained["real"].values() for row in of]
    for row in rows:
        items = row["items"]
        assert items["SLA"] == row["window"] >= items["EAA"]
        assert row["k"] <= min(items.values())
        assert (row["precision"]["EAA"], row["error"]["EAA"]) == (1.0, 0.0)
        assert all(0 <= precision <= 1 for precision in row["precision"].values())
    for row in [row for of in obtained["memory"].values() for row in of]:
        assert row["items"]["SLA"] == row["window"] >= row["control"] > 0
        assert 0 < row["sketches"] < row["bytes"]["CORRELATED"]
    assert all((tmp_path / name).stat().st_size > 10_000 for name in run.PAPER.pictures)
