"""Queries on uncertain streams, random records for them, and whether the rows are right.

`crestline.testing.oracle` computes which windows are due and what they hold, `worlds` what is true
of a window. Records are dicts as in the oracle; the number of a record is in its column ``id``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

import crestline
import hostile
from crestline.testing import Arrived, Cell, Kind, Spec, oracle, ordering, sort_key
from local.engines import rows_of
from uncertain.objections import objection
from uncertain.worlds import ByFormulas, Record

Row = dict[str, Any]
ALL_KINDS: tuple[Kind, ...] = (
    "range_slide", "range", "rows", "rows_on", "unbounded_time", "unbounded_rows",
)  # fmt: skip
TIMED_KINDS: tuple[Kind, ...] = ("range_slide", "range", "rows_on", "unbounded_time")
ASKED = ("PK_TOPK", "PT_K(0.3)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF(0.6)", "SUM")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("val", pa.float64()),
        ("more", pa.int32()),
        ("prob", pa.float64()),
        ("rule", pa.string()),
        ("grp", pa.string()),
        ("site", pa.string()),
    ]
)


@dataclass(frozen=True)
class Question:
    """What is asked: a window and an order as for certain streams, and one of ``ASKED``."""

    spec: Spec
    asked: str = "PK_TOPK"
    exclusive: bool = True

    @property
    def summed(self) -> bool:
        return self.asked == "SUM"

    @property
    def semantics(self) -> str:
        return "PK_TOPK" if self.summed else self.asked.partition("(")[0]

    @property
    def threshold(self) -> float | None:
        _, given, threshold = self.asked.partition("(")
        return float(threshold.rstrip(")")) if given else None

    def text(self, using: str | None = None) -> str:
        doubt = "WITH PROBABILITY prob"
        doubt += " EXCLUSIVE BY rule" if self.exclusive else ""
        doubt += " BY SUM OF PROBABILITY" if self.summed else f" AS {self.asked}"
        return self.spec.text(using).replace(" ORDER BY ", f" {doubt} ORDER BY ", 1)

    def with_spec(self, **new: Any) -> Question:
        return replace(self, spec=replace(self.spec, **new))

    @property
    def shown(self) -> tuple[str, ...]:
        return (*self.spec.select, "score", "probability")


def to_table(records: Sequence[Row]) -> pa.Table:
    """The records as Arrow; a time in microseconds becomes a timestamp."""
    return pa.table(
        [pa.array([r[field.name] for r in records], field.type) for field in SCHEMA], schema=SCHEMA
    )


def random_question(rng: random.Random, kind: Kind, asked: str) -> Question:
    by_rows = kind in ("rows", "rows_on", "unbounded_rows")
    unit = 1 if by_rows else 1_000_000
    select = ("id", "site") if rng.random() < 0.5 else ("id",)
    if asked == "SUM":
        select = rng.choice((("site",), ("site", "more")))
        if kind == "rows_on":  # counted in a known order only if the key is unique
            select = ("site",)
    spec = Spec(
        k=rng.choice((1, 2, 3, 5, 50)),
        kind=kind,
        width=0 if kind.startswith("unbounded") else rng.randint(2, 12) * unit,
        slide=1 if kind == "range" else rng.randint(1, 5) * unit,
        ts="ts" if kind in TIMED_KINDS else None,
        order=(("val", rng.random() < 0.7), *((("more", True),) if rng.random() < 0.3 else ())),
        partition=rng.choice(((), ("grp",))),
        select=select,
        key=("id",) if kind == "rows_on" or (asked == "SUM" and kind in TIMED_KINDS) else (),
    )
    return Question(spec, asked)


def random_records(
    rng: random.Random, count: int, *, unit: int = 1_000_000, exclusive: float = 0.5
) -> list[Row]:
    """In order of time; rules hold no more than 1, and often exactly that."""
    time = 1_381_118_400 * 1_000_000
    chances = rng.choice(
        (
            lambda: 1 - rng.random(),
            lambda: rng.randint(1, 8) / 8,
            lambda: rng.randint(1, 10) / 10,
            lambda: rng.choice((1.0, 0.9)),
            lambda: rng.choice((1e-12, 1e-3)),
            lambda: rng.choice(hostile.PROBABILITIES),
        )
    )
    count_of_scores = rng.choice((2, 6, 1000))
    spikes = rng.choice(((), hostile.SCORES, hostile.SCORES[:4]))  # often infinities and zeros only
    left: dict[tuple[Any, str], Fraction] = {}
    records = []
    for number in range(count):
        time += rng.choice((0, 0, 1, 1, 2, 3, 7)) * unit
        grp, rule, p = rng.choice(("x", "y", None)), None, chances()
        if rng.random() < exclusive:
            rule = f"r{number // 6 + rng.randrange(3)}"
            # Queries without partitions see the rule as a whole.
            room = left.setdefault(("all", rule), Fraction(1))
            if Fraction(p) > room:
                p = float(room) if float(room) <= room and room > 0 else p
            if Fraction(p) > room:
                rule = None
            else:
                left["all", rule] = room - Fraction(p)
        score = float(rng.randrange(count_of_scores))
        if spikes and rng.random() < 0.6:
            score = rng.choice(spikes)
        records.append(
            {
                "id": number, "ts": time, "val": score,
                "more": rng.choice((None, 0, 1)), "prob": p, "rule": rule, "grp": grp,
                "site": rng.choice(("a", "b", "c", None)),
            }
        )  # fmt: skip
    return records


# --- judging --------------------------------------------------------------------------------------


def ranked(question: Question, window: Iterable[Arrived]) -> list[Arrived]:
    """Best first: as for certain streams, then the more probable, then the smaller rule."""
    spec = question.spec

    def by_rank(a: Arrived, b: Arrived) -> int:
        for column, descending in spec.order:
            if c := ordering.compare(a.record[column], b.record[column]):
                return -c if descending else c
        if spec.ts is not None:
            if a.time != b.time:
                return -1 if a.time > b.time else 1
            if c := ordering.by_columns(spec, a, b):
                return c
            if c := ordering.compare(b.record["prob"], a.record["prob"]):
                return c
            if question.exclusive and (c := ordering.compare(a.record["rule"], b.record["rule"])):
                return c
        return b.number - a.number

    return sorted(window, key=cmp_to_key(by_rank))


@dataclass(frozen=True)
class Window:
    """A due window: where it starts, and what is true of it."""

    start: int | None
    judge: ByFormulas
    records: list[Row]  # best first
    #: By what a row shows of it: the record, of a group its highest-ranking one.
    meant: dict[tuple[Any, ...], Row]


def windows(question: Question, records: Sequence[Row]) -> dict[Cell, Window]:
    """Every due window that holds anything, from the complete list of (sound) records."""
    spec = question.spec
    admitted = oracle.admit(spec, records)
    found: dict[Cell, Window] = {}
    for partition, members in oracle.partitions(spec, admitted.accepted).items():
        for end, start, inside in oracle.windows(
            spec, members, admitted.accepted, None, every=True
        ):
            if not inside:
                continue
            best = ranked(question, inside)
            judged = [
                Record(
                    id=a.record["id"],
                    score=a.record["val"],
                    tie=-number,
                    probability=a.record["prob"],
                    rule=a.record["rule"] if question.exclusive else None,
                    group=tuple(a.record[c] for c in spec.select),
                )
                for number, a in enumerate(best)
            ]
            known = spec.select if question.summed else ("id",)
            meant = {tuple(a.record[c] for c in known): a.record for a in reversed(best)}
            judge = ByFormulas(judged, spec.k)
            found[end, partition] = Window(start, judge, [a.record for a in best], meant)
    return found


def by_cell(question: Question, rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    """Rows by window end and partition, in their order."""
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        partition = tuple(row[c] for c in question.spec.partition)
        cells.setdefault((row["window_end"], partition), []).append(row)
    return cells


def assert_right(
    question: Question, rows: Sequence[Row], due: dict[Cell, Window], every: int = 1
) -> None:
    """Every due window is there, in order, with its records as they are, and each ``every``-th is
    what the judge says. A window without an answer has no rows."""
    spec = question.spec
    cells = by_cell(question, rows)
    places = [(end, [sort_key(v) for v in partition]) for end, partition in cells]
    assert places == sorted(places), "by window end, then partition"
    strangers = [cell for cell in cells if cell not in due]
    assert not strangers, f"{strangers[:3]} are not due: {question.text()}"
    for number, (cell, window) in enumerate(due.items()):
        got = cells.get(cell, [])
        assert got or question.semantics == "PT_K", f"{cell} is due: {question.text()}"
        assert [row["rank"] for row in got] == list(range(1, len(got) + 1))
        assert all(row["window_start"] == window.start for row in got)
        answer = []
        known = spec.select if question.summed else ("id",)
        for row in got:
            record = window.meant.get(tuple(row[c] for c in known))
            assert record is not None, f"{row} is not in the window"
            assert all(row[c] == record[c] for c in spec.select), (row, record)
            assert row["score"] == record["val"], (row, record)
            answer.append((record["id"], row["probability"]))
        if number % every == 0:
            fault = objection(
                answer,
                window.judge,
                question.semantics,
                threshold=question.threshold,
                summed=question.summed,
            )
            assert fault is None, f"{cell}: {fault}\n{question.text()}\n{got}\n{window.records}"


def run(question: Question, records: Sequence[Row], using: str | None = None, **how: Any) -> Any:
    streams = {"s": to_table(records)}
    return crestline.run(question.text(using), streams, engine="local", **how)


def answer(question: Question, records: Sequence[Row], using: str | None = None) -> list[Row]:
    return rows_of(run(question, records, using).to_arrow())


def apply(changes: Sequence[Row], question: Question, moments: Iterable[Cell]) -> dict[Cell, Any]:
    """Apply changes by the rule of the design and give what stands at each moment and partition.

    Nothing is told that is no change: an entry enters, leaves, moves, or changes its probability.
    """
    told: dict[Cell, list[Row]] = {}
    for row in changes:
        partition = tuple(row[c] for c in question.spec.partition)
        told.setdefault((row["at"], partition), []).append(row)
    standing: dict[Cell, Any] = {}
    slots: dict[Any, dict[int, tuple[Any, ...]]] = {}
    for cell in sorted({*moments, *told}, key=lambda c: (c[0], [sort_key(v) for v in c[1]])):
        entries = slots.setdefault(cell[1], {})
        before = dict(entries)
        for row in told.get(cell, []):
            assert (row["change"] == "enter") == (row["previous_rank"] is None), row
            assert (row["change"] == "leave") == (row["rank"] is None), row
            if row["previous_rank"] is not None:
                del entries[row["previous_rank"]]
        for row in told.get(cell, []):
            if row["rank"] is not None:
                assert row["rank"] not in entries, f"two at rank {row['rank']}: {row}"
                entries[row["rank"]] = tuple(row[c] for c in question.shown)
        for row in told.get(cell, []):
            if row["change"] == "leave":
                shown = tuple(row[c] for c in question.shown)
                assert shown == before[row["previous_rank"]], "it leaves as it was shown"
            if row["rank"] == row["previous_rank"]:
                assert before[row["rank"]][:-1] == entries[row["rank"]][:-1]
                assert before[row["rank"]][-1] != entries[row["rank"]][-1], f"no change: {row}"
        assert sorted(entries) == list(range(1, len(entries) + 1))
        standing[cell] = [entries[rank] for rank in sorted(entries)]
    return standing
