"""The oracle against examples computed by hand. A timeline is drawn over each window test.

In the pictures a letter is a record, the digit under it its score; ``[`` and ``)`` bound a window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crestline.testing import Record, Spec, expect

NAN = math.nan


def stream(*records: tuple[str, int | None, float | None]) -> list[Record]:
    return [{"id": name, "ts": ts, "val": val} for name, ts, val in records]


def told(spec: Spec, records: Sequence[Record], **how: Any) -> list[str]:
    """Snapshots as ``end: ids by rank``, with the partition and the revision where there is one."""
    groups: dict[tuple[Any, ...], str] = {}
    for row in expect(spec, records, **how).rows:
        where = [row["window_end"], *(row[c] for c in spec.partition)]
        if "revision" in row:
            where.append(f"r{row['revision']}")
        groups[tuple(where)] = groups.get(tuple(where), "") + str(row["id"])
    return [" ".join(map(str, where)) + ": " + ids for where, ids in groups.items()]


def told_changes(spec: Spec, records: Sequence[Record]) -> list[str]:
    return [
        f"{row['at']}: {row['change']} {row['id']} {row['previous_rank']}->{row['rank']}"
        for row in expect(spec, records).rows
    ]


# --- windows -------------------------------------------------------------------------------------


def test_range_that_is_no_multiple_of_its_slide() -> None:
    #  -10   0    10   20   30   40   50   60
    #   |    | a   |b   | c  |    |  d |    |
    #          3    5     4           1
    #   [--------------)                          due at 20
    #             [--------------)                due at 40
    #                       [--------------)      due at 60
    records = stream(("a", 5, 3), ("b", 12, 5), ("c", 25, 4), ("d", 47, 1))
    spec = Spec(2, "range_slide", 30, 20, "ts")
    assert told(spec, records) == ["20: ba", "40: bc", "60: d"]
    assert expect(spec, records).rows[0] == {
        "query": "query", "window_start": -10, "window_end": 20, "rank": 1, "id": "b", "score": 5.0,
    }  # fmt: skip


def test_range_holds_its_start_and_not_its_end() -> None:
    #   0         10        20        30
    #   a         b         |
    #   1         2
    #   [---------)                        a is in, b is not
    #             [---------)              b is in, a is not
    spec = Spec(2, "range_slide", 10, 10, "ts")
    assert told(spec, stream(("a", 0, 1), ("b", 10, 2))) == ["10: a", "20: b"]


def test_range_before_1970() -> None:
    #  -30       -20       -10        0
    #   |    a    b         |         |
    #        1    2
    #   [---------)                        due at -20
    #             [---------)              due at -10
    spec = Spec(2, "range_slide", 10, 10, "ts")
    assert told(spec, stream(("a", -25, 1), ("b", -20, 2))) == ["-20: a", "-10: b"]


def test_a_slide_larger_than_the_window_leaves_records_unseen() -> None:
    #   0    5    10   15   20
    #   |  a |    |    | b  |
    #      9             1
    #                  [----)   due at 20
    assert told(Spec(2, "range_slide", 5, 20, "ts"), stream(("a", 3, 9), ("b", 17, 1))) == ["20: b"]


def test_a_gap_gives_no_rows() -> None:
    #   0    10        ...        1000   1010
    #   | a  |                     |  b  |
    spec = Spec(1, "range_slide", 10, 10, "ts")
    assert told(spec, stream(("a", 5, 1), ("b", 1005, 1))) == ["10: a", "1010: b"]


def test_partitions_share_the_clock_and_nothing_else() -> None:
    #   0         10        20        30
    #   |    a    |         |    b    |      a of x, b of y, c of NULL
    #   |    c    |         |         |
    #   [---------------------------- )      width 30: x and NULL are still told at 30, by y's event
    records = stream(("a", 5, 1), ("b", 25, 2), ("c", 5, 3))
    for record, partition in zip(records, ("x", "y", None), strict=True):
        record["grp"] = partition
    spec = Spec(1, "range_slide", 30, 10, "ts", partition=("grp",), lateness=20)
    assert told(spec, records) == [
        "10 None: c", "10 x: a", "20 None: c", "20 x: a", "30 None: c", "30 x: a", "30 y: b",
    ]  # fmt: skip


def test_range_at_every_arrival() -> None:
    #  -10        0    4    10
    #   |         a    b    d         c comes together with b
    #             5    9c1  2
    #   (---------]                   at 0
    #       (----------]              at 4: b and c at once
    #             (---------]         at 10: a, exactly ten old, is gone
    records = stream(("a", 0, 5), ("b", 4, 9), ("c", 4, 1), ("d", 10, 2))
    spec = Spec(2, "range", 10, ts="ts")
    assert told(spec, records) == ["0: a", "4: ba", "10: bd"]
    assert expect(spec, records).rows[-1]["window_start"] == 0


def test_rows_with_a_slide() -> None:
    #   position  0  1  2  3  4  5  6
    #             a  b  c  d  e  f  g
    #             4  9  1  2  3  8  7
    #             [-----)                 after 2 (fewer than 3 so far)
    #                [--------)           after 4
    #                      [--------)     after 6; g never completes a slide
    records = stream(*((n, None, v) for n, v in zip("abcdefg", (4, 9, 1, 2, 3, 8, 7), strict=True)))
    spec = Spec(1, "rows", 3, 2)
    assert told(spec, records) == ["2: b", "4: b", "6: f"]
    assert [row["window_start"] for row in expect(spec, records).rows] == [0, 1, 3]


def test_rows_count_within_the_partition() -> None:
    #   x: a c d     y: b
    #      1 2 1        9       ROWS 2: after every record of each
    records = stream(("a", None, 1), ("b", None, 9), ("c", None, 2), ("d", None, 1))
    for record, partition in zip(records, "xyxx", strict=True):
        record["grp"] = partition
    spec = Spec(2, "rows", 2, partition=("grp",))
    assert told(spec, records) == ["1 x: a", "1 y: b", "2 x: ca", "3 x: cd"]


def test_unbounded_in_time() -> None:
    #   0     10    20    30    40
    #   | a   | b   |     | c   |
    #     1     5           2
    #   -------------------------)   nothing expires; told at 30 too, where nothing came
    records = stream(("a", 3, 1), ("b", 12, 5), ("c", 33, 2))
    spec = Spec(2, "unbounded_time", slide=10, ts="ts")
    assert told(spec, records) == ["10: a", "20: ba", "30: ba", "40: bc"]
    assert {row["window_start"] for row in expect(spec, records).rows} == {None}


def test_unbounded_in_rows() -> None:
    #   a b | c d | e       told after every second record
    #   1 5   2 4   9
    records = stream(*((n, None, v) for n, v in zip("abcde", (1, 5, 2, 4, 9), strict=True)))
    spec = Spec(2, "unbounded_rows", slide=2)
    assert told(spec, records) == ["2: ba", "4: bd"]
    assert {row["window_start"] for row in expect(spec, records).rows} == {0}


def test_rows_counted_in_event_time() -> None:
    #   arrival   a   c   b        in time   a   b   c
    #   time     10  30  20                 10  20  30
    #   score     1   3   2        ROWS 2:  [a] [a  b]
    #                                           [b  c]
    records = stream(("a", 10, 1), ("c", 30, 3), ("b", 20, 2))
    assert told(Spec(2, "rows_on", 2, 1, "ts", lateness=15), records) == ["1: a", "2: ba", "3: cb"]


def test_rows_counted_in_event_time_take_equal_times_by_key() -> None:
    #   arrival  z y x, all at 10: counted x y z
    records = stream(("z", 10, 1), ("y", 10, 1), ("x", 10, 1))
    assert told(Spec(3, "rows_on", 1, 1, "ts"), records) == ["1: x", "2: y", "3: z"]


# --- order and ties ------------------------------------------------------------------------------


def test_ties_go_by_further_terms_then_later_then_key() -> None:
    def row(name: str, ts: int, num: int | None, frac: float | None) -> Record:
        return {"id": name, "ts": ts, "val": 1.0, "num": num, "frac": frac}

    records = [
        row("a", 1, None, 0.0),
        row("b", 1, 7, NAN),
        row("c", 2, 7, 3.0),
        row("d", 2, 7, -0.0),
    ]
    records += [row("e", 3, 7, 0.0), row("f", 3, 7, 0.0)]
    one_window = {"width": 10, "slide": 10, "ts": "ts"}
    by_num = Spec(9, "range_slide", **one_window, order=(("val", True), ("num", True)))
    # num 7 before NULL; then later first; then id ascending
    assert told(by_num, records) == ["10: efcdba"]
    # NULL is the smallest, so it comes first when ascending
    by_num_up = Spec(9, "range_slide", **one_window, order=(("val", True), ("num", False)))
    assert told(by_num_up, records) == ["10: aefcdb"]
    # NaN is the largest; -0.0 and 0.0 tie, so e, f (time 3), d (time 2), a (time 1)
    by_frac = Spec(9, "range_slide", **one_window, order=(("val", True), ("frac", True)))
    assert told(by_frac, records) == ["10: bcefda"]


def test_an_explicit_key_replaces_the_selected_columns() -> None:
    records = [
        {"id": "a", "ts": 1, "val": 1.0, "num": 2},
        {"id": "b", "ts": 1, "val": 1.0, "num": 1},
        {"id": "c", "ts": 1, "val": 1.0, "num": None},
    ]
    assert told(Spec(9, "range_slide", 10, 10, "ts", key=("num",)), records) == ["10: cba"]


def test_without_event_time_the_later_arrival_wins() -> None:
    records = stream(("a", None, 1), ("b", None, 1), ("c", None, 1))
    assert told(Spec(2, "rows", 3, 3), records) == ["3: cb"]


def test_ascending_takes_the_smallest_and_shows_it_as_it_is() -> None:
    records = stream(("a", 1, 3), ("b", 1, -2), ("c", 1, math.inf))
    spec = Spec(2, "range_slide", 10, 10, "ts", order=(("val", False),))
    assert [(row["id"], row["score"]) for row in expect(spec, records).rows] == [
        ("b", -2),
        ("a", 3),
    ]


# --- bad and late --------------------------------------------------------------------------------


def test_bad_records_are_named_and_do_not_move_the_watermark() -> None:
    records = stream(("a", 5, 1), ("b", 500, None), ("c", None, 2), ("d", 6, NAN), ("e", 7, 3))
    spec = Spec(1, "range_slide", 10, 10, "ts")
    assert told(spec, records) == ["10: e"]
    assert expect(spec, records).rejects == {
        1: {("val", "score is NULL")},
        2: {("ts", "event time is NULL")},
        3: {("val", "score is NaN")},
    }


def test_where_comes_before_everything() -> None:
    records = stream(("a", 5, 1), ("b", 500, None), ("c", 6, 2))
    spec = Spec(1, "range_slide", 10, 10, "ts", where=lambda r: r["id"] != "b")
    assert told(spec, records) == ["10: c"]
    assert expect(spec, records).rejects == {}


def test_late_records_are_dropped() -> None:
    #   arrival   a   b   c   d       lateness 5
    #   time     12   8  20  14
    #   watermark 7   7  15  15       b (8) is in time, d (14) is late
    records = stream(("a", 12, 1), ("b", 8, 1), ("c", 20, 1), ("d", 14, 9))
    spec = Spec(2, "range_slide", 10, 10, "ts", lateness=5)
    assert told(spec, records) == ["10: b", "20: a", "30: c"]
    assert expect(spec, records).rejects == {3: {("ts", "late")}}
    assert expect(spec, records).late == [3]


def test_without_a_lateness_it_depends_on_the_run() -> None:
    records = stream(("a", 12, 1), ("b", 8, 1), ("c", 20, 1), ("d", 14, 9))
    spec = Spec(2, "range_slide", 10, 10, "ts")
    assert told(spec, records) == ["10: b", "20: da", "30: c"]
    assert expect(spec, records).late == []
    assert expect(spec, records, following=True).late == [1, 3]
    assert told(spec, records, finished=False) == ["20: a"]
    assert told(replace(spec, lateness=0), records) == ["20: a", "30: c"]


def test_an_unfinished_stream_owes_what_the_watermark_has_passed() -> None:
    #   watermark 15: 10 has passed, 20 has not
    records = stream(("a", 12, 1), ("b", 8, 1), ("c", 20, 1))
    spec = Spec(2, "range_slide", 10, 10, "ts", lateness=5)
    assert told(spec, records, finished=False) == ["10: b"]
    # at every arrival: 8 and 12 have passed, 20 may still get company
    assert told(Spec(1, "range", 1, ts="ts", lateness=5), records, finished=False) == [
        "8: b",
        "12: a",
    ]


def test_late_records_revise() -> None:
    #   0         10        20        30
    #   |    a c  |b        | d       |       arrival: a b c d
    #        1 9   2          3
    #   b (11) makes 10 due; c (7) is late; d (22) makes 20 due and sends the correction of 10
    records = stream(("a", 5, 1), ("b", 11, 2), ("c", 7, 9), ("d", 22, 3))
    spec = Spec(2, "range_slide", 20, 10, "ts", late="REVISE")
    assert told(spec, records) == ["10 r0: a", "10 r1: ca", "20 r0: cb", "30 r0: db"]


def test_late_records_between_two_due_moments_make_one_revision() -> None:
    #   a(5) b(11): 10 is due. c(7), e(8) late, then the end of the run
    records = stream(("a", 5, 1), ("b", 11, 2), ("c", 7, 9), ("e", 8, 8))
    spec = Spec(3, "range_slide", 10, 10, "ts", late="REVISE")
    assert told(spec, records) == ["10 r0: a", "10 r1: cea", "20 r0: b"]


def test_a_late_record_that_changes_nothing_sends_nothing() -> None:
    records = stream(("a", 5, 5), ("b", 11, 2), ("c", 7, 1))
    spec = Spec(1, "range_slide", 10, 10, "ts", late="REVISE")
    assert told(spec, records) == ["10 r0: a", "20 r0: b"]


def test_a_late_record_before_all_others_is_a_first_report() -> None:
    #   a(25) then c(5), late: 10 and 20 were never told; b(31) makes 30 due
    records = stream(("a", 25, 1), ("c", 5, 2), ("b", 31, 1))
    spec = Spec(1, "range_slide", 10, 10, "ts", late="REVISE")
    assert told(spec, records) == ["10 r0: c", "30 r0: a", "40 r0: b"]


# --- changes -------------------------------------------------------------------------------------


def test_changes_of_a_range() -> None:
    #   0         10        20        30        40
    #   |    a    | b c     |         |      d  |
    #        5      7 6                      1
    #   10: a       20: b c a    30: b c    40: d
    records = stream(("a", 5, 5), ("b", 12, 7), ("c", 15, 6), ("d", 38, 1))
    spec = Spec(3, "range_slide", 20, 10, "ts", emit="CHANGES")
    assert told_changes(spec, records) == [
        "10: enter a None->1",
        "20: enter b None->1", "20: enter c None->2", "20: move a 1->3",
        "30: leave a 3->None",
        "40: leave b 1->None", "40: leave c 2->None", "40: enter d None->1",
    ]  # fmt: skip


def test_entries_are_the_first_enters() -> None:
    #   a b c d e    three in the window, the best two of them: a, ab, ca, cb, ce
    #   5 3 9 1 4    b comes back at 4, when a has gone, and is not told again
    scores = zip("abcde", (5, 3, 9, 1, 4), strict=True)
    records = [{"id": name, "val": score} for name, score in scores]
    assert told_changes(Spec(2, "rows", 3, 1, emit="ENTRIES"), records) == [
        "1: enter a None->1", "2: enter b None->2", "3: enter c None->1", "5: enter e None->2",
    ]  # fmt: skip
    assert "4: enter b None->2" in told_changes(Spec(2, "rows", 3, 1, emit="CHANGES"), records)


def test_changes_skip_windows_that_are_alike() -> None:
    day = 86_400_000_000
    spec = Spec(1, "range_slide", day, 1, "ts", emit="CHANGES")
    assert told_changes(spec, stream(("a", 0, 1), ("b", 2 * day, 1))) == [
        "1: enter a None->1",
        f"{day + 1}: leave a 1->None",
        f"{2 * day + 1}: enter b None->1",
    ]


def test_changes_of_rows() -> None:
    #   a b c with 2 1 3, ROWS 2
    records = stream(("a", None, 2), ("b", None, 1), ("c", None, 3))
    assert told_changes(Spec(2, "rows", 2, emit="CHANGES"), records) == [
        "1: enter a None->1",
        "2: enter b None->2",
        "3: leave a 1->None", "3: enter c None->1",
    ]  # fmt: skip


def test_changes_of_revisions_are_not_judged() -> None:
    spec = Spec(1, "range_slide", 10, 10, "ts", late="REVISE", emit="CHANGES")
    with pytest.raises(ValueError, match="no defined meaning"):
        expect(spec, [])
