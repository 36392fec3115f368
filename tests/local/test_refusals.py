"""What a session refuses it refuses whole; and it serves threads one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import crestline
from crestline.core.errors import CrestlineError

WINDOW = "[RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
PLAIN = f"SELECT TOP 2 id FROM s {WINDOW} ORDER BY x * 2 DESC"
UNCERTAIN = f"SELECT TOP 2 id FROM s {WINDOW} WITH PROBABILITY p EXCLUSIVE BY rule ORDER BY x DESC"
COMBINED = f"SELECT TOP 2 id FROM s {WINDOW} COMBINE SUM(x) ACROSS rule OBJECT id"
SEVERAL = f"""
    CREATE QUERY all_of_them AS SELECT TOP 2 id FROM s {WINDOW} ORDER BY x DESC;
    CREATE QUERY whole AS SELECT TOP 2 id FROM s {WINDOW} ORDER BY shut * 2 DESC
"""


def record(second: int, x: Any = 1.0, **others: Any) -> dict[str, Any]:
    moment = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(seconds=second)
    usual = {"id": second, "ts": moment, "x": x, "p": 0.5, "rule": f"r{second}", "shut": None}
    return usual | others


BEFORE = [record(1, 3.0), record(2, 2.0), record(4, 5.0), record(6, 1.0)]
AFTER = [record(9, 4.0), record(13, 2.0), record(21, 9.0), record(40, 1.0)]


def failing() -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pylist([record(7, 8.0)])
    yield pa.RecordBatch.from_pylist([record(8, 8.0)])
    raise OSError("the line went dead")


def without(name: str) -> list[pa.Table]:
    good = pa.Table.from_pylist([record(7, 8.0)])
    return [good, good, good.drop_columns([name])]


#: What is refused: the query, whether it is strict, and what is pushed.
REFUSED: dict[str, tuple[str, bool, Callable[[], Any]]] = {
    "a column is missing": (PLAIN, False, lambda: pa.table({"id": [1]})),
    "a later batch lacks a column": (PLAIN, False, lambda: iter(without("x"))),
    "an iterator fails": (PLAIN, False, failing),
    "no stream at all": (PLAIN, False, lambda: 7),
    "a bad record, strictly": (PLAIN, True, lambda: [record(7, 8.0), record(8, None)]),
    "a bad record in a later batch, strictly": (
        PLAIN,
        True,
        lambda: iter(
            pa.RecordBatch.from_pylist([record(s, x)]) for s, x in ((7, 8.0), (8, 9.0), (9, None))
        ),
    ),
    "another type, strictly": (PLAIN, True, lambda: [record(7, 8.0), record(8, 9.0, id="eight")]),
    "too wide a type, strictly": (PLAIN, True, lambda: record(7, 2**53 + 1)),
    "an expression fails": (SEVERAL, False, lambda: [record(7, 8.0), record(8, shut="seven")]),
    "a rule above one, strictly": (
        UNCERTAIN,
        True,
        lambda: [record(7, p=0.9, rule="q"), record(8, p=0.9, rule="q"), record(33, p=0.1)],
    ),
    "a probability, strictly": (UNCERTAIN, True, lambda: [record(7), record(8, p=1.5)]),
    "a repeat, strictly": (
        COMBINED,
        True,
        lambda: [record(7, rule="q"), record(8, id=7, rule="q"), record(33)],
    ),
    "too many streams": (COMBINED, False, lambda: [record(s) for s in range(7, 80)]),
    "too many streams, and a bad record": (
        COMBINED,
        False,
        lambda: [record(7, None), *(record(s) for s in range(7, 80))],
    ),
}


def told(session: crestline.Session) -> dict[str, Any]:
    """All that a user can see of a session, but for how long it took."""
    counts = {
        name: {key: value for key, value in metrics.as_dict().items() if key != "seconds"}
        for name, metrics in session.by_query.items()
    }
    rejects = session.rejects.to_pylist()
    return {"counts": counts, "rejects": rejects, "log": session.log, "text": session.text}


@pytest.mark.parametrize("first", [False, True], ids=["later", "as the first"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_push_changes_nothing(kind: str, first: bool) -> None:
    query, strict, refused = REFUSED[kind]
    if first and kind in ("another type, strictly", "too wide a type, strictly"):
        pytest.skip("the first records show what the types are")
    session, other = (crestline.open(query, strict=strict) for _ in range(2))
    if not first:
        bad = [] if strict else [record(5, None)]  # set aside before, and still there after
        for each in (session, other):
            each.push([*BEFORE, *bad])
    before, saved = told(session), session.snapshot()
    with pytest.raises((CrestlineError, OSError)):
        session.push(refused())
    assert told(session) == before
    assert session.snapshot() == saved
    rows = [each.push(AFTER).to_pylist() + each.finish().to_pylist() for each in (session, other)]
    assert rows[0] == rows[1] != []
    assert told(session) == told(other)


def test_a_refused_query_is_refused_whole() -> None:
    session = crestline.open(PLAIN)
    session.push(BEFORE)
    best = "SELECT TOP 1 {0} FROM s [ROWS 3] ORDER BY x"
    good, bad = (f"CREATE QUERY {n} AS {best.format(n)}" for n in ("id", "no"))
    with pytest.raises(CrestlineError, match="no column 'no'"):
        session.add(f"{good}; {bad}")
    assert list(session.queries) == ["query"]


def test_a_call_that_breaks_off_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what an interrupted operator holds."""
    session = crestline.open(PLAIN)
    session.push(BEFORE)
    saved = session.snapshot()

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crestline.runtime.candidate_table.CandidateTable.append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.push(AFTER)
    monkeypatch.undo()
    for call in (lambda: session.push(AFTER), session.finish, session.snapshot):
        with pytest.raises(CrestlineError, match="open a new one from your last snapshot"):
            call()
    assert crestline.open(PLAIN, state=saved).push(AFTER).num_rows > 0


