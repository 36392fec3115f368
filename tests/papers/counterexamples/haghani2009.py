"""Haghani et al.: figures that bear every claim out, and how to make each false."""

from __future__ import annotations

from typing import Any

from figures import Edit, put, times

METHODS = ("as printed", "CORRELATED")


def ideal(figures: dict[str, Any]) -> None:
    from papers.haghani2009.claims import TABLES, paper_row

    tables = figures["tables"]
    for number in ("1", "2"):
        varied = TABLES[number]["varied"]
        for row in tables[f"table_{number}"]:
            paper = paper_row(number, row[varied])
            for name in METHODS:
                row["precision"][name] = paper["precision"] if paper else 0.8
                row["error"][name] = paper["error"] if paper else 0.01
                row["items"][name] = paper["approximation"] if paper else 50.0
            row["items"]["EAA"] = paper["EAA"] if paper else 300.0
    for row in tables["by_window"]:
        row["items"] |= {"EAA": 0.3 * row["window"], "as printed": 69.0, "CORRELATED": 69.0}
        row["precision"] |= dict.fromkeys(METHODS, 0.82)
    for row in figures["growth"]:
        row["EAA"] = 0.3 * row["window"]
    for row in tables["by_xi"]:
        first, last = {500: (115, 75), 1_000: (130, 84)}[row["window"]]
        row["items"]["EAA"] = row["window"] * (1 - 0.9 * row["xi"])
        row["items"]["as printed"] = first + (last - first) * row["xi"]
        row["precision"] |= dict.fromkeys(METHODS, 0.80 + 0.02 * row["xi"])
    for rows in figures["real"].values():
        for row in rows:
            row["items"] |= {"EAA": 300.0, "as printed": 80.0}
            row["precision"]["as printed"] = 0.93
    for rows in figures["memory"].values():
        for row in rows:
            row["control"], row["sketches"] = 100.0, 1e3
            row["bytes"] |= {"EAA": 100e3, "CORRELATED": 30e3, "CORRELATED, printed": 90e3}


def differ(name: str) -> Edit:
    return lambda figures: figures["example"]["agreement"].update({name: False})


def nested(part: str, table: str, key: str, name: str, factor: float, **where: Any) -> Edit:
    """Multiply what a method has in the rows that have these values."""

    def edit(figures: dict[str, Any]) -> None:
        rows = [r for r in figures[part][table] if all(r[k] == v for k, v in where.items())]
        assert rows, where
        for row in rows:
            row[key][name] *= factor

    return edit


def control(count: float) -> Edit:
    """All of `CORRELATED` in its control group."""
    return lambda figures: put(figures["memory"]["by_window"], "control", count)


def sketches(figures: dict[str, Any]) -> None:
    times(figures["memory"]["table_1"], "sketches", 10)


def growth(figures: dict[str, Any]) -> None:
    for row in figures["growth"]:
        row["EAA"] = row["window"] ** 0.8


def curved(figures: dict[str, Any]) -> None:
    for row in figures["tables"]["by_window"]:
        row["items"]["EAA"] = 10 * row["window"] ** 0.5


def skyline(part: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures["skylines"][part], "mean", factor, **where)


def wider(figures: dict[str, Any]) -> None:
    """As long as the intervals are, no more: fewer than Lemma 1 has."""
    put(figures["skylines"]["by_interval"], "mean", lambda row: 0.9 * row["n"] * row["epsilon"])


def wrong(**row: Any) -> Edit:
    return lambda figures: figures["exact"]["runs"][0].update(row)


def growing(table: str, power: float, method: str) -> Edit:
    def edit(figures: dict[str, Any]) -> None:
        for row in (figures["tables"] if table == "by_window" else figures["real"])[table]:
            row["items"][method] = 5 * row["window"] ** power

    return edit


def xi(key: str, method: str, factor: float, **where: Any) -> Edit:
    return nested("tables", "by_xi", key, method, factor, **where)


def of_table(number: int, key: str, method: str, factor: float, **where: Any) -> Edit:
    return nested("tables", f"table_{number}", key, method, factor, **where)


def memory(table: str, factor: float, **where: Any) -> Edit:
    return nested("memory", table, "bytes", "CORRELATED", factor, **where)


FALSE: dict[str, list[Edit]] = {
    "flows": [differ("flows")],
    "figure_2": [differ("figure_2")],
    "dominance": [differ("dominance")],
    "theorem_1": [wrong(SLA=False), wrong(EAA=False), wrong(kept=-1)],
    "figure_4a": [
        skyline("by_size", 2.0, n=1_000, epsilon=0.0),
        skyline("by_size", 2.0, n=400, epsilon=0.1),
    ],
    "figure_4b": [skyline("by_interval", 3.0, epsilon=0.1)],
    "lemma_1": [wider, skyline("by_interval", 1.5)],
    "table_1_eaa": [
        of_table(1, "items", "EAA", 1.4, streams=4),
        of_table(1, "items", "EAA", 9.0, streams=2),
    ],
    "table_1_size": [of_table(1, "items", "as printed", 3.0, streams=3)],
    "table_1_precision": [
        of_table(1, "precision", "as printed", 0.8, streams=3),
        of_table(1, "error", "CORRELATED", 1.5, streams=6),
    ],
    "table_2_eaa": [of_table(2, "items", "EAA", 1.5, k=100)],
    "table_2_size": [of_table(2, "items", "as printed", 2.0, k=10)],
    "table_2_precision": [
        of_table(2, "precision", "CORRELATED", 0.8, k=100),
        of_table(2, "error", "as printed", 1.5, k=10),
    ],
    "figure_5a": [curved, nested("tables", "by_window", "items", "EAA", 4.0)],
    "figure_5a_beyond": [growth],
    "figure_5a_slow": [
        growing("by_window", 0.5, "as printed"),
        nested("tables", "by_window", "items", "as printed", 20.0),
        control(2_000),
    ],
    "figure_5b": [
        nested("tables", "by_window", "precision", "as printed", 0.7),
        nested("tables", "by_window", "precision", "CORRELATED", 1.2, window=250),
    ],
    "table_1_bytes": [memory("table_1", 4.0, streams=3)],
    "table_2_bytes": [memory("table_2", 4.0, k=10)],
    "figure_5a_bytes": [memory("by_window", 3.0)],
    "sketches": [sketches],
    "figure_5c": [xi("items", "EAA", 20.0, xi=1.0), xi("items", "EAA", 1.5, xi=0.5)],
    "figure_5c_slow": [
        xi("items", "as printed", 0.4, xi=0.0),
        xi("items", "as printed", 2.0),
    ],
    "figure_5d": [
        xi("precision", "as printed", 0.8, xi=0.1),
        xi("precision", "CORRELATED", 0.95, xi=1.0),
    ],
    "table_3": [
        nested("real", "table_3", "items", "as printed", 3.0),
        nested("real", "table_3", "precision", "as printed", 0.8),
    ],
    "table_4": [
        nested("real", "table_4", "precision", "as printed", 0.8),
        growing("table_4", 0.45, "as printed"),
    ],
}

#: Figures that may be missing, and the claims that then cannot be judged.
APART: dict[str, set[str]] = {
    "memory": {"table_1_bytes", "table_2_bytes", "figure_5a_bytes", "sketches"}
}


def drop(figures: dict[str, Any], part: str) -> None:
    del figures[part]
