"""Uncertain streams: the five synopses, recomputing at every record, and exclusive records.

Ranks in random order, probabilities uniform, PK_TOPK after every record, told where the answer
changes. The window is full before anything is timed: BS and SCSQ_BUFFER see it whole, the slower
ones take over what SCSQ_BUFFER keeps (`merge`), which holds every compact set they need. The
answers are compared first. Turns are taken; the best time of each counts.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from benchmarks.arrivals import race
from benchmarks.measure import (
    Say,
    best_of,
    columns,
    goal,
    goal_lines,
    machine,
    machine_line,
    short,
)
from benchmarks.uncertain_rivals import Recompute, by_the_paper
from crestline import uncertain
from crestline.core.batch import Batch, Uncertainty
from crestline.core.snapshots import Snapshots
from crestline.kernels.uncertain.closing import PK_TOPK, PT_K
from crestline.kernels.uncertain.worlds import weigh_here
from crestline.types import Floats
from crestline.uncertain.synopsis import Synopsis

WINDOW, QUICK_WINDOW, K = 1_000_000, 20_000, 20
RECORDS, QUICK_RECORDS, BATCH = 1_000_000, 20_000, 1_000_000
SYNOPSES = ("SCSQBuffer", "BS", "SCSQ", "CCSQ", "CSQ")
GROWTH: dict[str, tuple[int, ...]] = {
    "k": (1, 5, 10, 20, 50, 100),
    "window": (1_000, 10_000, 100_000, 1_000_000),
}
#: Records after the full window on which answers are compared.
COMPARED = 2_000
RULES_WINDOW, RULES_K, SHARE = 10_000, 10, 0.3


class Stream:
    """Scores and probabilities of a whole run."""

    def __init__(self, count: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.scores = rng.permutation(count).astype(np.float64)
        self.chance = 1.0 - rng.random(count)

    def doubt(self, start: int, stop: int) -> Uncertainty:
        none = np.zeros(stop - start, np.int64)
        return Uncertainty(self.chance[start:stop], none - 1, none)


class Ours:
    """A synopsis, fed batch by batch: a contender of `benchmarks.arrivals`."""

    def __init__(self, stream: Stream, operator: Synopsis, at: int = 0) -> None:
        self.stream, self.operator, self.at = stream, operator, at

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        for first in range(self.at, stop, BATCH):
            last = min(first + BATCH, stop)
            doubt = self.stream.doubt(first, last)
            self.operator.observe(Batch(self.stream.scores[first:last], uncertainty=doubt))
            reported = self.operator.advance()
            if told is not None:
                told.append(reported)
        self.at = stop

    def copy(self) -> Ours:
        return Ours(self.stream, deepcopy(self.operator), self.at)

    @property
    def kept(self) -> int:
        return self.operator.space


def synopsis(name: str, k: int, window: int) -> Synopsis:
    made: Synopsis = getattr(uncertain, name)(k, window, 1, only_changes=True)
    return made


def full_windows(stream: Stream, k: int, window: int, names: tuple[str, ...]) -> dict[str, Ours]:
    """Each synopsis with its window full, and the one that recomputes at every record."""
    found: dict[str, Ours] = {}
    for name in names:
        operator = synopsis(name, k, window)
        if name in ("SCSQBuffer", "BS"):
            found[name] = Ours(stream, operator)
            found[name].run(window)
            continue
        known = deepcopy(found["SCSQBuffer"].operator)
        operator.merge(known)
        operator._by_partition["counts"] = known._by_partition["counts"].copy()
        found[name] = Ours(stream, operator, window)
    if "BS" in found:
        whole = found["BS"].operator
        assert isinstance(whole, uncertain.BS)
        found["recompute"] = Ours(stream, Recompute.from_full(whole), window)
    return found


def answers(runner: Ours, stop: int) -> list[tuple[int, list[int], list[float]]]:
    """What changes up to a record, and to what."""
    told: list[Snapshots] = []
    runner.run(stop, told)
    found: list[tuple[int, list[int], list[float]]] = []
    for reported in told:
        assert reported.probability is not None
        for number, (_, end, ids, _) in enumerate(reported):
            part = slice(reported.offset[number], reported.offset[number + 1])
            entry = (end, ids.tolist(), reported.probability[part].tolist())
            if not found or found[-1][1:] != entry[1:]:
                found.append(entry)
    return found


def agree(full: dict[str, Ours], window: int, compare: int) -> bool:
    """Whether all give the same answers, to the last bit, from the second change on (some tell the
    first one though it was told before)."""
    given = {name: answers(one.copy(), window + compare) for name, one in full.items()}
    latest = max(changes[0][0] if changes else 0 for changes in given.values())
    seen = [[entry for entry in changes if entry[0] > latest] for changes in given.values()]
    return all(changes == seen[0] for changes in seen)


def main_case(window: int, k: int, records: int, seconds: float, turns: int) -> dict[str, Any]:
    """All contenders at one size."""
    stream = Stream(window + records)
    full = full_windows(stream, k, window, SYNOPSES)
    agrees = agree(full, window, min(COMPARED, records))
    measured = race(dict(full), window + records, seconds, turns)
    sizes = {name: one.kept for name, one in full.items()}
    depth = _compact_set(stream, k, window)
    return {
        "window": window,
        "k": k,
        "agrees": agrees,
        "compact_set": depth,
        "contenders": {
            name: {
                "ns": 1e9 / entry["a_second"],
                "records": entry["records"],
                "tuples": sizes[name],
                # As the paper counts: 6 bytes a tuple, 4 an entry of the array r.
                "bytes": 6 * sizes[name] + 4 * k * depth,
            }
            for name, entry in measured.items()
        },
    }


def _compact_set(stream: Stream, k: int, window: int) -> int:
    """How many records the compact set of the first window has."""
    some = min(window, 8 * k + 256)
    best = np.argsort(-stream.scores[:window])[:some]
    none = np.full(some, -1)
    depth, _ = weigh_here(PK_TOPK, k, 0.0, np.ascontiguousarray(stream.chance[best]), none, none)
    return int(depth)


def growth(
    what: str, values: tuple[int, ...], window: int, k: int, records: int, seconds: float,
    turns: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """How the cost of SCSQ_BUFFER and BS grows with k or the window."""
    found = []
    for value in values:
        size, best = (value, k) if what == "window" else (window, value)
        if size > window:
            continue
        stream = Stream(size + records)
        full = full_windows(stream, best, size, ("SCSQBuffer", "BS"))
        del full["recompute"]
        measured = race(dict(full), size + records, seconds, turns)
        found.append(
            {"value": value, "compact_set": _compact_set(stream, best, size)}
            | {name: 1e9 / entry["a_second"] for name, entry in measured.items()}
            | {f"{name} tuples": full[name].kept for name in full}
        )
    return found


# -- exclusive records --------------------------------------------------------------------------


def rules_case(window: int, k: int, turns: int) -> dict[str, Any]:
    """Pr_k of every record of a window in which some exclude one another."""
    rng = np.random.default_rng(2)
    chance: Floats = 1.0 - rng.random(window)
    rule = np.full(window, -1)
    exclusive = np.flatnonzero(rng.random(window) < SHARE)
    rule[exclusive] = rng.permutation(len(exclusive)) // 3
    sums = np.bincount(rule[exclusive], chance[exclusive])
    chance[exclusive] /= np.maximum(sums, 1.0)[rule[exclusive]] * (1 + 1e-12)
    ours: dict[str, Floats] = {}

    def quick() -> None:
        none = np.zeros(window, np.int64)
        _, ours["value"] = weigh_here(PT_K, k, 0.0, chance, rule, none)

    def slow() -> None:
        ours["by the paper"] = by_the_paper(chance, rule, k)

    quick(), slow()
    difference = float(np.abs(ours["value"] - ours["by the paper"]).max())
    seconds = best_of([quick, slow], repeats=turns)
    return {
        "window": window,
        "k": k,
        "exclusive": len(exclusive),
        "difference": difference,
        "ours_s": seconds[0],
        "paper_s": seconds[1],
    }


# -- all of it ----------------------------------------------------------------------------------


def run(
    *,
    quick: bool,
    say: Say,
    window: int | None = None,
    records: int | None = None,
    k: int = K,
    grown: dict[str, tuple[int, ...]] | None = None,
    rules_window: int | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Measure. The other parameters make it smaller."""
    window = window or (QUICK_WINDOW if quick else WINDOW)
    records = records or (QUICK_RECORDS if quick else RECORDS)
    seconds = seconds or (0.1 if quick else 0.5)
    turns = 2 if quick else 3
    say(f"window {short(window)}, k = {k}")
    case = main_case(window, k, records, seconds, turns)
    grows = {}
    for what, values in (grown or GROWTH).items():
        say(f"how the cost grows with {what}")
        grows[what] = growth(what, values, window, k, records, seconds, turns)
    say("exclusive records")
    size = rules_window or (RULES_WINDOW // 5 if quick else RULES_WINDOW)
    rules = rules_case(size, RULES_K, turns)
    return {
        "suite": "uncertain",
        "machine": machine(),
        "quick": quick,
        "records": records,
        "case": case,
        "growth": grows,
        "rules": rules,
        "goals": goals(case, rules),
    }


def goals(case: dict[str, Any], rules: dict[str, Any]) -> list[dict[str, Any]]:
    """What the figures should be."""
    by_name = case["contenders"]
    buffer, whole = by_name["SCSQBuffer"], by_name["BS"]
    again = by_name["recompute"]["ns"] / buffer["ns"]
    return [
        goal("SCSQ_BUFFER, times as fast as BS", 1, whole["ns"] / buffer["ns"]),
        goal("space of BS, times that of SCSQ_BUFFER", 100, whole["bytes"] / buffer["bytes"]),
        goal("SCSQ_BUFFER, times as fast as recomputing at every record", 100, again),
        goal("rules: times as fast as O(n^2 k)", 50, rules["paper_s"] / rules["ours_s"]),
        goal("rules: equal to O(n^2 k) to 1e-9 (1 is yes)", 1, rules["difference"] < 1e-9),
        goal("all answers agree (1 is yes)", 1, float(case["agrees"])),
    ]


_NAMES = {"SCSQBuffer": "SCSQ_BUFFER"}


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    case, rules = result["case"], result["rules"]
    head = (
        f"PK_TOPK after every record, k = {case['k']}, window {case['window']:,}, ranks in random"
        f" order, p uniform; the compact set has {case['compact_set']} records. Told where the"
        " answer changes. Best of several turns; compilation and the first window untimed."
        + (" A quick run: the goals are meant for the full size." if result["quick"] else "")
    )
    rows: list[list[object]] = [["", "ns a record", "timed on", "tuples", "bytes", "of BS"]]
    whole = case["contenders"]["BS"]["bytes"]
    for name, entry in case["contenders"].items():
        rows.append(
            [
                _NAMES.get(name, name),
                f"{entry['ns']:,.1f}",
                short(entry["records"]),
                f"{entry['tuples']:,}",
                short(entry["bytes"]),
                f"1/{whole / entry['bytes']:,.0f}",
            ]
        )
    parts = [head, machine_line(result["machine"]), columns(rows)]
    for what, cells in result["growth"].items():
        grown: list[list[object]] = [
            [what, "compact set", "SCSQ_BUFFER ns", "tuples", "BS ns", "tuples"]
        ]
        grown += [
            [
                short(one["value"]), one["compact_set"], f"{one['SCSQBuffer']:,.1f}",
                f"{one['SCSQBuffer tuples']:,}", f"{one['BS']:,.1f}", f"{one['BS tuples']:,}",
            ]
            for one in cells
        ]  # fmt: skip
        parts.append(f"By {what}: ns a record, tuples kept\n" + columns(grown))
    parts += [
        f"Exclusive records: Pr_{rules['k']} of all {rules['window']:,} records of a window,"
        f" {rules['exclusive']:,} of them exclusive: {rules['ours_s'] * 1e3:,.2f} ms; each from the"
        f" start, in O(n^2 k): {rules['paper_s'] * 1e3:,.0f} ms; largest difference"
        f" {rules['difference']:.1e}",
        goal_lines(result["goals"]),
        _NOTES,
    ]
    return "\n\n".join(parts)


_NOTES = """"recompute" keeps the window sorted as BS does and works out the compact set and the
answer at every record, compiled. Tuples are those written down, in several sets several times;
bytes as the paper counts (6 a tuple, 4 an entry of the array r). Where no window has a compact set
(EXPECTED_RANK; U_TOPK with rules) all synopses are BS."""

__all__ = ["run", "table"]
