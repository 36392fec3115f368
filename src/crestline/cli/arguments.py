"""What is typed on the command line, read: queries, NAME=VALUE pairs, large numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path

from crestline.cli.errors import Misuse

_MULTIPLES = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def query_text(query: str | None, file: str | None) -> str:
    """The query: given as it is, in a file, or (``-``) on standard input."""
    if (query is None) == (file is None):
        given = "both are given" if query is not None else "neither is given"
        raise Misuse(f"give the query as an argument or with --query FILE: {given}")
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


def pairs(given: Iterable[str], option: str, example: str) -> dict[str, str]:
    """``NAME=VALUE`` texts as a dictionary.

    >>> pairs(["trades=a=b.csv"], "--stream", "trades=trades.csv")
    {'trades': 'a=b.csv'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise Misuse(f"{option} {text!r} is not NAME=VALUE: write it like {option} {example}")
        if name in found:
            raise Misuse(f"{option} gives {name!r} twice: {found[name]!r} and {value!r}")
        found[name] = value
    return found


def number(text: str, option: str) -> int | float:
    """A number as people type it.

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
    """A whole number of at least 0."""
    value = number(text, option)
    if not isinstance(value, int) or value < 0:
        raise Misuse(f"{option} {text!r} must be a whole number of at least 0")
    return value


__all__ = ["count", "number", "pairs", "query_text"]
