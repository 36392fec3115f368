"""What every algorithm must pass, whatever the query and the stream.

Each check draws what it needs and asserts one property. ``UNIVERSAL`` is crossed with the catalogue
in ``test_universal``: being in the catalogue is enough to be tested, being in the list to be asked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import crestline
from crestline.language.query import EMISSIONS
from crestline.testing import Kind, Row, expect
from local.engines import (
    Algorithm,
    assert_judged,
    assert_rejects,
    assert_same_rows,
    in_place,
    kinds_of,
    rejects_of,
    replay,
    rows_of,
    run,
    run_case,
    supports,
)
from strategies import Case, cases, shuffled_within, splits

Draw = Callable[[Any], Any]
Check = Callable[[Algorithm, Draw], None]
BY_TIME: tuple[Kind, ...] = ("range_slide", "range", "unbounded_time")


def a_case(algorithm: Algorithm, draw: Draw, kinds: tuple[Kind, ...] = (), **how: Any) -> Case:
    """A query the algorithm supports; of the given kinds, where it knows any of them."""
    known = kinds_of(algorithm)
    wanted = tuple(k for k in known if k in kinds) or known
    case: Case = draw(cases(kinds=wanted, accept=supports(algorithm), **how))
    return case


def equals_the_oracle(algorithm: Algorithm, draw: Draw) -> None:
    assert_judged(a_case(algorithm, draw), algorithm.name)


def changes_equal_the_oracle(algorithm: Algorithm, draw: Draw) -> None:
    assert_judged(a_case(algorithm, draw, emit="CHANGES"), algorithm.name)


def entries_equal_the_oracle(algorithm: Algorithm, draw: Draw) -> None:
    assert_judged(a_case(algorithm, draw, emit="ENTRIES"), algorithm.name)


def changes_reproduce_the_snapshots(algorithm: Algorithm, draw: Draw) -> None:
    case = a_case(algorithm, draw)
    spec = case.spec
    wanted: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows_of(run_case(case, algorithm.name).to_arrow()):
        cell = (row["window_end"], tuple(row[c] for c in spec.partition))
        wanted.setdefault(cell, []).append(tuple(row[c] for c in (*spec.select, "score")))
    told = run_case(case.with_spec(emit="CHANGES"), algorithm.name)
    standing = replay(rows_of(told.to_arrow()), spec, list(wanted))
    assert no_nan({cell: top for cell, top in standing.items() if top}) == no_nan(wanted)


def no_nan(tops: dict[tuple[Any, ...], list[Any]]) -> dict[tuple[Any, ...], list[Any]]:
    """With every NaN replaced by a value that equals itself."""
    return {
        cell: [tuple("NaN" if v != v else v for v in shown) for shown in top]
        for cell, top in tops.items()
    }


def one_batch_equals_many(algorithm: Algorithm, draw: Draw) -> None:
    """Also prompt: after each push exactly what the watermark has passed is out."""
    case = a_case(algorithm, draw, emit=draw(st.sampled_from(EMISSIONS)))
    table, spec = case.table, case.spec
    session = crestline.open(spec.text(algorithm.name), engine="local")
    got: list[Row] = []
    for start, end in draw(splits(len(case.records))):
        got += rows_of(session.push(table.slice(start, end - start)))
        due = expect(spec, case.records[:end], finished=False)
        assert_same_rows(in_place(spec, got), due.rows, f"after {end} records of {spec.text()}")
    got += rows_of(session.finish())
    wanted = expect(spec, case.records, following=True)
    # Time runs the same way for everyone; positions of different partitions come as they come.
    got = got if spec.kind in BY_TIME else in_place(spec, got)
    assert_same_rows(got, wanted.rows, spec.text(algorithm.name))
    assert_rejects(session, wanted)


def resumed_equals_uninterrupted(algorithm: Algorithm, draw: Draw) -> None:
    case = a_case(algorithm, draw, emit=draw(st.sampled_from(EMISSIONS)))
    table, query = case.table, case.spec.text(algorithm.name)
    session = crestline.open(query, engine="local")
    got: list[Row] = []
    rejects = set()
    for start, end in draw(splits(len(case.records))):
        got += rows_of(session.push(table.slice(start, end - start)))
        rejects |= set(rejects_of(session))
        session = crestline.open(query, engine="local", state=session.snapshot())
    got += rows_of(session.finish())
    rejects |= set(rejects_of(session))
    wanted = expect(case.spec, case.records, following=True)
    assert_same_rows(in_place(case.spec, got), wanted.rows, query)
    assert sorted({row for row, _, _ in rejects}) == sorted(wanted.rejects)
    assert session.metrics.rows_late == len(wanted.late)


def the_state_is_a_value(algorithm: Algorithm, draw: Draw) -> None:
    """Taking it disturbs nothing, and what comes after does not reach into it."""
    case = a_case(algorithm, draw)
    table, query = case.table, case.spec.text(algorithm.name)
    half = len(case.records) // 2
    session = crestline.open(query, engine="local")
    session.push(table.slice(0, half))
    state = session.snapshot()
    assert isinstance(state, bytes)
    first = rows_of(session.push(table.slice(half))) + rows_of(session.finish())
    twin = crestline.open(query, engine="local", state=state)
    second = rows_of(twin.push(table.slice(half))) + rows_of(twin.finish())
    assert_same_rows(second, first, query)


def the_input_is_not_mutated(algorithm: Algorithm, draw: Draw) -> None:
    """Arrow, NumPy memory under Arrow, pandas and dicts are as before."""
    case = a_case(algorithm, draw, bad=False)
    table = case.table
    scores = table.column("val").to_numpy().copy()
    own = scores.copy()  # Arrow wraps this memory without a copy, and nothing protects it
    shared = table.set_column(table.column_names.index("val"), "val", pa.array(own))
    frame = table.to_pandas()
    frame_before = frame.copy(deep=True)
    dicts = table.to_pylist()
    dicts_before = copy.deepcopy(dicts)
    before = table.slice(0).to_pylist()
    run(case.spec, shared, algorithm.name)
    run(case.spec, table, algorithm.name)
    assert np.array_equal(own, scores)
    assert repr(table.to_pylist()) == repr(before)
    if case.records:
        run(case.spec, frame, algorithm.name)
        run(case.spec, dicts, algorithm.name)
        assert frame.equals(frame_before)
        assert repr(dicts) == repr(dicts_before)


def shuffled_within_the_lateness_equals_ordered(algorithm: Algorithm, draw: Draw) -> None:
    timed = tuple(k for k in kinds_of(algorithm) if k in (*BY_TIME, "rows_on"))
    case = a_case(algorithm, draw, timed, bad=False, backward=False)
    if case.spec.ts is None:
        return
    lateness = max(case.spec.lateness or 0, 3 * case.unit)
    ordered = case.with_spec(lateness=lateness)
    shuffled = ordered.with_records(draw(shuffled_within(case.records, lateness)))
    first, second = (run_case(c, algorithm.name) for c in (ordered, shuffled))
    assert second.metrics.rows_late == 0
    assert_same_rows(
        rows_of(second.to_arrow()), rows_of(first.to_arrow()), ordered.spec.text(algorithm.name)
    )


def shuffled_equals_ordered(algorithm: Algorithm, draw: Draw) -> None:
    """Without a LATENESS clause every record of a bounded run counts, in whatever order."""
    timed = tuple(k for k in kinds_of(algorithm) if k in (*BY_TIME, "rows_on"))
    emit = draw(st.sampled_from(EMISSIONS))
    case = a_case(algorithm, draw, timed, lateness=None, emit=emit)
    if case.spec.ts is None:
        return
    shuffled = case.with_records(draw(st.permutations(case.records)))
    assert_judged(shuffled, algorithm.name)
    assert run_case(shuffled, algorithm.name).metrics.rows_late == 0


def revisions_equal_the_oracle(algorithm: Algorithm, draw: Draw) -> None:
    if any(kind in BY_TIME for kind in kinds_of(algorithm)):
        # With the number of the record among the columns, a changed top k shows in its rows.
        case = a_case(algorithm, draw, BY_TIME, late="REVISE", select=("id", "txt"))
        assert_judged(case, algorithm.name)


def revisions_do_not_depend_on_batches(algorithm: Algorithm, draw: Draw) -> None:
    if not any(kind in BY_TIME for kind in kinds_of(algorithm)):
        return
    case = a_case(algorithm, draw, BY_TIME, late="REVISE", select=("id", "txt"))
    table, query = case.table, case.spec.text(algorithm.name)
    session = crestline.open(query, engine="local")
    got: list[Row] = []
    for start, end in draw(splits(len(case.records))):
        got += rows_of(session.push(table.slice(start, end - start)))
        session = crestline.open(query, engine="local", state=session.snapshot())
    got += rows_of(session.finish())
    wanted = expect(case.spec, case.records)
    assert_same_rows(in_place(case.spec, got), wanted.rows, query)


def the_last_revision_is_the_truth(algorithm: Algorithm, draw: Draw) -> None:
    """However late its records came, a window ends up as if all had come in order."""
    if not any(kind in BY_TIME for kind in kinds_of(algorithm)):
        return
    case = a_case(algorithm, draw, BY_TIME, late="REVISE", select=("id", "txt"))
    last: dict[tuple[Any, ...], list[Row]] = {}
    for row in in_place(case.spec, rows_of(run_case(case, algorithm.name).to_arrow())):
        cell = (row["window_end"], *(row[c] for c in case.spec.partition))
        revision = row.pop("revision")
        known = last.setdefault(cell, [])
        if row["rank"] == 1:
            assert revision == (known[0]["_"] + 1 if known else 0)
            known.clear()
        known.append(row | {"_": revision})
    got = [{k: v for k, v in row.items() if k != "_"} for rows in last.values() for row in rows]
    forever = case.with_spec(late="DROP", lateness=10**18)
    wanted = expect(forever.spec, case.records).rows
    assert_same_rows(got, wanted, case.spec.text(algorithm.name))


UNIVERSAL: list[tuple[Check, int]] = [
    # check, examples for each algorithm
    (equals_the_oracle, 100),
    (changes_equal_the_oracle, 40),
    (entries_equal_the_oracle, 15),
    (changes_reproduce_the_snapshots, 20),
    (one_batch_equals_many, 30),
    (resumed_equals_uninterrupted, 25),
    (the_state_is_a_value, 15),
    (the_input_is_not_mutated, 10),
    (shuffled_within_the_lateness_equals_ordered, 20),
    (shuffled_equals_ordered, 30),
    (revisions_equal_the_oracle, 40),
    (revisions_do_not_depend_on_batches, 20),
    (the_last_revision_is_the_truth, 20),
]
