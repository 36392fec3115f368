"""Everybody answers: workload by workload, each system in a process of its own.

Each formulation answers a small question first, then the one that counts; both answers must be
those of Crestline, or its time does not count. The quick systems take two turns, one before the
slow ones and one after them, and the best time counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyarrow import feather

from benchmarks.measure import Say, machine, short
from benchmarks.rivals.answers import judged
from benchmarks.rivals.data import made
from benchmarks.rivals.environments import Unavailable, ready
from benchmarks.rivals.processes import told_by
from benchmarks.rivals.systems import SYSTEMS, System
from benchmarks.rivals.workloads import QUICK_ROWS, ROWS, WORKLOADS, Workload

#: Seconds within which a formulation must have answered both questions, its process started too.
PATIENCE = 180
#: A formulation is asked again until it has taken so long, and not more often than so.
BUDGET, REPEATS = 3.0, 3
TURNS = 2
JUDGE = "crestline"

Start = Callable[[str, dict[str, Any], float], Iterator[dict[str, Any]]]
Prepare = Callable[[System, Path, Say], str]


def run(
    *,
    say: Say,
    quick: bool = False,
    rows: int | None = None,
    only: Sequence[str] = (),
    workloads: Sequence[Workload] = WORKLOADS,
    environments: Path = Path(".rivals"),
    patience: float = PATIENCE,
    prepare: Prepare = ready,
    start: Start = told_by,
) -> dict[str, Any]:
    """Measure.

    `only` names the systems that take part; Crestline always does, since it judges. `prepare` gives
    the Python of a system and `start` runs it.
    """
    rows = rows or (QUICK_ROWS if quick else ROWS)
    pythons: dict[str, str] = {}
    systems: dict[str, dict[str, Any]] = {}
    for system in SYSTEMS:
        if only and system.name not in (*only, JUDGE):
            continue
        systems[system.name] = {"title": system.title}
        try:
            pythons[system.name] = prepare(system, environments, say)
        except Unavailable as error:
            systems[system.name]["left_out"] = str(error)
            say(f"{system.title} is left out: {error}")
    facts = machine()
    race = _Race(pythons, systems, rows / ROWS, patience, start, say)
    measured = [race.run(workload) for workload in workloads]
    return {
        "suite": "rivals",
        "machine": facts,
        "quick": quick,
        "rows": rows,
        "systems": systems,
        "workloads": measured,
    }


class _Race:
    """What stays the same from workload to workload."""

    def __init__(
        self,
        pythons: dict[str, str],
        systems: dict[str, dict[str, Any]],
        scale: float,
        patience: float,
        start: Start,
        say: Say,
    ) -> None:
        self.pythons, self.systems, self.scale = pythons, systems, scale
        self.patience, self.start, self.say = patience, start, say

    def run(self, workload: Workload) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        title = workload.title_for(self.scale)
        for system in SYSTEMS:
            for name, kind in workload.contenders(system).items():
                if system.name in self.systems:
                    at = workload.rows_for(name, self.scale)
                    found[name] = {"system": system.name, "kind": kind, "rows": at}
                    if "left_out" in self.systems[system.name]:
                        found[name]["left_out"] = self.systems[system.name]["left_out"]
        with tempfile.TemporaryDirectory(prefix="crestline-rivals-") as folder:
            self._judge(workload, found, Path(folder))
            for turn in range(TURNS):
                for system in SYSTEMS:
                    names = [name for name, e in found.items() if self._plays(system, e, turn)]
                    if names:
                        self.say(f"{title}: {system.title} (turn {turn + 1})")
                        self._ask(
                            workload, system, found, names, Path(folder) if not turn else None
                        )
            for name, entry in found.items():
                _compare(name, entry, Path(folder))
        return {
            "name": workload.name,
            "title": title,
            "rows": round(workload.rows * self.scale),
            "contenders": found,
            "not_asked": dict(workload.not_asked),
        }

    def _plays(self, system: System, entry: dict[str, Any], turn: int) -> bool:
        if entry["system"] != system.name or "left_out" in entry:
            return False
        if turn == 0:
            return True
        slow = entry["kind"] in ("OBVIOUS", "EVERY_RECORD") and system.name != JUDGE
        return system.quick and not slow

    def _judge(self, workload: Workload, found: dict[str, Any], folder: Path) -> None:
        """The right answers, by Crestline, for every number of rows that anybody gets."""
        kind = workload.kinds[0]
        check = self._question(workload, None, None)
        sizes = sorted({entry["rows"] for entry in found.values()})
        items = []
        for size in sizes:
            asked = self._question(workload, size, None)
            out = str(folder / f"right-{size}.feather")
            items.append(_item(JUDGE, kind, check, asked, out, str(folder / "right-check.feather")))
        self.say(f"{workload.name}: the right answers for {', '.join(map(short, sizes))} rows")
        task = {"module": "with_crestline", "items": [i | {"repeats": 1} for i in items]}
        for line in self.start(self.pythons[JUDGE], task, self.patience):
            if "error" in line:
                raise RuntimeError(f"Crestline cannot judge: {line['error']}")

    def _question(self, workload: Workload, rows: int | None, csv: str | None) -> dict[str, Any]:
        """As many rows of the workload, or its small question."""
        if rows is None:
            stream, size, asked = workload.check()
            return {**asked, **made(stream, size, size, self.say, csv=csv)}
        whole = round(workload.rows * self.scale)
        stream = workload.stream(self.scale)
        return {**workload.question(self.scale), **made(stream, rows, whole, self.say, csv=csv)}

    def _ask(
        self,
        workload: Workload,
        system: System,
        found: dict[str, dict[str, Any]],
        names: list[str],
        folder: Path | None,
    ) -> None:
        """All formulations of a system, in one process as long as it lives."""
        check = self._question(workload, None, system.csv)
        items = []
        for name in names:
            asked = self._question(workload, found[name]["rows"], system.csv)
            keep = folder is not None and found[name]["kind"] != "LIMIT"
            outs = [str(folder / f"{name}{end}.feather") for end in ("", "-check")] if keep else []
            item = _item(name, found[name]["kind"], check, asked, *outs)
            items.append(item | {"at_least": system.at_least})
        while items:
            task = {"module": system.module, "packages": system.packages, "items": items}
            waiting = [item["name"] for item in items]
            try:
                for line in self.start(self.pythons[system.name], task, self.patience):
                    if "name" in line:
                        waiting.remove(line["name"])
                        self._take(found[line["name"]], line)
                    else:
                        self.systems[system.name] |= line
                items = []
            except (TimeoutError, RuntimeError) as error:
                if not waiting:
                    return
                self._take(found[waiting[0]], {"error": str(error)})
                items = [item for item in items if item["name"] in waiting[1:]]

    def _take(self, entry: dict[str, Any], line: dict[str, Any]) -> None:
        if "error" in line:
            if "seconds" not in entry:
                entry["left_out"] = line["error"]
            self.say(f"  {line['error']}")
            return
        entry["seconds"] = min([*line["seconds"], entry.get("seconds", float("inf"))])
        entry["rows_a_second"] = entry["rows"] / entry["seconds"]
        self.say(f"  {line['name']}: {entry['seconds']:.3g} s for {short(entry['rows'])} rows")
        entry["result_rows"] = line["result_rows"]


def _item(
    name: str,
    kind: str,
    check: dict[str, Any],
    question: dict[str, Any],
    out: str | None = None,
    check_out: str | None = None,
) -> dict[str, Any]:
    asked = {"check": check, "question": question, "out": out, "check_out": check_out}
    return {"name": name, "kind": kind, "repeats": REPEATS, "budget": BUDGET, **asked}


def _compare(name: str, entry: dict[str, Any], folder: Path) -> None:
    """Whether both answers are right; what was left out or only reads gave none."""
    if entry["kind"] == "LIMIT" or "left_out" in entry:
        return
    may_lack = {s.name: s.may_lack for s in SYSTEMS}[entry["system"]] if "stream" in name else 0
    verdicts = []
    for end, right in (("", f"right-{entry['rows']}"), ("-check", "right-check")):
        answer = feather.read_table(folder / f"{name}{end}.feather")
        verdicts.append(judged(answer, feather.read_table(folder / f"{right}.feather"), may_lack))
    entry["agrees"] = all(verdict.agrees for verdict in verdicts)
    entry["windows_compared"] = sum(verdict.windows for verdict in verdicts)
    entry["windows_missing"] = verdicts[0].missing
