"""Measuring: children, files, turns, and the suite of first answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from suites import quiet


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
