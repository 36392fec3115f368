"""``crestline explain``: how a query would be run, and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.arguments import QueryArgument, QueryFile, pairs, query_text
from crestline.cli.defaults import DefaultOption, stream_defaults
from crestline.cli.errors import Misuse

if TYPE_CHECKING:
    from crestline.language import Query


def explain(
    query: QueryArgument = None,
    query_file: QueryFile = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream", "-s", metavar="NAME=PATH",
            help="Take the defaults of a stream from the file beside its data, as run does.",
        ),
    ] = None,
    default: DefaultOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON list with one object per query.")
    ] = False,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="PATH.png",
            help="For queries with FREQUENCY, also draw when every plan computes each of them, and"
            " what that costs.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Say how a query would be run: algorithm and why, panes, records kept.

    For several queries it also says which of them share what. For queries with
    FREQUENCY it shows the plan as a timeline, the cost of every plan per
    minute, and what sharing saves. The cost of a computation is the largest k
    that it serves.

    It reads no data. "k H_C" is k times (1 + 1/2 + ... + 1/C), where C is the
    number of panes in a window.

    \b
    [bold]Examples[/]
      crestline explain --query top.sql
      crestline explain --query many.sql --picture plan.png
      crestline explain 'SELECT TOP 10 symbol FROM trades
        [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts] ORDER BY price DESC'
    """
    from crestline.planner.explain import explain as explain_queries
    from crestline.runtime.queries import named_queries

    text = query_text(query, query_file)
    streams = pairs(stream, "--stream", "trades=trades.parquet") if stream else None
    queries = named_queries(text, defaults=stream_defaults(default or [], streams))
    if picture is not None and query_file not in (None, "-"):
        from crestline.cli.places import check_places

        check_places({}, [("--picture", Path(picture))], [("--query", Path(query_file or ""))])
    explanation = explain_queries(queries)
    if as_json:
        print(json.dumps([each.to_dict() for each in explanation.by_query.values()], indent=2))
    else:
        print(explanation.to_text(width=_width()))
    if picture is not None:
        _draw(explanation.queries, picture)


def _width() -> int:
    return max(60, min(120, get_terminal_size((78, 24)).columns - 1))


def _draw(queries: Mapping[str, Query], path: str) -> None:
    from crestline import planner
    from crestline.cli.output import write_whole
    from crestline.cli.plan_picture import plan_picture
    from crestline.planner.words import duration

    if Path(path).suffix.lower() != ".png":
        raise Misuse(f"--picture {path!r}: pictures are PNG files, name it something.png")
    drawn = [
        (bundle, plans)
        for bundle in planner.arrange(queries)
        if bundle.plan.together and (plans := planner.execution_plans(bundle.plan.together))
    ]
    if not drawn:
        raise Misuse(
            "--picture draws the plans of queries with FREQUENCY, and none of these has it"
        )
    for number, (bundle, plans) in enumerate(drawn, 1):
        target = Path(path)
        if len(drawn) > 1:
            target = target.with_stem(f"{target.stem}-{number}")
        names = list(bundle.queries)
        title = (
            names[0] if len(names) == 1 else f"{len(names)} queries on {bundle.plan.query.stream}"
        )
        write_whole(target, plan_picture(plans, duration, title))
        print(f"drawn: {target}", file=sys.stderr)


__all__ = ["explain"]
