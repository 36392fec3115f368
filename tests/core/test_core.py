"""Panes, the total order, state as bytes, errors that point."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import QueryError, StateError
from crestline.core.order import sort_codes, tie_ranks
from crestline.core.snapshots import Snapshots
from crestline.core.state import VERSION, pack, unpack
from crestline.core.window import Panes, RangeWindow, RowsWindow, UnboundedWindow, counts_rows


@given(st.integers(1, 500), st.integers(1, 500), st.integers(-2000, 2000))
def test_panes_say_what_windows_say(width: int, slide: int, time: int) -> None:
    """A record is in the window ending at e by its time exactly when it is by its pane."""
    panes = RangeWindow(width, slide, "ts").panes
    pane = time // panes.length
    for end in range(-2400 // slide * slide, 3000, slide):
        by_time = end - width <= time < end
        by_pane = end // panes.length - panes.width <= pane < end // panes.length
        assert by_time == by_pane


def test_kinds_of_windows() -> None:
    assert RangeWindow(7, None, "ts").panes == Panes(1, 7, 1, on_arrival=True)
    assert RowsWindow(10, 4).panes == Panes(2, 5, 2)
    assert UnboundedWindow(3).panes.unbounded and UnboundedWindow(3).panes.per_window == 1
    assert counts_rows(UnboundedWindow(3)) and not counts_rows(UnboundedWindow(3, "ts"))


COLUMNS = [
    (pa.array([2.5, None, float("nan"), -0.0, 0.0, float("-inf")]), [3, -1, 4, 2, 2, 1]),
    (pa.array(["b", None, "", "a", "é", "b"]), None),
    (pa.array([True, None, False, True, False, None]), None),
    (pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-2"), None] + [None] * 2), None),
    (pa.array([dt.date(2024, 1, 1), None, dt.date(1969, 1, 1)] + [None] * 3), None),
    (pa.array(["b", None, "a", "b", "a", "c"]).dictionary_encode(), None),
    (pa.array([2**64 - 1, None, 0, 5, 5, 1], pa.uint64()), None),
    (pa.array([1, 3, 2, -5, 2**62, 0]), None),
    (pa.nulls(6), [-1] * 6),
    (pa.array([[1], None, [0], [1, 2], [], [1]]), None),
]


@pytest.mark.parametrize(("column", "wanted"), COLUMNS, ids=[str(c.type) for c, _ in COLUMNS])
def test_sort_codes(column: pa.Array, wanted: list[int] | None) -> None:
    codes = sort_codes(column).tolist()
    values = column.to_pylist()
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a is None or b is None:
                assert (codes[i] < codes[j]) == (a is None and b is not None)
            elif a == a and b == b and not isinstance(a, list):  # NaN and lists: see ``wanted``
                assert (codes[i] < codes[j]) == (a < b), (a, b)
    if wanted is not None:
        ranks = {code: rank for rank, code in enumerate(sorted(set(codes)))}
        expected = {code: rank for rank, code in enumerate(sorted(set(wanted)))}
        assert [ranks[c] for c in codes] == [expected[w] for w in wanted]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
def test_sort_codes_of_many_texts_that_repeat(kind: pa.DataType) -> None:
    values = ["b", None, "", "\u00e9", "a", "Z", "\U0001f600"]
    column = pa.array([values[i * 3 % 7] for i in range(1, 5_000)]).cast(kind)
    codes = dict(zip(column.to_pylist(), sort_codes(column).tolist(), strict=True))
    assert codes.pop(None) == -1
    texts = [value if isinstance(value, bytes) else value.encode() for value in codes]
    assert [codes[value] for value in codes] == [sorted(texts).index(text) for text in texts]
    assert sort_codes(pa.nulls(5_000, kind)).tolist() == [-1] * 5_000


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), max_size=40))
def test_tie_ranks_order_what_ties(records: list[tuple[int, int, int]]) -> None:
    scores = np.array([r[0] for r in records], np.float64)
    partition = np.array([r[1] for r in records], np.int64)
    seconds = [r[2] for r in records]

    def columns(places: np.ndarray) -> list[tuple[pa.Array, bool]]:
        yield pa.array([seconds[p] for p in places]), True
        yield pa.array([int(p) for p in places]), False

    ranks = tie_ranks(scores, partition, columns)
    for i, a in enumerate(records):
        for j, b in enumerate(records):
            if i != j and a[:2] == b[:2]:
                assert ranks is not None
                assert (ranks[i] > ranks[j]) == ((a[2], -i) > (b[2], -j))


def test_no_ties_no_ranks() -> None:
    assert tie_ranks(np.array([1.0, 2.0]), np.zeros(2, np.int64), lambda places: iter(())) is None
    assert tie_ranks(np.array([1.0, 1.0]), np.array([0, 1]), lambda places: iter(())) is None


STATE = {
    "k": 3,
    "none": None,
    "arrays": {"a": np.arange(5), "f": np.array([1.5])},
    "b": b"\x00\xff",
}


def test_state_round_trip() -> None:
    found = unpack(pack(STATE))
    assert found["k"] == 3 and found["none"] is None and found["b"] == b"\x00\xff"
    assert found["arrays"]["a"].tolist() == [0, 1, 2, 3, 4]
    assert found["arrays"]["f"].dtype == np.float64


def test_state_refuses_what_is_not_a_state() -> None:
    data = pack(STATE)
    with pytest.raises(StateError, match="not a Crestline state"):
        unpack(b"hello")
    with pytest.raises(StateError, match=f"version {VERSION + 1}"):
        unpack(data[:4] + (VERSION + 1).to_bytes(2, "little") + data[6:])
    for place in range(len(data) // 3, len(data), 7):
        with pytest.raises(StateError, match="damaged"):
            unpack(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(StateError):
        unpack(data[: len(data) // 2])
    with pytest.raises(TypeError, match="cannot store"):
        pack({"objects": np.array([object()])})


def test_an_error_points_into_a_long_line() -> None:
    text = "x" * 500 + "HERE" + "y" * 500
    lines = str(QueryError("wrong", text, 500, 4)).split("\n")
    assert lines[0] == "line 1, column 501: wrong"
    marked = lines[1][lines[2].index("^") : lines[2].rindex("^") + 1]
    assert marked == "HERE" and len(lines[1]) < 120


def test_the_latest_snapshot_of_a_partition() -> None:
    told = Snapshots.of(
        partition=np.array([0, 0, 1]), end=np.array([20, 10, 30]), count=np.array([2, 1, 1]),
        id=np.array([5, 6, 7, 8]), score=np.array([4.0, 3.0, 2.0, 1.0]),
    )  # fmt: skip
    assert [told.latest_of(p).tolist() for p in (0, 1, 2)] == [[5, 6], [8], []]
    # Those of several queries are ordered by query first: the last in order may not be the latest.
    asked = told.ordered(np.array([1, 2, 0]))
    assert asked.end.tolist() == [20, 30, 10]
    assert [asked.latest_of(p).tolist() for p in (0, 1)] == [[5, 6], [8]]
