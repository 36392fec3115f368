"""Hostile input: the right answer or a clear error, and never slowly."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import CrestlineError, PlanError, QueryError, SourceError
from crestline.testing import Spec, expect
from hostile_queries import Asking
from hostile_queries import table as random_table
from local.engines import (
    Algorithm,
    ask,
    assert_judged,
    at,
    catalogue,
    column,
    moment,
    rejects_of,
    rows_of,
    run,
    supports,
)
from refusals import REFUSALS, refusals
from strategies import DAY, Case, to_table

ALGORITHMS = [pytest.param(algorithm, id=algorithm.name) for algorithm in catalogue()]
BLANK = dict.fromkeys(("num", "frac", "txt", "flag", "grp", "site"))


def records(*pairs: tuple[int | None, float | None]) -> list[dict[str, Any]]:
    """``(time, score)`` as full records, numbered."""
    return [{**BLANK, "id": n, "ts": ts, "val": val} for n, (ts, val) in enumerate(pairs)]


def judge(spec: Spec, stream: list[dict[str, Any]], algorithm: Algorithm) -> None:
    if not supports(algorithm)(spec):
        pytest.skip(f"{algorithm.name} does not know this window")
    assert_judged(Case(spec, stream), algorithm.name)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Generous, for slow machines: the mistakes it looks for cost minutes or all memory."""
    start = time.perf_counter()
    yield
    took = time.perf_counter() - start
    assert took < seconds, f"took {took:.1f} s"


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


# --- gaps and tiny slides ------------------------------------------------------------------------


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


# --- zones and times -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "hours"),
    [("2024-03-10T04:30:00+00:00", 6), ("2024-11-03T03:30:00+00:00", 6)],
    ids=["spring forward", "fall back"],
)
def test_hours_over_a_change_of_daylight_saving(start: str, hours: int) -> None:
    """The clock in New York skips or repeats an hour; windows, in UTC, do neither."""
    zone = "America/New_York"
    first = datetime.fromisoformat(start)
    times = [first + timedelta(hours=h) for h in range(hours)]
    table = pa.table(
        {
            "id": list(range(hours)),
            "ts": pa.array(times, pa.timestamp("us", tz=zone)),
            "val": [1.0] * hours,
        }
    )
    query = "SELECT TOP 1 id, ts FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] ORDER BY val DESC"
    wanted = [at(t.isoformat()) + 30 * 60 * 1_000_000 for t in times]
    dicts = [{"id": n, "ts": t.astimezone(ZoneInfo(zone)), "val": 1.0} for n, t in enumerate(times)]
    for data in (table, table.to_pandas(), dicts):
        rows = ask(query, data)
        assert [row["window_end"] for row in rows] == wanted
        assert [row["id"] for row in rows] == list(range(hours))
        assert [row["ts"] for row in rows] == [at(t.isoformat()) for t in times]


