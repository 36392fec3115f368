"""The site of the documents: it builds without a warning, every page is found, no link is dead, and
nothing in it asks an outside server for anything."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAVIGATION = re.compile(r"^ +- (?:[\w ]+: )?([\w/.-]+\.md)$", re.MULTILINE)
#: What a browser fetches by itself, by tag and attribute; it follows an <a> only when told to.
FETCHED = {(tag, "src") for tag in ("img", "script", "iframe", "source", "video", "audio", "embed")}
FETCHED |= {("link", "href"), ("object", "data"), ("use", "href")}
IN_CSS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
#: What Markdown leaves in a paragraph if a list, a table or a block was not understood.
LEFT_OVER = re.compile(r"^\s*(?:[-*] |\d+\. |\||```|~~~|#+ )|\]\(|^\s*::: ", re.MULTILINE)


@dataclass
class PageOf(HTMLParser):
    """What is in a page: its anchors, its links, what it fetches, and the text of paragraphs."""

    text: str
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    _inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.anchors.update(known[name] for name in ("id", "name") if name in known)
        if "mermaid" in known.get("class", "").split():
            self.fetched.append("https://unpkg.com/mermaid")  # the theme would, for a diagram
        self.links += [known[name] for name in ("href", "src", "data") if name in known]
        self.fetched += [v for name, v in known.items() if (tag, name) in FETCHED]
        self.fetched += [each.split()[0] for each in known.get("srcset", "").split(",") if each]
        self.fetched += in_css(known.get("style", ""))
        if tag in ("p", "code"):
            self._inside.append(tag)
            if tag == "p":
                self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside == ["p"]:
            self.paragraphs[-1] += data


def in_css(text: str) -> list[str]:
    return [a or b for a, b in IN_CSS.findall(text)]


@cache
def page_of(file: Path) -> PageOf:
    return PageOf(file.read_text(encoding="utf-8"))


def is_outside(target: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", target)) and not target.startswith("data:")


def dead(link: str, file: Path, site: Path) -> bool:
    """Whether a link of a file of the site leads to nothing in it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    path = unquote(parts.path)
    target = (site / path[1:] if path.startswith("/") else file.parent / path).resolve()
    target = target if path else file
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()) or not target.is_file():
        return True
    anchored = parts.fragment and target.suffix == ".html" and not parts.fragment.startswith("__")
    return bool(anchored) and unquote(parts.fragment) not in page_of(target).anchors


def faults(site: Path) -> list[str]:
    """Everything that is wrong with the files of a site."""
    site, found = site.resolve(), []
    for file in sorted(site.rglob("*.html")):
        page, name = page_of(file), str(file.relative_to(site))
        found += [
            f"{name}: dead link {link}"
            for link in sorted(set(page.links))
            if dead(link, file, site)
        ]
        found += [f"{name}: fetches {each}" for each in page.fetched if is_outside(each)]
        left = [text for text in page.paragraphs if LEFT_OVER.search(text)]
        found += [f"{name}: Markdown that was not understood: {text[:80]!r}" for text in left]
    for file in sorted(site.rglob("*.css")):
        found += [
            f"{file.name}: fetches {each}"
            for each in in_css(file.read_text(encoding="utf-8"))
            if is_outside(each)
        ]
    return found


def test_every_page_is_in_the_navigation() -> None:
    named = NAVIGATION.findall((ROOT / "mkdocs.yml").read_text())
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(pages - set(named)) == []
    assert len(named) == len(set(named))


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="MkDocs is not installed")
def test_the_site_builds_and_nothing_in_it_is_wrong(tmp_path: Path) -> None:
    """One test, since a build takes seconds."""
    # In a process of its own: plugins warn of things that are not ours to change.
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    pages = {str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.html")}
    assert pages >= {"index.html", "language.html", "algorithms/mintopk.html", "project/index.html"}
    assert "Session.push" in page_of(tmp_path / "reference" / "running.html").text
    assert faults(tmp_path) == []


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="MkDocs is not installed")
@pytest.mark.parametrize("name", ["docstrings", "outside"])
def test_the_examples_of_a_hook_are_right(name: str) -> None:
    spec = spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    failed, tried = doctest.testmod(module)
    assert tried and not failed


# --- the checks can fail -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        '<a href="nowhere.html">a page</a>',
        '<a href="other.html#nowhere">an anchor</a>',
        '<a href="#nowhere">an anchor here</a>',
        '<a href="../outside.html">out of the site</a>',
        '<img src="nothing.png">',
        '<script src="https://example.org/script.js"></script>',
        '<link rel="stylesheet" href="//example.org/style.css">',
        '<p style="background: url(https://example.org/picture.png)">a picture</p>',
        '<pre class="mermaid"></pre>',
        "<p>A list:\n- that is none</p>",
        "<p>[a link](that is none)</p>",
        "<p>| a | table |</p>",
    ],
)
def test_a_fault_is_noticed(wrong: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").write_text("")
    (site / "other.html").write_text('<h1 id="here">Here</h1>')
    (site / "style.css").write_text("a { background: url(data:image/png;base64,AA==) }")
    right = '<a href="other.html#here">a</a><a href="https://example.org">b</a><p>One - two.</p>'
    (site / "index.html").write_text(right)
    assert faults(site) == []
    page_of.cache_clear()
    (site / "index.html").write_text(right + wrong)
    assert len(faults(site)) == 1


def test_a_style_that_fetches_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text('@import "https://example.org/font.css";')
    assert faults(tmp_path) == ["style.css: fetches https://example.org/font.css"]
