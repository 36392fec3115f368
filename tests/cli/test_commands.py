"""``explain``, ``algorithms``, ``generate``, ``bench`` and what all commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import TOP, crestline
from crestline.cli import clone
from crestline.planner import algorithms
from crestline.streams import KINDS

COMMANDS = ("run", "explain", "algorithms", "generate", "bench", "reproduce", "demo")


def test_version_and_help() -> None:
    assert crestline("--version").stdout == f"crestline {library.__version__}\n"
    told = crestline("--help").stdout
    assert all(command in told for command in COMMANDS)
    assert crestline().stdout == told


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_gives_examples(command: str) -> None:
    told = crestline(command, "--help").stdout
    assert "Examples" in told and f"crestline {command}" in told


def test_explain_says_what_the_library_says(tmp_path: Path) -> None:
    planned = library.explain(TOP)
    assert crestline("explain", TOP).stdout == f"{planned}\n"
    (told,) = json.loads(crestline("explain", TOP, "--json").stdout)
    assert told == planned.to_dict()
    assert told["shares_with"] == [] and told["shared"] is None
    several = crestline("explain", "-", "--json", stdin=f"{TOP};{TOP}").stdout
    assert [known["query"] for known in json.loads(several)] == ["query_1", "query_2"]
    assert "line 1" in crestline("explain", "SELECT", code=2).stderr


OFTEN = "SELECT TOP {} id FROM s [RANGE 9 s ON ts] ORDER BY x DESC FREQUENCY {} s"


def test_explain_shows_who_shares_and_draws_the_plan(tmp_path: Path) -> None:
    text = ";".join(OFTEN.format(k, f) for k, f in ((3, 2), (4, 3), (5, 5)))
    picture = tmp_path / "plan.png"
    result = crestline("explain", text, "--picture", picture)
    assert "shared by  query_1, query_2, query_3" in result.stdout
    assert "costs      DP 135, GREEDY 135, INCO 230, IN 230, NS 230 a minute" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in result.stderr
    known = json.loads(crestline("explain", text, "--json").stdout)
    assert known[1]["shares_with"] == ["query_1", "query_3"]
    refused = crestline("explain", text, "--picture", "plan.jpg", code=2)
    assert "PNG" in refused.stderr
    assert "none of these has it" in crestline("explain", TOP, "--picture", "p.png", code=2).stderr


def test_algorithms_lists_the_catalogue() -> None:
    known = json.loads(crestline("algorithms", "--json").stdout)
    assert [each["name"] for each in known] == [each.name for each in algorithms()]
    assert {each["name"]: each["exact"] for each in known}["MINTOPK"] is True
    told = crestline("algorithms").stdout
    assert all(each.name in told for each in algorithms())
    assert "incomplete streams (COMBINE)" in told


def test_generate_writes_what_the_library_generates(tmp_path: Path) -> None:
    out = tmp_path / "trades.parquet"
    result = crestline(
        "generate", "trades", "--rows", "2k", "--seed", 3, "--rate", 50, "--set", "symbols=4",
        "--start", "2020-02-02", "--out", out,
    )  # fmt: skip
    assert "2,000 records of trades" in result.stderr
    table = pq.read_table(out)
    assert table.num_rows == 2_000
    assert len(table.column("symbol").unique()) == 4
    assert str(table.column("ts")[0].as_py().date()) == "2020-02-02"
    again = tmp_path / "folder"
    crestline("generate", "random", "--rows", 100, "--files", 3, "--out", again, "--quiet")
    assert len(list(again.iterdir())) == 3


def test_generate_lists_its_kinds() -> None:
    for told in (crestline("generate").stdout, crestline("generate", "--help").stdout):
        assert all(kind in told for kind in KINDS)
        assert "--set symbols=500" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["trades"], "--rows 100k --out"),
        (["stocks", "--rows", "5", "--out", "x.csv"], "no kind of stream 'stocks'"),
        (["trades", "--rows", "many", "--out", "x.csv"], "'many' is not a number"),
        (["trades", "--rows", "0.5", "--out", "x.csv"], "must be a whole number"),
        (["trades", "--rows", "5", "--out", "x.doc"], "'.doc'"),
        (["trades", "--rows", "5", "--out", "x.csv", "--set", "hosts=3"], "no option 'hosts'"),
        (["trades", "--rows", "5", "--out", "x.csv", "--set", "symbols"], "is not NAME=VALUE"),
        (["trades", "--rows", "5", "--out", "x.csv", "--rate", "0"], "rate is 0"),
    ],
)
def test_generate_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in crestline("generate", *arguments, code=2).stderr
    assert list(tmp_path.iterdir()) == []


SUITE = """
from benchmarks import helper
def run(*, quick, say):
    say("measuring")
    return {"quick": quick, "value": helper.VALUE}
