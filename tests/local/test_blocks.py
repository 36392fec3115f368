"""A session in a block, and fed by an asynchronous stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crestline
from local.engines import rows_of
from sources.forms import (
    COUNT,
    COUNTED,
    TIMED,
    WANTED,
    dicts,
    pieces,
    table,
)


def test_a_session_is_closed_at_the_end_of_its_block() -> None:
    with crestline.open(COUNTED) as session:
        session.push(table())
        saved = session.snapshot()
    for call in (lambda: session.push(table()), session.finish, lambda: session.add(COUNTED)):
        with pytest.raises(
            crestline.CrestlineError, match="this session is closed: open a new one"
        ):
            call()
    assert session.metrics.rows_in == COUNT, "what is known stays known"
    assert session.snapshot() == saved
    with crestline.open(COUNTED, state=saved) as resumed:
        assert resumed.push(dicts()).num_rows > 0


def test_a_block_that_fails_closes_its_session_and_hides_nothing() -> None:
    with pytest.raises(KeyError), crestline.open(COUNTED) as session:
        raise KeyError("mine")
    with pytest.raises(crestline.CrestlineError, match="closed"):
        session.push(dicts())
    session.close()


def test_an_empty_push_changes_nothing() -> None:
    with crestline.open(COUNTED) as session:
        for nothing in ([], iter([]), pd.DataFrame(), pl.DataFrame()):
            session.push(nothing)
        session.push(table())
        before = session.snapshot()
        for nothing in ([], iter([]), pd.DataFrame(), pl.DataFrame(), table().slice(0, 0)):
            session.push(nothing)
        assert session.metrics.rows_in == COUNT
        assert session.snapshot() == before


def test_results_of_an_asynchronous_stream() -> None:
    async def arriving() -> AsyncIterator[pa.Table]:
        for piece in pieces():
            await asyncio.sleep(0)
            yield piece

    async def results(session: crestline.Session) -> AsyncIterator[pa.Table]:
        async for piece in arriving():
            yield await asyncio.to_thread(session.push, piece)

    async def collected() -> list[pa.Table]:
        with crestline.open(TIMED + " LATENESS 5 SECONDS") as session:
            return [*[rows async for rows in results(session)], session.finish()]

    assert rows_of(pa.concat_tables(asyncio.run(collected()))) == WANTED[TIMED][0]
