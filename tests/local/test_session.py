"""Sessions: push in any form, results as they fall due, state that travels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import CrestlineError, StateError
from crestline.testing import Spec, expect
from local.engines import (
    assert_same_rows,
    examples,
    in_place,
    moment,
    rejects_of,
    rows_of,
    run_case,
)
from strategies import Case, cases, splits, to_table

SECOND = 1_000_000

QUERY = "SELECT TOP 2 id FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"

SPEC = Spec(2, "range_slide", 20 * SECOND, 10 * SECOND, "ts")


def seconds(*records: tuple[str, int, float | None]) -> list[dict[str, Any]]:
    return [{"id": i, "ts": moment(s * SECOND), "val": v} for i, s, v in records]


DATA = seconds(("a", 5, 1.0), ("b", 12, 3.0), ("c", 21, 2.0), ("d", 44, 1.0))

WANTED = ["10: a", "20: ba", "30: bc", "40: c", "50: d"]


def told(*tables: pa.Table) -> list[str]:
    groups: dict[int, str] = {}
    for row in (row for table in tables for row in rows_of(table)):
        groups[row["window_end"] // SECOND] = (
            groups.get(row["window_end"] // SECOND, "") + row["id"]
        )
    return [f"{end}: {ids}" for end, ids in groups.items()]


def test_results_come_as_soon_as_they_are_due() -> None:
    session = crestline.open(QUERY, engine="local")
    pushed = [told(session.push([record])) for record in DATA]
    # 5: nothing; 12 passes 10; 21 passes 20; 44 passes 30 and 40
    assert pushed == [[], ["10: a"], ["20: ba"], ["30: bc", "40: c"]]
    assert told(session.finish()) == ["50: d"]
    assert session.metrics.rows_in == 4
    assert session.metrics.result_rows == 7


FORMS = {
    "list of dicts": lambda: DATA,
    "one dict at a time": lambda: None,
    "table": lambda: pa.Table.from_pylist(DATA),
    "record batch": lambda: pa.RecordBatch.from_pylist(DATA),
    "list of batches": lambda: pa.Table.from_pylist(DATA).to_batches(max_chunksize=1),
    "reader": lambda: pa.Table.from_pylist(DATA).to_reader(max_chunksize=2),
    "pandas": lambda: pa.Table.from_pylist(DATA).to_pandas(),
    "chunked table": lambda: pa.concat_tables([pa.Table.from_pylist([r]) for r in DATA]),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_what_can_be_pushed(form: str) -> None:
    session = crestline.open(QUERY, engine="local")
    data = FORMS[form]()
    pushed = [session.push(r) for r in DATA] if data is None else [session.push(data)]
    assert told(*pushed, session.finish()) == WANTED


def test_forms_may_be_mixed() -> None:
    session = crestline.open(QUERY, engine="local")
    table = pa.Table.from_pylist(DATA)
    pushed = [
        session.push(DATA[0]),
        session.push(table.slice(1, 1)),
        session.push(table.slice(2, 1).to_pandas()),
        session.push(DATA[3:]),
    ]
    assert told(*pushed, session.finish()) == WANTED


def test_an_empty_answer_has_its_columns() -> None:
    session = crestline.open(QUERY, engine="local")
    empty = session.push(pa.Table.from_pylist(DATA[:1]))
    full = session.push(pa.Table.from_pylist(DATA[1:]))
    assert (empty.num_rows, full.num_rows > 0) == (0, True)
    assert empty.schema == full.schema


def test_an_empty_push_changes_nothing() -> None:
    session = crestline.open(QUERY, engine="local")
    nothing = pa.Table.from_pylist(DATA).slice(0, 0)
    pushed = [session.push(nothing), session.push([]), session.push(DATA), session.push([])]
    assert told(*pushed, session.finish()) == WANTED
    assert session.metrics.rows_in == 4


def test_a_session_that_never_saw_a_record() -> None:
    session = crestline.open(QUERY, engine="local")
    assert session.finish().num_rows == 0


def test_a_first_batch_of_nulls_does_not_fix_the_types() -> None:
    session = crestline.open(QUERY, engine="local")
    first = session.push(seconds(("x", 1, None)))
    pushed = [first, session.push(DATA)]
    assert told(*pushed, session.finish()) == WANTED
    assert rejects_of(session) == [(0, "val", "score is NULL")]


def test_integers_then_floats() -> None:
    session = crestline.open(QUERY, engine="local")
    pushed = [session.push(seconds(("a", 1, 2))), session.push(seconds(("b", 2, 2.5)))]
    assert told(*pushed, session.finish()) == ["10: ba"]


def test_columns_may_come_in_another_order_and_with_company() -> None:
    session = crestline.open(QUERY, engine="local")
    table = pa.Table.from_pylist(DATA)
    other = table.select(["val", "id", "ts"]).append_column("more", pa.array(range(4)))
    pushed = [session.push(table.slice(0, 2)), session.push(other.slice(2))]
    assert told(*pushed, session.finish()) == WANTED


def test_row_numbers_of_rejects_go_on_from_push_to_push() -> None:
    session = crestline.open(QUERY, engine="local")
    session.push(seconds(("a", 5, None), ("b", 6, 1.0)))
    session.push(seconds(("c", 7, None)))
    session.finish()
    assert [row for row, _, _ in rejects_of(session)] == [0, 2]


@examples(60)
@given(st.data(), cases(max_size=80))
def test_batches_do_not_show(data: st.DataObject, case: Case) -> None:
    session = crestline.open(case.spec.text(), engine="local")
    table = case.table
    cuts = data.draw(splits(len(case.records)))
    tables = [session.push(table.slice(start, end - start)) for start, end in cuts]
    tables.append(session.finish())
    got = [row for part in tables for row in rows_of(part)]
    if case.spec.ts is not None and case.spec.lateness is None:  # as a session takes it
        case = case.with_spec(lateness=0)
    whole = rows_of(run_case(case).to_arrow())
    assert_same_rows(in_place(case.spec, got), whole, case.spec.text())


def resume(state: bytes, query: str = QUERY) -> Any:
    return crestline.open(query, engine="local", state=state)


@pytest.mark.parametrize("cut", range(len(DATA) + 1))
def test_resume_after_any_record(cut: int) -> None:
    session = crestline.open(QUERY, engine="local")
    before = session.push(DATA[:cut])
    session = resume(session.snapshot())
    assert told(before, session.push(DATA[cut:]), session.finish()) == WANTED
    assert session.metrics.rows_in == 4


def test_the_state_of_a_session_that_saw_nothing() -> None:
    session = resume(crestline.open(QUERY, engine="local").snapshot())
    assert told(session.push(DATA), session.finish()) == WANTED


def test_the_state_is_no_pickle() -> None:
    session = crestline.open(QUERY, engine="local")
    session.push(DATA)
    state = session.snapshot()
    assert not state.startswith(b"\x80")
    assert b"cnumpy" not in state
    assert b"crestline.local" not in state


def test_resume_in_a_new_process(tmp_path: Path) -> None:
    session = crestline.open(QUERY, engine="local")
    before = session.push(DATA[:2])
    (tmp_path / "state").write_bytes(session.snapshot())
    program = (
        "import sys, datetime, crestline\n"
        "state = open(sys.argv[1], 'rb').read()\n"
        f"session = crestline.open({QUERY!r}, engine='local', state=state)\n"
        f"data = {DATA[2:]!r}\n"
        "for table in (session.push(data), session.finish()):\n"
        "    for row in table.to_pylist(): print(int(row['window_end'].timestamp()), row['id'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "state")],
        capture_output=True, text=True, check=True, env={**os.environ,
            "PYTHONPATH": ":".join(p for p in sys.path if p)},
    )  # fmt: skip
    lines = done.stdout.split("\n")[:-1]
    assert told(before) == ["10: a"]
    assert lines == ["20 b", "20 a", "30 b", "30 c", "40 c", "50 d"]


def some_state() -> bytes:
    session = crestline.open(QUERY, engine="local")
    session.push(DATA[:3])
    return bytes(session.snapshot())


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "longer"])
def test_damaged_state_is_refused(damage: str) -> None:
    state = some_state()
    middle = len(state) // 2
    broken = {
        "empty": b"",
        "cut": state[:middle],
        "flipped": state[:middle] + bytes([state[middle] ^ 0xFF]) + state[middle + 1 :],
        "foreign": b"PAR1" + state,
        "longer": state + b"\x00",
    }[damage]
    with pytest.raises(StateError):
        resume(broken)


def test_every_flipped_byte_is_noticed() -> None:
    state = some_state()
    for place in range(0, len(state), max(1, len(state) // 97)):
        broken = state[:place] + bytes([state[place] ^ 0x01]) + state[place + 1 :]
        with pytest.raises(StateError):
            resume(broken)


def test_the_state_of_another_query_is_refused() -> None:
    with pytest.raises(StateError):
        resume(some_state(), QUERY.replace("TOP 2", "TOP 3"))


def test_nothing_can_be_pushed_after_the_end() -> None:
    session = crestline.open(QUERY, engine="local")
    session.push(DATA)
    session.finish()
    with pytest.raises((CrestlineError, ValueError, RuntimeError)):
        session.push(DATA)


@examples(30)
@given(st.data(), cases(max_size=60, emit="CHANGES"))
def test_changes_survive_resumption(data: st.DataObject, case: Case) -> None:
    """What stands in the result is part of the state: no record may enter twice."""
    query, table = case.spec.text(), case.table
    session = crestline.open(query, engine="local")
    got = []
    for start, end in data.draw(splits(len(case.records))):
        got += rows_of(session.push(table.slice(start, end - start)))
        session = crestline.open(query, engine="local", state=session.snapshot())
    got += rows_of(session.finish())
    wanted = expect(case.spec, case.records, following=True)
    assert_same_rows(in_place(case.spec, got), wanted.rows, query)


def test_what_is_kept_does_not_grow_with_the_stream() -> None:
    """ROWS 100 and k = 2: the state after 20,000 records is as small as after 2,000."""
    spec = Spec(2, "rows", 100, 10)
    session = crestline.open(spec.text(), engine="local")
    sizes, kept = [], []
    blank = dict.fromkeys(("num", "frac", "txt", "flag", "grp", "site", "ts"))
    for batch in range(20):
        numbers = range(batch * 1_000, (batch + 1) * 1_000)
        records = [{**blank, "id": n, "val": float(n * 7919 % 10_007)} for n in numbers]
        session.push(to_table(records))
        sizes.append(len(session.snapshot()))
        kept.append(session.metrics.kept)
    assert max(sizes[10:]) < 2 * max(sizes[:3])
    assert max(kept) <= 100


def test_many_small_batches_equal_one() -> None:
    """Most bring nothing that is due; the engine must notice the ones that do."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.integers(0, 60_000_000, 500))
    table = pa.table({"t": pa.array(times).cast(pa.timestamp("us")), "x": rng.random(500)})
    query = "SELECT TOP 2 x FROM s [RANGE 10 s SLIDE 1 s ON t] ORDER BY x DESC"
    session = crestline.open(query)
    parts = [session.push(table.slice(i, 1)) for i in range(500)]
    # All but the last window end are passed by some record, and reported at once.
    assert sum(part.num_rows > 0 for part in parts) > 40
    parts.append(session.finish())
    assert len(set(parts[-1].column("window_end").to_pylist())) == 1
    assert pa.concat_tables(parts).equals(crestline.run(query, {"s": table}).to_arrow())


def test_small_batches_within_one_slide_are_forgotten_too() -> None:
    """What nobody needs was dropped only when a window ended."""
    session = crestline.open("SELECT TOP 1 x FROM s [RANGE 1 d SLIDE 1 d ON t] ORDER BY x DESC")
    sizes = []
    for part in range(40):
        times = pa.array(np.arange(1000) + 1000 * part).cast(pa.timestamp("us"))
        session.push(pa.table({"t": times, "x": np.random.default_rng(part).random(1000)}))
        sizes.append(len(session.snapshot()))
    assert session.metrics.kept < 50
    assert max(sizes) < 20_000
