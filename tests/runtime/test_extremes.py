"""Extreme windows, gaps and sizes: the right answer, and never slowly."""

from __future__ import annotations

from typing import Any

import pytest

import crestline
from crestline.testing import Spec, expect
from local.engines import (
    Algorithm,
    assert_judged,
    moment,
    rows_of,
    supports,
)
from runtime.extremes import ALGORITHMS, BLANK, judge, records, within
from strategies import DAY, Case, to_table

EXTREMES = [
    pytest.param(Spec(3, "range_slide", 10, 5, "ts"), records((7, 1.0)), id="one record"),
    pytest.param(Spec(3, "rows", 10, 5), records((7, 1.0)), id="one record, rows"),
    pytest.param(Spec(3, "rows", 1, 1), records((1, 1.0), (2, 2.0)), id="window of one"),
    pytest.param(Spec(3, "range", 1, ts="ts"), records((1, 1.0), (2, 2.0), (2, 3.0)), id="one us"),
    pytest.param(Spec(1000, "rows", 3, 1), records((1, 1.0), (2, 2.0)), id="k beyond the window"),
    pytest.param(
        Spec(1000, "range_slide", 9, 4, "ts"),
        records((1, 1.0), (2, 1.0), (7, 0.0)),
        id="k beyond all",
    ),
    pytest.param(
        Spec(2, "range_slide", 3, 10, "ts"),
        records(*((t, float(t % 4)) for t in range(50))),
        id="slide beyond the window",
    ),
    pytest.param(
        Spec(2, "rows", 3, 10),
        records(*((t, float(t % 4)) for t in range(50))),
        id="slide beyond rows",
    ),
    pytest.param(
        Spec(2, "range_slide", 17, 5, "ts"),
        records(*((t, float(t * 7 % 11)) for t in range(-60, 60))),
        id="coprime, across 1970",
    ),
    pytest.param(
        Spec(2, "range_slide", DAY, DAY, "ts"),
        records((-DAY * 365 * 60, 1.0), (-DAY * 365 * 60 + 5, 2.0), (-1, 3.0), (0, 4.0)),
        id="before 1970",
    ),
    pytest.param(
        Spec(3, "range_slide", 10, 5, "ts"), records(*[(3, 1.0)] * 30), id="thirty times the same"
    ),
    pytest.param(
        Spec(2, "range_slide", 10, 5, "ts"),
        records((1, None), (2, float("nan"))),
        id="no score at all",
    ),
    pytest.param(
        Spec(2, "range_slide", 10, 5, "ts"),
        records(*((t, s) for t, s in enumerate([float("inf"), float("-inf"), 0.0] * 6))),
        id="infinities",
    ),
    pytest.param(
        Spec(3, "rows", 6, 2),
        records(*((n, float("-inf")) for n in range(12))),
        id="only -infinity",
    ),
    pytest.param(
        Spec(4, "range_slide", 40, 4, "ts"),
        records(*((t, float(t)) for t in range(200))),
        id="rising",
    ),
    pytest.param(
        Spec(4, "range_slide", 40, 4, "ts"),
        records(*((t, float(-t)) for t in range(200))),
        id="falling",
    ),
    pytest.param(
        Spec(4, "rows", 40, 4), records(*((t, float(-t)) for t in range(200))), id="falling, rows"
    ),
    pytest.param(
        Spec(1, "unbounded_time", slide=1, ts="ts", emit="CHANGES"),
        records((3, 1.0), (4, 1.0), (5, 1.0)),
        id="unbounded changes, each newcomer better",
    ),
    pytest.param(
        Spec(2, "unbounded_rows", slide=2, emit="CHANGES"),
        records(*((t, float(t % 5)) for t in range(21))),
        id="unbounded changes, rows",
    ),
    pytest.param(
        Spec(3, "unbounded_time", slide=4, ts="ts", partition=("num",)),
        [r | {"num": r["id"] % 3} for r in records(*((t, float(t * 7 % 5)) for t in range(40)))],
        id="unbounded by partition",
    ),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("spec", "stream"), EXTREMES)
def test_extremes(spec: Spec, stream: list[dict[str, Any]], algorithm: Algorithm) -> None:
    judge(spec, stream, algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_microsecond_slides_with_gaps_of_days(algorithm: Algorithm) -> None:
    spec = Spec(2, "range_slide", 10, 1, "ts")
    stream = records(*((day * DAY + day, float(day % 3)) for day in range(-5, 30)))
    with within(20):
        judge(spec, stream, algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_day_of_microsecond_slides_in_changes(algorithm: Algorithm) -> None:
    """86 billion windows, of which four are worth telling."""
    spec = Spec(1, "range_slide", DAY, 1, "ts", emit="CHANGES")
    with within(20):
        judge(spec, records((0, 1.0), (DAY, 2.0), (3 * DAY + 5, 1.0)), algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_gap_of_a_thousand_years(algorithm: Algorithm) -> None:
    spec = Spec(1, "range_slide", 3_000_000, 1_000_000, "ts")
    year = 365 * DAY
    with within(20):
        judge(spec, records((-900 * year, 1.0), (100 * year, 2.0)), algorithm)


def test_a_session_over_a_gap_with_partitions() -> None:
    """A thousand partitions, then a day of silence in steps of a millisecond."""
    spec = Spec(1, "range_slide", 5_000, 1_000, "ts", partition=("num",))
    stream = [{**BLANK, "id": n, "num": n, "ts": n, "val": 1.0} for n in range(1_000)]
    stream.append({**BLANK, "id": -1, "num": 0, "ts": DAY, "val": 1.0})
    with within(20):
        session = crestline.open(spec.text(), engine="local")
        got = [
            row for r in (stream[:500], stream[500:]) for row in rows_of(session.push(to_table(r)))
        ]
        got += rows_of(session.finish())
    assert got == expect(spec, stream).rows


def test_huge_k_and_huge_windows_cost_nothing() -> None:
    """Memory goes with the records there are, not with the numbers in the query."""
    stream = records(*((t, float(t % 5)) for t in range(100)))
    with within(20):
        assert_judged(Case(Spec(10**7, "rows", 10**9, 50), stream))
        assert_judged(Case(Spec(10**7, "range_slide", 10**15, 10**15, "ts"), stream))
        assert_judged(Case(Spec(5, "range_slide", 10**15, 50, "ts"), stream))


def test_moments_in_a_session_of_single_records() -> None:
    """Two thousand pushes of one dict stay practical."""
    session = crestline.open(
        "SELECT TOP 3 id FROM s [ROWS 100 SLIDE 10] ORDER BY val DESC", engine="local"
    )
    with within(60):
        rows = sum(
            session.push({"id": n, "ts": moment(n), "val": float(n % 17)}).num_rows
            for n in range(2_000)
        )
    assert rows == 600


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_largest_k_on_two_records(algorithm: Algorithm) -> None:
    stepwise = Spec(10**7, "range_slide", DAY, DAY, "ts")
    arriving = Spec(10**7, "range", DAY, ts="ts")
    spec = arriving if supports(algorithm)(arriving) else stepwise
    with within(20):
        judge(spec, records((1, 1.0), (2, 2.0)), algorithm)