# --- rejects that nobody reads -------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "kept"), [(10_000, 300), (50, 50), (0, 0), (None, 300)])
def test_a_bounded_number_of_rejects_is_kept(keep: int | None, kept: int) -> None:
    session = crestline.open(PLAIN, keep_rejects=keep)
    for _ in range(30):
        session.push([record(1, None)] * 10)
    assert session.metrics.rejected == {"score is NULL": 300}
    assert session.rejects.num_rows == kept
    assert session.rejects.column("row").to_pylist() == list(range(kept))
    session.push([record(1, None)] * 10)
    assert session.rejects.num_rows == (310 if keep in (None, 10_000) else kept)
    assert session.metrics.rejected == {"score is NULL": 310}


def test_rejects_that_nobody_reads_do_not_grow() -> None:
    session = crestline.open(PLAIN, keep_rejects=10)
    session.push([record(1, None)] * 10)
    run = next(iter(session._runs.values()))
    parts = list(run._bundles[0].rejects._tables)
    session.push([record(1, None)] * 1000)
    assert run._bundles[0].rejects._tables == parts


def test_what_can_be_kept() -> None:
    with pytest.raises(CrestlineError, match="keep_rejects is 0 or more"):
        crestline.open(PLAIN, keep_rejects=-1)


# --- threads -------------------------------------------------------------------------------------

KINDS = {
    "certain": "SELECT TOP 5 id FROM s [ROWS 50 SLIDE 5] ORDER BY x DESC",
    "every arrival": "SELECT TOP 5 id FROM s [ROWS 50] ORDER BY x * 2 DESC EMIT CHANGES",
    "uncertain": "SELECT TOP 3 id FROM s [ROWS 50 SLIDE 5] WITH PROBABILITY p ORDER BY x DESC",
    "incomplete": "SELECT TOP 3 id FROM s [ROWS 50 SLIDE 5] COMBINE SUM(x) ACROSS way OBJECT id",
}


def stream(seed: int, count: int = 20, rows: int = 40) -> list[pa.Table]:
    tables = []
    for number in range(count):
        ids = range(number * rows, (number + 1) * rows)
        x = [float((i * 7919 + seed * 31) % 1009) for i in ids]
        way = [f"w{i % 3}" for i in ids]
        tables.append(pa.table({"id": list(ids), "x": x, "p": [0.25] * rows, "way": way}))
    return tables


def in_threads(*work: Callable[[], None]) -> None:
    """Run all at once; the first error of any of them is raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(each: Callable[[], None]) -> None:
        start.wait()
        try:
            each()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_session(kind: str) -> None:
    """Every record is taken in once, and the state makes sense all the time."""
    session = crestline.open(KINDS[kind])
    session.push(stream(0)[0])
    batches = [stream(seed)[1:] for seed in range(4)]

    def push(mine: list[pa.Table]) -> None:
        for batch in mine:
            session.push(batch)
            assert session.metrics.rows_in > 0
            session.snapshot()

    in_threads(*(lambda mine=mine: push(mine) for mine in batches))
    assert session.metrics.rows_in == 40 * (1 + 4 * 19)
    again = crestline.open(KINDS[kind], state=session.snapshot())
    assert again.push(stream(9)[0]).equals(session.push(stream(9)[0]))


def test_sessions_in_threads_of_their_own() -> None:
    """Side by side, of all kinds, each gives what it gives alone."""
    work: list[Callable[[], None]] = []

    def follow(query: str, batches: list[pa.Table], wanted: list[pa.Table]) -> None:
        session = crestline.open(query)
        for batch, rows in zip(batches, wanted, strict=True):
            assert session.push(batch).equals(rows)

    for seed, query in enumerate([*KINDS.values(), *KINDS.values()]):
        alone = crestline.open(query)
        batches = stream(seed)
        wanted = [alone.push(batch) for batch in batches]
        work.append(lambda q=query, b=batches, w=wanted: follow(q, b, w))
    in_threads(*work)
