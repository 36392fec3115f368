"""No query waits longer than its frequency, whoever comes and goes, and however it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.core.errors import CrestlineError
from crestline.core.state import pack, unpack
from crestline.sharing import PLANS, Demand, Execution, Schedule
from crestline.sharing.price import followed
from sharing.asked import PAPER, demands

A, B = Demand("a", 2, 3), Demand("b", 5, 5)


def served(executions: list[Execution]) -> list[tuple[int, int, str]]:
    """(time, k, members), short."""
    return [(e.at, e.k, "".join(e.members)) for e in executions]


def restored(schedule: Schedule) -> Schedule:
    return Schedule.from_state(unpack(pack({"kept": schedule.state()}))["kept"])


# --- by hand -------------------------------------------------------------------------------------


def test_cycles_repeat_from_the_origin_in_both_directions() -> None:
    schedule = Schedule("DP", PAPER, origin=1)
    times = [(e.at, e.k) for e in schedule.executions(-7, 9)]
    # a cycle is 4 long and ends with the 5
    assert times == [(-5, 4), (-3, 5), (-1, 4), (1, 5), (3, 4), (5, 5), (7, 4), (9, 5)]
    assert schedule.end_of_cycle(0) == 1
    assert schedule.end_of_cycle(1) == 5
    assert schedule.end_of_cycle(-4) == -3
    # q6 may join any of them: it is answered every 6, and where four turns of the cycle end
    assert [schedule.first_after("q6", t) for t in (0, 1, 6, 7, 13, 25)] == [1, 7, 7, 13, 19, 29]
    assert [schedule.first_after("q1", t) for t in (-2, -1, 0)] == [-1, 1, 1]


def test_a_stretch_without_executions() -> None:
    schedule = Schedule("NS", [Demand("a", 100, 1)])
    assert schedule.executions(0, 99) == []
    assert schedule.executions(50, 50) == []
    assert schedule.executions(60, 50) == []
    assert served(schedule.executions(-101, 100)) == [(-100, 1, "a"), (0, 1, "a"), (100, 1, "a")]


def test_a_newcomer_runs_by_itself_until_the_cycle_ends() -> None:
    schedule = Schedule("DP", [A, B])
    schedule.add(Demand("c", 3, 9), begin=10)
    assert schedule.end_of_cycle(10) == 12
    assert served(schedule.executions(10, 12)) == [(12, 9, "abc")]
    assert [schedule.first_after("c", t) for t in (0, 10, 11)] == [12, 12, 12]
    assert schedule.first_after("a", 0) == 2
    assert schedule.plan.cost == 4  # b joins c
    assert str(schedule.changes[0]).startswith("replanned at 12 because c was added: 2 -> 4")
    assert schedule.demands == (A, B, Demand("c", 3, 9))


def test_a_newcomer_of_short_frequency() -> None:
    schedule = Schedule("GREEDY", [A, B], origin=100)
    schedule.add(Demand("c", 1, 9), begin=101)
    assert [schedule.first_after("c", t) for t in (0, 101, 102)] == [102, 102, 103]
    assert served(schedule.executions(101, 106)) == [
        (102, 3, "a"), (102, 9, "c"), (103, 9, "c"), (104, 9, "abc"), (105, 9, "c"),
        (106, 9, "ca"),
    ]  # fmt: skip


def test_one_that_was_removed_is_left_out_at_once() -> None:
    schedule = Schedule("GREEDY", [A, B])
    schedule.remove("b", 9)
    # Nobody asks for 5 any more: what is left of the execution at 12 is a's.
    assert served(schedule.executions(9, 16)) == [
        (10, 3, "a"),
        (12, 3, "a"),
        (14, 3, "a"),
        (16, 3, "a"),
    ]
    assert schedule.demands == (A,)
    schedule = Schedule("GREEDY", [A, B])
    schedule.remove("a", 9)
    assert served(schedule.executions(9, 22)) == [(12, 5, "b"), (17, 5, "b"), (22, 5, "b")]
    # What was before is told as it was.
    assert served(schedule.executions(5, 12)) == [(6, 3, "a"), (8, 5, "ab"), (12, 5, "b")]


def test_several_changes_go_into_one_new_plan() -> None:
    schedule = Schedule("GREEDY", [A, B])
    schedule.add(Demand("c", 4, 1), begin=8)
    schedule.add(Demand("d", 4, 2), begin=9)
    schedule.remove("a", 10)
    schedule.add(Demand("a", 4, 7), begin=11)  # another of that name
    schedule.remove("c", 11)
    (change,) = schedule.changes
    assert (change.at, change.added, change.removed) == (12, ("c", "d", "a"), ("a", "c"))
    assert served(schedule.executions(8, 12)) == [(10, 3, "a"), (12, 7, "bda")]
    assert schedule.plan.cost == Fraction(7, 4)
    schedule.remove("b", 12)  # the new plan runs already
    assert [c.at for c in schedule.changes] == [12, 16]


def test_an_empty_schedule_begins_at_once() -> None:
    schedule = Schedule("DP", [])
    assert schedule.executions(-100, 100) == []
    assert schedule.demands == ()
    with pytest.raises(CrestlineError, match="no query is left"):
        schedule.end_of_cycle(0)
    schedule.add(Demand("a", 7, 2), begin=3)
    assert served(schedule.executions(3, 17)) == [(10, 2, "a"), (17, 2, "a")]
    schedule.remove("a", 18)
    assert schedule.executions(18, 1_000) == []
    schedule.add(Demand("b", 5, 2), begin=20)
    assert served(schedule.executions(20, 30)) == [(25, 2, "b"), (30, 2, "b")]
    assert [str(change) for change in schedule.changes] == [
        "replanned at 3 because a was added: 0 -> 2/7 a unit of time",
        "replanned at 20 because b was added and a was removed: 2/7 -> 2/5 a unit of time",
    ]


def test_those_who_would_wait_too_long_are_executed_at_the_end_of_the_cycle() -> None:
    # At 7 the longest cycle ends; a ran at 4 and 6, and in the new plan would next at 7 + 2.
    schedule = Schedule("INCO", [A, Demand("b", 7, 5)])
    schedule.remove("b", 6)
    assert served(schedule.executions(6, 11)) == [(7, 3, "a"), (9, 3, "a"), (11, 3, "a")]
    alone = Schedule("NS", [A, Demand("b", 7, 5)])
    alone.add(Demand("c", 9, 1), begin=6)
    assert served(alone.executions(6, 9)) == [(7, 3, "a"), (7, 5, "b"), (7, 1, "c"), (9, 3, "a")]
    # b ends its cycle at 8, and so does a: it is not executed for the sake of the change.
    schedule = Schedule("INCO", [A, Demand("b", 8, 5)])
    schedule.remove("b", 6)
    assert served(schedule.executions(6, 10)) == [(8, 3, "a"), (10, 3, "a")]


def test_changes_in_words() -> None:
    schedule = Schedule("DP", PAPER)
    schedule.add(Demand("q7", 60, 10), begin=0)
    schedule.remove("q5", 1)
    (change,) = schedule.changes
    told = change.sentence(lambda at: f"00:0{at}", lambda cost: f"{float(cost):.2f}", "minute")
    assert told == (
        "replanned at 00:04 because q7 was added and q5 was removed: 2.25 -> 2.33 a minute"
    )


def test_what_cannot_be() -> None:
    with pytest.raises(CrestlineError, match="no plan 'DQ', only DP, GREEDY, INCO, IN, NS"):
        Schedule("DQ", [])
    schedule = Schedule("DP", [A, B])
    with pytest.raises(CrestlineError, match="already"):
        schedule.add(A, begin=5)
    with pytest.raises(CrestlineError, match="no query 'c'"):
        schedule.remove("c", 5)
    with pytest.raises(CrestlineError, match="no query 'c'"):
        schedule.first_after("c", 5)
    schedule.remove("a", 6)
    with pytest.raises(CrestlineError, match="no query 'a'"):
        schedule.remove("a", 6)
    with pytest.raises(CrestlineError, match="one at 6 already"):
        schedule.add(A, begin=5)


def test_only_the_last_changes_are_remembered() -> None:
    schedule = Schedule("DP", [A])
    for turn in range(150):
        schedule.add(B, 20 * turn)
        schedule.remove("b", 20 * turn + 10)
    assert 100 <= len(schedule.changes) <= 101
    assert len(restored(schedule).changes) == len(schedule.changes)


# --- whoever comes and goes ----------------------------------------------------------------------


@dataclass
class Life:
    """A query from its beginning to its end, and when it was executed."""

    demand: Demand
    begin: int
    gone: int | None = None
    at: list[int] = field(default_factory=list)


class Watched:
    """A schedule, and what it had executed."""

    def __init__(self, plan: str, first: list[Demand], origin: int, now: int) -> None:
        self.schedule = Schedule(plan, first, origin)
        self.now = now
        self.alive = {demand.name: Life(demand, now) for demand in first}
        self.dead: list[Life] = []
        self.plan = plan

    def run(self, until: int) -> None:
        """Ask for all up to ``until``, in one go or in two."""
        found = self.schedule.executions(self.now, until)
        middle = (self.now + until) // 2
        parts = self.schedule.executions(self.now, middle)
        assert found == parts + self.schedule.executions(middle, until)
        moments = [(e.at, name) for e in found for name in e.members]
        assert len(set(moments)) == len(moments)
        assert [e.at for e in found] == sorted(e.at for e in found)
        for execution in found:
            assert self.now < execution.at <= until
            assert execution.members
            assert self.plan != "NS" or len(execution.members) == 1
            ks = [self.alive[name].demand.k for name in execution.members]
            assert execution.k == max(ks)
            for name in execution.members:
                self.alive[name].at.append(execution.at)
        for name in self.alive:
            first = self.schedule.first_after(name, self.now)
            assert first == min((at for at in self.alive[name].at if at > self.now), default=first)
            assert first > self.now
        self.now = until

    def add(self, demand: Demand) -> None:
        self.schedule.add(demand, self.now)
        self.alive[demand.name] = Life(demand, self.now)

    def remove(self, name: str) -> None:
        self.schedule.remove(name, self.now)
        life = self.alive.pop(name)
        life.gone = self.now
        self.dead.append(life)

    def check(self) -> None:
        """The promise."""
        for life in (*self.alive.values(), *self.dead):
            ends = [life.begin, *life.at, *([] if life.gone is None else [life.gone])]
            assert ends == sorted(ends)
            waits = [later - earlier for earlier, later in pairwise(ends)]
            assert max(waits, default=0) <= life.demand.frequency, (life, waits)
            assert self.now - ends[-1] <= life.demand.frequency or life.gone is not None, life


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 25),  # how long it goes on before
        st.sampled_from(["add", "add", "remove", "restore"]),
        st.integers(1, 15),  # frequency
        st.integers(1, 9),  # k
        st.integers(0, 9),  # who
    ),
    max_size=12,
)


@pytest.mark.parametrize("plan", PLANS)
@settings(max_examples=max(150, settings.default.max_examples))
@given(
    first=demands(5, 15, 9) | st.just([]),
    changes=CHANGES,
    origin=st.integers(-20, 20),
    now=st.integers(-30, 30),
)
def test_no_query_waits_longer_than_its_frequency(
    plan: str,
    first: list[Demand],
    changes: list[tuple[int, str, int, int, int]],
    origin: int,
    now: int,
) -> None:
    watched = Watched(plan, first, origin, now)
    for lasts, what, frequency, k, who in changes:
        watched.run(watched.now + lasts)
        names = sorted(watched.alive)
        if what == "restore":
            before = watched.schedule
            watched.schedule = restored(before)
            later = (watched.now, watched.now + 60)
            assert watched.schedule.executions(*later) == before.executions(*later)
            assert watched.schedule.state() == before.state()
        elif what == "remove" and names:
            watched.remove(names[who % len(names)])
        elif what == "add" and f"q{who}" not in watched.alive:
            watched.add(Demand(f"q{who}", frequency, k))
        assert {d.name for d in watched.schedule.demands} == set(watched.alive)
    # What is told now for later is what will happen.
    watched.run(watched.now + 50)
    watched.check()
    # Once the cycle is over in which the last change was, the plan is all there is.
    schedule = watched.schedule
    if watched.alive:
        assert schedule.plan == PLANS[plan](schedule.demands)
    begun = schedule.changes[-1].at if schedule.changes else origin
    fresh = Schedule(plan, schedule.demands, begun)
    later = (max(begun, watched.now), max(begun, watched.now) + 40)
    assert schedule.executions(*later) == fresh.executions(*later)


@pytest.mark.parametrize("plan", PLANS)
@given(demands(), st.integers(-50, 50), st.integers(-50, 50))
def test_a_plan_without_changes_is_followed_for_ever(
    plan: str, asked: list[Demand], origin: int, after: int
) -> None:
    schedule = Schedule(plan, asked, origin)
    until = after + 90
    by_hand = sorted(
        (origin + turn * cycle.length + execution.at, execution.k, execution.members)
        for cycle in followed(schedule.plan, asked).cycles
        for turn in range(-200, 200)
        for execution in cycle.executions
        if after < origin + turn * cycle.length + execution.at <= until
    )
    found = schedule.executions(after, until)
    assert sorted((e.at, e.k, e.members) for e in found) == by_hand
    for demand in asked:
        its = [at for at, _, members in by_hand if demand.name in members]
        assert schedule.first_after(demand.name, after) == its[0]
    assert schedule.changes == []
