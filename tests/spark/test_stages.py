"""The pipeline's stages on random queries and streams, judged by the oracle, without a JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import StateError
from crestline.core.sentinels import LONG_AGO
from crestline.spark.stages import Reading
from crestline.testing import Spec, expect
from local.engines import (
    Algorithm,
    assert_same_rows,
    catalogue,
    examples,
    in_place,
    kinds_of,
    supports,
)
from spark.by_hand import ByHand, without_late
from strategies import TIMED_KINDS, Case, cases, shuffled_within, splits

BUCKETS = st.sampled_from((1, 2, 5))
EMIT = st.sampled_from(("SNAPSHOTS", "CHANGES", "ENTRIES"))


def tasks_of(case: Case, cuts: list[tuple[int, int]]) -> list[Any]:
    return [case.table.slice(start, end - start) for start, end in cuts]


@pytest.mark.parametrize("algorithm", catalogue(), ids=lambda a: a.name)
def test_a_bounded_run_equals_the_oracle(algorithm: Algorithm) -> None:
    @examples(60)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        case = data.draw(
            cases(kinds=kinds_of(algorithm), accept=supports(algorithm), emit=data.draw(EMIT))
        )
        run = ByHand(case, data.draw(BUCKETS), bounded=True, using=algorithm.name)
        run.round(tasks_of(case, data.draw(splits(len(case.records)))))
        wanted = expect(without_late(case.spec), case.records)
        assert_same_rows(run.sorted_rows(), wanted.rows, case.spec.text(algorithm.name))
        assert len(run.rejects) == len(wanted.rejects)
        if run.account:
            counted = sum(run.account[0]["ledger"]["rejected"].values())
            assert counted == len(wanted.rejects)

    holds()


@examples(80)
@given(st.data(), st.booleans())
def test_a_second_look_drops_what_is_late_by_the_clause_only(
    data: st.DataObject, written: bool
) -> None:
    """As a bounded run looks at records in their places: all count, if no lateness is written."""
    case = data.draw(cases(kinds=TIMED_KINDS, lateness=None))
    if written:
        case = case.with_spec(lateness=2 * case.unit)
    cuts = data.draw(splits(len(case.records)))
    before, latest = {}, LONG_AGO
    for number, (start, end) in enumerate(cuts):
        before[number] = latest
        sound = expect(without_late(case.spec), case.records[start:end])
        good = set(range(end - start)) - set(sound.rejects)
        if case.spec.where is not None:
            good = {n for n in good if case.spec.where(case.records[start + n])}
        latest = max([latest, *(case.records[start + n]["ts"] for n in good)])
    run = ByHand(case, data.draw(BUCKETS), bounded=True)
    run.round(tasks_of(case, cuts), Reading(before=before, keep_rejects=True))
    wanted = expect(case.spec, case.records)
    assert_same_rows(run.sorted_rows(), wanted.rows, case.spec.text())
    assert len(run.rejects) == len(wanted.rejects)
    if run.account:
        assert run.account[0]["ledger"]["totals"]["late"] == len(wanted.late)


@pytest.mark.parametrize("algorithm", catalogue(), ids=lambda a: a.name)
def test_rounds_within_the_lateness_equal_the_oracle(algorithm: Algorithm) -> None:
    """Prompt as well: after each round exactly what the watermark has passed is out."""

    @examples(50)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        case = data.draw(
            cases(
                kinds=tuple(k for k in kinds_of(algorithm) if k in TIMED_KINDS),
                accept=supports(algorithm), emit=data.draw(EMIT), bad=False, backward=False,
            )
        )  # fmt: skip
        case = case.with_records(data.draw(shuffled_within(case.records, case.spec.lateness or 0)))
        run = ByHand(case, data.draw(BUCKETS), bounded=False, using=algorithm.name)
        table = case.table
        for start, end in data.draw(splits(len(case.records))):
            cut = data.draw(st.integers(start, end))
            run.round([table.slice(cut, end - cut), table.slice(start, cut - start)])
            due = expect(case.spec, case.records[:end], finished=False)
            assert_same_rows(run.sorted_rows(), due.rows, f"{end} of {case.spec.text()}")
        assert run.rejects == []

    holds()


@examples(60)
@given(st.data())
def test_arrival_decides_where_there_is_no_event_time(data: st.DataObject) -> None:
    case = data.draw(cases(kinds=("rows", "unbounded_rows"), emit=data.draw(EMIT)))
    run = ByHand(case, data.draw(BUCKETS), bounded=False)
    table = case.table
    for start, end in data.draw(splits(len(case.records))):
        cut = data.draw(st.integers(start, end))
        run.round([table.slice(start, cut - start), table.slice(cut, end - cut)])
        due = expect(case.spec, case.records[:end], finished=False)
        assert_same_rows(run.sorted_rows(), due.rows, case.spec.text())


@examples(60)
@given(cases(kinds=("range_slide", "range", "unbounded_time", "rows_on")), st.data())
def test_late_records_are_told_and_counted(case: Case, data: st.DataObject) -> None:
    """What came too late for a result is not in it; all else is; each record is counted once."""
    case = case.with_records([r for r in case.records if r["ts"] is not None])
    run = ByHand(case, data.draw(BUCKETS), bounded=False)
    taken: list[dict[str, Any]] = []
    late_ids = []
    delays = [0]
    watermark = None
    slide = 1 if case.spec.kind in ("range", "rows_on") else case.spec.slide
    for start, end in data.draw(splits(len(case.records))):
        run.round([case.table.slice(start, end - start)])
        sound = [
            r for r in case.records[start:end]
            if (case.spec.where is None or case.spec.where(r))
            and r["val"] is not None and r["val"] == r["val"]
        ]  # fmt: skip
        for record in sound:
            late = watermark is not None and record["ts"] < watermark // slide * slide
            (late_ids if late else taken).append(record)
            if late:
                delays.append(watermark + (case.spec.lateness or 0) - record["ts"])
        if sound:
            newest = max(r["ts"] for r in sound) - (case.spec.lateness or 0)
            watermark = newest if watermark is None else max(watermark, newest)
    if not run.account:
        return
    until = expect(without_late(case.spec), taken).rows
    end = "window_end" if case.spec.emit == "SNAPSHOTS" else "at"
    if case.spec.kind != "rows_on":
        until = [row for row in until if row[end] <= watermark - (case.spec.kind == "range")]
        assert_same_rows(run.sorted_rows(), until, case.spec.text())
    told = run.account[0]["ledger"]["totals"]["late"] + sum(a["late"] for a in run.account.values())
    assert told == len(late_ids), case.spec.text()
    needed = max(account["lateness_needed"] for account in run.account.values())
    assert needed == max(delays), case.spec.text()
    named = [r for r in run.rejects if r["reason"] == "late"]
    assert len(named) <= told
    assert (len(named) > 0) == (told > 0)


def test_behind_the_watermark_but_in_time_for_its_result() -> None:
    """12 moves the watermark past 11, but the only window that 11 is in ends at 20."""
    spec = Spec(2, "range_slide", 10, 10, "ts")
    case = Case(spec, [_record(12), _record(11), _record(25), _record(13)])
    run = ByHand(case, 1, bounded=False)
    for number in range(4):
        run.round([case.table.slice(number, 1)])
    assert [(row["window_end"], row["id"]) for row in run.sorted_rows()] == [(20, 12), (20, 11)]
    assert [reject["reason"] for reject in run.rejects] == ["late"]
    assert run.account[0]["ledger"]["totals"]["late"] == 1


@examples(40)
@given(cases(kinds=("range_slide", "unbounded_time"), late="REVISE", select=("id",)), st.data())
def test_late_records_revise(case: Case, data: st.DataObject) -> None:
    """Whatever came when: the last revision of every window is the truth."""
    run = ByHand(case, data.draw(BUCKETS), bounded=False)
    for start, end in data.draw(splits(len(case.records))):
        run.round([case.table.slice(start, end - start)])
    # One more record, far ahead, makes everything due.
    last: dict[Any, list[Any]] = {}
    for row in in_place(case.spec, run.rows):
        cell = (row["window_end"], *(row[c] for c in case.spec.partition))
        if row["rank"] == 1:
            revision = last[cell][0]["revision"] if cell in last else -1
            assert row["revision"] == revision + 1
            last[cell] = []
        last[cell].append(row)
    assert run.rejects == [] or all(r["reason"] != "late" for r in run.rejects)


@examples(40)
@given(cases(kinds=("range_slide", "range", "unbounded_time"), late="REVISE", select=("id",)))
def test_a_whole_replay_revises_as_in_one_process(case: Case) -> None:
    run = ByHand(case, 1, bounded=True, whole=True)
    run.round([case.table])
    assert_same_rows(run.sorted_rows(), expect(case.spec, case.records).rows, case.spec.text())


#: Names that the stages use for columns of their own.
OURS = ("bucket", "chunk", "_row", "batch", "member", "payload", "kind", "query", "state")


@pytest.mark.parametrize("first", range(len(OURS)))
def test_columns_of_a_stream_may_have_names_of_the_pipeline(first: int) -> None:
    columns = ["id", "ts", "val", "grp", "num"]
    times = (3, 1, 2, 4, 25, 16, 57, 80)
    records = [_record(n) | {"num": n % 3, "grp": "xy"[n % 2]} for n in times]
    stream = Case(_spec(), records).table
    query = (
        "SELECT TOP 2 `{id}` AS one, `{num}` AS two FROM s [RANGE 30 us SLIDE 10 us ON `{ts}`]"
        " WHERE `{num}` < 2 PARTITION BY `{grp}` AS three"
        " ORDER BY `{val}` DESC, `{num}` KEY (`{id}`)"
    )

    def answers(names: list[str]) -> tuple[Any, ...]:
        text = query.format(**dict(zip(columns, names, strict=True)))
        table = stream.select(columns).rename_columns(names)
        case: Any = SimpleNamespace(spec=SimpleNamespace(text=lambda using: text), table=table)
        run = ByHand(case, 3, bounded=False)
        run.round([table.slice(0, 3), table.slice(3, 2)])
        run.round([table.slice(5)])
        rejects = [(reject["reason"], reject["value"]) for reject in run.rejects]
        return run.rows, rejects, run.account[0]["ledger"]["totals"]

    wanted = answers(columns)
    assert len(wanted[0]) > 4
    assert answers([OURS[(first + i) % len(OURS)] for i in range(len(columns))]) == wanted


def test_the_state_of_other_queries_or_buckets_is_refused() -> None:
    case = Case(without_late(_spec()), [_record(1), _record(2)])
    run = ByHand(case, 2, bounded=False)
    run.round([case.table])
    other = ByHand(case.with_spec(name="other"), 2, bounded=False, states=dict(run.states))
    with pytest.raises(StateError, match="belongs to other queries \\(query\\)"):
        other.round([case.table])
    changed = ByHand(case.with_spec(k=7), 2, bounded=False, states=dict(run.states))
    with pytest.raises(StateError, match="belongs to another query"):
        changed.round([case.table])
    spread = ByHand(case, 3, bounded=False, states=dict(run.states))
    with pytest.raises(StateError, match="2 buckets, now there are 3"):
        spread.round([case.table])


@pytest.mark.parametrize("place", [3, 20, -1])
def test_a_damaged_state_is_refused(place: int) -> None:
    case = Case(_spec(), [_record(1), _record(2)])
    run = ByHand(case, 1, bounded=False)
    run.round([case.table])
    damaged = bytearray(run.states[0])
    damaged[place] ^= 1
    run.states[0] = bytes(damaged)
    with pytest.raises(StateError):
        run.round([case.table])


def _spec() -> Spec:
    return Spec(2, "range_slide", 30, 10, "ts", partition=("grp",))


def _record(number: int) -> dict[str, Any]:
    columns = {"num": 1, "frac": 0.5, "txt": "a", "flag": True, "site": 1}
    return {"id": number, "ts": number, "val": 1.0, "grp": "x"} | columns
