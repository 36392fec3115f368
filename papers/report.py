"""One report on all papers: what each says, what we obtain, and why where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.blocks import Block, Heading, Paragraph, Picture, Table, as_html, as_markdown
from papers.reproduction import Obtained, Paper

#: Longer numbers are cut in the table; `obtained.json` has them whole.
_LONGEST = 160
_SIZES = {
    "quick": "small sizes, to see that everything runs: the figures mean little",
    "default": "sizes that take minutes",
    "full": "the papers' sizes",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one paper: figures, or why there are none."""

    paper: Paper
    obtained: Obtained | None = None
    failure: str = ""


def write(outcomes: Sequence[Outcome], folder: Path, command: str) -> list[Path]:
    """`report.md` and `report.html` in the folder, whose folders by paper have the pictures."""
    found = blocks(outcomes, folder, command)
    files = [folder / "report.md", folder / "report.html"]
    files[0].write_text(as_markdown(found))
    files[1].write_text(as_html(found, folder))
    return files


def blocks(outcomes: Sequence[Outcome], folder: Path, command: str) -> list[Block]:
    """The whole report; the folder has the pictures, by paper."""
    found: list[Block] = [
        Heading(1, "What the papers say, and what we obtain"),
        *[Paragraph(one.paper.preface) for one in outcomes if one.paper.preface],
        Paragraph(f"Written by `{command}`; do not edit. A golden number is one that a paper"
                  " prints. A claim is shown if our measurements bear it out, by bounds that stand"
                  " at the top of its claims.py or judging.py; else the reason is beside it. Claims"
                  " for which there are no figures are not measured, and do not count as shown."),
        *_circumstances(outcomes),
        Table(
            ["paper", "golden numbers", "claims", "took"],
            [_summary(outcome) for outcome in outcomes],
        ),
    ]  # fmt: skip
    for outcome in outcomes:
        found += _paper(outcome, folder)
    return found


def _circumstances(outcomes: Sequence[Outcome]) -> list[Block]:
    """Sizes, date, machine and versions, once where they are the same."""
    told: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.obtained is not None:
            told.setdefault(_circumstance(outcome.obtained), []).append(outcome.paper.name)
    if len(told) <= 1:
        return [Paragraph(text) for text in told]
    return [Paragraph(f"{', '.join(names)}: {text}") for text, names in told.items()]


def _circumstance(obtained: Obtained) -> str:
    facts = obtained["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"Size: {obtained['size']} ({_SIZES[obtained['size']]}). Date: {facts['date'][:10]}."
        f" Machine: {facts['cpus']} x {facts['cpu']}, {facts['memory_gb']} GB, {facts['system']}."
        f" Versions: Python {facts['python']}, {versions}. Times are CPU time of the process,"
        " without compilation."
    )


def _summary(outcome: Outcome) -> list[str]:
    if outcome.obtained is None:
        return [outcome.paper.title, "", f"failed: {outcome.failure}", ""]
    numbers, claims = outcome.obtained["golden"], outcome.obtained["claims"]
    return [
        outcome.paper.title,
        _counted([one["verdict"] for one in numbers]),
        _counted([one["verdict"] for one in claims]),
        f"{outcome.obtained['seconds'] / 60:.1f} min",
    ]


def _counted(verdicts: Sequence[str]) -> str:
    texts = {
        "equal": "equal",
        "erratum": "where the paper errs",
        "differs": "DIFFER",
        "shown": "shown",
        "not shown": "not shown",
        "not measured": "not measured",
    }
    counts = {verdict: verdicts.count(verdict) for verdict in texts}
    return ", ".join(f"{count} {texts[verdict]}" for verdict, count in counts.items() if count)


def _paper(outcome: Outcome, folder: Path) -> list[Block]:
    paper, obtained = outcome.paper, outcome.obtained
    blocks: list[Block] = [Heading(2, paper.title), Paragraph(f"{paper.reference}.")]
    if obtained is None:
        return [*blocks, Paragraph(f"This run failed: {outcome.failure}")]
    return [
        *blocks,
        Paragraph(f"Stream: {obtained['stream']}. How it was measured, and where the paper errs:"
                  f" `papers/{paper.name}/README.md`."),
        *_later(obtained),
        Heading(3, f"{paper.name}: claims"),
        Table(
            ["where", "the paper says", "we obtain", "verdict"],
            [_claim(one) for one in paper.claims(obtained)],
        ),
        Heading(3, f"{paper.name}: golden numbers"),
        Table(
            ["where", "what", "the paper", "ours", "verdict"],
            [_number(one) for one in obtained["golden"]],
        ),
        Heading(3, f"{paper.name}: pictures"),
        *_pictures(paper, folder),
    ]  # fmt: skip


def _later(obtained: Obtained) -> list[Block]:
    """Figures that were added to those of an earlier run."""
    later = obtained.get("later", {})
    told = ", ".join(
        f"`{name}` ({one['size']} size, {one['date']})" for name, one in sorted(later.items())
    )
    return [Paragraph(f"Measured apart from that run: {told}.")] if later else []


def _claim(one: Mapping[str, Any]) -> list[str]:
    verdict = f"{one['verdict']}: {one['reason']}" if one["reason"] else one["verdict"]
    return [one["source"], one["paper"], one["obtained"], verdict]


def _number(one: Mapping[str, Any]) -> list[str]:
    verdict = {"equal": "equal", "erratum": "the paper errs", "differs": "differs"}[one["verdict"]]
    if one["note"]:
        verdict += f": {one['note']}"
    ours = "the same" if one["verdict"] == "equal" else one["ours"]
    return [one["source"], one["what"], _cut(one["paper"]), _cut(ours), verdict]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text)} characters)"


def _pictures(paper: Paper, folder: Path) -> list[Block]:
    """Those that were drawn: without real streams a few cannot be."""
    drawn = {file.name for file in (folder / paper.name).glob("*.png")}
    unknown = drawn - set(paper.pictures)
    if unknown:
        raise ValueError(f"no caption for {', '.join(sorted(unknown))} of {paper.name}")
    return [
        Picture(f"{paper.name}/{name}", caption)
        for name, caption in paper.pictures.items()
        if name in drawn
    ]
