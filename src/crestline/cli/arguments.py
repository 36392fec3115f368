"""Read what is typed on the command line: queries, NAME=VALUE pairs, large numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from crestline.cli.errors import Misuse

QueryArgument = Annotated[
    str | None,
    typer.Argument(metavar="QUERY", help="The query, or several separated by ;. - is stdin."),
]
QueryFile = Annotated[
    str | None,
    typer.Option("--query", metavar="FILE", help="Read the query from FILE, or stdin (-)."),
]

_MULTIPLES = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def query_text(query: str | None, file: str | None) -> str:
    """Return the query text: the argument, the content of the file, or (``-``) standard input."""
    if (query is None) == (file is None):
        problem = "both are given" if query is not None else "neither is given"
        raise Misuse(f"give the query as an argument or with --query FILE: {problem}")
    if "-" in (query, file):
        return sys.stdin.read()
    if query is not None:
        if _is_file(query):
            raise Misuse(f"{query!r} is a file, not a query: write --query {query}")
        return query
    assert file is not None
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Misuse(f"cannot read the query file {file!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"the query file {file!r} is not UTF-8 text") from error


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or no name at all
        return False


def pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    """Read ``NAME=VALUE`` texts into a dictionary.

    >>> pairs(["trades=a=b.csv"], "--stream", "trades=trades.csv")
    {'trades': 'a=b.csv'}
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise Misuse(f"{option} {text!r} is not NAME=VALUE: write it like {option} {example}")
        if name in values:
            raise Misuse(f"{option} gives {name!r} twice: {values[name]!r} and {value!r}")
        values[name] = value
    return values


def number(text: str, option: str) -> int | float:
    """Read a number as people type it.

    >>> [number(text, "--rows") for text in ("1_000", "20k", "1.5M", "1e6", "0.25")]
    [1000, 20000, 1500000, 1000000, 0.25]
    """
    plain = text.strip().replace("_", "").replace(",", "")
    times = _MULTIPLES.get(plain[-1:].lower(), 1)
    try:
        value = float(plain[:-1] if times > 1 else plain) * times
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Misuse(f"{option} {text!r} is not a number: write 1000, 200k, 1.5M or 1e6")
    if plain.isdecimal():
        return int(plain)  # exact beyond 2^53, such as a seed
    return int(value) if value.is_integer() else value


def count(text: str, option: str) -> int:
    """Read a whole number of at least 0."""
    value = number(text, option)
    if not isinstance(value, int) or value < 0:
        raise Misuse(f"{option} {text!r} must be a whole number of at least 0")
    return value


__all__ = ["QueryArgument", "QueryFile", "count", "number", "pairs", "query_text"]
