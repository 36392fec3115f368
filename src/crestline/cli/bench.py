"""``crestline bench``: the suites of the folder ``benchmarks``."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Annotated

import typer

from crestline.cli import completion
from crestline.cli.clone import import_from_clone, naming_missing_packages, suites
from crestline.cli.errors import Misuse


def bench(
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE",
            autocompletion=completion.suites,
            help="The suite to run, or all. Leave it out to list them.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the measurements as JSON on stdout.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that it runs, not how fast it is.")
    ] = False,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section", metavar="NAME", help="Of a suite with sections, only this one; repeatable."
        ),
    ] = None,
) -> None:
    """Measure Crestline and its rivals side by side, in the same run.

    Progress goes to stderr. Needs a clone of the project.

    \b
    [bold]Examples[/]
      crestline bench
      crestline bench steps
      crestline bench local --quick --json
      crestline bench spark --section files --section frames
    """
    described = suites()
    if suite is None:
        if as_json:
            print(json.dumps(described, indent=2))
        else:
            width = max(map(len, described))
            print("\n".join(f"{name:<{width}}  {text}" for name, text in described.items()))
        return
    if suite not in described and suite != "all":
        raise Misuse(f"there is no suite {suite!r}: choose one of {', '.join(described)}, all")
    from crestline.kernels.jit.tiers import using

    names = list(described) if suite == "all" else [suite]
    results = {}
    for name in names:
        module = import_from_clone(f"benchmarks.{name}", "bench")
        # Small sizes would run as plain Python.
        with naming_missing_packages(f"the suite {name!r}"), using("compiled"):
            results[name] = module.run(quick=quick, say=_say, **_sections(module, section))
        if not as_json:
            print(module.table(results[name]))
    if as_json:
        print(json.dumps(results if suite == "all" else results[suite], indent=2))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _sections(module: ModuleType, wanted: list[str] | None) -> dict[str, tuple[str, ...]]:
    """The argument of a suite that has sections."""
    if not wanted:
        return {}
    if not (sections := getattr(module, "SECTIONS", ())):
        raise Misuse("this suite has no sections: leave --section out")
    if unknown := sorted(set(wanted) - set(sections)):
        raise Misuse(f"there is no section {unknown[0]!r}: choose of {', '.join(sections)}")
    return {"sections": tuple(wanted)}


__all__ = ["bench"]
