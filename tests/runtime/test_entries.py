"""EMIT ENTRIES: the first ``enter`` of each record in EMIT CHANGES, and no other row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import CrestlineError, StateError
from crestline.core.state import pack, unpack
from crestline.runtime import candidates
from hostile import PROBABILITIES
from local.engines import ask, assert_same_rows, examples, rows_of
from strategies import splits

ROWS = "SELECT TOP 2 id FROM s [ROWS 3] ORDER BY val DESC EMIT ENTRIES"
#: b comes back at 4, when a has gone.
BACK = [{"id": i, "val": v} for i, v in zip("abcde", (5, 3, 9, 1, 4), strict=True)]


def first_enters(query: str, data: Any) -> list[dict[str, Any]]:
    """The first ``enter`` of each ``id`` (and query) among the changes."""
    first: dict[Any, dict[str, Any]] = {}
    for row in ask(query.replace("ENTRIES", "CHANGES"), data):
        if row["change"] == "enter":
            first.setdefault(row["id"], row)
    return list(first.values())


def test_a_record_that_comes_back_is_not_told_again() -> None:
    rows = ask(ROWS, BACK)
    assert [(r["at"], r["id"], r["rank"]) for r in rows] == [
        (1, "a", 1), (2, "b", 2), (3, "c", 1), (5, "e", 2),
    ]  # fmt: skip
    assert {(r["change"], r["previous_rank"]) for r in rows} == {("enter", None)}
    assert_same_rows(rows, first_enters(ROWS, BACK))


def test_a_restored_session_remembers_what_it_has_told() -> None:
    session = crestline.open(ROWS, engine="local")
    told = [rows_of(session.push(BACK[:3]))]
    session = crestline.open(ROWS, engine="local", state=session.snapshot())
    told.append(rows_of(session.push(BACK[3:])))
    assert [[r["id"] for r in rows] for rows in told] == [["a", "b", "c"], ["e"]]


@pytest.mark.parametrize(
    "alter",
    [
        lambda entries: entries | {"id": entries["id"] + 9},
        lambda entries: entries | {"query": entries["query"] + 1},
        lambda entries: entries | {"id": entries["id"][1:]},
        lambda entries: {},
    ],
)
def test_a_state_that_tells_of_other_records_is_refused(
    alter: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    session = crestline.open(ROWS, engine="local")
    session.push(BACK[:3])
    state = unpack(session.snapshot())
    log = state["streams"]["s"]["bundles"]["0"]["executor"]["log"]
    log["entries"] = alter(log["entries"])
    with pytest.raises(StateError):
        crestline.open(ROWS, engine="local", state=pack(state))


@pytest.mark.parametrize("window", ["ROWS 40", "ROWS 40 SLIDE 5", "RANGE 40 us SLIDE 5 us ON ts"])
@pytest.mark.parametrize("partition", ["", "PARTITION BY grp"])
def test_forgotten_records_leave_the_memory_to_the_others(
    window: str, partition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records and partitions are renumbered while others, that were told, are still kept."""
    monkeypatch.setattr(candidates.Candidates.compact, "__defaults__", (5,))
    monkeypatch.setattr(candidates.Candidates.forget_partitions, "__defaults__", (2,))
    rng = np.random.default_rng(3)
    moments = pa.array(np.arange(600), pa.timestamp("us", "UTC"))
    table = pa.table(
        {"id": np.arange(600), "ts": moments, "val": rng.random(600), "grp": np.arange(600) // 70}
    )
    query = f"SELECT TOP 4 id FROM s [{window}] {partition} ORDER BY val DESC EMIT ENTRIES"
    session = crestline.open(query, engine="local")
    rows = [row for n in range(0, 600, 7) for row in rows_of(session.push(table.slice(n, 7)))]
    rows += rows_of(session.finish())
    wanted = first_enters(query, table)
    assert len(wanted) < sum(r["change"] == "enter" for r in ask(
        query.replace("ENTRIES", "CHANGES"), table
    ))  # fmt: skip
    assert sorted(map(repr, rows)) == sorted(map(repr, wanted))


@pytest.mark.parametrize(
    "meaning", ["PK_TOPK", "PT_K(0.3)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF(0.6)"]
)
@examples(12)
@given(data=st.data())
def test_uncertain_records(meaning: str, data: st.DataObject) -> None:
    chance = st.floats(0.01, 1) | st.sampled_from(PROBABILITIES)
    chances = data.draw(st.lists(chance, max_size=30))
    scores = data.draw(st.permutations(range(len(chances))))
    records = [
        {"id": i, "val": s, "p": p, "rule": i // 3 if p < 0.33 else None}
        for i, (s, p) in enumerate(zip(scores, chances, strict=True))
    ]
    window = data.draw(st.sampled_from(("ROWS 6", "ROWS 9 SLIDE 2")))
    rules = data.draw(st.sampled_from(("", "EXCLUSIVE BY rule")))
    query = (
        f"SELECT TOP 3 id FROM s [{window}] WITH PROBABILITY p {rules} AS {meaning}"
        " ORDER BY val DESC EMIT ENTRIES"
    )
    wanted = first_enters(query, records)
    assert_same_rows(ask(query, records), wanted, query)
    session = crestline.open(query, engine="local")
    got = []
    for start, end in data.draw(splits(len(records))):
        got += rows_of(session.push(records[start:end]))
        session = crestline.open(query, engine="local", state=session.snapshot())
    assert_same_rows([*got, *rows_of(session.finish())], wanted, query)


def test_queries_that_share_an_operator_each_tell_a_record_once() -> None:
    """Also those that join, and those that take the place of one that left."""
    text = "CREATE QUERY {} AS SELECT TOP {} id FROM s [ROWS {}] ORDER BY val DESC EMIT {}"
    session = crestline.open(";".join((text.format("a", 2, 3, "ENTRIES"),
        text.format("b", 1, 2, "CHANGES"), text.format("c", 3, 3, "SNAPSHOTS"))))  # fmt: skip
    told: list[tuple[str, int, str]] = []

    def push(records: list[dict[str, Any]]) -> None:
        rows = rows_of(session.push(records))
        told.extend((r["query"], r["at"], r["id"]) for r in rows if r["query"] in "ad")

    push(BACK[:3])
    session.add(text.format("d", 2, 3, "ENTRIES"))
    push(BACK[3:])
    session.remove("a")
    push([{"id": "f", "val": 8}])
    alone = [("a", at, name) for at, name in ((1, "a"), (2, "b"), (3, "c"), (5, "e"))]
    assert [row for row in told if row[0] == "a"] == alone
    assert {name for query, _, name in told if query == "d"} >= {"e", "f"}
    names = [name for query, _, name in told if query == "d"]
    assert len(names) == len(set(names))


def test_there_are_no_ranks_to_draw() -> None:
    results = crestline.run(ROWS, {"s": BACK}, engine="local")
    with pytest.raises(CrestlineError, match="EMIT ENTRIES does not tell who left"):
        results.plot()
