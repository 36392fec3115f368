"""Random queries and random streams, made so that small inputs reach the corners.

Few distinct scores give ties, few distinct times give records that arrive together, and repeated
rows give records that nothing can tell apart. Times are ``origin + tick * unit``, so that windows
of a few ticks are crossed often; steps back in time make records that are late or just not, and a
rare long step makes a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
from hypothesis import strategies as st

import hostile
from crestline.testing import Kind, Record, Spec

SECOND = 1_000_000
DAY = 86_400 * SECOND
#: Just before 1970, 1970, the last tick before a multiple, a trading day, the year 1900.
ORIGINS = (-7, 0, -1, 1_381_118_400 * SECOND, -2_208_988_800 * SECOND)
UNITS = (1, 1_000, SECOND, 3_600 * SECOND)
ALL_KINDS: tuple[Kind, ...] = (
    "range_slide", "range", "rows", "rows_on", "unbounded_time", "unbounded_rows",
)  # fmt: skip
#: Of windows, in ticks or records; the longest give the filters a buffer to speak of.
WIDTHS = (*range(1, 10), 15, 20)
TIMED_KINDS: tuple[Kind, ...] = ("range_slide", "range", "rows_on", "unbounded_time")

#: Every column of a random stream; ``val`` is the score, float or integer as the stream has it.
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("val", pa.float64()),
        ("num", pa.int32()),
        ("frac", pa.float64()),
        ("txt", pa.string()),
        ("flag", pa.bool_()),
        ("grp", pa.string()),
        ("site", pa.int16()),
    ]
)
NULLABLE = ("num", "frac", "txt", "flag", "grp", "site")

#: What the scores of a stream are drawn from: often only a few, down to one, so that ties decide.
FLOAT_SCORES = (
    (1.0,), (1.0, 0.0, -0.0), (1.0, 0.0, -math.inf), (1.0, math.inf, -math.inf),
    (1.0, 0.0, 2.0, 2.5, -3.0, math.inf, -math.inf), hostile.SCORES, hostile.SCORES,
)  # fmt: skip
INTEGER_SCORES = ((2**53,), (2**53, 2**53 + 1, 0), (0, 1, 2, -3), hostile.INTEGERS)
FURTHER: dict[str, tuple[Any, ...]] = {
    "num": (None, 0, 1, -1, 2**31 - 1, -(2**31)),
    "frac": (None, math.nan, *hostile.SCORES),
    "txt": (None, "", "a", "b", "B", "é", "𝔵"),
    "flag": (None, True, False),
    "grp": ("x", None, "y", "Z"),
    "site": (1, None, 2, -1),
}

#: The terms of ORDER BY after the score.
FURTHER_TERMS: tuple[tuple[str, ...], ...] = (
    (), (), ("frac",), ("frac", "txt"), ("num",), ("txt",), ("flag", "num"), ("flag",), ("grp",),
)  # fmt: skip

#: WHERE as SQL and as Python: NULL is not true, and NaN is larger than every number.
CONDITIONS: tuple[tuple[str, Callable[[Record], bool]], ...] = (
    ("val > 0", lambda r: r["val"] is not None and (r["val"] != r["val"] or r["val"] > 0)),
    ("num IS NOT NULL", lambda r: r["num"] is not None),
    ("NOT flag", lambda r: r["flag"] is False),
    (
        "txt = 'a' OR num >= 1",
        lambda r: r["txt"] == "a" or (r["num"] is not None and r["num"] >= 1),
    ),
)


@dataclass(frozen=True)
class Case:
    """A query, a stream for it, and the Arrow type of its scores."""

    spec: Spec
    records: list[Record]
    integers: bool = False
    unit: int = 1  # the microseconds of a tick

    @property
    def table(self) -> pa.Table:
        return to_table(self.records, self.integers)

    def with_spec(self, **new: Any) -> Case:
        return replace(self, spec=replace(self.spec, **new))

    def with_records(self, records: list[Record]) -> Case:
        return replace(self, records=records)


def to_table(records: list[Record], integers: bool = False) -> pa.Table:
    """The records as Arrow; a time in microseconds becomes a timestamp."""
    schema = SCHEMA
    if integers:
        schema = schema.set(schema.get_field_index("val"), pa.field("val", pa.int64()))
    columns = {name: [r[name] for r in records] for name in schema.names}
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


@st.composite
def specs(draw: st.DrawFn, unit: int = 1, kinds: tuple[Kind, ...] = ALL_KINDS) -> Spec:
    kind = draw(st.sampled_from(kinds))
    by_rows = kind in ("rows", "rows_on", "unbounded_rows")
    scale = 1 if by_rows else unit
    further = draw(st.sampled_from(FURTHER_TERMS))
    directions = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    select = draw(
        st.lists(
            st.sampled_from(("id", "ts", "val", "num", "frac", "txt", "flag")),
            min_size=1, max_size=3, unique=True,
        )
    )  # fmt: skip
    if kind == "rows_on" and "id" not in select:
        # Without it, equal times and keys with different scores would leave the counting open.
        select = ["id", *select]
    partition = draw(st.sampled_from(((), (), ("grp",), ("site", "grp"), ("site",))))
    if draw(st.integers(0, 7)) == 7:
        select = [name for name in SCHEMA.names if name not in partition]
    condition = draw(st.sampled_from((None,) * 8 + CONDITIONS))
    key = draw(st.sampled_from(((), ("txt",), ("flag",), ("num", "id"), ())))
    lateness = draw(st.sampled_from((None, None, None, 0, 0, 1, 3, 6)))
    return Spec(
        k=draw(st.sampled_from((1, 2, 3, 5, 100))),
        kind=kind,
        width=0 if kind.startswith("unbounded") else draw(st.sampled_from(WIDTHS)) * scale,
        slide=1 if kind == "range" else draw(st.integers(1, 7)) * scale,
        ts="ts" if kind in TIMED_KINDS else None,
        order=tuple(zip(("val", *further), directions, strict=False)),
        partition=partition,
        select=tuple(select),
        key=key,
        lateness=None if lateness is None or kind not in TIMED_KINDS else lateness * unit,
        where=condition[1] if condition else None,
        where_sql=condition[0] if condition else None,
        name=draw(st.sampled_from((None, None, "big_ones"))),
        columns=tuple(SCHEMA.names),
        numbered=draw(st.integers(0, 3)) == 3,
    )


@st.composite
def streams(
    draw: st.DrawFn,
    *,
    unit: int = 1,
    integers: bool = False,
    gaps: bool = True,
    bad: bool = True,
    backward: bool = True,
    anyhow: bool = True,
    max_size: int = 40,
) -> list[Record]:
    """Records in arrival order; ``backward`` lets time step back, and with ``anyhow`` records may
    come in any order; ``gaps`` lets time leap."""
    steps = [0, 0, 0, 1, 1, 1, 2, 3, 6]
    steps += [-1, -2, -5, -9] if backward else []
    steps += [DAY // unit + 1] if gaps else []
    pools: tuple[tuple[Any, ...], ...] = INTEGER_SCORES if integers else FLOAT_SCORES
    scores = draw(st.sampled_from(pools))
    # A bad value is rarer than any good one, so that most streams still have something to rank.
    bad_scores: tuple[Any, ...] = (None,) if integers else (None, math.nan)
    if bad:
        scores = (scores * 20)[:20] + bad_scores
    few = draw(st.sampled_from((1, 2, 4)))  # partition values
    further_values = [
        FURTHER[name][:few] if name in ("grp", "site") else FURTHER[name] for name in NULLABLE
    ]
    choices = (steps, scores, (0,) * 12 + (1, 2), *further_values)
    # One number a record, taken apart into all its choices: many times faster to draw than a tuple.
    size = draw(
        st.sampled_from([n for n in (0, 1, 4, 12, 25, 25) if n < max_size] + [max_size] * 4)
    )
    codes = st.integers(0, math.prod(map(len, choices)) - 1)
    time = draw(st.sampled_from(ORIGINS))
    off_grid = draw(st.sampled_from((0, 0, unit // 3)))
    records: list[Record] = []
    for number, code in enumerate(draw(st.lists(codes, min_size=size, max_size=size))):
        chosen: list[Any] = []
        for values in choices:
            code, place = divmod(code, len(values))
            chosen.append(values[place])
        step, score, what, *further = chosen  # what: 1 no event time, 2 the row before once more
        if what == 2 and records:
            records.append(dict(records[-1]))
            continue
        time += step * unit
        record: Record = {"id": number, "ts": time + off_grid, "val": score}
        if bad and what == 1:
            record["ts"] = None
        records.append(record | dict(zip(NULLABLE, further, strict=True)))
    if backward and anyhow and draw(st.sampled_from((False, False, True))):
        draw(st.randoms(use_true_random=False)).shuffle(records)
    return records


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    kinds: tuple[Kind, ...] = ALL_KINDS,
    bad: bool = True,
    backward: bool = True,
    max_size: int = 40,
    accept: Callable[[Spec], bool] = lambda spec: True,
    **fixed: Any,
) -> Case:
    """A query and a stream for it; ``fixed`` overrides fields of the query."""
    unit = draw(st.sampled_from(UNITS))

    def accepted(spec: Spec) -> Spec:
        """Some algorithms know one slide only: every record."""
        each = spec.kind in ("rows", "rows_on") and not accept(spec)
        return replace(spec, slide=1) if each else spec

    spec = replace(draw(specs(unit, kinds).map(accepted).filter(accept)), **fixed)
    integers = draw(st.booleans())
    # Every multiple in a gap is a due result of an unbounded window: there a leap is a big result.
    gaps = spec.kind != "unbounded_time" and draw(st.booleans())
    # A twin that comes late and takes its twin's place would be a revision that does not show.
    anyhow = spec.late != "REVISE"
    records = draw(
        streams(
            unit=unit, integers=integers, gaps=gaps, bad=bad, backward=backward, anyhow=anyhow,
            max_size=max_size,
        )
    )  # fmt: skip
    return Case(spec, records, integers, unit)


@st.composite
def splits(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Cuts of ``range(size)`` into consecutive batches, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
    edges = [0, *cuts, size]
    return list(zip(edges, edges[1:], strict=False))


@st.composite
def shuffled_within(draw: st.DrawFn, records: list[Record], lateness: int) -> list[Record]:
    """The records (ordered by time) in an arrival order in which none of them is late.

    Each is held up by at most the lateness, so whoever overtook it is younger by no more than that.
    """
    delays = draw(st.lists(st.integers(0, lateness), min_size=len(records), max_size=len(records)))
    held_up = sorted(
        zip(records, delays, range(len(records)), strict=True),
        key=lambda held: (cast(int, held[0]["ts"]) + held[1], -held[2]),
    )
    return [record for record, _, _ in held_up]