def test_the_result_does_not_depend_on_the_zone_of_the_machine(
    monkeypatch: Any, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,ts,val\n1,2024-03-10 02:30:00,1\n")  # an hour that New York never had
    query = "SELECT TOP 1 id FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] ORDER BY val DESC"
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert column(query, path, "window_end") == [at("2024-03-10T03:00:00")]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("year", [1, 1582, 9999])
def test_the_ends_of_the_calendar(year: int) -> None:
    instant = datetime(year, 6, 15, 12, 0, tzinfo=UTC)
    table = pa.table(
        {"id": [1], "ts": pa.array([instant], pa.timestamp("us", tz="UTC")), "val": [1.0]}
    )
    query = "SELECT TOP 1 id FROM s [RANGE 1 DAY SLIDE 1 DAY ON ts] ORDER BY val DESC"
    assert column(query, table, "window_end") == [at(f"{year:04}-06-16")]


# --- names ---------------------------------------------------------------------------------------

ODD_NAMES = [
    "two words",
    "ünïcode",
    "日本",
    'a"b',
    "it's",
    "semi;colon",
    "select",
    "a.b",
    "[x]",
    "--",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_column_names(name: str) -> None:
    quoted = f"`{name}`"
    table = pa.table(
        {
            name: pa.array([3.0, 1.0, 2.0]),
            f"{name} t": pa.array([0, 1, 2], pa.timestamp("us", tz="UTC")),
            f"{name} p": ["x", "x", "y"],
        }
    )
    rows = ask(
        f"SELECT TOP 1 {quoted} FROM s [RANGE 1 s SLIDE 1 s ON `{name} t`] WHERE {quoted} < 2.5"
        f" PARTITION BY `{name} p` ORDER BY {quoted} DESC KEY ({quoted})",
        table,
    )
    assert [(row[f"{name} p"], row[name]) for row in rows] == [("x", 1.0), ("y", 2.0)]


def test_a_backtick_in_a_name() -> None:
    table = pa.table({"a`b": [1.0, 2.0]})
    assert column(
        "SELECT TOP 1 `a``b` FROM s [ROWS 2 SLIDE 2] ORDER BY `a``b` DESC", table, "a`b"
    ) == [2]


@pytest.mark.parametrize("name", ["my stream", 'a "quoted" one', "it's", "ünïcode", "a;b"])
def test_odd_stream_names(name: str) -> None:
    table = pa.table({"val": [1.0, None]})
    query = f"SELECT TOP 1 val FROM `{name}` [ROWS 1] ORDER BY val DESC"
    results = crestline.run(query, {name: table}, engine="local")
    assert len(results) == 1
    assert results.rejects.column("stream").to_pylist() == [name]


def test_a_stream_that_was_not_given() -> None:
    query = "SELECT TOP 1 val FROM trades [ROWS 1] ORDER BY val DESC"
    for streams in ({}, {"quotes": pa.table({"val": [1.0]})}):
        with pytest.raises(CrestlineError) as caught:
            crestline.run(query, streams, engine="local")
        assert "trades" in str(caught.value)
        assert all(given in str(caught.value) for given in streams)


def test_names_that_the_result_uses_itself() -> None:
    """A stream may have a column called rank or score; its values must not be mixed up."""
    table = pa.table({"rank": [7, 8], "score": [1.0, 2.0], "query": ["p", "q"]})
    query = "SELECT TOP 1 rank AS level, query AS text FROM s [ROWS 2 SLIDE 2] ORDER BY score DESC"
    (row,) = ask(query, table)
    assert (row["rank"], row["level"], row["text"], row["query"]) == (1, 8, "q", "query")


def test_a_result_never_has_two_columns_of_one_name() -> None:
    table = pa.table({"rank": [7, 8], "val": [1.0, 2.0], "grp": ["x", "x"]})
    for query in (
        "SELECT TOP 1 rank FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC",
        "SELECT TOP 1 grp FROM s [ROWS 2 SLIDE 2] PARTITION BY grp ORDER BY val DESC",
        "SELECT TOP 1 val, val FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC",
    ):
        try:
            names = crestline.run(query, {"s": table}, engine="local").to_arrow().column_names
        except (QueryError, PlanError, SourceError) as error:
            assert "AS" in str(error), "say how to give it another name"
        else:
            assert len(names) == len(set(names)), query


# --- values and types ----------------------------------------------------------------------------


def test_large_integers_that_differ_by_one() -> None:
    base = 2**62
    table = pa.table({"id": list("abcd"), "val": [base, base + 1, base - 1, base + 2]})
    query = "SELECT TOP 4 id FROM s [ROWS 4 SLIDE 4] ORDER BY val {}"
    assert column(query.format("DESC"), table, "id") == list("dbac")
    assert column(query.format("ASC"), table, "id") == list("cabd")


def test_decimals_wider_than_any_machine_number() -> None:
    scores = [Decimal(10) ** 30, Decimal(10) ** 30 + 1, -(Decimal(10) ** 30)]
    table = pa.table({"id": list("abc"), "val": pa.array(scores, pa.decimal128(38, 0))})
    query = "SELECT TOP 3 id FROM s [ROWS 3 SLIDE 3] ORDER BY val DESC"
    assert column(query, table, "id") == ["b", "a", "c"]


def test_a_boolean_score_is_refused_or_counts_as_a_number() -> None:
    table = pa.table({"id": [1, 2], "val": [False, True]})
    try:
        assert column("SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC", table, "id") == [
            2
        ]
    except SourceError as error:
        assert "val" in str(error)


@pytest.mark.parametrize(
    "values", [["a", "b"], [[1], [2]], [{"x": 1}, {"x": 2}], [b"a", b"b"]], ids=repr
)
def test_scores_that_are_no_numbers_name_the_column(values: list[Any]) -> None:
    table = pa.table({"id": [1, 2], "val": pa.array(values)})
    with pytest.raises(SourceError, match="val"):
        ask("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC", table)


def test_a_score_that_divides_by_zero() -> None:
    """Spark SQL gives NULL for x / 0, and NULL is a reason to set the record aside."""
    table = pa.table({"id": [1, 2], "a": [1.0, 1.0], "b": [0.0, 2.0]})
    query = "SELECT TOP 2 id FROM s [ROWS 1] ORDER BY a / b DESC"
    results = crestline.run(query, {"s": table}, engine="local")
    assert [row["id"] for row in rows_of(results.to_arrow())] == [2]
    assert [(row, reason) for row, _, reason in rejects_of(results)] == [(0, "score is NULL")]


def test_a_null_column_as_score() -> None:
    table = pa.table({"id": [1, 2], "val": pa.nulls(2)})
    try:
        results = crestline.run(
            "SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC", {"s": table}, engine="local"
        )
    except SourceError as error:
        assert "val" in str(error)
    else:
        assert len(results) == 0
        assert results.rejects.num_rows == 2


def test_partition_values_that_are_easily_confused() -> None:
    """NULL, the empty text, blanks, text that looks like NULL, and neighbours that run together."""
    pairs = [
        (None, "x"),
        ("", "x"),
        (" ", "x"),
        ("NULL", "x"),
        ("a", "bc"),
        ("ab", "c"),
        (None, None),
    ]
    table = pa.table(
        {
            "a": [a for a, _ in pairs] * 2,
            "b": [b for _, b in pairs] * 2,
            "id": list(range(14)),
            "val": [1.0] * 14,
        }
    )
    rows = ask("SELECT TOP 9 id FROM s [ROWS 2 SLIDE 2] PARTITION BY a, b ORDER BY val DESC", table)
    got = {(row["a"], row["b"]): [] for row in rows}  # type: dict[Any, list[int]]
    for row in rows:
        got[(row["a"], row["b"])].append(row["id"])
    assert got == {pair: [n + 7, n] for n, pair in enumerate(pairs)}


def test_partition_by_an_expression() -> None:
    table = pa.table({"id": [1, 2, 3], "price": [5.0, 15.0, 12.0]})
    query = (
        "SELECT TOP 1 id FROM s [ROWS 1] PARTITION BY price > 10 AS dear ORDER BY price DESC"
        " EMIT SNAPSHOTS"
    )
    rows = ask(query, table)
    assert [(row["window_end"], row["dear"], row["id"]) for row in rows] == [
        (1, False, 1), (1, True, 2), (2, True, 3),
    ]  # fmt: skip


# --- the query itself ----------------------------------------------------------------------------


def test_a_query_of_100_kilobytes() -> None:
    condition = " OR ".join(f"val = {n}" for n in range(9_000))
    query = f"SELECT TOP 1 val FROM s [ROWS 2 SLIDE 2] WHERE {condition} ORDER BY val DESC"
    assert len(query) > 100_000
    table = pa.table({"val": [1.0, 8_999.0, 9_001.5]})
    with within(60):
        try:
            assert column(query, table, "val") == [8_999.0]
        except CrestlineError as error:
            assert len(str(error)) < 1_000, "a clear error does not repeat the query"


@pytest.mark.parametrize(
    "condition",
    [
        "id IN (SELECT 1)",
        "id = (SELECT max(id) FROM s)",
        "read_text('/etc/hostname') <> ''",
        "getenv('HOME') <> ''",
    ],
)
def test_conditions_that_reach_outside_are_refused(condition: str) -> None:
    table = pa.table({"id": [1], "val": [1.0]})
    with pytest.raises(CrestlineError):
        ask(f"SELECT TOP 1 id FROM s [ROWS 1] WHERE {condition} ORDER BY val", table)


def test_an_unknown_algorithm_is_answered_with_the_known_ones() -> None:
    table = pa.table({"id": [1], "val": [1.0]})
    with pytest.raises(CrestlineError) as caught:
        ask("SELECT TOP 1 id FROM s [ROWS 1] ORDER BY val USING MAGIC", table)
    assert "MAGIC" in str(caught.value)
    assert "MINTOPK" in str(caught.value)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_window_that_an_algorithm_does_not_know_is_refused(algorithm: Algorithm) -> None:
    table = to_table(records((1, 1.0)))
    specs = [
        Spec(1, "range", 5, ts="ts"),
        Spec(1, "unbounded_rows", slide=1),
        Spec(1, "unbounded_time", slide=1, ts="ts"),
        Spec(1, "rows_on", 2, 1, "ts"),
    ]
    for spec in specs:
        if supports(algorithm)(spec):
            assert len(run(spec, table, algorithm.name)) == 1
        else:
            with pytest.raises(PlanError, match=algorithm.name):
                run(spec, table, algorithm.name)


def test_a_slide_of_zero_or_a_k_of_zero_is_refused() -> None:
    table = to_table(records((1, 1.0)))
    for query in (
        "SELECT TOP 0 id FROM s [ROWS 1] ORDER BY val",
        "SELECT TOP 1 id FROM s [ROWS 0] ORDER BY val",
        "SELECT TOP 1 id FROM s [RANGE 0 SECONDS SLIDE 1 SECOND ON ts] ORDER BY val",
        "SELECT TOP 1 id FROM s [RANGE 1 SECOND SLIDE 0 SECONDS ON ts] ORDER BY val",
    ):
        with pytest.raises(QueryError):
            ask(query, table)


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


# --- queries and tables drawn at random ----------------------------------------------------------


def test_every_exception_that_a_fuzzer_may_see() -> None:
    """They are those that users can catch by their name, and each is a ``CrestlineError``."""
    public = {getattr(crestline, name) for name in crestline.__all__ if name.endswith("Error")}
    assert set(REFUSALS) == public - {CrestlineError, crestline.MissingExtraError}
    assert all(issubclass(kind, CrestlineError) for kind in REFUSALS)
    with pytest.raises(AssertionError, match="OverflowError came out"), refusals():
        float(10**400)
    with pytest.raises(AssertionError, match="PlanError came out"), refusals(QueryError):
        raise PlanError("not here")


@pytest.mark.parametrize("seed", range(3))
def test_random_queries_over_random_tables(seed: int) -> None:
    """Every clause, function and type: an answer or a refusal."""
    chance = random.Random(seed)
    answered = 0
    for _ in range(150):
        table = random_table(chance)
        query = Asking(chance, table.column_names).query()
        with refusals(QueryError):
            crestline.parse(query)
        with refusals(QueryError, PlanError):
            str(crestline.explain(query))
        with refusals(QueryError, PlanError, SourceError) as refused:
            crestline.run(query, {"s": table}, engine="local").to_arrow()
        answered += not refused
        with refusals(QueryError, PlanError, SourceError):
            session = crestline.open(query, engine="local")
            session.push(table.slice(0, 1))
            session.push(table.slice(1).to_pylist())
            session.snapshot()
            session.finish()
    assert answered, "some queries fit their table"


ODD_TYPES = [
    pytest.param(pa.array([{"a": 1}, {"a": None}]), id="struct"),
    pytest.param(pa.array([{"a": None}, {"a": None}]), id="struct of NULL"),
    pytest.param(pa.array([[1], []]), id="list"),
    pytest.param(pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())), id="map"),
    pytest.param(pa.array([[("k", None)], []], pa.map_(pa.string(), pa.null())), id="map to NULL"),
    pytest.param(pa.array([b"a", b"\xff"]), id="binary"),
    pytest.param(pa.array([b"a", b"\xff"], pa.binary_view()), id="binary view"),
    pytest.param(pa.array(["a", "b"], pa.string_view()), id="text view"),
    pytest.param(pa.array([["a"], ["b"]], pa.list_(pa.string_view())), id="list of views"),
    pytest.param(pa.array([1.5, 2.5], pa.float16()), id="half"),
    pytest.param(pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(5, 2)), id="decimal32"),
    pytest.param(pa.array([Decimal(100), Decimal(300)], pa.decimal128(5, -2)), id="hundreds"),
    pytest.param(pa.array([5, 7], pa.time32("s")), id="time"),
    pytest.param(pa.array([5, 7], pa.duration("ns")), id="duration"),
    pytest.param(pa.array([(1, 2, 3), (3, 2, 1)], pa.month_day_nano_interval()), id="interval"),
    pytest.param(pa.array([5, 7]).dictionary_encode(), id="dictionary of numbers"),
    pytest.param(pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([5, 7])), id="runs"),
    pytest.param(pa.nulls(2), id="NULL"),
]


