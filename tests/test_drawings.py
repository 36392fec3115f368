"""Each page of an algorithm has a drawing, and the drawings show what the operators hold."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from crestline.planner.catalogue import CATALOGUE

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = DOCS / "pictures" / "algorithms"
PAGES = sorted((DOCS / "algorithms").glob("*.md"))
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, Any]]:
    """The modules that draw; they import one another by their plain names."""
    names = [file.stem for file in PICTURES.glob("*.py")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # beside them are documents
        patch.syspath_prepend(PICTURES)
        yield {name: import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def shown_under_idea(page: str) -> list[tuple[str, str]]:
    """What the pictures in the chapter "Idea" tell, and their files."""
    idea = re.search(r"^## Idea$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", idea[1]) if idea else []


def problems(page: str, name: str) -> list[str]:
    found = []
    own = [(told, file) for told, file in shown_under_idea(page) if file.endswith(f"/{name}.svg")]
    if not own:
        found.append("no drawing of its own")
    found += ["a drawing that is not told" for told, _ in own if len(told) < 40]
    for chapter in ("Cost", "When it wins, when it loses"):
        if not re.search(rf"^## {chapter}$", page, re.MULTILINE):
            found.append(f"no chapter {chapter}")
    if not re.search(r"^```(python|sql)$", page, re.MULTILINE):
        found.append("nothing to run")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_drawing_cost_and_judgement(page: Path) -> None:
    assert problems(page.read_text(encoding="utf-8"), page.stem) == []
    content = (PICTURES / f"{page.stem}.svg").read_bytes()
    assert ElementTree.fromstring(content).tag.endswith("svg")
    assert len(content) < MOST_BYTES


def test_a_page_without_them_is_noticed() -> None:
    page = "# X\n\n## Idea\n\n![short](../pictures/algorithms/x.svg)\n\n## Cost\n"
    assert len(problems(page, "x")) == 3
    assert "no drawing of its own" in problems(page, "y")
    assert "no drawing of its own" in problems(page.replace("Idea", "Else"), "x")


def test_every_algorithm_is_drawn_and_nothing_else(scripts: dict[str, Any]) -> None:
    drawn = set(scripts["draw"].DRAWINGS)
    assert drawn == {page.stem for page in PAGES} == {svg.stem for svg in PICTURES.glob("*.svg")}
    assert drawn == {algorithm.name.lower() for algorithm in CATALOGUE}


@pytest.mark.parametrize("name", ["mintopk", "dp"])
def test_a_drawing_is_the_same_each_time(
    scripts: dict[str, Any], name: str, tmp_path: Path
) -> None:
    """Not the committed bytes: other versions of matplotlib write other ones."""
    file = scripts["draw"].draw(name, tmp_path)
    first = file.read_bytes()
    assert ElementTree.fromstring(first).tag.endswith("svg")
    assert scripts["draw"].draw(name, tmp_path).read_bytes() == first


# -- what they show -------------------------------------------------------------------------------


def test_the_windows_of_mintopk_hold_the_best_of_what_is_left(scripts: dict[str, Any]) -> None:
    windows = scripts["windows"]
    marks, scores, pane = windows.marks(), windows.STREAM, windows.PANE
    for gone in range(0, len(scores), pane):
        end = len(scores) + gone
        told = [score for score, (start, last) in marks.items() if start <= end <= last]
        assert told == sorted(scores[gone:], reverse=True)[: windows.K]


def test_the_results_of_pretopk_hold_the_best_so_far(scripts: dict[str, Any]) -> None:
    windows = scripts["windows"]
    predicted = windows.predicted(len(windows.ARRIVING))
    assert set(predicted) == set(range(7, 11))
    for end, best in predicted.items():
        inside = windows.ARRIVING[end - windows.AHEAD :]
        assert best == sorted(inside, reverse=True)[:2]


def test_what_sa_keeps_has_few_dominators(scripts: dict[str, Any]) -> None:
    arrivals = scripts["arrivals"]
    few = [at for at, count in enumerate(arrivals.dominators(arrivals.SHORT)) if count < 2]
    assert sorted(arrivals.sa_kept()) == few


@pytest.mark.parametrize("name", ["sasf", "rapf"])
def test_a_band_and_what_waits_hold_the_skyband(scripts: dict[str, Any], name: str) -> None:
    arrivals = scripts["arrivals"]
    held = arrivals.filtered(name)
    scores = held.scores[held.first :]
    counts = arrivals.dominators(scores)
    skyband = {at + held.first for at, count in enumerate(counts) if count < arrivals.BEST}
    assert skyband <= {*held.band, *held.waiting}
    best = np.argsort(-held.scores[held.first :])[: arrivals.BEST] + held.first
    assert held.band[: arrivals.BEST] == best.tolist()
    assert min(held.filtered) >= held.buffered
    if name == "sasf":  # it counts what is in the band, not what waits
        inside = arrivals.dominators(held.scores[sorted(held.band)])
        assert max(inside) < arrivals.BEST


def test_the_compact_sets_are_the_two_best_of_each_suffix(scripts: dict[str, Any]) -> None:
    synopses = scripts["synopses"]
    scores, sets = synopses.SCORES, synopses.compact_sets()
    for first in range(len(scores) - 1):
        members = synopses.set_of_suffix(sets, first)
        assert [scores[id] for id in members] == sorted(scores[first:], reverse=True)[:2]
    chances = list(synopses.chances().values())
    assert chances == pytest.approx([0.4 * 0.6**rank for rank in range(len(scores))])
    # Where CCSQ says that a record has been lost, CSQ does not have it any more.
    for id, lost in synopses.notes().items():
        inside = [first for first in range(id + 1) if id in synopses.set_of_suffix(sets, first)]
        assert not inside or min(inside) == lost + 1


def test_eaa_keeps_what_is_not_dominated(scripts: dict[str, Any]) -> None:
    objects = scripts["objects"]
    every = objects.instances()
    alive = [
        one.place
        for one in every
        if not any(o.name != one.name and o.place > one.place and o.least > one.most for o in every)
    ]
    assert objects.kept_values() == alive
    shown = objects.stored()
    assert (shown.most >= shown.bound).sum() == shown.kept["EAA"]


def test_the_threshold_algorithm_ends_at_the_best(scripts: dict[str, Any]) -> None:
    objects = scripts["objects"]
    name, score = objects.best_object()
    sums = {each: sum(values[each] for values in objects.LISTS) for each in objects.LISTS[0]}
    assert (name, score) == max(sums.items(), key=lambda item: item[1])
    assert objects.walk()[-1][0] == score
