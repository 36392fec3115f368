"""The report on all papers, and the one of a full run that the documents have."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "reproduction"
MACHINE = {
    "date": "2026-01-02T03:04:05+00:00", "cpu": "a cpu", "cpus": 2, "memory_gb": 4, "system": "s",
    "python": "3.11", "versions": {"numpy": "2"},
}  # fmt: skip


def made_up(home: Path, pictures: tuple[str, ...] = ("one.png",)) -> Any:
    """A paper of four claims and three numbers."""
    from papers.reproduction import Paper, golden, judged

    home.mkdir(parents=True, exist_ok=True)
    (home / "expected.json").write_text('{"paper": "Nobody: Nothing. 2026"}')
    (home / "reasons.json").write_text('{"2": "the moon was full", "4": "no telescope"}')

    def obtain(size: str, say: Any) -> dict[str, Any]:
        say(f"running {size}")
        later = {"stars": {"size": "quick", "date": "2026-01-03"}}
        return {"size": size, "stream": "none", "machine": MACHINE, "later": later}

    def judge(obtained: dict[str, Any]) -> list[dict[str, Any]]:
        shown = {"1": obtained["stream"] == "none", "2": False, "3": False, "4": None}
        claims = {name: {"source": "Figure 1", "text": "small | fast"} for name in shown}
        return [judged(claims, name, "<2>", verdict) for name, verdict in shown.items()]

    def numbers(obtained: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            golden("Table 1", "a", 1.0, 1),
            golden("Table 1", "b", 0.173, 0.146, right=0.146, note="it adds up to 0.146"),
            golden("Table 1", "c", [1, 2], [1, 3]),
        ]

    def draw(obtained: dict[str, Any], folder: Path) -> None:
        for name in pictures:
            (folder / name).write_bytes(b"png")

    return Paper(
        "Nobody 2026", home, obtain, numbers, judge, draw, {"one.png": "One <thing>"},
        minutes=0, preface="By `nobody`.",
    )  # fmt: skip


def reported(tmp_path: Path, outcomes: list[Any]) -> tuple[str, str]:
    from papers import report

    markdown, html = report.write(outcomes, tmp_path, "crestline reproduce all")
    return markdown.read_text(), html.read_text()


def test_the_report_has_the_papers_value_ours_and_the_verdict(tmp_path: Path) -> None:
    from papers.report import Outcome

    paper = made_up(tmp_path / "nobody")
    said: list[str] = []
    obtained = paper.run("default", said.append, tmp_path / "nobody")
    assert said == ["running default"]
    markdown, html = reported(tmp_path, [Outcome(paper, obtained)])
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert r"| Figure 1 | small \| fast | \<2> | shown |" in rows
    assert r"| Figure 1 | small \| fast | \<2> | not shown: the moon was full |" in rows
    assert r"| Figure 1 | small \| fast | \<2> | not shown: no reason known yet |" in rows
    assert r"| Figure 1 | small \| fast | \<2> | not measured: no telescope |" in rows
    assert markdown.splitlines()[2] == "By `nobody`."
    assert "Measured apart from that run: `stars` (quick size, 2026-01-03)." in markdown
    assert "| Table 1 | a | 1 | the same | equal |" in rows
    assert "| Table 1 | b | 0.173 | 0.146 | the paper errs: it adds up to 0.146 |" in rows
    assert "| Table 1 | c | {1, 2} | {1, 3} | differs |" in rows
    assert "1 equal, 1 where the paper errs, 1 DIFFER" in markdown
    assert "1 shown, 2 not shown, 1 not measured" in markdown
    assert "2 x a cpu" in markdown and "2026-01-02" in markdown
    assert "![One <thing>](nobody/one.png)" in markdown
    assert '<td><b class="bad">not shown</b>: the moon was full</td>' in html
    assert "&lt;2&gt;" in html and "<2>" not in html
    assert "data:image/png;base64,cG5n" in html  # stands alone
    assert not re.search(r"(src|href)=.?(?!.?data:)", html)


def test_claims_are_judged_again_when_figures_are_loaded(tmp_path: Path) -> None:
    """A report from earlier figures has today's verdicts, not those that lie beside the figures."""
    paper = made_up(tmp_path / "nobody")
    paper.run("default", lambda line: None, tmp_path / "nobody")
    file = tmp_path / "nobody" / "obtained.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"stream": "another"}))
    assert paper.load(tmp_path / "nobody")["claims"][0]["verdict"] == "not shown"