def table(result):
    return f"value {result['value']}"
"""


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clone with suites that are made up; its folder ``benchmarks``."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    named = {"nothing": "how fast nothing is", "needy": "wants more", "lazy": "imports late"}
    (folder / "parted.py").write_text(
        'SECTIONS = ("one", "two")\n'
        "def run(quick, say, sections=SECTIONS):\n    return {'sections': list(sections)}\n"
    )
    (folder / "__init__.py").write_text(f"SUITES = {named}\n")
    (folder / "helper.py").write_text("VALUE = 7\n")
    (folder / "nothing.py").write_text(SUITE)
    (folder / "needy.py").write_text("import not_installed_here\n")
    (folder / "lazy.py").write_text("def run(quick, say):\n    import sortedcontainers\n")
    monkeypatch.setattr(clone, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    loaded = [name for name in sys.modules if name.split(".")[0] == "benchmarks"]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


@pytest.mark.usefixtures("suites")
def test_bench_lists_and_runs_suites() -> None:
    listed = crestline("bench").stdout.splitlines()
    assert listed == [
        "nothing  how fast nothing is", "needy    wants more", "lazy     imports late"
    ]  # fmt: skip
    result = crestline("bench", "nothing")
    assert (result.stdout, result.stderr) == ("value 7\n", "measuring\n")
    told = crestline("bench", "nothing", "--quick", "--json").stdout
    assert json.loads(told) == {"quick": True, "value": 7}
    assert "choose one of nothing, needy, lazy, all" in crestline("bench", "other", code=2).stderr
    assert "pip install not_installed_here" in crestline("bench", "needy", code=2).stderr


def test_bench_runs_sections_of_a_suite(suites: Path) -> None:
    (suites / "__init__.py").write_text("SUITES = {'parted': 'in parts', 'nothing': 'whole'}\n")
    told = crestline("bench", "parted", "--json", "--section", "two").stdout
    assert json.loads(told) == {"sections": ["two"]}
    told = crestline("bench", "parted", "--section", "three", code=2).stderr
    assert "no section 'three'" in told and "one, two" in told
    assert "no sections" in crestline("bench", "nothing", "--section", "one", code=2).stderr


@pytest.mark.usefixtures("suites")
def test_bench_names_the_extra_that_a_suite_misses_while_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sortedcontainers", None)
    told = crestline("bench", "lazy", code=2).stderr
    assert "pip install 'crestline[bench]'" in told and told.count("\n") == 1


def test_bench_finds_the_suites_of_the_clone() -> None:
    listed = crestline("bench").stdout.splitlines()
    assert listed[0].startswith("steps ") and all(len(line.split()) > 1 for line in listed)


@pytest.mark.parametrize(("command", "folder"), [("bench", "benchmarks"), ("reproduce", "papers")])
def test_what_needs_a_clone_says_so(
    command: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone, "ROOT", tmp_path)  # as in an installed package
    told = crestline(command, "all", code=2).stderr
    assert f"crestline {command} needs a clone of the project" in told
    assert f"{folder}/ is not part of the installed package" in told
    assert f"run 'make {command}' there" in told
