"""Every suite runs at a tiny size and its contenders agree. Never: how fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crestline.certain import Naive


@pytest.fixture(autouse=True)
def _files_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRESTLINE_BENCH_DATA", str(tmp_path / "data"))


def quiet(line: str) -> None:
    """Say nothing."""


def here(module: str, task: dict[str, Any], patience: float = 0) -> dict[str, Any]:
    """In this process, not in one of its own: quicker, and peak memory is not looked at."""
    from benchmarks import contender, memory

    children = {"benchmarks.contender": contender.main, "benchmarks.memory": memory.child}
    return children[module](task)


def test_suites_are_named_and_described() -> None:
    from importlib import import_module

    from benchmarks import SUITES

    for name in SUITES:
        suite = import_module(f"benchmarks.{name}")
        assert suite.DESCRIPTION and callable(suite.run) and callable(suite.table)


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
    )
    assert json.loads(json.dumps(result)) == result
    assert [(c["slide"], c["k"]) for c in result["grid"]] == [
        (100, 1), (100, 10), (1_000, 1), (1_000, 10), (5_000, 1), (5_000, 10)
    ]  # fmt: skip
    kept = {(c["order"], c["slide"]): c["kept"] for c in result["orders"]}
    assert kept["rising", 1_000] == 100  # k
    assert kept["falling", 1_000] == 100 * 10  # k C
    assert "numpy.max" in steps.table(result)


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


# -- local, partitions, memory ------------------------------------------------------------------


def test_local_contenders_agree() -> None:
    pytest.importorskip("polars")
    from benchmarks import local

    result = local.run(quick=True, say=quiet, rows=8_000, rate=60, turns=1, start=here)
    assert json.loads(json.dumps(result)) == result
    for case in result["cases"]:
        assert len(case["contenders"]) >= 9
        for name, entry in case["contenders"].items():
            assert entry.get("agrees", True), (case["name"], name)
            assert entry["result_rows"] > 0
        assert case["best_rival"] and case["best_obvious"]
    assert result["goals"][-1]["met"]  # all answers agree
    assert "bare scan" in local.table(result)


def test_local_does_not_count_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars")
    from benchmarks import local, rivals

    def wrong(question: rivals.Question) -> Any:
        return rivals.crestline_run(question).slice(1)

    monkeypatch.setitem(rivals.CONTENDERS, "duckdb, threshold", wrong)
    case = local.Case("slide 10 s", 10, False, best=1.5)
    result = local.run(
        quick=True, say=quiet, rows=2_000, rate=60, cases=(case,), turns=1, start=here
    )
    entry = result["cases"][0]["contenders"]["duckdb, threshold"]
    assert entry["agrees"] is False
    assert result["cases"][0]["best_rival"] != "duckdb, threshold"
    assert not result["goals"][-1]["met"]
    assert "DIFFERS" in local.table(result)


def test_local_gives_up_on_the_slow() -> None:
    pytest.importorskip("polars")
    from benchmarks import local

    def impatient(module: str, task: dict[str, Any], patience: float) -> dict[str, Any]:
        if task["contender"].startswith("polars"):
            raise TimeoutError("no answer within 0 s")
        return here(module, task)

    case = local.Case("slide 10 s", 10, False, best=1.5)
    result = local.run(
        quick=True, say=quiet, rows=2_000, rate=60, cases=(case,), turns=2, start=impatient
    )
    assert result["cases"][0]["contenders"]["polars, over"]["gave_up"]
    assert "no answer" in local.table(result)


def test_partitions_agree() -> None:
    from benchmarks import partitions

    result = partitions.run(quick=True, say=quiet, rows=5_000, partitions=(1, 300), start=here)
    assert [case["agrees"] for case in result["cases"]] == [True, True]
    assert "agree" in partitions.table(result)


def test_memory_reads_every_row() -> None:
    from benchmarks import memory

    result = memory.run(quick=True, say=quiet, rows_a_file=200, start=here)
    assert [run["rows_read"] for run in result["by_rows"]] == [1_000, 4_000, 12_000]
    widths = [run["window_records"] for run in result["by_window"]]
    assert widths == sorted(widths)
    assert all(0 < run["kept_peak"] <= 1_000 for run in result["by_window"])
    assert "Wider windows" in memory.table(result)


# -- what they share ----------------------------------------------------------------------------


def test_a_child_measures_itself_and_a_failing_one_says_why() -> None:
    from benchmarks.measure import in_child
    from benchmarks.trades import trades

    from benchmarks import rivals

    folder = trades(1_000, quiet, files=2)
    question = {"files": f"{folder}/*.parquet", "slide": 10}
    task = {
        "contender": "bare scan",
        "question": question,
        "warm_up": f"{folder}/part-00000.parquet",
        "repeats": 2,
    }
    answer = in_child("benchmarks.contender", task)
    assert len(answer["seconds"]) == 2
    assert 1e7 < answer["before"] <= answer["peak"] < 1e10
    assert "bare scan" in rivals.CONTENDERS
    with pytest.raises(RuntimeError, match="KeyError: 'nobody'"):
        in_child("benchmarks.contender", task | {"contender": "nobody"})


def test_files_are_made_once(tmp_path: Path) -> None:
    from benchmarks.trades import trades

    said: list[str] = []
    first = trades(500, said.append, files=2)
    assert trades(500, said.append, files=2) == first
    assert len(said) == 1
    assert first.is_relative_to(tmp_path / "data")


def test_machine_facts_are_json() -> None:
    from benchmarks.measure import machine, machine_line

    facts = machine()
    assert json.loads(json.dumps(facts)) == facts
    assert {"crestline", "numpy", "numba", "pyarrow", "duckdb"} <= facts["versions"].keys()
    assert facts["python"] in machine_line(facts)


def test_best_of_takes_turns() -> None:
    from benchmarks.measure import best_of

    calls: list[str] = []
    best = best_of([lambda: calls.append("a"), lambda: calls.append("b")], repeats=3)
    assert calls == ["a", "b"] * 3
    assert all(0 <= seconds < 1 for seconds in best)
