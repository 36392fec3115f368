"""Every kind of window through the engine: drawn by hand, then at random, by kind."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.testing import Kind, Spec, expect
from local.engines import ask, assert_judged, assert_same_rows, at, examples, moment, rows_of, run
from strategies import ALL_KINDS, cases


def stream(*records: tuple[str, float | None, float]) -> list[dict[str, Any]]:
    """``(id, second, val)`` as dicts a user would push."""
    return [
        {"id": name, "ts": None if s is None else moment(int(s * 1_000_000)), "val": float(val)}
        for name, s, val in records
    ]


def told(query: str, data: Any) -> list[str]:
    """Snapshots as ``start..end: ids by rank``; times in seconds."""
    rows = ask(query, data)
    scale = 1 if "ROWS" in query else 1_000_000
    groups: dict[tuple[Any, ...], str] = {}
    for row in rows:
        start = None if row["window_start"] is None else row["window_start"] / scale
        where = (start, row["window_end"] / scale)
        groups[where] = groups.get(where, "") + row["id"]
    return [
        f"{'' if start is None else format(start, 'g')}..{end:g}: {ids}"
        for (start, end), ids in groups.items()
    ]


def test_range_that_is_no_multiple_of_its_slide() -> None:
    #  -10   0    10   20   30   40   50   60
    #   |    | a   |b   | c  |    |  d |    |
    #          3    5     4           1
    #   [--------------)                          due at 20
    #             [--------------)                due at 40
    #                       [--------------)      due at 60
    data = stream(("a", 5, 3), ("b", 12, 5), ("c", 25, 4), ("d", 47, 1))
    query = "SELECT TOP 2 id FROM s [RANGE 30 SECONDS SLIDE 20 SECONDS ON ts] ORDER BY val DESC"
    assert told(query, data) == ["-10..20: ba", "10..40: bc", "30..60: d"]


def test_range_holds_its_start_and_not_its_end() -> None:
    #   0         10        20
    #   a         b         |
    #   [---------)[--------)
    query = "SELECT TOP 2 id FROM s [RANGE 10 s SLIDE 10 s ON ts] ORDER BY val DESC"
    assert told(query, stream(("a", 0, 1), ("b", 10, 2))) == ["0..10: a", "10..20: b"]


def test_range_at_every_arrival() -> None:
    #  -10        0    4    10
    #   |         a    b    d         c comes together with b
    #             5    9c1  2
    #   (---------]                   at 0
    #       (----------]              at 4
    #             (---------]         at 10: a, exactly ten old, is gone
    data = stream(("a", 0, 5), ("b", 4, 9), ("c", 4, 1), ("d", 10, 2))
    query = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS ON ts] ORDER BY val DESC"
    assert told(query, data) == ["-10..0: a", "-6..4: ba", "0..10: bd"]


def test_rows_with_a_slide() -> None:
    #   position  0  1  2  3  4  5  6
    #             a  b  c  d  e  f  g
    #             4  9  1  2  3  8  7
    #             [-----)                 after 2
    #                [--------)           after 4
    #                      [--------)     after 6; g never completes a slide
    scores = zip("abcdefg", (4, 9, 1, 2, 3, 8, 7), strict=True)
    data = stream(*((name, None, val) for name, val in scores))
    query = "SELECT TOP 1 id FROM s [ROWS 3 SLIDE 2] ORDER BY val DESC"
    assert told(query, data) == ["0..2: b", "1..4: b", "3..6: f"]


def test_rows_without_a_slide_are_told_after_every_record() -> None:
    data = stream(("a", None, 1), ("b", None, 3), ("c", None, 2))
    query = "SELECT TOP 2 id FROM s [ROWS 2] ORDER BY val DESC"
    assert told(query, data) == ["0..1: a", "0..2: ba", "1..3: bc"]


def test_rows_counted_in_event_time() -> None:
    #   arrival   a   c   b        in time   a   b   c
    #   time     10  30  20                 10  20  30
    #   score     1   3   2        ROWS 2:  [a] [a  b]
    #                                           [b  c]
    data = stream(("a", 10, 1), ("c", 30, 3), ("b", 20, 2))
    query = "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1 ON ts] ORDER BY val DESC LATENESS 15 SECONDS"
    assert told(query, data) == ["0..1: a", "0..2: ba", "1..3: cb"]


def test_unbounded_in_time_is_told_where_nothing_came() -> None:
    #   0     10    20    30    40
    #   | a   | b   |     | c   |
    #     1     5           2
    #   -------------------------)   nothing expires
    data = stream(("a", 3, 1), ("b", 12, 5), ("c", 33, 2))
    query = "SELECT TOP 2 id FROM s [UNBOUNDED SLIDE 10 SECONDS ON ts] ORDER BY val DESC"
    assert told(query, data) == ["..10: a", "..20: ba", "..30: ba", "..40: bc"]


def test_unbounded_in_rows() -> None:
    #   a b | c d | e       told after every second record
    #   1 5   2 4   9
    data = stream(*((n, None, v) for n, v in zip("abcde", (1, 5, 2, 4, 9), strict=True)))
    query = "SELECT TOP 2 id FROM s [UNBOUNDED SLIDE 2 ROWS] ORDER BY val DESC"
    assert told(query, data) == ["0..2: ba", "0..4: bd"]


def test_partitions_share_the_clock_and_nothing_else() -> None:
    #   0         10        20        30
    #   |    a    |         |    b    |      a of x, b of y: x is told at 20 and 30 by y's event
    data = [
        {"id": "a", "ts": moment(5_000_000), "val": 1, "grp": "x"},
        {"id": "b", "ts": moment(25_000_000), "val": 2, "grp": "y"},
    ]
    rows = ask(
        "SELECT TOP 1 id FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS ON ts] PARTITION BY grp"
        " ORDER BY val DESC",
        data,
    )
    ends = [(row["window_end"] // 1_000_000, row["grp"], row["id"]) for row in rows]
    assert ends == [(10, "x", "a"), (20, "x", "a"), (30, "x", "a"), (30, "y", "b")]


def test_multiples_count_from_1970_in_utc() -> None:
    data = [{"id": 1, "ts": moment(at("2024-03-01T10:00:00.000001")), "val": 1}]
    (row,) = ask("SELECT TOP 1 id FROM s [RANGE 7 DAYS SLIDE 7 DAYS ON ts] ORDER BY val DESC", data)
    # 1970-01-01 was a Thursday, so weeks end on Thursdays.
    assert row["window_end"] == at("2024-03-07")
    assert row["window_start"] == at("2024-02-29")


def test_several_queries_at_once_keep_their_names() -> None:
    data = stream(("a", 5, 1), ("b", 6, 2))
    one = "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY val"
    named = Spec(1, "rows", 2, 2, name="largest")
    assert [row["query"] for row in ask(f"{one} DESC", data)] == ["query"]
    assert [row["query"] for row in rows_of(run(named, data).to_arrow())] == ["largest"]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("emit", ["SNAPSHOTS", "CHANGES"])
def test_the_default_algorithm_equals_the_oracle(kind: Kind, emit: str) -> None:
    """With no USING the planner chooses; whatever it takes must be right."""

    @examples(40)
    @given(cases(kinds=(kind,), emit=emit))
    def holds(case: Any) -> None:
        assert_judged(case)

    holds()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_wide_windows_over_longer_streams(kind: Kind) -> None:
    """Deep windows with a small slide: many panes at once, and k from 1 to past the window."""

    @examples(15)
    @given(
        st.sampled_from((1, 4, 30, 1000)),
        st.sampled_from((1, 2, 7)),
        cases(kinds=(kind,), max_size=300),
    )
    def holds(k: int, slide: int, case: Any) -> None:
        scale = 1 if case.spec.counts_rows else case.unit
        width = 0 if kind.startswith("unbounded") else 60 * scale
        slide = 1 if kind == "range" else slide * scale
        assert_judged(case.with_spec(k=k, width=width, slide=slide))

    holds()


def test_a_result_can_be_long() -> None:
    """10,000 windows of ten records: nothing is lost between internal batches of rows."""
    count = 10_000
    table = pa.table(
        {
            "id": pa.array(range(count)),
            "ts": pa.array([n * 1_000 for n in range(count)], pa.timestamp("us", tz="UTC")),
            "val": pa.array([(n * 7919) % 1009 for n in range(count)]),
        }
    )
    records = [{"id": n, "ts": n * 1_000, "val": (n * 7919) % 1009} for n in range(count)]
    spec = Spec(10, "range_slide", 50_000, 1_000, "ts")
    wanted = expect(spec, records).rows
    assert len(wanted) > 99_000
    assert_same_rows(rows_of(run(spec, table).to_arrow()), wanted)
