"""Docstrings as Markdown: their examples and indented lines are shown as they are written.

In Markdown ``>>>`` is a quotation in a quotation in a quotation, and lines that are only indented
run together. So both are put into fences before the pages of the reference are made. Sections such
as ``Parameters:`` stay as they are: they become tables. A comment ``#:`` above an attribute is its
docstring.
"""

from __future__ import annotations

import textwrap
from typing import Any

import griffe

_SECTIONS = ("Parameters:", "Returns:", "Raises:")


class Fenced(griffe.Extension):
    """Changes the docstring of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring is not None or attr.lineno is None or isinstance(attr.filepath, list):
            return
        lines = attr.filepath.read_text(encoding="utf-8").splitlines()
        if above := comment_above(lines, attr.lineno - 1):
            attr.docstring = griffe.Docstring(above, parent=attr)


def comment_above(lines: list[str], place: int) -> str:
    """The ``#:`` comment that ends right before the line at ``place``.

    >>> comment_above(["#: How many.", "count = 3"], 1)
    'How many.'
    """
    found: list[str] = []
    while place > 0 and lines[place - 1].strip().startswith("#:"):
        place -= 1
        found.insert(0, lines[place].strip().removeprefix("#:").strip())
    return " ".join(found)


def fenced(text: str) -> str:
    """The text with its examples and its indented blocks in fences.

    >>> fenced("Adds:\\n\\n>>> 1 + 1\\n2\\n\\nEnd.").splitlines()
    ['Adds:', '', '```pycon', '>>> 1 + 1', '2', '```', '', '', 'End.']
    >>> fenced("Steps\\n  one\\n  two\\nEnd.").splitlines()
    ['Steps', '', '```text', 'one', 'two', '```', '', 'End.']
    >>> fenced("Parameters:\\n    x: A number.").splitlines()
    ['Parameters:', '    x: A number.']
    """
    made: list[str] = []
    block: list[str] = []
    language, section = "", False
    for line in [*text.splitlines(), ""]:
        example = line.startswith(">>>")
        if not line.startswith(" ") and line.strip():
            section = line in _SECTIONS
        listed = section or (made and made[-1].startswith(("- ", "* ")))
        indented = line.startswith("  ") and not listed
        goes_on = bool(line.strip()) and (language == "pycon" or (block and indented))
        if block and not goes_on and not (language == "text" and not line.strip()):
            made += _closed(block, language)
            block, language = [], ""
        if not block and (example or indented):
            language = "pycon" if example else "text"
            if made and made[-1].strip():
                made[-1] = made[-1].removesuffix("::")
                made.append("")
        (block if language else made).append(line)
    if block:
        made += _closed(block, language)
    return "\n".join(made).strip("\n")


def _closed(block: list[str], language: str) -> list[str]:
    inside = textwrap.dedent("\n".join(block)).strip("\n")
    return [f"```{language}", inside, "```", ""]
