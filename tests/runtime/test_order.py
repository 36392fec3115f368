"""Order and ties: exact for every type, and a result of the records alone."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from local.engines import assert_judged, assert_same_rows, column, examples, rows_of, run_case
from strategies import Case, cases

NAN = math.nan
IN_ROWS = "SELECT TOP {k} id FROM s [ROWS 100 SLIDE {n}] ORDER BY {order}"
IN_TIME = "SELECT TOP {k} id FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] ORDER BY {order}"


def best(order: str, columns: dict[str, Any], k: int = 100, query: str = IN_TIME) -> list[Any]:
    """The ids of one window over all records, all at the same time."""
    count = len(next(iter(columns.values())))
    table = {
        "id": pa.array(range(count)),
        "ts": pa.array([0] * count, pa.timestamp("us", tz="UTC")),
    }
    table |= {name: v if isinstance(v, pa.Array) else pa.array(v) for name, v in columns.items()}
    return column(query.format(k=k, n=count, order=order), pa.table(table), "id")


INTEGER_TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
]
NUMBER_TYPES = [*INTEGER_TYPES, pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(21, 2)]


@pytest.mark.parametrize("kind", NUMBER_TYPES, ids=str)
@pytest.mark.parametrize("query", [IN_TIME, IN_ROWS], ids=["time", "rows"])
def test_every_numeric_type_is_a_score(kind: pa.DataType, query: str) -> None:
    scores = pa.array([3, 1, 100, 2], pa.int64()).cast(kind)
    assert best("val DESC", {"val": scores}, query=query) == [2, 0, 3, 1]
    assert best("val ASC", {"val": scores}, k=3, query=query) == [1, 3, 0]


@pytest.mark.parametrize("kind", INTEGER_TYPES, ids=str)
def test_the_ends_of_integer_types(kind: pa.DataType) -> None:
    """Negating the smallest integer overflows: a classic way to rank it first."""
    bits = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    scores = pa.array([high, low, low + 2, low + 1, high - 1], kind)
    assert best("val DESC", {"val": scores}) == [0, 4, 2, 3, 1]
    assert best("val ASC", {"val": scores}) == [1, 3, 2, 4, 0]


def test_the_end_of_uint64() -> None:
    scores = pa.array([2**64 - 1, 2**63, 2**63 - 1, 0], pa.uint64())
    assert best("val DESC", {"val": scores}) == [0, 1, 2, 3]
    assert best("val ASC", {"val": scores}) == [3, 2, 1, 0]


@pytest.mark.parametrize("query", [IN_TIME, IN_ROWS], ids=["time", "rows"])
def test_integers_beyond_the_exact_doubles_are_told_apart(query: str) -> None:
    big = 2**53
    scores = [big, big + 1, big + 2, big + 3, -big - 1, -big]
    assert best("val DESC", {"val": scores}, query=query) == [3, 2, 1, 0, 5, 4]
    assert best("val ASC", {"val": scores}, k=2, query=query) == [4, 5]


def test_decimals_are_compared_exactly() -> None:
    scores = [Decimal(t) for t in ("1.000000000000000001", "1.000000000000000002", "1.0", "-1.0")]
    array = pa.array(scores, pa.decimal128(30, 18))
    assert best("val DESC", {"val": array}) == [1, 0, 2, 3]
    assert best("val ASC", {"val": array}, k=2) == [3, 2]


def test_float32_keeps_its_own_values() -> None:
    scores = pa.array([0.1, 0.2, math.inf, -math.inf], pa.float32())
    assert best("val DESC", {"val": scores}) == [2, 1, 0, 3]


def test_infinities_are_scores_and_zeros_are_equal() -> None:
    scores = [0.0, -0.0, -math.inf, math.inf, 5e-324]
    # 0.0 and -0.0 tie, and the key (id, ascending) decides.
    assert best("val DESC", {"val": scores}) == [3, 4, 0, 1, 2]
    assert best("val DESC", {"val": [-0.0, 0.0]}) == [0, 1]
    assert best("val ASC", {"val": [0.0, -0.0]}) == [0, 1]


FURTHER_TERMS = [
    pytest.param([None, 3, 1, 2], [1, 3, 2, 0], id="integers"),
    pytest.param([2**53 + 1, 2**53, None, 2**53 + 2], [3, 0, 1, 2], id="large integers"),
    pytest.param([0.5, NAN, None, 2.0], [1, 3, 0, 2], id="floats"),
    pytest.param([1.0, math.inf, NAN, -math.inf], [2, 1, 0, 3], id="infinities"),
    pytest.param(["b", "a", None, "é"], [3, 0, 1, 2], id="text"),
    pytest.param(["a", "B", "", "𝔵"], [3, 0, 1, 2], id="text by code point"),
    pytest.param(["ab", "a", "abc", "b"], [3, 2, 0, 1], id="prefixes"),
    pytest.param([True, None, False], [0, 2, 1], id="booleans"),
    pytest.param([Decimal("1.5"), None, Decimal("2.5")], [2, 0, 1], id="decimals"),
    pytest.param([b"\x00", b"\xff", None, b""], [1, 0, 3, 2], id="bytes"),
]


@pytest.mark.parametrize(("values", "descending"), FURTHER_TERMS)
@pytest.mark.parametrize("query", [IN_TIME, IN_ROWS], ids=["time", "rows"])
def test_further_terms_of_every_type(values: list[Any], descending: list[int], query: str) -> None:
    """NULL is the smallest and NaN the largest, in both directions."""
    columns = {"val": [1.0] * len(values), "more": pa.array(values)}
    assert best("val DESC, more DESC", columns, query=query) == descending
    assert best("val DESC, more ASC", columns, query=query) == descending[::-1]


def test_a_further_term_of_time_type() -> None:
    times = pa.array([3_000, 1_000, None, 2_000], pa.timestamp("ns"))
    assert best("val DESC, more DESC", {"val": [1] * 4, "more": times}) == [0, 3, 1, 2]


def test_two_further_terms_and_directions() -> None:
    columns = {"val": [1] * 5, "a": ["x", "y", "x", "y", None], "b": [1, 1, 2, None, 9]}
    assert best("val DESC, a ASC, b DESC", columns) == [4, 2, 0, 1, 3]
    assert best("val DESC, a DESC, b ASC", columns) == [3, 1, 0, 2, 4]


def test_then_the_later_record_then_the_key() -> None:
    table = pa.table(
        {
            "id": ["c", "b", "a", "d"],
            "num": [1, 1, 0, None],
            "ts": pa.array([5, 5, 5, 7], pa.timestamp("us", tz="UTC")),
            "val": [1, 1, 1, 1],
        }
    )
    window = "FROM s [RANGE 1 s SLIDE 1 s ON ts] ORDER BY val DESC"
    assert column(f"SELECT TOP 9 id {window}", table, "id") == ["d", "a", "b", "c"]
    assert column(f"SELECT TOP 9 num, id {window}", table, "id") == ["d", "a", "b", "c"]
    assert column(f"SELECT TOP 9 num {window} KEY (id)", table, "num") == [None, 0, 1, 1]
    assert column(f"SELECT TOP 9 id {window} KEY (num)", table, "id") == ["d", "a", "b", "c"]


def test_a_key_with_nulls_first_and_several_columns() -> None:
    columns = {"val": [1] * 4, "a": ["y", None, "x", "x"], "b": [1, 1, 2, None]}
    query = "SELECT TOP {k} id FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] ORDER BY {order} KEY (a, b)"
    assert best("val DESC", columns, query=query) == [1, 3, 2, 0]


def test_without_event_time_the_later_arrival_wins() -> None:
    assert best("val DESC", {"val": [1, 1, 2, 1]}, k=3, query=IN_ROWS) == [2, 3, 1]


def test_a_score_that_is_an_expression() -> None:
    columns = {"price": [2.0, 3.0, 10.0], "size": [10, 5, 1]}
    assert best("price * size DESC, price ASC", columns) == [0, 1, 2]
    assert best("abs(price - 3) ASC", columns) == [1, 0, 2]


def test_the_score_column_shows_the_value_as_it_is() -> None:
    table = pa.table({"id": [1, 2], "val": pa.array([-5, 7], pa.int32())})
    query = "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 2] ORDER BY val {}"
    assert column(query.format("ASC"), table, "score") == [-5.0, 7.0]
    assert column(query.format("DESC"), table, "score") == [7.0, -5.0]


def test_selected_columns_keep_their_types_and_values() -> None:
    table = pa.table(
        {
            "val": [1, 2],
            "text": pa.array(["é", None]),
            "flag": [True, None],
            "small": pa.array([None, -3], pa.int8()),
            "exact": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
            "raw": pa.array([b"\x00\xff", None]),
            "many": pa.array([[1, 2], None], pa.list_(pa.int32())),
        }
    )
    names = ["text", "flag", "small", "exact", "raw", "many"]
    query = f"SELECT TOP 2 {', '.join(names)} FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC"
    got = crestline.run(query, {"s": table}, engine="local").to_arrow().select(names)
    assert got.schema.types == table.select(names).schema.types
    assert got.to_pylist() == table.select(names).to_pylist()[::-1]


@pytest.mark.parametrize("kinds", [("range_slide",), ("range",), ("rows_on",)], ids=lambda k: k[0])
def test_the_arrival_order_never_shows(kinds: Any) -> None:
    """Any permutation gives the same rows, when the lateness allows for it."""

    @examples(40)
    @given(st.data(), cases(kinds=kinds, bad=False, lateness=10**15))
    def holds(data: st.DataObject, case: Case) -> None:
        shuffled = case.with_records(data.draw(st.permutations(case.records)))
        assert_same_rows(
            rows_of(run_case(shuffled).to_arrow()),
            rows_of(run_case(case).to_arrow()),
            case.spec.text(),
        )

    holds()


@examples(40)
@given(cases(where=None, where_sql=None), st.booleans())
def test_all_scores_equal(case: Case, descending: bool) -> None:
    """Then everything hangs on the ties."""
    records = [{**r, "val": 1 if case.integers else 1.0} for r in case.records]
    order = (("val", descending), *case.spec.order[1:])
    assert_judged(case.with_records(records).with_spec(order=order))
