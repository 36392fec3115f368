"""What is due: every multiple of a slide, what the schedule says, and not beyond the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import CrestlineError
from crestline.core.specs import Agenda, Executions
from crestline.core.state import pack, unpack
from crestline.sharing import PLANS, Demand, Schedule, SharedAgenda


def listed(due: Executions) -> list[tuple[int, list[int]]]:
    assert due.offset[0] == 0
    assert due.offset[-1] == len(due.query)
    assert {due.at.dtype, due.offset.dtype, due.query.dtype} == {np.dtype(np.int64)}
    return [
        (int(at), due.query[due.offset[i] : due.offset[i + 1]].tolist())
        for i, at in enumerate(due.at)
    ]


def by_hand(
    slides: list[int | None],
    names: list[str],
    schedule: Schedule | None,
    after: int,
    until: int,
    latest: int | None,
) -> list[tuple[int, list[int]]]:
    """One moment after the other."""
    found = []
    told: dict[int, list[tuple[str, ...]]] = {}
    for execution in schedule.executions(after, until) if schedule else []:
        told.setdefault(execution.at, []).append(execution.members)
    for at in range(after + 1, until + 1):

        def first(ask: int, at: int = at) -> bool:
            """Whether this is not beyond the ask's first execution after the last event."""
            if latest is None or at <= latest:
                return True
            slide = slides[ask]
            if slide is not None:
                return not any(t % slide == 0 for t in range(latest + 1, at))
            assert schedule is not None
            return not any(names[ask] in e.members for e in schedule.executions(latest, at - 1))

        sliding = [i for i, s in enumerate(slides) if s is not None and at % s == 0 and first(i)]
        found += [(at, sliding)] if sliding else []
        for members in told.get(at, []):
            asks = [names.index(name) for name in members if name in names]
            asks = [ask for ask in asks if slides[ask] is None and first(ask)]
            found += [(at, asks)] if asks else []
    return found


@given(
    slides=st.lists(st.integers(1, 9), max_size=4),
    scheduled=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), max_size=4),
    plan=st.sampled_from(sorted(PLANS)),
    after=st.integers(-20, 20),
    lasts=st.integers(0, 30),
    ends=st.none() | st.integers(-5, 30),
    order=st.randoms(use_true_random=False),
)
def test_what_is_due(slides, scheduled, plan, after, lasts, ends, order) -> None:  # type: ignore[no-untyped-def]
    asked = [Demand(f"f{i}", f, k) for i, (f, k) in enumerate(scheduled)]
    schedule = Schedule(plan, [*asked, Demand("somebody else", 4, 9)])
    both = [(f"s{i}", slide) for i, slide in enumerate(slides)] + [(d.name, None) for d in asked]
    order.shuffle(both)
    names, given_slides = [name for name, _ in both], [slide for _, slide in both]
    agenda: Agenda = SharedAgenda(given_slides, schedule, names)
    latest = None if ends is None else after + ends
    until = after + lasts
    expected = by_hand(given_slides, names, schedule, after, until, latest)
    assert listed(agenda.due(after, until, latest)) == expected
    assert isinstance(agenda, SharedAgenda)
    for ask in range(len(names)):
        times = [at for at, asks in expected if ask in asks]
        assert agenda.moments(ask, after, until, latest).tolist() == times
    again = SharedAgenda.from_state(unpack(pack({"kept": agenda.state()}))["kept"])
    assert listed(again.due(after, until, latest)) == expected


def test_the_end_of_a_bounded_stream_is_reached_from_afar() -> None:
    agenda = SharedAgenda([10, None], Schedule("DP", [Demand("b", 7, 1)]), ["a", "b"])
    assert listed(agenda.due(20, 1 << 62, latest=30)) == [
        (21, [1]), (28, [1]), (30, [0]), (35, [1]), (40, [0]),
    ]  # fmt: skip
    assert listed(agenda.due(40, 1 << 62, latest=30)) == []
    assert agenda.moments(1, 20, 1 << 62, latest=28).tolist() == [21, 28, 35]
    empty = SharedAgenda([None], Schedule("DP", []), ["a"])
    assert listed(empty.due(0, 1 << 62, latest=30)) == []


def test_numbers_stay() -> None:
    schedule = Schedule("DP", [Demand("c", 4, 1)])
    agenda = SharedAgenda([2, 3, None], schedule, ["a", "b", "c"])
    agenda.remove(0)
    assert agenda.add("d", 2) == 3
    assert agenda.add("a", 6) == 4  # another of that name
    assert listed(agenda.due(0, 6)) == [
        (2, [3]), (3, [1]), (4, [3]), (4, [2]), (6, [1, 3, 4]),
    ]  # fmt: skip
    assert agenda.add("e", None) == 5
    schedule.add(Demand("e", 3, 2), begin=6)
    assert listed(agenda.due(6, 8)) == [(8, [3]), (8, [2, 5])]
    agenda.remove(2)
    schedule.remove("c", 8)
    again = SharedAgenda.from_state(unpack(pack({"kept": agenda.state()}))["kept"])
    for one in (agenda, again):
        assert one.moments(2, 8, 30).tolist() == []
        assert one.moments(5, 8, 20).tolist() == [11, 14, 17, 20]
        assert one.moments(0, 8, 20).tolist() == []
    assert again.add("f", 1) == 6


def test_one_that_slides_is_not_the_schedule_s_of_the_same_name() -> None:
    agenda = SharedAgenda(
        [5, None], Schedule("DP", [Demand("a", 4, 1), Demand("b", 4, 1)]), ["a", "b"]
    )
    assert listed(agenda.due(0, 5)) == [(4, [1]), (5, [0])]
    assert agenda.moments(0, 0, 5).tolist() == [5]


def test_what_cannot_be() -> None:
    with pytest.raises(CrestlineError, match="2 slides do not fit 1 names"):
        SharedAgenda([1, 2], None, ["a"])
    agenda = SharedAgenda([1, None], None, ["a", "b"])
    assert listed(agenda.due(0, 2)) == [(1, [0]), (2, [0])]
    assert agenda.moments(1, 0, 5).tolist() == []
    with pytest.raises(CrestlineError, match="already"):
        agenda.add("a", 2)
    with pytest.raises(CrestlineError, match="slides by 0"):
        agenda.add("c", 0)
    with pytest.raises(CrestlineError, match="no query number 2"):
        agenda.remove(2)
    agenda.remove(1)
    with pytest.raises(CrestlineError, match="no query number 1"):
        agenda.remove(1)


def test_hundreds_of_asks_over_thousands_of_moments() -> None:
    second = 1_000_000
    slides: list[int | None] = [(1 + i % 10) * second for i in range(150)]
    asked = [Demand(f"q{i}", (1 + i % 40) * second, 1 + i % 40) for i in range(150)]
    names = [*(f"s{i}" for i in range(150)), *(d.name for d in asked)]
    for plan in PLANS:
        agenda = SharedAgenda([*slides, *([None] * 150)], Schedule(plan, asked), names)
        whole = agenda.due(0, 3_000 * second)
        assert len(whole) >= 6_000
        parts = [agenda.due(turn * 30 * second, (turn + 1) * 30 * second) for turn in range(100)]
        assert np.array_equal(np.concatenate([part.at for part in parts]), whole.at)
        assert np.array_equal(np.concatenate([part.query for part in parts]), whole.query)
