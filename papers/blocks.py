"""A document of headings, paragraphs, tables and pictures, as Markdown and as HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: 13px; }
th, td { border: 1px solid #8886; padding: .35rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { background: #8882; white-space: nowrap; }
img { max-width: 100%; background: white; }
figcaption { color: #888; margin-bottom: 1.5rem; }
.good { color: #00916c; }
.bad { color: #d45500; }
.open { color: #888; }
"""
#: The words that begin a verdict, and how they are shown.
_VERDICTS = {
    "shown": "good", "equal": "good", "not shown": "bad", "differs": "bad", "failed": "bad",
    "not measured": "open",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Picture:
    #: Relative to the folder of the document.
    path: str
    caption: str


Block = Heading | Paragraph | Table | Picture


def as_markdown(blocks: Sequence[Block]) -> str:
    """As GitHub and mkdocs read it; pictures are linked."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Table(head, rows):
            lines = [head, ["---"] * len(head), *rows]
            return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
        case Picture(path, caption):
            return f"![{caption}]({path})"


def _cell(text: str) -> str:
    """Without what Markdown would take for marks of its own."""
    for mark in "|*<[":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def as_html(blocks: Sequence[Block], folder: Path) -> str:
    """One page that stands alone: the pictures, which lie in the folder, are part of it."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_code(text)}</p>"
        case Table(head, rows):
            top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
            body = "\n".join(
                f"<tr>{''.join(f'<td>{_shaded(cell)}</td>' for cell in row)}</tr>" for row in rows
            )
            return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        case Picture(path, caption):
            data = b64encode((folder / path).read_bytes()).decode()
            return (
                f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
                f"<figcaption>{escape(caption)}</figcaption></figure>"
            )


def _code(text: str) -> str:
    """Escaped; what stands in backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _shaded(cell: str) -> str:
    """A verdict's first words in colour, the rest as it is."""
    verdict, colon, rest = cell.partition(":")
    if verdict not in _VERDICTS:
        return _code(cell)
    return f'<b class="{_VERDICTS[verdict]}">{verdict}</b>{colon}{_code(rest)}'
