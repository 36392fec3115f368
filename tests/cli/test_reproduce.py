"""``crestline reproduce``, with papers that are made up: the real ones take minutes."""

from __future__ import annotations

import json
import os
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.command import crestline
from crestline.cli import reproduce as module


class MadeUp:
    """What the command asks of a paper."""

    def __init__(self, name: str, fails: bool = False) -> None:
        self.name, self.title, self.fails = name, f"On {name}", fails
        self.minutes = len(name)

    def run(self, size: str, say: Any, folder: Path) -> dict[str, Any]:
        say("thinking")
        if self.fails:
            raise KeyError("lost")
        folder.mkdir(parents=True)
        obtained = {
            "size": size,
            "claims": [{"verdict": "shown"}, {"verdict": "not shown"}],
            "golden": [{"verdict": "erratum"}, {"verdict": "equal"}, {"verdict": "differs"}],
        }
        (folder / "obtained.json").write_text(json.dumps(obtained))
        return obtained

    def load(self, folder: Path) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((folder / "obtained.json").read_text())
        return loaded


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(outcomes: list[Any], folder: Path, command: str) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        names = [one.paper.name + (f" {one.failure}" if one.failure else "") for one in outcomes]
        (folder / "report.md").write_text(f"{command}: {', '.join(names)}")
        return [folder / "report.md"]

    def outcome(paper: Any, obtained: Any = None, failure: str = "") -> Any:
        return SimpleNamespace(paper=paper, obtained=obtained, failure=failure)

    known = {"good": MadeUp("good"), "bad": MadeUp("bad", fails=True), "last": MadeUp("last")}
    monkeypatch.setattr(
        module, "titles", lambda: {name: each.title for name, each in known.items()}
    )
    monkeypatch.setattr(module, "_paper", known.__getitem__)
    report = SimpleNamespace(write=write, Outcome=outcome)
    monkeypatch.setattr(module, "import_from_clone", lambda *_: report)


@pytest.mark.usefixtures("made_up")
def test_without_a_paper_they_are_listed() -> None:
    listed = crestline("reproduce").stdout.splitlines()
    assert listed == ["good  On good", "bad   On bad", "last  On last"]


@pytest.mark.usefixtures("made_up")
def test_one_paper_is_run_and_reported(tmp_path: Path) -> None:
    result = crestline("reproduce", "good", "--quick", "--out", str(tmp_path / "to"))
    assert "good (1 of 1) 0:00 thinking" in result.stderr
    assert "good: 2 of 3 golden numbers, 1 of 2 claims shown" in result.stdout
    report = (tmp_path / "to" / "report.md").read_text()
    assert report == "crestline reproduce good --quick: good"
    assert json.loads((tmp_path / "to" / "good" / "obtained.json").read_text())["size"] == "quick"


@pytest.mark.usefixtures("made_up")
def test_a_failure_does_not_stop_the_others_but_is_told(tmp_path: Path) -> None:
    result = crestline("reproduce", "all", "--out", str(tmp_path), code=1)
    assert "bad: FAILED, KeyError: 'lost'" in result.stdout
    expected = "crestline reproduce all: good, bad KeyError: 'lost', last"
    assert (tmp_path / "report.md").read_text() == expected


class Dying(MadeUp):
    def run(self, size: str, say: Any, folder: Path) -> dict[str, Any]:
        os._exit(3)


@pytest.mark.usefixtures("made_up")
def test_papers_at_once_are_reported_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = get_context("fork")  # the papers of this test are known to this process only
    monkeypatch.setattr(module, "get_context", lambda _: fork)
    result = crestline("reproduce", "all", "--jobs", "2", "--out", str(tmp_path), code=1)
    assert "good: 2 of 3 golden numbers" in result.stdout
    assert "bad: FAILED, KeyError: 'lost'" in result.stdout
    expected = "crestline reproduce all --jobs 2: good, bad KeyError: 'lost', last"
    assert (tmp_path / "report.md").read_text() == expected
    dying = {"good": MadeUp("good"), "bad": Dying("bad"), "last": MadeUp("last")}
    monkeypatch.setattr(module, "_paper", dying.__getitem__)
    result = crestline("reproduce", "all", "--jobs", "3", "--out", str(tmp_path / "2"), code=1)
    assert "bad: FAILED, its process died" in result.stdout
    assert "last: 2 of 3 golden numbers" in result.stdout


@pytest.mark.usefixtures("made_up")
def test_the_report_can_be_written_again(tmp_path: Path) -> None:
    asked = ("reproduce", "all", "--out", str(tmp_path), "--again")
    assert "run without --again first" in crestline(*asked, code=2).stderr
    crestline("reproduce", "last", "--full", "--out", str(tmp_path))
    assert crestline(*asked).stderr == ""
    assert (tmp_path / "report.md").read_text() == "crestline reproduce all --full: last"


@pytest.mark.usefixtures("made_up")
def test_what_cannot_be_asked_is_refused() -> None:
    assert "choose one of good, bad, last, all" in crestline("reproduce", "x", code=2).stderr
    assert "leave one out" in crestline("reproduce", "all", "--full", "--quick", code=2).stderr


def test_the_papers_of_the_clone_are_found() -> None:
    listed = crestline("reproduce").stdout.splitlines()
    assert len(listed) == 5 and listed[0].startswith("yang2011_mintopk  Yang et al. 2011")