@pytest.mark.parametrize("odd", ODD_TYPES)
def test_columns_of_every_type_can_be_selected_and_break_ties(odd: pa.Array) -> None:
    table = pa.table({"odd": odd, "val": [1.0, 1.0]})
    for rest in ("ORDER BY val", "ORDER BY val, odd", "ORDER BY val KEY (odd)"):
        query = f"SELECT TOP 2 odd FROM s [ROWS 2 SLIDE 2] {rest}"
        assert len(column(query, table, "odd")) == 2
    query = "SELECT TOP 1 odd FROM s [ROWS 1] ORDER BY val + 1"
    results = crestline.run(query, {"s": table}, engine="local").to_arrow()
    assert results.column("odd").to_pylist() == odd.to_pylist()


@pytest.mark.parametrize("odd", ODD_TYPES)
def test_partitions_of_every_type_or_a_refusal(odd: pa.Array) -> None:
    table = pa.table({"odd": odd, "val": [1.0, 2.0]})
    query = "SELECT TOP 1 val FROM s [ROWS 1] PARTITION BY odd ORDER BY val"
    if pa.types.is_nested(odd.type) and not pa.types.is_run_end_encoded(odd.type):
        with pytest.raises(SourceError, match="odd is of type .* PARTITION BY a number"):
            ask(query, table)
    else:
        assert len(ask(query, table)) == 2


