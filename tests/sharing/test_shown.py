"""Plans as text and as a picture: marks at the right places, and room for any number of queries."""

from __future__ import annotations

import random
import struct

import pytest

from crestline.cli.plan_picture import plan_picture
from crestline.planner.timeline import run_together, ticks, timeline
from crestline.planner.words import duration
from crestline.sharing import PLANS, Demand, Execution
from sharing.asked import PAPER

DRAWN = random.Random(7)
MANY = [
    Demand(f"query_{i}", DRAWN.randint(4, 40) * 1_000_000, DRAWN.randint(2, 100))
    for i in range(100)
]


def minutes(t: int) -> str:
    return f"{t} min"


def test_the_paper_s_plan_as_text() -> None:
    # every minute is ten columns
    assert timeline(PLANS["DP"](PAPER), width=52, unit=minutes).splitlines() == [
        "q1, q2, q3 |                   x                   x",
        "q4, q5, q6 |                                       x",
        "k          |                   4                   5",
        "           0 min             2 min             4 min",
    ]
    assert timeline(PLANS["INCO"](PAPER), width=62, unit=minutes).splitlines() == [
        "q1, q2     |                   x                   x",
        "q3         |                             x",
        "q4, q5, q6 |                                                 x",
        "k          |                   3         4         3         5",
        "           0 min   1 min     2 min     3 min     4 min   5 min",
    ]


def test_those_that_always_run_together() -> None:
    a, b = ("a", "b"), ("a", "b", "c")
    events = [Execution(1, 2, a), Execution(2, 3, b), Execution(2, 1, ("d",)), Execution(3, 2, a)]
    assert run_together(events) == {("a", "b"): [1, 2, 3], ("c",): [2], ("d",): [2]}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("width", [40, 72, 120])
def test_a_timeline_has_room_for_any_number_of_queries(name: str, width: int) -> None:
    text = timeline(PLANS[name](MANY), width=width, unit=duration)
    lines = text.splitlines()
    assert len(lines) <= 27
    assert max(map(len, lines)) <= max(width, 59)
    assert not any(line.endswith(" ") for line in lines)
    assert lines[-1].lstrip().startswith("0 s")
    if name == "NS":
        assert "and 76 lines more" in lines


def test_executions_that_fall_together_are_marked_as_several() -> None:
    text = timeline(PLANS["DP"]([Demand("a", 1, 1), Demand("b", 1_000, 2)]), unit=str)
    first, second, axis = text.splitlines()
    assert set(first[2:]) == {"#"}
    assert second == "b |" + " " * 68 + "x"
    assert axis.endswith("1000")


def test_odd_timelines() -> None:
    assert timeline(PLANS["DP"]([]), unit=str) == "no query is planned"
    long = timeline(PLANS["NS"]([Demand("n" * 200, 7, 1)]), unit=str)
    assert max(map(len, long.splitlines())) <= 72


def test_ticks_end_with_the_span() -> None:
    assert next(ticks([2, 4], 4, 9)) == [0, 2, 4]
    assert next(ticks([7], 7, 9)) == [0, 7]
    assert list(ticks([1], 1_000, 3))[-1] == [0, 1_000]
    for times in ticks([30, 51], 60, 20):
        assert times[0] == 0
        assert times[-1] == 60
        assert times == sorted(set(times))


@pytest.mark.parametrize("asked", [PAPER, MANY, [Demand("a", 1, 1), Demand("b", 10_000, 9)], []])
def test_a_picture_of_any_number_of_queries(asked: list[Demand]) -> None:
    plans = {name: plan(asked) for name, plan in PLANS.items()}
    content = plan_picture(plans, duration, "plans")
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1_800
    assert 300 < height < 2_500
