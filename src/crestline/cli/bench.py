"""``crestline bench``: the suites of the folder ``benchmarks``."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from crestline.cli import completion
from crestline.cli.beside import as_package, find, imported, telling_what_is_missing
from crestline.cli.errors import Misuse
from crestline.kernels.jit.tiers import using


def bench(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE",
            autocompletion=completion.suites,
            help="Which one, or all; leave it out to list them.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The measurements as JSON on stdout.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: does it run, not how fast is it.")
    ] = False,
) -> None:
    """Measure Crestline, side by side with its rivals in the same run.

    What is being done is told on stderr.

    \b
    [bold]Examples[/]
      crestline bench
      crestline bench steps
      crestline bench local --quick --json
    """
    folder = find("benchmarks", "'make bench'")
    described = suites(folder)
    if not described:
        raise Misuse(f"there is no suite in {folder}")
    if suite is None:
        if as_json:
            print(json.dumps(described, indent=2))
        else:
            width = max(map(len, described))
            print("\n".join(f"{name:<{width}}  {text}" for name, text in described.items()))
        return
    if suite not in described and suite != "all":
        raise Misuse(f"there is no suite {suite!r}: choose one of {', '.join(described)}, all")
    names = list(described) if suite == "all" else [suite]
    results = {}
    for name in names:
        module = load(folder, name)
        # Small sizes would run as plain Python.
        with telling_what_is_missing(f"the suite {name!r}"), using("compiled"):
            results[name] = module.run(quick=quick, say=lambda text: print(text, file=sys.stderr))
        if not as_json:
            print(module.table(results[name]))
    if as_json:
        print(json.dumps(results if suite == "all" else results[suite], indent=2))


def suites(folder: Path) -> dict[str, str]:
    """The suites by name, with their descriptions, without importing them and their rivals."""
    found = {}
    for file in folder.glob("*.py"):
        description = _description(file)
        if description is not None:
            found[file.stem] = description
    order = list(getattr(as_package("benchmarks", folder), "SUITES", ()))
    names = [name for name in order if name in found] + sorted(set(found) - set(order))
    return {name: found[name] for name in names}


def _description(file: Path) -> str | None:
    """The text of ``DESCRIPTION = "..."`` at the top level of a module."""
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == "DESCRIPTION" for target in targets):
            return str(ast.literal_eval(value))
    return None


def load(folder: Path, name: str) -> ModuleType:
    """A suite, imported."""
    as_package("benchmarks", folder)
    return imported(f"benchmarks.{name}", f"the suite {name!r}")


__all__ = ["bench", "load", "suites"]
