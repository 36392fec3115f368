"""Pictures of ranks: who is drawn where, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import crestline
from crestline.core.errors import CrestlineError
from crestline.runtime.plotting import _stays
from crestline.runtime.rankings import Entry, rankings
from local.engines import examples, run_case
from strategies import Case, cases

PNG = b"\x89PNG\r\n\x1a\n"
STREAM = pa.table(
    {
        "ts": pa.array(range(0, 30_000_000, 1_000_000), pa.timestamp("us")),
        "x": [float(n * 7 % 11) for n in range(29)] + [float("inf")],
        "name": [f"n{n % 7} $x_1$ <b>" for n in range(30)],
        "g": ["a", "b", None] * 10,
        "p": [0.5, 0.25, 1.0] * 10,
    }
)
WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"


def results_of(query: str) -> crestline.Results:
    return crestline.run(query, {"s": STREAM})


def axes_of(figure: Any) -> list[Any]:
    return list(figure.axes)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT TOP 2 name, x AS much {WINDOW} ORDER BY x DESC",
        f"SELECT TOP 2 name, x AS much {WINDOW} ORDER BY x DESC KEY (name) EMIT CHANGES",
        f"SELECT TOP 2 {WINDOW} ORDER BY x DESC",
        f"SELECT TOP 2 ts {WINDOW} WITH PROBABILITY p AS U_KRANKS ORDER BY x DESC",
        f"SELECT TOP 2 name {WINDOW} COMBINE SUM(x) ACROSS g OBJECT name",
        f"SELECT TOP 2 name {WINDOW} WHERE x > 100 AND x < 101 ORDER BY x DESC",
        "SELECT TOP 40 name FROM s [ROWS 29] ORDER BY x",
        "SELECT TOP 3 name FROM s [RANGE 1 DAY ON ts] ORDER BY x DESC EMIT CHANGES",
    ],
)
def test_every_kind_of_result_can_be_drawn(query: str, tmp_path: Path) -> None:
    figure: Any = results_of(query).plot(tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").read_bytes().startswith(PNG)
    assert figure._repr_png_().startswith(PNG) and len(axes_of(figure)) == 1
    results_of(query).plot(str(tmp_path / "ranks.SVG"))
    assert (tmp_path / "ranks.SVG").read_text().startswith("<?xml")


@examples(50)
@given(cases(kinds=("range_slide", "rows", "range"), key=(), emit="SNAPSHOTS", late="DROP"))
def test_changes_are_drawn_like_the_snapshots(case: Case) -> None:
    """Of the moments at which something changed."""
    drawn = []
    for emit in ("SNAPSHOTS", "CHANGES"):
        asked = case.with_spec(emit=emit, partition=())
        results = run_case(asked)
        (one,) = rankings({"q": results.to_arrow()}, {"q": next(iter(results.queries.values()))})
        drawn.append(dict(zip(one.moments, one.tops, strict=True)))
    snapshots, changes = drawn
    for moment, top in changes.items():
        assert top == snapshots.get(moment, top if not top else None)


def test_a_record_that_returns_stays_twice() -> None:
    a, b, c = (Entry((name,), name) for name in "abc")
    assert _stays([[a, b], [b, c], [a, c], [c]]) == [
        (a, [(0, 1)]), (b, [(0, 2), (1, 1)]), (c, [(1, 2), (2, 2), (3, 1)]), (a, [(2, 1)]),
    ]  # fmt: skip


def test_a_revised_answer_takes_the_place_of_the_first() -> None:
    late = STREAM.take([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 3, *range(12, 29)])
    query = f"SELECT TOP 2 name {WINDOW} ORDER BY x DESC LATENESS 0 SECONDS LATE REVISE"
    whole = crestline.run(f"SELECT TOP 2 name {WINDOW} ORDER BY x DESC", {"s": late})
    revised = crestline.run(query, {"s": late})
    assert len(revised) > len(whole)
    (one,) = rankings({"query": revised.to_arrow()}, revised.queries)
    (other,) = rankings({"query": whole.to_arrow()}, whole.queries)
    assert (one.moments, one.tops) == (other.moments, other.tops)


def test_each_query_and_partition_has_its_axes() -> None:
    text = (
        f"CREATE QUERY a AS SELECT TOP 2 name {WINDOW} ORDER BY x DESC;"
        f"CREATE QUERY b AS SELECT TOP 2 name {WINDOW} PARTITION BY g ORDER BY x DESC"
    )
    results = results_of(text)
    titles = [axes.get_title(loc="left") for axes in axes_of(results.plot())]
    assert titles == ["a", "b, g NULL", "b, g a", "b, g b"]
    assert len(axes_of(results.plot(query="a"))) == 1
    (axes,) = axes_of(results.plot(query="b", partition="a"))
    assert results.plot(query="a", ax=axes) is axes.figure
    for wrong, part in (
        ({"query": "c"}, "no query 'c': there are a, b"),
        ({"query": "b", "partition": "z"}, "no partition 'z'"),
        ({"ax": axes}, "4 rankings and one ax: choose"),
    ):
        with pytest.raises(CrestlineError, match=part):
            results.plot(**wrong)
    by_name = f"SELECT TOP 2 x AS much {WINDOW} PARTITION BY name ORDER BY x DESC"
    with pytest.raises(CrestlineError, match="more than 6 rankings .* choose"):
        results_of(by_name).plot()
    both = f"SELECT TOP 2 x AS much {WINDOW} PARTITION BY g, name ORDER BY x DESC"
    assert results_of(both).plot(partition=(None, STREAM["name"][2].as_py()))


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    results = results_of(f"SELECT TOP 2 name {WINDOW} ORDER BY x DESC")
    with pytest.raises(CrestlineError, match=r"something\.png"):
        results.plot(tmp_path / "ranks.doc")
    with pytest.raises(CrestlineError, match="cannot be written: No such file"):
        results.plot(tmp_path / "nowhere" / "ranks.png")


def test_without_matplotlib_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = results_of(f"SELECT TOP 2 name {WINDOW} ORDER BY x DESC")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CrestlineError, match=r"pip install 'crestline\[plot\]'"):
        results.plot()