def test_a_failure_is_told_and_the_others_are_there(tmp_path: Path) -> None:
    from papers.report import Outcome

    one, other = made_up(tmp_path / "one"), made_up(tmp_path / "other")
    obtained = one.run("quick", lambda line: None, tmp_path / "one")
    outcomes = [Outcome(other, failure="KeyError: x"), Outcome(one, obtained)]
    markdown, html = reported(tmp_path, outcomes)
    assert "failed: KeyError: x" in markdown and "This run failed: KeyError: x" in html
    assert "![One <thing>](one/one.png)" in markdown and "other/one.png" not in markdown


def test_a_picture_without_a_caption_is_a_fault(tmp_path: Path) -> None:
    from papers.report import Outcome

    paper = made_up(tmp_path / "nobody", ("one.png", "two.png"))
    obtained = paper.run("quick", lambda line: None, tmp_path / "nobody")
    with pytest.raises(ValueError, match="no caption for two.png"):
        reported(tmp_path, [Outcome(paper, obtained)])


# -- the full run that the documents have ---------------------------------------------------------


def papers() -> dict[str, Any]:
    from papers import PAPERS

    return {name: import_module(f"papers.{name}.run").PAPER for name in PAPERS}


def test_every_folder_is_a_paper() -> None:
    folders = {file.parent.name for file in (ROOT / "papers").glob("*/run.py")}
    assert folders == set(papers())


def test_the_committed_run_is_a_full_one_and_every_difference_has_its_reason() -> None:
    for name, paper in papers().items():
        obtained = paper.load(COMMITTED / name)
        assert obtained["size"] == "full"
        assert {one["verdict"] for one in obtained["golden"]} <= {"equal", "erratum"}
        known = {one["claim"] for one in obtained["claims"]}
        assert set(paper.reasons) <= known
        without = [
            o for o in paper.claims(obtained) if o["verdict"] != "shown" and len(o["reason"]) < 40
        ]
        assert without == []
        assert all((COMMITTED / name / picture).is_file() for picture in paper.pictures)


def test_the_committed_report_is_that_of_the_committed_figures(tmp_path: Path) -> None:
    from papers import report

    outcomes = [report.Outcome(p, p.load(COMMITTED / name)) for name, p in papers().items()]
    blocks = report.blocks(outcomes, COMMITTED, "crestline reproduce all --full --jobs 2")
    assert report.as_markdown(blocks) == (COMMITTED / "report.md").read_text()


def test_the_readme_quotes_the_report() -> None:
    """The numbers of claims and of golden numbers, as the committed figures have them."""
    found = [paper.load(COMMITTED / name) for name, paper in papers().items()]
    verdicts = [one["verdict"] for obtained in found for one in obtained["claims"]]
    golden = [one["verdict"] for obtained in found for one in obtained["golden"]]
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"all {len(golden)} golden numbers agree except {golden.count('erratum')} in" in text
    assert f"{verdicts.count('shown')} of {len(verdicts)} claims are shown" in text
    assert f"{verdicts.count('not shown')} are not shown" in text
    missing = verdicts.count("not measured")
    assert (f"{missing} are not measured" in text) == (missing > 0)


def test_the_figures_are_plain_numbers() -> None:
    for name in papers():
        text = (COMMITTED / name / "obtained.json").read_text()
        assert not re.search(r"\b(NaN|Infinity)\b", text)
        json.loads(text)
