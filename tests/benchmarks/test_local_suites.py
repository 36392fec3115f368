"""The suites of whole runs in one process: contenders agree, and the slow are given up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suites import here, quiet


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
