"""A command never writes over what it reads, nor where that would be read: told at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.command import TOP, crestline, run_here, write_scores
from crestline.cli.places import is_read

#: ``{folder}`` holds in.jsonl, link.jsonl and hard.jsonl, which are one file, the folder day with
#: a.jsonl, and near, a link to that folder.
FILE = "s={folder}/in.jsonl"
DAY = "s={folder}/day"
ANY = "s={folder}/day/*.jsonl"
DEEP = "s={folder}/**/*.jsonl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    (folder / "day").mkdir(parents=True)
    write_scores(folder / "in.jsonl")
    (folder / "link.jsonl").symlink_to("in.jsonl")
    (folder / "hard.jsonl").hardlink_to(folder / "in.jsonl")
    write_scores(folder / "day" / "a.jsonl")
    (folder / "near").symlink_to("day")
    (folder / "new.jsonl").symlink_to("day/new.jsonl")  # which is not there yet
    (folder / "top.sql").write_text(TOP)
    monkeypatch.chdir(folder / "day")
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


IN, BECOMES = "is part of the stream 's'", "would become part of the stream 's'"


@pytest.mark.parametrize(
    ("stream", "output", "told"),
    [
        (FILE, "{folder}/in.jsonl", IN),
        (FILE, "../in.jsonl", IN),
        (FILE, "{folder}/day/../in.jsonl", IN),
        (FILE, "{folder}/link.jsonl", IN),
        (FILE, "{folder}/hard.jsonl", IN),
        ("s=../link.jsonl", "{folder}/hard.jsonl", IN),
        (DAY, "a.jsonl", IN),
        (DAY, "{folder}/near/a.jsonl", IN),
        ("s={folder}/near", "{folder}/day/a.jsonl", IN),
        (DAY, "b.csv", BECOMES),
        (DAY, "{folder}/near/new/b.csv", BECOMES),
        (DAY, "{folder}/new.jsonl", BECOMES),
        ("s=.", "b.csv", BECOMES),
        (ANY, "a.jsonl", IN),
        (ANY, "b.jsonl", BECOMES),
        ("s={folder}/near/?.jsonl", "b.jsonl", BECOMES),
        (DEEP, "{folder}/hard.jsonl", IN),
        (DEEP, "{folder}/new/deep/b.jsonl", BECOMES),
        ("s={folder}/**", "{folder}/day/new/b.csv", BECOMES),
    ],
)
@pytest.mark.parametrize("option", ["--out", "--rejects"])
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_file_that_is_read_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stream: str, output: str, told: str,
    option: str, engine: str,
) -> None:  # fmt: skip
    refuse_to_open(monkeypatch)
    before = contents(folder)
    words = [word.format(folder=folder) for word in ("-s", stream, option, output)]
    stderr = crestline("run", TOP, "--engine", engine, *words, code=2).stderr
    assert stderr.startswith(f"error: {option}: ") and told in stderr
    assert stderr.count("\n") == 2  # the second line is where to find help
    assert contents(folder) == before


def refuse_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    from crestline.sources import opening
    from crestline.spark import session

    def never(*arguments: object) -> None:
        raise AssertionError("something was opened")

    monkeypatch.setattr(session, "start", never)
    monkeypatch.setattr(opening, "path_source", never)


@pytest.mark.parametrize(
    ("stream", "output"),
    [
        (FILE, "{folder}/top.jsonl"),
        (FILE, "{folder}/day/in.jsonl"),
        (DAY, "{folder}/top.jsonl"),
        (DAY, "{folder}/day/_top.jsonl"),
        (ANY, "{folder}/day/top.csv"),
        (ANY, "{folder}/day/new/top.jsonl"),
    ],
)
def test_what_would_not_be_read_is_written(folder: Path, stream: str, output: str) -> None:
    for _ in range(2):
        run_here(TOP, "-s", stream.format(folder=folder), "--out", output.format(folder=folder))
    assert Path(output.format(folder=folder)).stat().st_size > 0


@pytest.mark.parametrize("output", ["{folder}", "{folder}/", "{{query}}.jsonl"])
def test_files_named_after_queries_count_too(folder: Path, output: str) -> None:
    query = f"CREATE QUERY a AS {TOP}; CREATE QUERY b AS {TOP}"
    words = (query, "-s", f"s={folder}/**/*.*", "--out", output.format(folder=folder))
    before = contents(folder)
    told = run_here(*words, code=2).stderr
    assert "part of the stream 's'" in told
    assert contents(folder) == before


def test_the_query_is_not_written_over(folder: Path) -> None:
    query = folder / "top.csv"
    query.write_text(TOP)
    (folder / "again.csv").hardlink_to(query)
    words = ("--query", query, "-s", f"s={folder / 'in.jsonl'}")
    for output in (query, folder / "again.csv"):
        assert "is what --query reads" in run_here(*words, "--out", output, code=2).stderr
    assert query.read_text() == TOP
    drawn = folder / "top.png"
    drawn.write_text(f"{TOP} FREQUENCY 2 MINUTES")
    told = crestline("explain", "--query", drawn, "--picture", drawn, code=2).stderr
    assert "is what --query reads" in told


def test_results_and_rejects_are_two_files_whatever_they_are_called(folder: Path) -> None:
    words = (TOP, "-s", f"s={folder}/day", "--out", folder / "in.jsonl", "--rejects")
    for rejects in ("in.jsonl", "link.jsonl", "hard.jsonl"):
        told = run_here(*words, folder / rejects, code=2).stderr
        assert "--out and --rejects need two files" in told
    told = run_here(TOP, "-s", f"s={folder}/in.jsonl", "--out", folder / "near" / "x.csv",
                    "--rejects", "x.csv", code=2).stderr  # fmt: skip
    assert "need two files" in told


@pytest.mark.parametrize(
    ("stream", "words", "told"),
    [
        (DAY, ("--out", "{folder}/near"), BECOMES),
        (DAY, ("--out", "{folder}/day/top"), BECOMES),
        (DAY, ("--rejects", "bad.csv"), BECOMES),
        (DAY, ("--checkpoint", "{folder}/near/remembered"), BECOMES),
        (DAY, ("--checkpoint", "."), BECOMES),
        (DEEP, ("--out", "{folder}/top.jsonl"), BECOMES),
        ("s={folder}/to/come", ("--out", "{folder}/to/come/top"), BECOMES),
        (DAY, ("--out", "../top", "--checkpoint", "../top"), "--checkpoint: ../top is in the fold"),
        (DAY, ("--out", "../top", "--checkpoint", "../top/state"), "is in the folder of --out"),
    ],
)
def test_results_of_a_following_run_do_not_become_its_stream(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stream: str, words: tuple[str, ...], told: str
) -> None:
    refuse_to_open(monkeypatch)
    before = contents(folder)
    filled = [word.format(folder=folder) for word in ("-s", stream, *words)]
    stderr = crestline("run", TOP, "--follow", "--trigger", "available-now", *filled, code=2).stderr
    assert stderr.startswith("error: --") and told in stderr
    assert contents(folder) == before


def test_two_queries_get_folders_of_which_one_is_followed(folder: Path) -> None:
    query = f"CREATE QUERY day AS {TOP}; CREATE QUERY night AS {TOP}"
    words = ("-s", f"s={folder}/day", "--follow", "--trigger", "available-now", "--out", folder)
    assert BECOMES in crestline("run", query, *words, code=2).stderr


def test_names_of_one_file_in_another_case(folder: Path) -> None:
    """On a disk that takes them for the same; other disks have two files."""
    other = folder / "IN.JSONL"
    assert is_read(str(folder / "in.jsonl"), other) == other.exists()


def test_a_demo_writes_over_no_files_but_those_of_a_demo(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("mine")
    told = crestline("demo", "--out", tmp_path, code=2).stderr
    assert "query.sql is not of a demo" in told
    assert os.listdir(tmp_path) == ["query.sql"]
