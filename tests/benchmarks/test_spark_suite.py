"""The suite of Spark: contenders agree, and a wrong or slow answer does not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suites import quiet


@pytest.mark.stress
def test_spark_contenders_agree(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import spark as suite
    from benchmarks import spark_files, spark_frames

    one, by_symbol = suite.spark_files.Asked(10), suite.spark_files.Asked(10, by=True)
    questions = {"slide 10 s": one, "slide 10 s by symbol": by_symbol}
    monkeypatch.setattr(spark_files, "QUESTIONS", questions)
    monkeypatch.setattr(spark_frames, "QUESTIONS", questions)
    monkeypatch.setattr(spark_frames, "_FILE_ROWS", 5_000)
    sizes = spark_files.Sizes(4, (1,), file_rows=5_000, bounded_rows=20_000, turns=1)
    monkeypatch.setattr(spark_files, "QUICK", sizes)
    of_frames = spark_frames.Sizes(4, (1,), bounded_rows=20_000, turns=1)
    monkeypatch.setattr(spark_frames, "QUICK", of_frames)
    result = suite.run(quick=True, say=quiet, sections=("files", "frames"), session=spark)
    assert json.loads(json.dumps(result)) == result
    assert all(case["agrees"] for case in result["files"]["bounded"])
    assert all(cell["agrees"] for cell in result["frames"]["cells"])
    agrees = [goal for goal in result["goals"] if "agree" in goal["goal"]]
    assert len(agrees) == 3 and all(goal["met"] for goal in agrees)
    shown = suite.table(result)
    assert "seconds for bounded files" in shown and "seconds for a bounded frame" in shown


@pytest.mark.stress
def test_spark_growth_is_measured(spark: Any) -> None:
    from benchmarks import spark as suite
    from benchmarks import spark_growth

    series = spark_growth.growth(spark, True, quiet, file_rows=10_000)
    assert len(series) == 7
    assert all(row["seconds"] > 0 for rows in series.values() for row in rows)
    assert all(row["state_bytes"] > 0 for rows in series.values() for row in rows)
    assert "RocksDB, changelog" in suite._series_table("stores", series["state store, by symbol"])


def _met(goals: list[dict[str, Any]]) -> dict[str, bool]:
    return {goal["goal"]: goal["met"] for goal in goals}


def test_spark_judges_files_by_the_best_plan_and_refuses_wrong_answers() -> None:
    pytest.importorskip("pyspark")
    from benchmarks import spark_files

    seconds = {
        "crestline": 1.0, "reading only": 0.4, "panes first, max_by": 3.9,
        "panes first, lists": 5.0, "window + max_by": 11.0,
    }  # fmt: skip
    cell = {"name": "x", "million": 5, "slide": 10, "seconds": seconds, "agrees": {"a": True}}
    took = {"crestline, spark": 1.0, "crestline, local": 0.2, "panes first, max_by": 4.1}
    bounded = {"name": "x", "seconds": took, "agrees": True}
    assert _met(spark_files._goals([cell], [bounded])) == {
        "files, x, 5 M rows: times the best plan": False,
        "files, x, 5 M rows: reading only as a share of ours": False,
        "files, x, 5 M rows: times the obvious plan": True,
        "bounded files, x: times the best plan": True,
        "bounded files, x: one process as a share of ours": False,
        "files: all answers agree (1 is yes)": True,
    }
    cell["agrees"] = {"a": True, "b": False}
    assert not spark_files._goals([cell], [bounded])[-1]["met"]
    cell["agrees"], bounded["agrees"] = {"a": True}, False
    assert not spark_files._goals([cell], [bounded])[-1]["met"]


def test_spark_judges_frames_by_our_best_way_and_counts_no_plan_that_gave_up() -> None:
    pytest.importorskip("pyspark")
    from benchmarks import spark_frames

    seconds = {
        "topk": 3.0, "EachBatch": 1.0, "EachBatch, pruned": None, "panes first, max_by": None,
        "panes first, lists": 1.5,
    }  # fmt: skip
    cell = {"name": "x", "million": 1, "seconds": seconds, "agrees": False}
    assert _met(spark_frames._goals(cell)) == {
        "streaming frames, x, 1 M: times the best plan": True,
        "streaming frames, x, 1 M: answers agree (1 is yes)": False,
    }
    took = {"crestline": 1.0, "panes first, max_by": 1.2, "panes first, lists": 2.0}
    case = {"name": "x", "seconds": took, "by": True}
    assert spark_frames._goal_of_bounded(case)["met"]
    assert not spark_frames._goal_of_bounded(case | {"by": False})["met"]


def test_spark_reads_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    from benchmarks.spark_stream import in_order

    for name in ("part-2", "part-0", "part-1"):
        (tmp_path / name).touch()
    in_order(tmp_path)
    assert [file.name for file in sorted(tmp_path.iterdir(), key=lambda f: f.stat().st_mtime)] == [
        "part-0", "part-1", "part-2"
    ]  # fmt: skip
