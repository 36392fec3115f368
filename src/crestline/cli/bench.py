"""``crestline bench``: the suites of the folder ``benchmarks``."""

from __future__ import annotations

import json
import sys
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
) -> None:
    """Measure Crestline and its rivals side by side, in the same run.

    Progress goes to stderr. Needs a clone of the project.

    \b
    [bold]Examples[/]
      crestline bench
      crestline bench steps
      crestline bench local --quick --json
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
            results[name] = module.run(quick=quick, say=lambda text: print(text, file=sys.stderr))
        if not as_json:
            print(module.table(results[name]))
    if as_json:
        print(json.dumps(results if suite == "all" else results[suite], indent=2))


__all__ = ["bench"]
