"""Tables V and X, number by number, and the columns of Tables II, III, VI and VII."""

from __future__ import annotations

from typing import Any

from papers.pripuzic2015.example import EXAMPLE, EXPECTED
from papers.reproduction import golden as number

_TABLE_VII = "the table strikes nothing in its last row; by Algorithm 3 o10 is pruned there"


def golden(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    return [*_limits(obtained["tables"]), *_steps(obtained["example"]["steps"])]


def _limits(tables: dict[str, Any]) -> list[dict[str, Any]]:
    told = (
        ("table_v", "limit", "Table V", "candidates for sigma = 0.001"),
        ("table_x", "rank", "Table X", "ranks from which Lemma A.2 holds"),
    )
    return [
        number(
            source,
            f"{what}, n = {int(n):,}, k = {', '.join(map(str, EXPECTED[table]['k']))}",
            values,
            tables[table][n],
        )
        for table, part, source, what in told
        for n, values in EXPECTED[table][part].items()
    ]


def _steps(steps: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name in ("table_ii", "table_iii", "table_vi", "table_vii"):
        source = f"Table {name.removeprefix('table_').upper()}"
        for part, found in steps[name].items():
            if isinstance(found, dict):  # Table II has two algorithms
                rows += [
                    number(
                        source,
                        f"{part}: {column}, steps 1 to 11",
                        EXAMPLE[name][part][column],
                        values,
                    )
                    for column, values in found.items()
                ]
            else:
                right = EXAMPLE[name][part]
                printed = [*right[:-1], []] if (name, part) == ("table_vii", "struck") else right
                note = "" if printed == right else _TABLE_VII
                rows.append(
                    number(source, f"{part}, steps 1 to 11", printed, found, right=right, note=note)
                )
    return rows
