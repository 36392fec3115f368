"""The measured figures as text."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import columns, machine_line, short

KINDS = {
    "CRESTLINE": "Crestline",
    "PANES_FIRST": "panes first",
    "OBVIOUS": "obvious",
    "EVERY_RECORD": "",
    "LIMIT": "only reads",
}

TITLES = {
    "bare scan": "only reading parquet",
    "crestline": "Crestline",
    "crestline on spark": "Crestline on Spark",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "spark stream": "Spark stream",
    "spark bounded": "Spark bounded",
    "flink": "Flink SQL",
    "pathway": "Pathway",
}


def counts(entry: dict[str, Any]) -> bool:
    """Whether a contender's time is that of a right answer."""
    return bool(entry.get("agrees")) and "seconds" in entry


def ranked(workload: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The contenders, the fastest first, those without a time last."""
    entries = workload["contenders"].items()
    return sorted(entries, key=lambda one: -one[1].get("rows_a_second", 0))


def bars(workload: dict[str, Any]) -> list[tuple[str, str, float]]:
    """(label, kind, rows a second), the fastest first: of one kind of one system only the best."""
    found: dict[tuple[str, str], tuple[str, str, float]] = {}
    for name, entry in ranked(workload):
        if not (counts(entry) or (entry["kind"] == "LIMIT" and "seconds" in entry)):
            continue
        group, _, rest = name.partition(", ")
        kind = "CRESTLINE" if group == "crestline" else entry["kind"]
        label = TITLES.get(group, group)
        if group == "crestline on spark":
            group, label = name, f"{label}, {rest}"
        elif kind == "LIMIT" and rest:
            label = f"{label}, only reading csv"
        found.setdefault((group, kind), (label, kind, entry["rows_a_second"]))
    return list(found.values())


def overview(result: dict[str, Any]) -> str:
    """The best of each system and kind in each workload, as a table of Markdown."""
    speeds: dict[tuple[str, str], dict[str, str]] = {}
    for workload in result["workloads"]:
        shown = bars(workload)
        most = max((speed for _, kind, speed in shown if kind != "LIMIT"), default=0)
        for label, kind, speed in shown:
            told = f"**{short(speed)}**" if speed == most else short(speed)
            row = "OBVIOUS" if kind == "EVERY_RECORD" else kind
            speeds.setdefault((label, row), {})[workload["name"]] = told
    names = [workload["name"] for workload in result["workloads"]]
    lines = ["| rows a second | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    order = {kind: at for at, kind in enumerate(("LIMIT", "CRESTLINE", "PANES_FIRST", "OBVIOUS"))}
    for (label, kind), told in sorted(speeds.items(), key=lambda one: order[one[0][1]]):
        plain = kind in ("LIMIT", "CRESTLINE")
        cells = [label if plain else f"{label}, {KINDS[kind]}", *(told.get(n, "") for n in names)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def best_rival(workload: dict[str, Any]) -> str | None:
    """The fastest right answer that is not Crestline's."""
    for name, entry in ranked(workload):
        if counts(entry) and not entry["system"].startswith("crestline"):
            return name
    return None


def summary(workload: dict[str, Any]) -> str:
    """One line: Crestline against the fastest rival."""
    rival, mine = best_rival(workload), workload["contenders"].get("crestline", {})
    if rival is None or not counts(mine):
        return f"{workload['title']}: nothing to compare"
    times = mine["rows_a_second"] / workload["contenders"][rival]["rows_a_second"]
    verdict = "wins" if times > 1.1 else "draws level" if times > 0.9 else "LOSES"
    return f"{workload['title']}: Crestline {verdict}, {times:.2f} times {rival}"


def table(result: dict[str, Any]) -> str:
    """All of it."""
    parts = [
        "Rows a second, on the rows that a contender got: the slow ones get the first rows of the"
        " same stream. Starting, importing and compiling are not timed. 'crestline is': how many"
        " times as fast Crestline in process is.",
        machine_line(result["machine"]),
        _systems(result["systems"]),
    ]
    parts += [_workload(workload) for workload in result["workloads"]]
    parts.append("\n".join(summary(workload) for workload in result["workloads"]))
    return "\n\n".join(parts)


def _systems(systems: dict[str, dict[str, Any]]) -> str:
    lines = []
    for facts in systems.values():
        if "left_out" in facts:
            lines.append(f"{facts['title']}: left out, {facts['left_out']}")
            continue
        versions = ", ".join(f"{name} {v}" for name, v in facts.get("versions", {}).items())
        lines.append(f"{facts['title']}: {versions}, Python {facts.get('python', '?')}")
    return "\n".join(lines)


def _workload(workload: dict[str, Any]) -> str:
    mine = workload["contenders"].get("crestline", {}).get("rows_a_second")
    rows = [["contender", "kind", "rows", "seconds", "rows/s", "crestline is", "answer"]]
    for name, entry in ranked(workload):
        if "left_out" in entry:
            dashes = ["-"] * 3
            rows.append([name, KINDS[entry["kind"]], short(entry["rows"]), *dashes, "left out"])
            continue
        speed = entry["rows_a_second"]
        rows.append(
            [
                name,
                KINDS[entry["kind"]],
                short(entry["rows"]),
                f"{entry['seconds']:.3g}",
                short(speed),
                _times(mine / speed) if mine else "-",
                _answer(entry),
            ]
        )
    left_out = [f"{n}: {e['left_out']}" for n, e in ranked(workload) if "left_out" in e]
    not_asked = [f"not asked: {name}: {why}" for name, why in workload["not_asked"].items()]
    notes = "".join(f"\n{line}" for line in (*left_out, *not_asked))
    return f"{workload['title']} ({short(workload['rows'])} rows)\n{columns(rows, left=2)}{notes}"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.3g} x"


def _answer(entry: dict[str, Any]) -> str:
    if entry["kind"] == "LIMIT":
        return "none"
    if not entry.get("agrees"):
        return "DIFFERS"
    missing = entry["windows_missing"]
    return f"agrees, lacks {missing}" if missing else "agrees"
