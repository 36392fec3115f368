"""``crestline explain``: how a query would be run, and why so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from crestline.cli.arguments import query_text


def explain(
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="The query, or several with ; between; - is stdin."),
    ] = None,
    query_file: Annotated[
        str | None,
        typer.Option("--query", metavar="FILE", help="Read the query from FILE, or stdin (-)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As a JSON list, an object for each query.")
    ] = False,
) -> None:
    """Say how a query would be run: algorithm and why, panes, records kept.

    Reads no data. "k H_C" is k times (1 + 1/2 + ... + 1/C), where C is the
    number of panes in a window.

    \b
    [bold]Examples[/]
      crestline explain --query top.sql
      crestline explain 'SELECT TOP 10 symbol FROM trades
        [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts] ORDER BY price DESC'
    """
    from crestline import planner
    from crestline.local import named_queries

    queries = named_queries(query_text(query, query_file))
    if len(queries) > 1:  # told apart by their names also where they were given none
        queries = {name: replace(single, name=name) for name, single in queries.items()}
    plans = [planner.plan(single) for single in queries.values()]
    if as_json:
        print(json.dumps([planner.facts(plan) for plan in plans], indent=2))
    else:
        print("\n\n".join(planner.explain(plan) for plan in plans))


__all__ = ["explain"]
