"""Every suite runs at a tiny size and its contenders agree. Never: how fast."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
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
        queries=5,
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
    assert not arrivals.goals([case], None, 100)[-1]["met"]


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
    from benchmarks import sharing

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


# -- spark --------------------------------------------------------------------------------------


@pytest.mark.stress
def test_spark_contenders_agree(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import spark as suite

    monkeypatch.setattr(suite, "FILES", 8)
    monkeypatch.setattr(suite, "CHECKED", {"rows": 600, "rate": 3, "symbols": 5, "files": 6})
    case = suite.Case("slide 10 s by symbol", suite.Asked(10, by=True), obvious=6)
    result = suite.run(
        quick=True, say=quiet, rows=2_000, rate=10, cases=(case,),
        sections=("cases", "stages", "batch"), session=spark,
    )  # fmt: skip
    assert json.loads(json.dumps(result)) == result
    (measured,) = result["cases"]
    assert measured["windows_compared"] > 50
    assert all(entry["agrees"] is not False for entry in measured["contenders"].values())
    assert measured["contenders"]["crestline"]["agrees"]
    assert all(len(entry["batches"]) == 4 for entry in measured["contenders"].values())
    assert measured["state"]["bytes"] > 0
    assert measured["best_panes_first"] and measured["best_obvious"]
    assert result["goals"][-1]["met"]  # all answers agree
    assert abs(sum(result["stages"][0]["shares"].values()) - 1) < 1e-9
    shown = suite.table(result)
    assert "Arrow: move to Python" in shown and "bounded, slide 10 s by symbol" in shown


def _entry(seconds: float, agrees: bool | None) -> dict[str, Any]:
    from benchmarks.spark_stream import summary

    figures = {"add_batch": seconds, "trigger": seconds + 0.2, "state_bytes": 0}
    return summary([figures | {"rows": 100} for _ in range(4)]) | {"agrees": agrees}


def test_spark_does_not_count_a_wrong_answer_or_the_impatient() -> None:
    pytest.importorskip("pyspark")
    from benchmarks.spark_stream import summary

    from benchmarks import spark as suite
    from benchmarks import spark_table

    found = {
        "reading only": _entry(1, None),
        "crestline": _entry(2, True),
        "panes first, max_by": _entry(4, True),
        "panes first, lists": _entry(3, False),
        "window + max_by": summary([]) | {"agrees": True},
    }
    ratios = suite._ratios(found)
    assert ratios["best_panes_first"] == "panes first, max_by"
    assert (ratios["reading_steady"], ratios["panes_first_steady"]) == (0.5, 2)
    assert ratios["best_obvious"] is ratios["obvious_steady"] is None
    facts = {"name": "x", "slide": 10, "by": False, "contenders": found, "windows_compared": 3}
    case = suite.Case("x", suite.Asked(10), obvious=6)
    assert not suite._goals((case,), [facts | ratios])[-1]["met"]
    text = spark_table._case_table(facts)
    assert "DIFFERS" in text and "0 micro-batches" in text


def test_spark_scales_what_was_measured_on_fewer_rows() -> None:
    from benchmarks import spark as suite

    entry = _entry(3, True)
    suite._scale(entry, 100)
    assert entry["steady"] == 3 and "scaled_from_rows" not in entry
    suite._scale(entry, 200)
    assert entry["steady"] == 6 and entry["scaled_from_rows"] == 100


def test_spark_takes_the_better_turn_and_the_first_start() -> None:
    from benchmarks.spark_stream import better, summary

    once, again = _entry(3, True), _entry(2, True)
    assert better(None, once) is once
    assert better(once, again)["steady"] == 2
    assert better(once, again)["first"] == 3
    assert better(summary([]), again) is again
    assert better(again, summary([])) is again


def test_spark_reads_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    from benchmarks.spark_stream import in_order

    for name in ("part-2", "part-0", "part-1"):
        (tmp_path / name).touch()
    in_order(tmp_path)
    assert [file.name for file in sorted(tmp_path.iterdir(), key=lambda f: f.stat().st_mtime)] == [
        "part-0", "part-1", "part-2"
    ]  # fmt: skip


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


def test_a_child_that_misses_a_package_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.measure import in_child

    (tmp_path / "needy.py").write_text("import not_installed_here")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as raised:
        in_child("needy", {})
    assert raised.value.name == "not_installed_here"


# -- first --------------------------------------------------------------------------------------


def test_first_answers_are_measured_cold_and_warm() -> None:
    from benchmarks import first

    result = first.run(quick=True, say=quiet, rows=(20,), large=100, families=("certain",))
    assert json.loads(json.dumps(result)) == result
    assert [(c["family"], c["rows"]) for c in result["cells"]] == [
        ("import", 0), ("certain", 20), ("certain", 100)
    ]  # fmt: skip
    assert all(0 < cell["warm_cpu"] < 60 for cell in result["cells"])
    assert "certain, 20 rows: 2 CPU s, cold" in first.table(result)


def test_first_does_not_count_answers_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import first

    monkeypatch.setattr(first, "_FEW", "import random; print(random.random())")
    with pytest.raises(RuntimeError, match="differs from the first"):
        first.run(quick=True, say=quiet, rows=(20,), large=100, families=("certain",))


def test_first_measures_another_version_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import first

    monkeypatch.setenv(first.BEFORE_VARIABLE, sys.executable)
    result = first.run(quick=True, say=quiet, rows=(), families=())
    assert [cell["version"] for cell in result["cells"]] == ["now", "before"]