@pytest.mark.parametrize("second", [9.75, 2**63, "x", True, [1], {"a": 1}, b"a"], ids=repr)
def test_files_of_a_folder_that_differ_in_a_type(second: Any, tmp_path: Path) -> None:
    """Whatever a column is used for, a file of another type is counted or set aside."""
    pq.write_table(pa.table({"id": [1], "val": [1]}), tmp_path / "a.parquet")
    values = pa.array([second], pa.uint64() if second == 2**63 else None)
    pq.write_table(pa.table({"id": [2], "val": values}), tmp_path / "b.parquet")
    counts = isinstance(second, float | int) and second is not True
    for query in (
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] ORDER BY val DESC",
        "SELECT TOP 2 val FROM s [ROWS 2 SLIDE 1] ORDER BY id DESC",
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] PARTITION BY val ORDER BY id DESC",
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] WHERE val > 0 ORDER BY val * 2 DESC",
    ):
        results = crestline.run(query, {"s": str(tmp_path)}, engine="local")
        assert sum(results.metrics.rejected.values()) == (not counts)
        assert results.rejects.column("row").to_pylist() == [1][: not counts]


def test_a_condition_is_true_or_false() -> None:
    table = pa.table({"val": [1.0, 2.0], "txt": ["a", "b"]})
    query = "SELECT TOP 1 val FROM s [ROWS 1] WHERE {} ORDER BY val"
    assert ask(query.format("NULL"), table) == []
    for condition in ("val", "txt", "val + 1", "upper(txt)"):
        with pytest.raises(SourceError, match="a condition is needed"):
            ask(query.format(condition), table)


@pytest.mark.parametrize("option", ["gamma", "buffer", "additional", "expect", "error"])
def test_options_beyond_any_machine_number(option: str) -> None:
    table = to_table(records((1, 1.0)))
    name = "PA" if option in ("additional", "expect") else "RAPF"
    query = f"SELECT TOP 1 id FROM s [ROWS 9] ORDER BY val USING {name} ({option} => {'9' * 30})"
    with pytest.raises(PlanError, match=option):
        ask(query, table)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_largest_k_on_two_records(algorithm: Algorithm) -> None:
    stepwise = Spec(10**7, "range_slide", DAY, DAY, "ts")
    arriving = Spec(10**7, "range", DAY, ts="ts")
    spec = arriving if supports(algorithm)(arriving) else stepwise
    with within(20):
        judge(spec, records((1, 1.0), (2, 2.0)), algorithm)
