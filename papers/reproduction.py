"""What the reproductions of all papers share: how one is run, and the entries of its report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Say, machine

from papers import PAPERS

Obtained = dict[str, Any]

SIZES = ("quick", "default", "full")
#: The reason of a claim that is not shown, until somebody has written one.
NO_REASON = "no reason known yet"
#: The verdicts on a claim.
SHOWN, NOT_SHOWN, NOT_MEASURED = "shown", "not shown", "not measured"


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper and how to run it."""

    title: str
    #: The folder of the paper.
    home: Path
    #: Runs everything at a size ("quick", "default", "full") and reports its progress.
    obtain: Callable[[str, Say], Obtained]
    #: The numbers that the paper prints, beside ours; made with `golden`.
    golden: Callable[[Obtained], list[dict[str, Any]]]
    #: The claims of the paper, judged by the figures alone; made with `judged`.
    judge: Callable[[Obtained], list[dict[str, Any]]]
    #: Draws the pictures into a folder.
    draw: Callable[[Obtained, Path], None]
    #: The pictures by their file names, with what they show, in the order of the report.
    pictures: Mapping[str, str]
    #: About the minutes that a full run takes on one core.
    minutes: int
    #: What a reader of the report must know before anything else.
    preface: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        obtain: Callable[[str, Say], Obtained],
        modules: tuple[Any, Any, Any],
        minutes: int,
        preface: str = "",
    ) -> Paper:
        """A paper of this folder; the modules are its `golden`, `claims` and `pictures`."""
        numbers, claims, pictures = modules
        return cls(
            title=PAPERS[name],
            home=Path(__file__).resolve().parent / name,
            obtain=obtain,
            golden=numbers.golden,
            judge=claims.verdicts,
            draw=pictures.draw,
            pictures=pictures.CAPTIONS,
            minutes=minutes,
            preface=preface,
        )

    @property
    def name(self) -> str:
        return self.home.name

    @property
    def reference(self) -> str:
        """Authors, title, place and year."""
        return str(_json(self.home / "expected.json")["paper"])

    @property
    def reasons(self) -> dict[str, str]:
        """Why a claim is not shown, by its name."""
        return _json(self.home / "reasons.json")

    def run(self, size: str, say: Say, folder: Path) -> Obtained:
        """Run everything and write what came out: the figures as JSON, and the pictures."""
        started = time.perf_counter()
        obtained = {"size": size, "machine": machine(), **self.obtain(size, say)}
        obtained["seconds"] = round(time.perf_counter() - started, 1)
        obtained |= self._compared(obtained)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "obtained.json").write_text(json.dumps(obtained, indent=1) + "\n")
        self.draw(obtained, folder)
        return obtained

    def load(self, folder: Path) -> Obtained:
        """What an earlier run wrote, its golden numbers and claims judged again."""
        obtained = _json(folder / "obtained.json")
        return obtained | self._compared(obtained)

    def _compared(self, obtained: Obtained) -> Obtained:
        return {"claims": self.judge(obtained), "golden": self.golden(obtained)}

    def claims(self, obtained: Obtained) -> list[dict[str, Any]]:
        """The claims, those that are not shown with the reason."""
        reasons = self.reasons
        return [
            one
            | {"reason": "" if one["verdict"] == SHOWN else reasons.get(one["claim"], NO_REASON)}
            for one in obtained["claims"]
        ]


def judged(claims: Mapping[str, Any], name: str, got: str, shown: bool | None) -> dict[str, Any]:
    """A claim of the paper with what was obtained; ``shown`` is None without figures.

    >>> judged({"fast": {"source": "Figure 1", "text": "it is"}}, "fast", "2 s", None)["verdict"]
    'not measured'
    """
    verdict = NOT_MEASURED if shown is None else SHOWN if shown else NOT_SHOWN
    claim = claims[name]
    return {
        "claim": name,
        "source": claim["source"],
        "paper": claim["text"],
        "obtained": got,
        "verdict": verdict,
    }


def agreement(claims: Mapping[str, Any], name: str, agrees: bool, got: str) -> dict[str, Any]:
    """A claim that a number or an example stands for: shown if ours is equal."""
    return judged(claims, name, got if agrees else "differs", agrees)


def values_by(
    column: str, runs: Sequence[Obtained], varied: str, value: str, order: Sequence[str] = ()
) -> dict[str, dict[Any, float]]:
    """For each contender, in the given order: what was varied, and the value there.

    >>> values_by("plan", [{"plan": "DP", "k": 5, "cost": 0.5}], "k", "cost", order=("NS", "DP"))
    {'NS': {}, 'DP': {5: 0.5}}
    """
    values: dict[str, dict[Any, float]] = {name: {} for name in order}
    for run in runs:
        values.setdefault(run[column], {})[run[varied]] = run[value]
    return values


def golden(
    source: str, what: str, paper: Any, ours: Any, *, right: Any = None, note: str = ""
) -> dict[str, Any]:
    """A number that a paper prints, beside ours.

    Where the paper is wrong, `right` is what it should have and the note says why.

    >>> golden("Table 3", "Pr_3 of R6", 0.173, 0.146, right=0.146, note="by Table 2")["verdict"]
    'erratum'
    """
    verdict = "equal" if _written(paper) == _written(ours) else "differs"
    if verdict == "differs" and right is not None and _written(right) == _written(ours):
        verdict = "erratum"
    return {
        "source": source,
        "what": what,
        "paper": _written(paper),
        "ours": _written(ours),
        "verdict": verdict,
        "note": note,
    }


def _written(value: Any) -> str:
    """Numbers without a tail of zeros, lists and sets of them in braces.

    >>> _written([8.0, [0.5, 12000]])
    '{8, {0.5, 12,000}}'
    """
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_written(one)}" for name, one in value.items())
    return "{" + ", ".join(_written(one) for one in value) + "}"


def _json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text())
    return content
