"""Pripuzic et al. 2015: the tables exactly, the example step by step, and that the experiments
run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.certain import RAPF, SA, SAPF, Naive
from crestline.core.errors import CrestlineError

STEPS = ("table_ii", "table_iii", "table_vi", "table_vii")


@pytest.fixture(scope="module")
def paper() -> Any:
    from papers.pripuzic2015 import example

    return example


# -- the tables -----------------------------------------------------------------------------------


def test_table_v_is_the_papers(paper: Any) -> None:
    assert paper.tables()["table_v"] == paper.EXPECTED["table_v"]["limit"]


def test_table_x_is_the_papers(paper: Any) -> None:
    assert paper.tables()["table_x"] == paper.EXPECTED["table_x"]["rank"]


@pytest.mark.parametrize("table", STEPS)
def test_the_example_is_the_papers_at_every_step(paper: Any, table: str) -> None:
    found = getattr(paper, table)()
    assert found == {part: paper.EXAMPLE[table][part] for part in found}


def test_table_iii_with_the_grid(paper: Any) -> None:
    from papers.pripuzic2015 import many

    found = many.table_iii()
    assert found == {part: paper.EXAMPLE["table_iii"][part] for part in found}


def test_table_vii_strikes_nothing_in_its_last_row_though_algorithm_3_prunes(paper: Any) -> None:
    """3 candidates reach the limit of 3, and o11, which is younger and better, dominates o10."""
    found = paper.table_vii()
    assert found["limits"][-2] == 3 == len(found["candidates"][-1])
    assert found["struck"][-1] == [10]


def test_the_scores_fit_what_the_tables_say_of_their_order(paper: Any) -> None:
    s = dict(enumerate(paper.SCORES, 1))
    order = [s[i] for i in (2, 3, 1, 7, 5, 9, 4, 8, 6)]
    assert order == sorted(order)
    assert s[11] < s[10] and s[10] > s[8] + (s[8] - s[9]) / 2


def test_the_example_is_exact_but_for_nothing(paper: Any) -> None:
    """All tables have the right top-1: that of the sorted window."""
    naive = Naive(paper.EXAMPLE["k"], paper.EXAMPLE["window"], 1)
    naive.observe(-np.array(paper.SCORES))
    right = [[int(ids[0]) + 1] for _, _, ids, _ in naive.advance()]
    assert right == paper.EXAMPLE["table_vi"]["top"] == paper.EXAMPLE["table_vii"]["top"]


# -- the theorems ---------------------------------------------------------------------------------


@given(st.integers(1, 60))
def test_theorem_5_1_the_longest_buffer_is_taken_and_one_more_is_refused(window: int) -> None:
    longest = (window + 1) // 2
    RAPF(1, window, buffer=longest)
    with pytest.raises(CrestlineError, match=r"Theorem 5\.1"):
        RAPF(1, window, buffer=longest + 1)


@pytest.mark.parametrize("make", [RAPF, SAPF])
def test_lemma_5_2_in_long_batches(make: Any) -> None:
    """Batches of which whole blocks are passed over: what stood in the buffer then leaves it in
    time all the same."""
    from papers.pripuzic2015.errors import reported

    n, records = 3_000, 100_000
    for seed in range(5):
        scores = np.random.default_rng(seed).random(records)
        right = reported(SA(1, n, only_changes=True), scores)
        mine = reported(make(1, n, only_changes=True, buffer=n // 2), scores, records)
        assert np.flatnonzero(right).tolist() == np.flatnonzero(mine).tolist()


@pytest.mark.parametrize(("k", "n"), [(1, 2_000), (9, 2_000), (20, 1_000)])
def test_kept_are_what_the_formula_says(k: int, n: int) -> None:
    from papers.pripuzic2015.claims import relaxed_size, strict_size
    from papers.pripuzic2015.experiments import kept
    from papers.pripuzic2015.sizes import Size

    size = Size(ks=(k,), n=n, k=k, kept_ns=(n,), kept_gammas=(0.2,), kept_windows=40)
    strict, relaxed = kept(size, lambda line: None)["runs"]
    assert strict["mean"] == pytest.approx(strict_size(k, n), rel=0.05)
    assert strict["mean"] > 1.05 * k * np.log(n / k)  # so not the paper's
    assert relaxed["mean"] == pytest.approx(relaxed_size(k, 0.2, strict_size(k, n)), rel=0.08)


def test_the_expected_size_of_a_skyband_by_brute_force() -> None:
    from papers.pripuzic2015.claims import strict_size

    rng = np.random.default_rng(5)
    for k, n in ((1, 8), (3, 10), (5, 4)):
        sizes = []
        for _ in range(4_000):
            scores = rng.random(n)
            younger_and_better = [(scores[i + 1 :] > scores[i]).sum() for i in range(n)]
            sizes.append(sum(count < k for count in younger_and_better))
        assert np.mean(sizes) == pytest.approx(strict_size(k, n), rel=0.02)


def test_the_confidence_bound_is_poissons() -> None:
    from papers.pripuzic2015.errors import most_likely_below

    assert most_likely_below(0) == pytest.approx(2.996, abs=1e-3)  # the rule of three
    assert most_likely_below(1) == pytest.approx(4.744, abs=1e-3)
    assert most_likely_below(10) == pytest.approx(16.962, abs=1e-3)


# -- the experiments run and say the right thing (never: how fast) --------------------------------


def test_all_experiments_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from papers.pripuzic2015 import run, sizes

    tiny = replace(
        sizes.SIZES["quick"], runs=2, fewer_runs=2, records=20_000, n=2_000, ks=(1, 3, 9), b=400,
        bs=(200, 400, 1_000), ordered_records=12_000, exact_records=200, exact_n=40, long_runs=1,
        kept_windows=6, kept_ns=(500,), measured=4_000, batch=4_000, smaller_batch=2_000,
        most_seconds=0.02, least_seconds=0.0, ns=(1_000, 2_000), many_n=1_000, many_measured=400,
        many_batch=200, many_seconds=0.01, queries=(2, 5), dimensions=(2, 3),
        queries_by_dimensions=3, queries_by_k=3, many_ks=(1, 9), plain_ks=(1,), by_k_seconds=0.01,
        resolutions=(2, 3), stored_share=8,
    )  # fmt: skip
    monkeypatch.setitem(sizes.SIZES, "quick", tiny)
    obtained = run.PAPER.run("quick", lambda line: None, tmp_path)
    assert json.loads((tmp_path / "obtained.json").read_text()) == obtained
    assert {one["verdict"] for one in obtained["golden"]} <= {"equal", "erratum"}
    claims = {one["claim"]: one["verdict"] == "shown" for one in obtained["claims"]}
    assert claims.keys() == {*run.example.EXPECTED["claims"]}
    assert all(claims[name] for name in ("tables", "example", "buffer_limit", "exact", "sorted"))
    for kind, runs in obtained["many_by_k"]["runs"].items():
        assert {run["grid"] for run in runs} == ({True} if kind == "stations" else {True, False})
    stored = {(run["algorithm"], run["k"]): run["objects"] for run in obtained["stored"]["runs"]}
    assert stored["SA", 1] <= stored["SASF", 1]  # which has the recent ones, too
    for runs in obtained["by_k"].values():
        held = {(one["algorithm"], one["k"]): one["references"] for one in runs}
        assert all(held["CPM", k] == k for k in tiny.ks)
    assert all((tmp_path / name).stat().st_size > 10_000 for name in run.PAPER.pictures)
