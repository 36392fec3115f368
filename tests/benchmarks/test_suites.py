"""Every suite runs at a tiny size and its contenders agree. Never: how fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crestline.certain import Naive
from suites import quiet


def test_suites_are_named_and_described() -> None:
    from importlib import import_module

    from benchmarks import SUITES

    for name, description in SUITES.items():
        suite = import_module(f"benchmarks.{name}")
        assert description and callable(suite.run) and callable(suite.table)


# -- steps --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("k", "window", "slide"), [(3, 1_000, 100), (50, 400, 40), (7, 90, 60)])
def test_fed_scores_give_the_top_of_the_window(k: int, window: int, slide: int) -> None:
    from benchmarks import steps

    scores = np.random.default_rng(5).random(3_000)
    operator = steps.feed(scores, k, window, slide)
    judge = Naive(k, window, slide)
    judge.observe(scores)
    judge.advance()
    assert operator.top().tolist() == judge.top().tolist()


def test_steps() -> None:
    from benchmarks import steps

    result = steps.run(
        quick=True,
        say=quiet,
        scores=20_000,
        ks=(1, 10),
        slides=(100, 1_000, 5_000),
        windows=(10_000,),
        papers=((10, 1_000, 100),),
    )
    assert json.loads(json.dumps(result)) == result
    assert [(c["slide"], c["k"]) for c in result["grid"]] == [
        (100, 1), (100, 10), (1_000, 1), (1_000, 10), (5_000, 1), (5_000, 10)
    ]  # fmt: skip
    kept = {(c["order"], c["slide"]): c["kept"] for c in result["orders"]}
    assert kept["rising", 1_000] == 100  # k
    assert kept["falling", 1_000] == 100 * 10  # k C
    changes = [(c["slide"], c["algorithm"]) for c in result["changes"]["runs"]]
    assert changes == [(s, name) for s in (1_000, 100) for name in ("MinTopK", "SMA")]
    assert all(c["operator"] > 0 and c["engine"] > 0 for c in result["changes"]["runs"])
    assert "numpy.max" in steps.table(result)
    saved = {one["goal"]: one for one in result["goals"] if "saved" in one["goal"]}
    case = result["papers"][0]
    assert saved["k 10, window 1k, slide 100: share of SMA's time that is saved"]["got"] == round(
        1 - case["MinTopK"] / case["SMA"], 3
    )


def test_goals_stand_where_they_were_set() -> None:
    from benchmarks.steps import goal_of

    assert goal_of(10, 100_000) == goal_of(100, 1_000_000) == 0.5
    assert goal_of(1_000, 1_000_000) == goal_of(10_000, 1_000_000) == 0.2
    assert goal_of(1, 100_000) is goal_of(10, 10_000) is goal_of(1_000, 100_000) is None


def test_batches_hold_whole_slides_and_few_results() -> None:
    from benchmarks.steps import batch_size

    assert batch_size(10, 1_000) == 4_000_000
    assert batch_size(10_000, 1_000) == 400_000
    assert batch_size(10_000, 1) == 400
    assert batch_size(10, 10_000_000) == 10_000_000


# -- arrivals -----------------------------------------------------------------------------------
@pytest.mark.stress
def test_arrivals_contenders_agree() -> None:
    pytest.importorskip("sortedcontainers")
    from benchmarks import arrivals

    result = arrivals.run(
        quick=True,
        say=quiet,
        scores=600,
        window=200,
        ks=(1, 9),
        compare=300,
        queries=(2, 5),
        grown={"k": (1, 300), "n": (100, 1_000), "buffer": (10, 1_000), "gamma": (0.5,)},
        seconds=0.0005,
    )
    assert json.loads(json.dumps(result)) == result
    for case in result["cases"]:
        assert len(case["contenders"]) == len(arrivals.ALGORITHMS) + 4
        for name, entry in case["contenders"].items():
            assert name == "PA" or entry["agrees"], (case["stream"], name)
            assert 10 <= entry["records"] <= 600 and 0 < entry["kept"] <= 200
    misses = {(case["stream"], case["k"]): case["missed"] for case in result["cases"]}
    assert misses["falling", 1] > 300
    # Windows and buffers that do not fit are left out.
    assert [[cell["value"] for cell in cells] for cells in result["growth"].values()] == [
        [1, 300], [100], [10], [0.5]
    ]  # fmt: skip
    assert result["goals"][-1]["met"]  # all answers agree
    assert "tuned rescan" in arrivals.table(result)


@pytest.mark.parametrize("k", [1, 4, 60])
def test_arrivals_rivals_find_the_top(k: int) -> None:
    pytest.importorskip("sortedcontainers")
    from benchmarks.arrivals import changes
    from benchmarks.arrivals_rivals import Rescan, SortedWindow, TunedRescan

    scores = np.random.default_rng(7).integers(0, 12, 400).astype(np.float64)  # many ties
    judge = Naive(k, 50, 1)
    judge.observe(scores)
    right = changes([judge.advance()])
    for rival in (Rescan, TunedRescan, SortedWindow):
        runner = rival(scores, k, 50)
        told: list[Any] = []
        runner.run(130, told)
        other = runner.copy()
        runner.run(400)  # goes on for itself
        other.run(400, told)
        assert changes(told) == right, rival
        assert runner.changes == other.changes == len(right)


def test_arrivals_do_not_count_a_wrong_answer() -> None:
    pytest.importorskip("sortedcontainers")
    from benchmarks import arrivals

    right = [(1, (0,)), (2, (1,)), (4, (3,)), (9, (8,))]
    assert arrivals.between(right, 0, 5) == right[:3]
    assert arrivals.between(right, 2, 5) == [(3, (1,)), (4, (3,))]
    entry = {"a_second": 1.0, "agrees": False, "kept": 1}
    names = arrivals.contenders()
    case = {"stream": "i.i.d.", "k": 1, "contenders": dict.fromkeys(names, entry)}
    speeds = dict.fromkeys(("with", "without", *arrivals.STRICT_FILTERS), 1.0)
    filters = {"queries": 1, "agrees": True, "a_second": speeds}
    assert not arrivals.goals([case], [], filters, 100)[-1]["met"]


# -- uncertain ----------------------------------------------------------------------------------
def test_uncertain_contenders_agree() -> None:
    from benchmarks import uncertain

    result = uncertain.run(
        quick=True,
        say=quiet,
        window=400,
        records=400,
        k=3,
        grown={"k": (1, 5), "window": (100, 1_000)},
        rules_window=300,
        seconds=0.0005,
    )
    assert json.loads(json.dumps(result)) == result
    assert set(result["case"]["contenders"]) == {*uncertain.SYNOPSES, "recompute"}
    assert [[cell["value"] for cell in cells] for cells in result["growth"].values()] == [
        [1, 5], [100]
    ]  # fmt: skip
    by_name = {one["goal"]: one["met"] for one in result["goals"]}
    assert by_name["all answers agree (1 is yes)"]
    assert by_name["rules: equal to O(n^2 k) to 1e-9 (1 is yes)"]
    assert result["rules"]["exclusive"] > 50
    assert "SCSQ_BUFFER" in uncertain.table(result)


def test_uncertain_does_not_count_a_wrong_answer() -> None:
    from benchmarks import uncertain

    stream = uncertain.Stream(700)
    full = uncertain.full_windows(stream, 3, 300, ("SCSQBuffer", "BS"))
    assert uncertain.agree(full, 300, 200)
    wrong = uncertain.full_windows(stream, 4, 300, ("BS",))["BS"]
    assert not uncertain.agree(full | {"BS": wrong}, 300, 200)


# -- incomplete ---------------------------------------------------------------------------------
def test_incomplete_contenders_agree() -> None:
    from benchmarks import incomplete

    result = incomplete.run(
        quick=True,
        say=quiet,
        windows=(200, 400),
        streams=(3,),
        grown={"k": (1, 30), "slide": (1, 1_000), "streams": (4,)},
        base={"window": 300, "k": 5, "slide": 30, "streams": 3},
        once=(200,),
        rows=12_000,
        turn=400,
        seconds=0.0005,
    )
    assert json.loads(json.dumps(result)) == result
    assert [(one["window"], one["slide"]) for one in result["cells"]] == [
        (200, 1), (400, 1), (200, 2), (400, 4)
    ]  # fmt: skip
    for one in result["cells"]:
        by_name = one["contenders"]
        assert set(by_name) == {*incomplete.OURS, "NAIVE", "running sums", "DuckDB, GROUP BY"}
        assert all(entry.get("agrees", True) for entry in by_name.values())
        assert by_name["SLA"]["stored"] == one["window"]
        assert by_name["NAIVE"]["stored"] == one["window"] - one["slide"]  # these leave next
        assert 0 < by_name["EAA"]["instances"] <= one["window"]
        assert 0 < by_name["CORRELATED"]["precision"] <= 1
    # Slides that are longer than the window are left out.
    assert [len(cells) for cells in result["growth"].values()] == [2, 1, 1]
    assert result["goals"][-1]["met"]  # all answers agree
    assert "lookup only" in incomplete.table(result)
    assert len(incomplete.picture(result)) > 10_000


def test_incomplete_does_not_count_a_wrong_answer() -> None:
    from benchmarks.incomplete import Answers, Case, Ours, Stream, precision

    from benchmarks import incomplete

    stream = Stream.of(600, 3)
    told = {}
    for k in (3, 4):
        one = Ours("SLA", stream, Case(200, 1, 3, k=k))
        one.fill()
        one.run(600)
        told[k] = one.answers()
    assert told[3] == told[3].until(600) != told[4]
    assert precision(told[3], told[3], 600) == 1
    assert precision(told[3], told[4], 600) == 0.75
    # Each answer counts for as long as it holds: here one of two hundred observations is wrong.
    true = Answers([200], [([1], [0.5], [1.0], [False])])
    mine = Answers([200, 399], [true.tops[0], ([2], [0.5], [1.0], [False])])
    assert precision(mine, true, 400) == 1 - 1 / 200
    contenders = dict.fromkeys(("SLA", "EAA"), {"agrees": False})
    cell = {"window": 5, "streams": 9, "k": 3, "slide": 1, "once": False, "contenders": contenders}
    assert not incomplete.goals([cell], [])[-1]["met"]


# -- sharing ------------------------------------------------------------------------------------
def test_shared_runs_agree_with_each_query_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import sharing, sharing_plans

    monkeypatch.setenv("CRESTLINE_BENCH_DATA", str(tmp_path))
    result = sharing.run(
        quick=True, say=quiet, rows=20_000, queries=4, uncertain=3, readings_rows=5_000, window=300
    )
    assert json.loads(json.dumps(result)) == result
    assert [cell["queries"] for cell in result["certain"]["cells"]] == [1, 3, 4]
    met = {one["goal"]: one["met"] for one in result["goals"]}
    assert met["certain answers are those of each query alone (1 is yes)"]
    assert met["uncertain answers are those of each query alone (1 is yes)"]
    assert result["certain"]["result_rows"] > 1_000
    assert "together" in sharing.table(result)
    assert {cell["case"] for cell in result["plans"]} == {case.name for case in sharing_plans.CASES}
    for cell in result["plans"]:
        assert cell["plans"]["DP"]["results"] >= cell["plans"]["NS"]["results"] > 0


def test_a_plan_that_does_not_pay_is_noticed() -> None:
    from benchmarks import sharing_plans

    cells = [
        {"case": "icebergs", "queries": queries, "ratio": ratio}
        for queries, ratio in ((2, 1.0), (100, 3.5))
    ]
    assert all(one["met"] for one in sharing_plans.goals(cells))
    cells[0]["ratio"] = 0.8
    assert [one["met"] for one in sharing_plans.goals(cells)] == [True, False]
    cells[1]["ratio"] = 2.9
    assert not any(one["met"] for one in sharing_plans.goals(cells))


def test_a_shared_run_that_differs_is_noticed() -> None:
    from benchmarks import sharing

    rows = [{"query": "q", "window_end": end, "rank": 1, "id": end} for end in (1, 2, 3)]
    some, more = pa.Table.from_pylist(rows[:2]), pa.Table.from_pylist(rows)
    assert sharing._agree(some, more)
    wrong = some.set_column(3, "id", pa.array([1, 1]))
    assert not sharing._agree(wrong, more)
    assert not sharing._agree(some.slice(0, 0), more)
    assert sharing.digest(some) != sharing.digest(wrong)
    assert sharing.digest(more) == sharing.digest(pa.concat_tables([some, more.slice(2)]))
