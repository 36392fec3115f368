"""Hostile queries, by hand and at random: the right answer or a clear error, and never slowly."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import crestline
from crestline.core.errors import CrestlineError, PlanError, QueryError, SourceError
from crestline.testing import Spec
from hostile_queries import Asking
from hostile_queries import table as random_table
from local.engines import (
    Algorithm,
    ask,
    column,
    run,
    supports,
)
from refusals import REFUSALS, refusals
from runtime.extremes import ALGORITHMS, records, within
from strategies import to_table


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


@pytest.mark.parametrize("option", ["gamma", "buffer", "additional", "expect", "error"])
def test_options_beyond_any_machine_number(option: str) -> None:
    table = to_table(records((1, 1.0)))
    name = "PA" if option in ("additional", "expect") else "RAPF"
    query = f"SELECT TOP 1 id FROM s [ROWS 9] ORDER BY val USING {name} ({option} => {'9' * 30})"
    with pytest.raises(PlanError, match=option):
        ask(query, table)
