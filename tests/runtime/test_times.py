"""Times in every form, in every zone, and at the ends of the calendar."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crestline
from local.engines import ask, at, column


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


MOMENTS = [datetime(2024, 5, 1, 9, 0, second, 250_000, tzinfo=UTC) for second in range(0, 40, 4)]

NANOSECONDS = [np.datetime64(int(m.timestamp() * 1e6) * 1000 + 7, "ns") for m in MOMENTS]

TIME_FORMS: dict[str, Callable[[int], Any]] = {
    "text": lambda n: MOMENTS[n].replace(tzinfo=None).isoformat(),
    "text with zone": lambda n: MOMENTS[n].isoformat(),
    "text with nanoseconds": lambda n: f"{MOMENTS[n].replace(tzinfo=None).isoformat()}007",
    "datetime": lambda n: MOMENTS[n],
    "datetime without zone": lambda n: MOMENTS[n].replace(tzinfo=None),
    "pandas": lambda n: pd.Timestamp(MOMENTS[n]),
    "numpy": lambda n: NANOSECONDS[n],
}


def in_form(form: str, number: int) -> Any:
    """A record in a form: a dictionary, a data frame or a table."""
    if form == "data frame":
        return pd.DataFrame({"id": [number], "ts": [NANOSECONDS[number]], "x": [number % 4]})
    if form == "table of seconds":
        times = pa.array([MOMENTS[number].replace(microsecond=0)], pa.timestamp("s", "UTC"))
        return pa.table({"id": [number], "ts": times, "x": [number % 4]})
    return {"id": number, "ts": TIME_FORMS[form](number), "x": number % 4}


FORMS = [*TIME_FORMS, "data frame", "table of seconds"]


@pytest.mark.parametrize("selected", ["id", "id, ts"])
@pytest.mark.parametrize("first", FORMS)
def test_any_mixture_of_times_gives_the_same_rows(first: str, selected: str) -> None:
    query = f"SELECT TOP 2 {selected} FROM s [RANGE 10 SECONDS SLIDE 2 SECONDS ON ts] ORDER BY x"
    draw = random.Random(first)
    forms = [first, *(draw.choice(FORMS) for _ in MOMENTS[1:])]
    if selected != "id":  # what is shown must not lose digits
        lossy = ("text with nanoseconds", "numpy", "data frame")
        forms = [form for form in FORMS if form not in lossy]
        forms = [first if first in forms else "text", *draw.choices(forms, k=len(MOMENTS) - 1)]
    session = crestline.open(query)
    tables = [session.push(in_form(form, number)) for number, form in enumerate(forms)]
    rows = [row for table in [*tables, session.finish()] for row in table.to_pylist()]
    alike = [{"id": n, "ts": moment, "x": n % 4} for n, moment in enumerate(MOMENTS)]
    wanted = crestline.run(query, {"s": alike}).to_arrow().to_pylist()
    shown = ("window_end", "rank", "id", "score")
    assert [[row[name] for name in shown] for row in rows] == [
        [row[name] for name in shown] for row in wanted
    ]
    assert session.rejects.num_rows == 0


def test_dates_and_times_in_one_list() -> None:
    """Arrow alone would make dates of them."""
    records = [{"id": 1, "ts": date(2024, 1, 1)}, {"id": 2, "ts": datetime(2024, 1, 1, 5)}]
    query = "SELECT TOP 9 id FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] ORDER BY id"
    rows = crestline.run(query, {"s": records}).to_arrow().to_pylist()
    assert [(row["window_end"].hour, row["id"]) for row in rows] == [(1, 1), (6, 2)]


LIMIT = 1 << 61

FAR_TIMES = [
    pytest.param(pa.array([2**63 - 1, 0, -(2**63)], pa.timestamp("us")), id="us"),
    pytest.param(pa.array([LIMIT + 1, 0, -LIMIT - 1], pa.timestamp("us", "UTC")), id="limit"),
    pytest.param(pa.array([2**63 - 1, 0, -(2**63)], pa.timestamp("s")), id="s"),
    pytest.param(pa.array([2**53, 0, -(2**53)], pa.timestamp("s", "UTC")), id="s, within int64"),
    pytest.param(pa.array([2**62, 0, -(2**62)], pa.timestamp("ms")), id="ms"),
    pytest.param(pa.array([2**31 - 1, 0, -(2**31)], pa.date32()), id="date32"),
    pytest.param(pa.array([2**62, 0, -(2**62)], pa.int64()).view(pa.date64()), id="date64"),
]

FAR_WINDOWS = [
    "RANGE 1 DAY SLIDE 1 HOUR ON ts", "RANGE 1 DAY ON ts", "ROWS 2 ON ts",
    "UNBOUNDED SLIDE 1 DAY ON ts", f"RANGE {LIMIT} US SLIDE {LIMIT} US ON ts",
    f"RANGE {LIMIT} US SLIDE 1 WEEK ON ts",
]  # fmt: skip


@pytest.mark.parametrize("window", FAR_WINDOWS)
@pytest.mark.parametrize("times", FAR_TIMES)
def test_times_at_the_ends_are_set_aside(times: pa.Array, window: str) -> None:
    table = pa.table({"id": [1, 2, 3], "ts": times, "x": [3, 1, 2]})
    results = crestline.run(f"SELECT TOP 2 id FROM s [{window}] ORDER BY x", {"s": table})
    assert set(results.to_arrow().column("id").to_pylist()) == {2}
    assert results.metrics.rejected == {"event time is out of range": 2}
    ends = results.to_arrow().column("window_end").cast(pa.int64()).to_pylist()
    assert all(abs(end) <= 2 * LIMIT for end in ends)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("window", FAR_WINDOWS)
def test_the_last_times_that_count(window: str, sign: int) -> None:
    times = [sign * LIMIT, sign * (LIMIT - 5)]
    table = pa.table({"id": [1, 2], "ts": pa.array(times, pa.timestamp("us", "UTC")), "x": [3, 1]})
    table = table.sort_by("ts")
    results = crestline.run(f"SELECT TOP 2 id FROM s [{window}] ORDER BY x", {"s": table})
    rows = results.to_arrow()
    assert results.metrics.rejected == {} and set(rows.column("id").to_pylist()) == {1, 2}
    if "ROWS" not in window:
        ends = np.array(rows.column("window_end").cast(pa.int64()))
        assert (np.abs(ends) <= 2 * LIMIT).all() and (np.sign(ends) != -sign).all()


def test_a_query_that_joins_in_the_far_future() -> None:
    query = "SELECT TOP 1 id FROM s [RANGE 1 DAY SLIDE 1 DAY ON ts] ORDER BY x DESC"
    session = crestline.open(query)
    session.push(pa.table({"id": [1], "x": [1], "ts": pa.array([1 << 60], pa.timestamp("us"))}))
    session.add(query.replace("TOP 1", "TOP 2"), name="more")
    assert "sees records from 38504-" in session.log[-1]
