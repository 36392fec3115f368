"""The rivals that this environment holds answer tiny questions. Never: how fast."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

HERE = ("arrow", "crestline", "duckdb", "polars", "sortedcontainers")
ROWS = 4_000  # in the largest workloads; the smaller contenders get some dozens


@pytest.fixture(autouse=True)
def _files_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.rivals import race, workloads

    monkeypatch.setattr(race, "TURNS", 1)
    monkeypatch.setenv("CRESTLINE_BENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(workloads, "CHECKED", 1_000)


def quiet(line: str) -> None:
    """Say nothing."""


def this_python(system: Any, folder: Path, say: Any) -> str:
    """No environments are made."""
    return sys.executable


def here(python: str, task: dict[str, Any], patience: float) -> Iterator[dict[str, Any]]:
    """In this process: quicker."""
    from benchmarks.rivals.child import answered, reason

    yield {"python": "3.x", "versions": dict.fromkeys(task.get("packages", ()), "1.0")}
    for item in task["items"]:
        try:
            yield answered(task["module"], item | {"repeats": 1})
        except Exception as error:
            yield {"name": item["name"], "error": reason(error)}


def measured(
    names: Sequence[str],
    only: Sequence[str] = HERE,
    start: Any = here,
    prepare: Any = this_python,
    rows: int = ROWS,
) -> dict[str, Any]:
    from benchmarks.rivals.race import run
    from benchmarks.rivals.workloads import WORKLOADS

    chosen = [
        replace(workload, symbols=workload.symbols and min(workload.symbols, 50))
        for workload in WORKLOADS
        if workload.name in names
    ]
    assert len(chosen) == len(names)
    return run(say=quiet, rows=rows, only=only, workloads=chosen, prepare=prepare, start=start)


def test_all_rivals_agree_and_are_shown() -> None:
    pytest.importorskip("polars")
    from benchmarks.rivals.picture import picture
    from benchmarks.rivals.table import bars, overview, table
    from benchmarks.rivals.workloads import WORKLOADS

    result = measured([workload.name for workload in WORKLOADS])
    assert json.loads(json.dumps(result)) == result
    assert len(result["workloads"]) == 6
    for workload in result["workloads"]:
        entries = workload["contenders"]
        assert {entry["system"] for entry in entries.values()} >= {"arrow", "crestline", "duckdb"}
        for name, entry in entries.items():
            assert "left_out" not in entry, (name, entry)
            assert entry["kind"] == "LIMIT" or entry["agrees"], (workload["name"], name)
            assert entry["rows_a_second"] > 0
            if entry["kind"] != "LIMIT":
                assert entry["windows_compared"] >= 4
        assert len(bars(workload)) >= 4
    assert picture(result).startswith(b"\x89PNG")
    shown = table(result)
    for word in ("bare scan", "duckdb, threshold", "polars, rolling", "SortedList", "not asked"):
        assert word in shown
    assert "DIFFERS" not in shown
    lines = overview(result).splitlines()
    assert {line.count("|") for line in lines} == {8}
    assert sum(line.count("**") for line in lines) == 12  # the fastest of each workload
    assert any(line.startswith("| Crestline |") for line in lines)


def test_a_wrong_answer_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.rivals import with_duckdb
    from benchmarks.rivals.table import bars, best_rival, table

    right = with_duckdb.duckdb_threshold

    def dearer(question: Any) -> pa.Table:
        """Right for the small question, wrong for that which is timed."""
        answer = right(question)
        wrong = question.rows == ROWS
        prices = pa.array(
            [p + (wrong and i == 3) for i, p in enumerate(answer["price"].to_pylist())]
        )
        return answer.set_column(answer.column_names.index("price"), "price", prices)

    monkeypatch.setitem(with_duckdb.PANES_FIRST, "duckdb, threshold", dearer)
    only = {
        name: ask for name, ask in with_duckdb.PANES_FIRST.items() if name == "duckdb, threshold"
    }
    monkeypatch.setattr(with_duckdb, "PANES_FIRST", only)
    monkeypatch.setattr(with_duckdb, "OBVIOUS", {})
    result = measured(["10s"], ("duckdb",))
    (workload,) = result["workloads"]
    assert workload["contenders"]["duckdb, threshold"]["agrees"] is False
    assert workload["contenders"]["crestline"]["agrees"] is True
    assert best_rival(workload) is None
    assert [label for label, _, _ in bars(workload)] == ["Crestline"]
    assert "DIFFERS" in table(result) and "nothing to compare" in table(result)


def test_who_cannot_be_installed_or_fails_is_left_out_with_the_reason() -> None:
    from benchmarks.rivals.environments import Unavailable
    from benchmarks.rivals.table import table

    def without_polars(system: Any, folder: Path, say: Any) -> str:
        if system.name == "polars":
            raise Unavailable("cannot be installed: no such package")
        return sys.executable

    starts: list[list[str]] = []

    def impatient(python: str, task: dict[str, Any], patience: float) -> Iterator[dict[str, Any]]:
        """DuckDB never answers its second formulation."""
        names = [item["name"] for item in task["items"]]
        stuck = "duckdb, obvious max_by"
        if stuck in names:
            starts.append(names)
            first = task | {"items": task["items"][: names.index(stuck)]}
            yield from here(python, first, patience)
            raise TimeoutError("no answer within 1 s")
        yield from here(python, task, patience)

    result = measured(
        ["tumbling"], ("duckdb", "polars"), start=impatient, prepare=without_polars, rows=5_000
    )
    entries = result["workloads"][0]["contenders"]
    assert entries["polars, over"]["left_out"] == "cannot be installed: no such package"
    assert entries["duckdb, obvious max_by"]["left_out"] == "no answer within 1 s"
    assert entries["duckdb, obvious row_number"]["agrees"]  # a new process went on
    assert entries["duckdb, threshold"]["agrees"]
    assert len(starts) == 1
    shown = table(result)
    assert "Polars: left out, cannot be installed" in shown and "no answer within 1 s" in shown


def test_only_the_last_windows_of_a_stream_may_be_lacking() -> None:
    from benchmarks.rivals.answers import judged

    def windows(*ends: int) -> pa.Table:
        return pa.table(
            {"window_end": list(ends), "rank": [1] * len(ends), "price": [1.0] * len(ends)}
        )

    right = windows(10, 20, 30)
    assert judged(windows(10, 20, 30), right).agrees
    assert judged(windows(10, 20, 30, 40), right).agrees  # closed after the end of the input
    assert not judged(windows(10, 20), right).agrees
    lacking = judged(windows(10, 20), right, may_lack=1)
    assert (lacking.agrees, lacking.windows, lacking.missing) == (True, 2, 1)
    assert not judged(windows(10, 30), right, may_lack=1).agrees
    assert not judged(windows(10), right, may_lack=1).agrees
    assert not judged(windows(), right, may_lack=3).agrees
    assert not judged(windows(), windows()).agrees
    assert not judged(pa.table({"rows": [3]}), right).agrees


def test_the_first_rows_are_those_of_the_stream() -> None:
    import pyarrow.csv
    import pyarrow.dataset as ds
    from benchmarks.rivals.data import Stream, made

    stream = Stream("trades", 10, 5)
    whole = made(stream, 300, 300, quiet)
    part = made(stream, 70, 300, quiet, csv="plain")
    headed = made(stream, 70, 300, quiet, csv="headed")

    def rows(found: dict[str, Any]) -> pa.Table:
        files = sorted(map(str, Path(found["files"]).parent.glob("*.parquet")))
        return ds.dataset(files).to_table()

    assert rows(part).equals(rows(whole).slice(0, 70))
    text = Path(part["csv"]).read_text()
    assert Path(headed["csv"]).read_text() == '"ms","symbol","price"\n' + text
    read = pyarrow.csv.read_csv(headed["csv"])
    assert read["price"].to_pylist() == rows(part)["price"].to_pylist()
    millis = rows(part)["ts"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    assert read["ms"].to_pylist() == [micros // 1000 for micros in millis]


def test_an_environment_is_made_once_and_again_when_its_list_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.rivals import environments, systems

    commands: list[list[str]] = []

    def run(command: Sequence[str]) -> str:
        commands.append(list(command))
        if "venv" in command:
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir(parents=True)
            python.touch()
        return ""

    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "some.txt").write_text("some>=1\n")
    monkeypatch.setattr(systems, "_REQUIREMENTS", lists)
    system = systems.System("some", "Some", (), pythons=(sys.version_info[1],))
    folder = tmp_path / ".rivals"
    python = environments.ready(system, folder, quiet, run)
    assert python == str(folder / "some" / "bin" / "python") and len(commands) == 2
    assert environments.ready(system, folder, quiet, run) == python and len(commands) == 2
    (lists / "some.txt").write_text("some>=2\n")
    environments.ready(system, folder, quiet, run)
    assert len(commands) == 4 and commands[-1][-1] == str(lists / "some.txt")
    assert (folder / ".gitignore").read_text() == "*\n"


def test_why_an_environment_cannot_be_made() -> None:
    from benchmarks.rivals.environments import Unavailable, _run, find_python

    with pytest.raises(Unavailable, match="needs Python 3.2 or 3.3, and there is none"):
        find_python((2, 3))
    fails = "import sys; sys.exit('ERROR: no such package\\nand more')"
    with pytest.raises(Unavailable, match="cannot be installed: ERROR: no such package"):
        _run([sys.executable, "-S", "-c", fails])
    with pytest.raises(Unavailable, match="cannot be installed"):
        _run([os.devnull])


def test_every_rival_has_its_list_and_every_cut_a_contender() -> None:
    from benchmarks.rivals.systems import SYSTEMS
    from benchmarks.rivals.workloads import WORKLOADS

    lists = {system.requirements for system in SYSTEMS if system.pythons}
    assert lists == set(next(iter(lists)).parent.glob("*.txt"))
    for workload in WORKLOADS:
        asked = {name for system in SYSTEMS for name in workload.contenders(system)}
        assert set(workload.cuts) <= asked, workload.name
        known = {n for s in SYSTEMS for kind in workload.kinds for n in s.contenders(kind)}
        for beginning in workload.not_asked:
            everywhere = {s.name.replace("_", " ") for s in SYSTEMS}
            assert beginning in everywhere or any(n.startswith(beginning) for n in known)


def test_a_child_tells_what_it_knows_and_ends_with_its_patience(tmp_path: Path) -> None:
    from benchmarks.rivals.data import Stream, made
    from benchmarks.rivals.processes import told_by

    found = {"slide": 10, **made(Stream("trades", 10, 5), 300, 300, quiet)}
    item = {"name": "bare scan", "kind": "LIMIT", "check": found, "question": found}
    items = [item | {"repeats": 2, "budget": 9}, item | {"name": "nobody", "repeats": 1}]
    task = {"module": "with_arrow", "packages": ["pyarrow"], "items": items}
    first, second, third = told_by(sys.executable, task, 100)
    assert first["versions"] == {"pyarrow": pa.__version__}
    assert second["name"] == "bare scan" and len(second["seconds"]) == 2
    assert third == {"name": "nobody", "error": "KeyError: 'nobody'"}
    with pytest.raises(TimeoutError, match="no answer within 0"):
        list(told_by(sys.executable, task, 0.01))
    with pytest.raises(RuntimeError, match="No package metadata was found"):
        list(told_by(sys.executable, {**task, "packages": ["no-such-package"]}, 100))
