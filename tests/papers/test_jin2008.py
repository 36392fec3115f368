"""Jin et al. 2008: the examples exactly, the lemmas as properties, and that the experiments run."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.uncertain import CCSQ, CSQ, Naive

PAPER = "jin2008"

chances = st.lists(st.integers(1, 20).map(lambda n: n / 20), min_size=1, max_size=12)


# -- the examples ---------------------------------------------------------------------------------


def test_table_1_has_the_papers_worlds(paper: Any, steps: Any) -> None:
    found = steps["table_1"]
    assert found["worlds"] == paper.TABLE_1["worlds"]
    assert sum(p for _, p in found["worlds"]) == pytest.approx(1)
    assert found["pr_2"] == paper.TABLE_1["pr_2"]


@pytest.mark.parametrize("meaning", ["Pk-topk", "PT-k", "U-kRanks", "U-Topk"])
@pytest.mark.parametrize("synopsis", ["BS", "CSQ", "CCSQ", "SCSQ", "SCSQ-Buffer"])
def test_table_1_has_the_papers_answers(
    paper: Any, steps: Any, synopsis: str, meaning: str
) -> None:
    found = steps["table_1"]["answers"][synopsis][meaning]
    assert found == paper.TABLE_1["answers"][meaning]


def test_the_worlds_give_the_papers_answers(paper: Any) -> None:
    """By hand, from the worlds alone: what the text works out in section 1."""
    known = paper.worlds(paper.TABLE_1["speed"], paper.TABLE_1["probability"])
    on_top: dict[tuple[float, ...], float] = {}
    for world, p in known.items():
        on_top[world[:2]] = on_top.get(world[:2], 0) + p
    assert max(on_top, key=lambda top: on_top[top]) == (6, 5)
    assert on_top[6, 5] == pytest.approx(0.24)
    assert on_top[8, 6] == pytest.approx(0.2)
    for rank, winner in enumerate((8, 5)):
        at_rank = {
            s: sum(p for world, p in known.items() if world[rank : rank + 1] == (s,))
            for s in paper.TABLE_1["speed"]
        }
        assert max(at_rank, key=lambda s: at_rank[s]) == winner


@pytest.mark.parametrize("synopsis", ["BS", "CSQ", "CCSQ", "SCSQ", "SCSQ-Buffer"])
def test_windows_of_three(paper: Any, steps: Any, synopsis: str) -> None:
    assert steps["windows_of_3"][synopsis] == paper.EXPECTED["windows_of_3"]["answers"]


@pytest.mark.parametrize("part", ["r", "valid", "compact_set"])
def test_example_3_1_is_the_papers(paper: Any, steps: Any, part: str) -> None:
    assert steps["example_3_1"][part] == paper.EXPECTED["example_3_1"][part]


@pytest.mark.parametrize("synopsis", ["CCSQ", "SCSQ", "SCSQ-Buffer"])
def test_example_3_1_is_what_the_synopses_hold(paper: Any, steps: Any, synopsis: str) -> None:
    assert steps["example_3_1"]["kept"][synopsis] == paper.EXPECTED["example_3_1"]["compact_set"]


@pytest.mark.parametrize("part", ["at_8", "at_9", "window_sets"])
def test_example_4_1_is_the_papers(paper: Any, steps: Any, part: str) -> None:
    assert steps["example_4_1"][part] == paper.EXPECTED["example_4_1"][part]


def test_example_4_1_creates_the_set_of_the_three_newest(paper: Any, steps: Any) -> None:
    """The paper prints that of time 8."""
    (newest, extras), *older = steps["example_4_1"]["at_9"]
    assert newest == paper.EXPECTED["example_4_1"]["ranks"][-3:]
    assert not older and extras == [7, 9, 5]
    assert steps["example_4_1"]["at_8"][0][0] == [5, 6, 1]


# -- the array r ----------------------------------------------------------------------------------


@given(chances)
def test_r_is_the_number_of_records_in_a_world(probability: list[float]) -> None:
    from papers.jin2008.example import exactly, worlds

    some = probability[:8]
    known = worlds(list(range(len(some), 0, -1)), some)
    counts = [sum(p for w, p in known.items() if len(w) == j) for j in range(len(some) + 1)]
    assert exactly(some, len(some) + 1)[-1] == pytest.approx(counts, abs=1e-9)


@given(chances)
def test_lemmas_3_1_to_3_3(probability: list[float]) -> None:
    """Log-concave, its ratios grow with rank, so each row has one peak."""
    from papers.jin2008.example import exactly

    r = exactly(probability, len(probability) + 1)
    for row in r:
        assert all(b * b >= a * c - 1e-12 for a, b, c in zip(row, row[1:], row[2:], strict=False))
        peak = int(row.argmax())
        assert (np.diff(row[: peak + 1]) >= -1e-12).all()
        assert (np.diff(row[peak:]) <= 1e-12).all()
    for higher, lower in pairwise(r):
        assert (higher[1:] * lower[:-1] <= higher[:-1] * lower[1:] + 1e-12).all()


@given(chances, st.integers(1, 4))
def test_condition_9_gives_condition_8_up_to_each_rank(probability: list[float], k: int) -> None:
    from papers.jin2008.example import conditions_8_and_9

    found = conditions_8_and_9(probability, k)
    assert not found["9"] or found["8_up_to_j"]
    assert not found["8_as_printed"] or found["9"]


def test_condition_8_as_printed_asks_for_more(paper: Any) -> None:
    printed = paper.EXPECTED["lemma_5_1"]
    found = paper.conditions_8_and_9(printed["probability"], printed["k"])
    assert found == {"9": True, "8_as_printed": False, "8_up_to_j": True}


# -- windows without a compact set ----------------------------------------------------------------


def test_without_a_compact_set_everything_is_kept_and_the_answers_are_right(paper: Any) -> None:
    stream = paper.EXPECTED["no_compact_set"]
    naive = Naive(stream["k"], stream["window"], 1)
    right = paper.observed(naive, stream["score"], stream["probability"])
    for found in paper.no_compact_set().values():
        assert found == {"kept": stream["window"], "answers": right}


# -- the experiments run and say the right thing (never: how fast) --------------------------------


def test_sightings_have_the_probability_of_their_method() -> None:
    from papers.jin2008.stream import sightings, stream

    name, days, probability = sightings()
    assert name.startswith(f"{len(days):,} ")
    assert set(probability) <= {0.8, 0.7, 0.6, 0.5, 0.4, 0.3}
    assert days.min() == 0 < days.max() < 366
    drawn = stream("icebergs", 1_000)
    assert sorted(drawn.score) == list(range(1_000))
    assert set(drawn.probability) <= set(probability)


@pytest.mark.parametrize("make", [CSQ, CCSQ])
def test_filled_with_what_matters_is_filled(make: Any) -> None:
    """What a faster synopsis has kept leads to the same sets as the whole window."""
    from papers.jin2008.example import SYNOPSES
    from papers.jin2008.experiments import feed, filled
    from papers.jin2008.stream import stream

    name = next(name for name, each in SYNOPSES.items() if each is make)
    records, window, start = stream("synthetic", 3_000, seed=5), 800, 100
    quick = dict(filled(records, "Pk-topk", 4, window, start))[name]
    slow = make(4, window, only_changes=True)
    feed(slow, records, np.arange(start, start + window))
    for places in np.split(np.arange(start + window, start + window + 300), 6):
        for list_name in quick._parts[0].LISTS:
            mine, whole = (op._parts[0].records(list_name)[0] for op in (quick, slow))
            assert mine.tolist() == whole.tolist()
        for operator in (quick, slow):
            feed(operator, records, places)


def test_compact_sets_of_the_data_are_those_of_a_window_that_holds_it() -> None:
    from papers.jin2008.example import MEANINGS
    from papers.jin2008.experiments import compact_size, filled, window_set
    from papers.jin2008.stream import stream

    records = stream("icebergs", 600)
    for meaning in MEANINGS:
        sizes = {window_set(operator) for _, operator in filled(records, meaning, 3, 600)}
        assert sizes == {compact_size(meaning, 3, records)}


def test_all_experiments_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from papers.jin2008 import experiments, run

    tiny = experiments.Size(
        records=6_000, compact_ks=(2, 4), data_sets=2, window=2_000, ks=(2, 4), k=2,
        windows=(200, 2_000), measured=1_000, seconds=0.01, places=3, exact_records=40,
        exact_window=12,
    )  # fmt: skip
    monkeypatch.setitem(experiments.SIZES, "quick", tiny)
    obtained = run.PAPER.run("quick", lambda line: None, tmp_path)
    assert json.loads((tmp_path / "obtained.json").read_text()) == obtained
    assert {one["verdict"] for one in obtained["golden"]} <= {"equal", "erratum"}
    claims = {one["claim"]: one["verdict"] == "shown" for one in obtained["claims"]}
    assert claims.keys() == {*run.example.EXPECTED["claims"]}
    always = ("table_1", "example_3_1", "example_4_1", "exact", "space_bs")
    assert all(claims[name] for name in always)
    for costs in [*obtained["synthetic"].values(), *obtained["icebergs"].values()]:
        for one in costs["by_k"] + costs["by_window"]:
            if one["synopsis"] == "BS":
                assert one["tuples"] == one["window"]
    assert all((tmp_path / name).stat().st_size > 10_000 for name in run.PAPER.pictures)
