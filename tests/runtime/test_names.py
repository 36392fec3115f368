"""A column of a stream may have any name, a selected one any that its own result does not use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import crestline
from crestline.core.errors import CrestlineError, PlanError, QueryError, SourceError
from crestline.runtime.roles import (
    Carried,
    Number,
    Role,
    key_role,
    partition_role,
    selected_role,
    tie_role,
)
from crestline.testing import Row
from local.engines import (
    ask,
    column,
    rows_of,
)
from spark.by_hand import ByHand

MOMENT = pa.timestamp("us")


STREAM = pa.table(
    {
        "ts": pa.array([0, 1, 2, 2, 5, 6, 3, 9, 12, 13], MOMENT),
        "x": [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, None, 5.0, float("inf")],
        "p": [0.5, 1.0, 0.25, 0.5, 0.75, 0.125, 0.5, 0.5, 1.0, 0.5],
        "g": ["a", "b", "a", None, "b", "a", "b", "a", "b", "a"],
    }
)


EVERY = (
    "query", "window_start", "window_end", "at", "change", "rank", "previous_rank", "score",
    "probability", "upper", "certain", "revision",
)  # fmt: skip


SLIDING = "[RANGE 6 us SLIDE 2 us ON ts]"


RANKED = f"SELECT TOP 2 x AS {{}} FROM s {SLIDING} PARTITION BY g AS {{}} {{}} ORDER BY x DESC"


COMBINED = (
    f"SELECT TOP 2 x AS {{}} FROM s {SLIDING} PARTITION BY g AS {{}}"
    " COMBINE SUM(p) ACROSS g OBJECT x {}"
)


SNAPSHOTS = {"query", "window_start", "window_end", "rank", "score"}


CHANGES = {"query", "at", "change", "rank", "previous_rank", "score"}


#: A query and the names that are taken in its result.
KINDS = {
    "snapshots": (RANKED, "", SNAPSHOTS),
    "changes": (RANKED, "EMIT CHANGES", CHANGES),
    "probable": (RANKED, "WITH PROBABILITY p", SNAPSHOTS | {"probability"}),
    "probable changes": (RANKED, "WITH PROBABILITY p EMIT CHANGES", CHANGES | {"probability"}),
    "combined": (COMBINED, "", SNAPSHOTS | {"upper", "certain"}),
    "combined changes": (COMBINED, "EMIT CHANGES", CHANGES | {"upper", "certain"}),
    "revised": (RANKED, "LATENESS 0 us LATE REVISE", SNAPSHOTS | {"revision"}),
}


PAIRS = [
    (kind, name, free)
    for kind, (_, _, taken) in KINDS.items()
    for name, free in zip(EVERY, [*EVERY[1:], "query"], strict=True)
    if not {name, free} & taken
]


def answers(text: str, renamed: dict[str, str], stream: pa.Table = STREAM) -> dict[str, list[Row]]:
    """The rows by all ways to get them, with neutral names."""
    session = crestline.open(text)
    first = session.push(stream.slice(0, 5))
    session = crestline.open(text, state=session.snapshot())
    pushed = pa.concat_tables([first, session.push(stream.slice(5)), session.finish()])
    case: Any = SimpleNamespace(spec=SimpleNamespace(text=lambda using: text), table=stream)
    by_hand = ByHand(case, 3, bounded=False)
    by_hand.round([stream.slice(0, 3), stream.slice(3, 2)])
    by_hand.round([stream.slice(5)])
    found = {
        "run": rows_of(crestline.run(text, {"s": stream}).to_arrow()),
        "session": rows_of(pushed),
        "stages": by_hand.rows,
    }
    return {
        how: [{renamed.get(name, name): value for name, value in row.items()} for row in rows]
        for how, rows in found.items()
    }


@pytest.mark.filterwarnings("ignore::crestline.LateRecordsWarning")
@pytest.mark.parametrize(("kind", "name", "free"), PAIRS)
def test_a_name_that_the_result_does_not_have_is_free(kind: str, name: str, free: str) -> None:
    text, clauses, _ = KINDS[kind]
    neutral = answers(text.format("one", "two", clauses), {})
    named = answers(text.format(name, free, clauses), {name: "one", free: "two"})
    assert named == neutral and neutral["run"] and neutral["stages"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_the_result_has_is_refused(kind: str) -> None:
    text, clauses, taken = KINDS[kind]
    for name in taken:
        for names in ((name, "two"), ("one", name.upper())):
            with pytest.raises(QueryError, match=f"column {name} of its own"):
                crestline.parse(text.format(*names, clauses))


def test_queries_that_share_may_use_such_names() -> None:
    window = "FROM s [RANGE 6 us SLIDE 2 us ON ts] ORDER BY x"
    text = (
        f"SELECT TOP 1 x AS upper {window} DESC;"
        f"SELECT TOP 2 x AS upper {window} DESC EMIT CHANGES;"
        f"SELECT TOP 2 x AS window_end {window} EMIT CHANGES;"
        f"SELECT TOP 3 x AS window_end {window} EMIT CHANGES"
    )
    together = crestline.run(text, {"s": STREAM})
    assert [metrics.sharing for metrics in together.by_query.values()] == [2, 2, 2, 2]
    for name, query in zip(together.by_query, crestline.parse_all(text), strict=True):
        alone = crestline.run(query, {"s": STREAM}).to_arrow()
        assert together.of(name).drop_columns(["query"]).equals(alone.drop_columns(["query"]))
        assert alone.num_rows


def test_a_star_may_bring_such_names() -> None:
    rows = [{"at": 1, "change": "x", "probability": n, "window": n} for n in range(3)]
    results = crestline.run("SELECT TOP 1 * FROM s [ROWS 3 SLIDE 3] ORDER BY window", {"s": rows})
    assert [{**row} | rows[0] == row for row in results] == [True]
    assert "probability" in repr(results) and results.plot()
    with pytest.raises(SourceError, match="'at', but the result has a column of that name"):
        crestline.run("SELECT TOP 1 * FROM s [ROWS 3] ORDER BY window EMIT CHANGES", {"s": rows})


#: Every name that the engine or the pipeline has for a column, and names that begin like one.
OURS = (
    *Role, *Number, *Carried, tie_role(0), tie_role(1), partition_role(0), partition_role(1),
    selected_role(0), selected_role(1), key_role(0), "e0", "e1", "batch", "temp", "crestline_batch",
)  # fmt: skip


#: A stream of which every column plays another role.
PLAYING = pa.table(
    {
        "moment": STREAM["ts"],
        "value": STREAM["x"],
        "chance": STREAM["p"],
        "group": STREAM["g"],
        "second": [3, 1, 2, 2, 1, 1, 3, 2, 2, 1],
        "shown": ["d", "c", "b", "a", "e", "f", "g", "h", "i", "j"],
        "unique": range(10),
        "rule": [1, 2, 2, 4, 5, 6, 7, 8, 9, 9],
    }
)


FROM = (
    " FROM s [RANGE 6 us SLIDE 2 us ON `{moment}`] WHERE `{unique}` < 9"
    " PARTITION BY `{group}` AS three"
)


SELECTED = "SELECT TOP 2 `{shown}` AS one, `{unique}` + `{second}` AS two" + FROM


QUERIES = {
    "ranked": SELECTED + " ORDER BY `{second}` DESC, `{value}` + 1, `{chance}` KEY (`{unique}`)",
    "probable": SELECTED + " WITH PROBABILITY `{chance}` EXCLUSIVE BY `{rule}` ORDER BY `{value}`",
    "combined": "SELECT TOP 2 `{unique}` AS one"
    + FROM
    + " COMBINE SUM(`{value}`) ACROSS `{second}` OBJECT `{unique}`",
}


@pytest.mark.filterwarnings("ignore::crestline.LateRecordsWarning")
@pytest.mark.parametrize("kind", QUERIES)
def test_no_column_of_a_stream_is_taken_for_one_of_ours(kind: str) -> None:
    columns = PLAYING.column_names
    neutral = answers(QUERIES[kind].format(**dict(zip(columns, columns, strict=True))), {}, PLAYING)
    assert neutral["run"] and neutral["stages"]
    for first in range(len(OURS)):
        names = [str(OURS[(first + i) % len(OURS)]) for i in range(len(columns))]
        text = QUERIES[kind].format(**dict(zip(columns, names, strict=True)))
        assert answers(text, {}, PLAYING.rename_columns(names)) == neutral, names


def test_a_star_may_bring_names_of_ours() -> None:
    names = [name for name in dict.fromkeys(map(str, OURS)) if name != "score"]
    stream = pa.table({name: [number, 1] for number, name in enumerate(names)})
    text = "SELECT TOP 2 * FROM s [ROWS 2] PARTITION BY chunk ORDER BY batch DESC, _row"
    rows = answers(text, {}, stream)
    for found in rows.values():
        assert {tuple(row[name] for name in names) for row in found} == {
            tuple(row.values()) for row in stream.to_pylist()
        }


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
