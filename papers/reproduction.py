"""What the reproductions of all papers share: their command line and what they write."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Obtain = Callable[[str, Callable[[str], None]], dict[str, Any]]
Draw = Callable[[dict[str, Any], Path], None]


def write(obtained: dict[str, Any], stream: str, draw: Draw, folder: Path) -> None:
    """The figures as JSON, the claims as a table, and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "obtained.json").write_text(json.dumps(obtained, indent=1) + "\n")
    (folder / "obtained.md").write_text(as_markdown(obtained, stream))
    draw(obtained, folder)


def as_markdown(obtained: dict[str, Any], stream: str) -> str:
    """The claims as a table, with where and on what they were measured."""
    facts = obtained["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        "# Obtained",
        "",
        "Written by `run.py`; do not edit.",
        "",
        f"Size: {obtained['size']}. Stream: {stream}. Date: {facts['date']}."
        f" Machine: {facts['cpus']} x {facts['cpu']}, {facts['memory_gb']} GB,"
        f" Python {facts['python']}, {versions}. CPU time of the process; compilation not timed.",
        "",
        "| claim | source | the paper | obtained | shown |",
        "|---|---|---|---|---|",
    ]
    for one in obtained["claims"]:
        cells = (one[name].replace("|", "/") for name in ("claim", "source", "paper", "obtained"))
        lines.append(f"| {' | '.join(cells)} | {'yes' if one['shown'] else 'no'} |")
    return "\n".join(lines) + "\n"


def command(
    title: str, home: Path, obtain: Obtain, write: Callable[[dict[str, Any], Path], None]
) -> None:
    """Run with the size that the command line asks for; a quick run writes elsewhere."""
    parser = argparse.ArgumentParser(description=f"Reproduce {title}.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small windows, short runs")
    size.add_argument("--full", action="store_true", help="more and longer runs")
    parser.add_argument("--out", type=Path, help="where to write")
    given = parser.parse_args()
    name = "quick" if given.quick else "full" if given.full else "default"
    aside = Path(tempfile.gettempdir()) / f"crestline-{home.name}"
    folder = given.out or (aside if given.quick else home)
    obtained = obtain(name, lambda line: print(line, file=sys.stderr))
    write(obtained, folder)
    for one in obtained["claims"]:
        print(f"{'shown    ' if one['shown'] else 'NOT SHOWN'}  {one['claim']}: {one['obtained']}")
    print(f"written to {folder}")
