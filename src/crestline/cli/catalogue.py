"""``crestline algorithms``: the algorithms that ``USING`` can name."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the algorithms that a query can name with USING.

    \b
    [bold]Examples[/]
      crestline algorithms
      crestline algorithms --json
      crestline explain 'SELECT TOP 3 id FROM s [ROWS 100 SLIDE 10]
        ORDER BY x DESC USING PRETOPK'
    """
    from crestline.planner import FAMILIES
    from crestline.planner import algorithms as catalogue

    if as_json:
        fields = ("name", "family", "exact", "summary", "cost", "keeps")
        listed = [{field: getattr(each, field) for field in fields} for each in catalogue()]
        print(json.dumps(listed, indent=2))
        return

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for family, title in FAMILIES.items():
        members = [each for each in catalogue() if each.family == family]
        table = Table(title=Text(title, "bold"), title_justify="left", expand=True)
        table.add_column("USING", min_width=max(len(each.name) for each in catalogue()))
        table.add_column("what it does", ratio=3)
        table.add_column("cost", ratio=2)
        table.add_column("keeps", ratio=2)
        for each in members:
            cells = (Text(each.name, "bold"), each.summary, each.cost, each.keeps)
            table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))
        console.print(table)
    console.print(Text("C is the number of panes in a window, H_C = 1 + 1/2 + ... + 1/C.", "dim"))


__all__ = ["algorithms"]
