"""Sessions, counts, queries and plans as people see them."""

from __future__ import annotations

import pytest

import crestline
from crestline.core.errors import CrestlineError
from crestline.planner import arrange, plan
from crestline.runtime.stream_run import StreamRun
from local.engines import moment

SECOND = 1_000_000
QUERY = "SELECT TOP 2 id FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"
TEXT = f"""
    CREATE QUERY first AS {QUERY};
    CREATE QUERY patient AS {QUERY} LATENESS 3 SECONDS;
    CREATE QUERY `<i>` AS SELECT TOP 1 x FROM t [ROWS 9] ORDER BY x
"""
RECORDS = [{"id": n, "ts": moment(n * SECOND), "val": n or None} for n in range(25)]


def rows(session: crestline.Session) -> dict[str, list[str]]:
    lines = [line.split() for line in repr(session).splitlines()[2:]]
    return {line[0]: line[1:] for line in lines}


def test_a_session_shows_what_became_of_each_query() -> None:
    session = crestline.open(TEXT)
    assert repr(session).startswith("<Session: 3 queries>\nquery ")
    assert rows(session)["first"] == ["s", "0", "0", "0", "0"]
    session.push(RECORDS, "s")
    counts = session.by_query["first"]
    assert counts.kept and counts.result_rows
    shown = ["s", "25", "1", str(counts.kept), str(counts.result_rows), "1970-01-01T00:00:24Z"]
    assert rows(session)["first"] == shown
    assert rows(session)["patient"][-1] == "1970-01-01T00:00:21Z"
    assert rows(session)["<i>"] == ["t", "0", "0", "0", "0"]
    session.close()
    assert repr(session).startswith("<Session: 3 queries, closed>\n")
    html = session._repr_html_()
    assert "<i>" not in html and "&lt;i&gt;" in html and "MINTOPK" in html


def test_a_session_without_queries_and_one_that_broke_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = crestline.open(QUERY)
    session.remove("query")
    assert repr(session) == "<Session: 0 queries>" and session._repr_html_()

    def fails(*_: object) -> None:
        raise MemoryError("<full>")

    session = crestline.open(QUERY)
    session.push(RECORDS)
    monkeypatch.setattr(StreamRun, "finish", fails)
    with pytest.raises(MemoryError):
        session.finish()
    with pytest.raises(CrestlineError, match="broke off"):
        session.finish()
    assert repr(session) == "<Session: broken off (MemoryError: <full>)>"
    assert "&lt;full&gt;" in session._repr_html_()


def test_counts_tell_what_is_not_as_ever() -> None:
    assert repr(crestline.Metrics()) == "Metrics(rows_in=0)"
    assert repr(crestline.Metrics(rows_in=3, kept=2)) == "Metrics(rows_in=3, kept=2)"


def test_queries_and_plans_are_told_by_their_text() -> None:
    query = crestline.parse(f"CREATE QUERY q AS {QUERY.replace('ORDER', chr(10) + 'ORDER')}")
    text = f"Query(CREATE QUERY q AS {QUERY})"
    assert repr(query) == text and "\nORDER BY" in str(query)
    assert repr(plan(query)) == f"<Plan: MINTOPK for {text}>"
    (bundle,) = arrange({"a": query, "b": query})
    assert repr(bundle) == "<Bundle of a, b: <SharedPlan: one structure for a, b>>"
    hostile = crestline.parse("SELECT TOP 1 'a\x1b[31m' AS x FROM s [ROWS 1] ORDER BY y")
    assert "\x1b" in str(hostile) and "\x1b" not in repr(hostile)
