"""The operators on NumPy arrays: right in every window, in batches, through saved states.

Right is what `worlds` says of the whole window, whatever the operator has kept of it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from tiers import TIERS, in_tier
from uncertain.replay import (
    NAMES,
    RESTLESS,
    STEADY,
    assert_judged,
    each_operator,
    each_question,
    long,
    operators,
    small,
    through,
)
from uncertain.streams import CHANCES, QUESTIONS, Stream, parameter


@cache
def bulk(question: str, seed: int) -> Stream:
    return Stream.bulk(np.random.default_rng([seed, QUESTIONS.index(question), 2]), question)


def check_small(name: str, question: str, seeds: range) -> None:
    for seed in seeds:
        stream = small(question, seed)
        habits = RESTLESS if seed % 2 else STEADY
        with in_tier(TIERS[seed % 3]):
            found = through(stream, operators()[name], habits, seed=seed)
        assert_judged(stream, found)


def check_long(name: str, question: str, seeds: range, every: int) -> None:
    for seed in seeds:
        stream = long(question, seed)
        habits = RESTLESS if seed % 2 else STEADY
        assert_judged(stream, through(stream, operators()[name], habits, seed=seed), every)


@each_operator
@each_question
def test_every_window_is_right(name: str, question: str) -> None:
    check_small(name, question, range(12 if question.startswith("PRF") else 32))


@each_operator
@each_question
def test_long_streams(name: str, question: str) -> None:
    few = name == "NAIVE" or question.startswith("PRF")  # whose judge takes longest
    check_long(name, question, range(1 if few else 4), every=23)


def check_bulk(name: str, question: str, seeds: range, every: int) -> None:
    for seed in seeds:
        stream = bulk(question, seed)
        habits = RESTLESS if seed % 2 else STEADY
        assert_judged(stream, through(stream, operators()[name], habits, seed=seed), every)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "NAIVE"])
@each_question
def test_long_batches(name: str, question: str) -> None:
    check_bulk(name, question, range(2), every=61)


@pytest.mark.stress
@each_operator
@each_question
def test_long_batches_at_length(name: str, question: str) -> None:
    check_bulk(name, question, range(2, 10 if name == "NAIVE" else 60), every=11)


@pytest.mark.stress
@each_operator
@each_question
def test_every_window_is_right_at_length(name: str, question: str) -> None:
    check_small(name, question, range(32, 1_000))


@pytest.mark.stress
@each_operator
@each_question
def test_long_streams_at_length(name: str, question: str) -> None:
    check_long(name, question, range(4, 60), every=5)


@pytest.mark.parametrize("chances", CHANCES)
@each_operator
@each_question
def test_every_kind_of_stream(name: str, question: str, chances: str) -> None:
    """Falling scores too, for which a window can do without nobody."""
    for share, order in ((0.0, "falling"), (0.3, "tied"), (1.0, "any"), (0.3, "hostile")):
        stream = of_kind(question, chances, share, order)
        assert_judged(stream, through(stream, operators()[name], RESTLESS))


@cache
def of_kind(question: str, chances: str, share: float, order: str) -> Stream:
    rng = np.random.default_rng(17)
    n = 24
    scores = {
        "falling": np.arange(n, 0.0, -1),
        "tied": rng.integers(0, 2, n).astype(np.float64),
        "any": rng.permutation(n).astype(np.float64),
        "hostile": rng.choice(hostile.SCORES, n),
    }[order]
    stream = Stream(
        question=question,
        k=3,
        window=9,
        slide=1 if order == "falling" else 2,
        scores=scores,
        probability=CHANCES[chances](rng, n),
        rule=np.full(n, -1),
        group=rng.integers(0, 4, n),
        cuts=[0, 5, 16, n],
        ties=rng.permutation(n),
        threshold=parameter(question, 0.25),
    )
    return stream.exclusive(rng, share) if share else stream


@st.composite
def tiny_streams(draw: st.DrawFn) -> Stream:
    """Few records with few scores and probabilities, so that a fault shrinks to a few lines."""
    question = draw(st.sampled_from(QUESTIONS))
    n = draw(st.integers(1, 14))
    column = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    rule = column(st.integers(-1, 2))
    eighths = st.sampled_from((0.125, 0.25, 0.5, 0.75, 1.0))
    probability = column(eighths | st.sampled_from(hostile.PROBABILITIES))
    left: Counter[int] = Counter()
    for i in range(n):  # no rule may promise more than 1
        left[int(rule[i])] += probability[i]
        if left[int(rule[i])] > 1:
            left[int(rule[i])] -= probability[i]
            rule[i] = -1
    timed = draw(st.booleans())
    return Stream(
        question=question,
        k=draw(st.integers(1, 4)),
        window=draw(st.sampled_from((1, 2, 3, 5, 8, None))),
        slide=draw(st.sampled_from((1, 2, 3, None) if timed else (1, 1, 2, 3))),
        scores=column(st.integers(0, 3) | st.sampled_from(hostile.SCORES)).astype(np.float64),
        probability=probability,
        rule=rule,
        group=column(st.integers(0, 2)),
        cuts=[0, *sorted(draw(st.lists(st.integers(0, n), max_size=2))), n],
        times=np.sort(column(st.integers(0, 12))) if timed else None,
        threshold=parameter(question, draw(st.sampled_from((0.125, 0.25, 0.5, 1.0)))),
    )


@each_operator
@given(tiny_streams(), st.integers(0, 100))
def test_the_smallest_streams(name: str, stream: Stream, seed: int) -> None:
    assert_judged(stream, through(stream, operators()[name], RESTLESS, seed=seed))


def doubts(probability: list[float], rule: list[int] | None = None) -> Uncertainty:
    count = len(probability)
    rules = np.full(count, -1) if rule is None else np.array(rule)
    return Uncertainty(np.array(probability), rules, np.zeros(count, np.int64))


@each_operator
def test_without_doubt_every_record_is_certain(name: str) -> None:
    run = operators()[name](k=2, window=3, slide=1)
    run.observe(np.array([1.0, 3, 2, 0]))
    reported = run.advance()
    assert [scores.tolist() for _, _, _, scores in reported] == [[1], [3, 1], [3, 2], [3, 2]]
    assert reported.probability.tolist() == [1.0] * 7


@each_operator
def test_the_later_arrival_wins_ties_until_told_otherwise(name: str) -> None:
    run = operators()[name](k=1, window=4, slide=4)
    run.observe(Batch(np.array([1.0, 1, 1, 1]), uncertainty=doubts([0.5, 0.5, 0.5, 0.5])))
    assert run.advance().id.tolist() == [3]
    run.observe(Batch(np.array([1.0, 1, 1, 1]), uncertainty=doubts([0.5, 0.5, 0.5, 0.5])))
    run.set_ties(np.array([0, 1, 2, 3, 7, 6, 5, 4]))
    assert run.advance().id.tolist() == [4]


@each_operator
@pytest.mark.parametrize("rule", [None, [-1, 1, 2]], ids=["no rule", "rules"])
@pytest.mark.parametrize(
    ("semantics", "k", "answer"),
    [("PK_TOPK", 2, [2, 0]), ("PT_K", 2, [2, 0, 1]), ("U_TOPK", 2, [0, 2])],
)
def test_the_last_bit_does_not_decide(
    name: str, rule: list[int] | None, semantics: str, k: int, answer: list[int]
) -> None:
    """The second is more probable than the first by one bit, which is not to be seen."""
    chances = [0.3, 0.1 + 0.2, 1.0]
    assert chances[1] > chances[0]
    how: dict[str, Any] = {"threshold": 0.1 + 0.2} if semantics == "PT_K" else {}
    how["exclusive"] = rule is not None
    run = operators()[name](k=k, window=3, slide=3, semantics=semantics, **how)
    run.observe(Batch(np.array([3.0, 2, 1]), uncertainty=doubts(chances, rule)))
    assert run.advance().id.tolist() == answer


@each_operator
def test_top_is_the_latest_snapshot(name: str) -> None:
    run = operators()[name](k=2, window=4, slide=2)
    run.observe(Batch(np.array([5.0, 6, 8, 2]), uncertainty=doubts([0.8, 0.5, 0.4, 0.4])))
    run.advance()
    assert run.top().tolist() == [0, 1]
    assert run.top(partition=5).tolist() == []


@each_operator
def test_equal_rules_of_different_partitions_are_different_rules(name: str) -> None:
    run = operators()[name](k=1, window=2, slide=1)
    run.observe(
        Batch(
            np.array([2.0, 1, 2, 1]),
            None,
            np.array([0, 1, 1, 0]),
            uncertainty=doubts([0.5, 0.5, 0.25, 0.5], [7, 7, 7, 7]),
        )
    )
    found = {(p, e): ids.tolist() for p, e, ids, _ in run.advance()}
    # Partition 1: of the two that exclude one another, the lower has its whole 0.5.
    assert found == {(0, 1): [0], (1, 1): [1], (0, 2): [0], (1, 2): [1]}


@each_operator
def test_rules_that_promise_too_much_are_counted(name: str) -> None:
    """0.7 and 0.7 exclude one another: two results hold both. Those after them hold one."""
    run = operators()[name](k=4, window=3, slide=1)
    run.observe(
        Batch(
            np.array([5.0, 4, 3, 2, 1]),
            uncertainty=doubts([0.7, 0.7, 0.5, 0.5, 0.5], [1, 1, -1, -1, -1]),
        )
    )
    reported = run.advance()
    assert run.overfull == 2
    assert np.isfinite(reported.probability).all()
    again = type(run).from_state(run.state())
    assert again.overfull == 2


@each_operator
def test_decimals_that_make_up_one_promise_nothing_false(name: str) -> None:
    run = operators()[name](k=4, window=20, slide=1)
    run.observe(Batch(np.arange(10.0), uncertainty=doubts([0.1] * 10, [0] * 10)))
    run.advance()
    assert run.overfull == 0


@each_operator
@each_question
def test_a_long_gap_costs_nothing(name: str, question: str) -> None:
    stream = Stream(
        question=question,
        k=1,
        window=10,
        slide=1,
        scores=np.array([1.0, 2.0]),
        probability=np.array([0.5, 0.5]),
        rule=np.array([-1, -1]),
        group=np.array([0, 0]),
        cuts=[0, 1, 2],
        times=np.array([0, 10**15]),
        threshold=parameter(question, 0.5),
    )
    ends = [end for (_, end), rows in through(stream, operators()[name]) if rows]
    assert ends == [*range(1, 11), *range(10**15 + 1, 10**15 + 7)]
    told = through(stream, operators()[name], only_changes=True)
    assert [(end, len(rows)) for (_, end), rows in told if not rows] == [(11, 0)]


@each_operator
def test_no_record_at_all(name: str) -> None:
    run = operators()[name](k=1, window=10, slide=5)
    none = np.empty(0, np.int64)
    assert (
        run.observe(
            Batch(np.empty(0), none, uncertainty=Uncertainty(np.empty(0), none, none))
        ).tolist()
        == []
    )
    run.set_ties(none)
    run.prune()
    assert [len(part) for part in run.advance_gradually(100)] in ([], [0])
    assert run.candidates == 0 and run.ids().tolist() == []


@each_operator
def test_prune_forgets_what_cannot_matter_and_nobody_else(name: str) -> None:
    """Certain records: whoever has k certain ones above and younger is out of the game."""
    rng = np.random.default_rng(1)
    run = operators()[name](k=5, window=1_000, slide=1_000)
    scores = rng.permutation(1_000).astype(np.float64)
    run.observe(Batch(scores, uncertainty=doubts([1.0] * 1_000)))
    run.set_ties(np.arange(1_000))
    run.prune()
    kept = set(run.ids().tolist())
    best = set(np.argsort(-scores)[:5].tolist())
    assert best <= kept
    assert {*run.advance().id.tolist()} == best


@each_operator
def test_refusals(name: str) -> None:
    with pytest.raises(CrestlineError, match="k must be at least 1"):
        operators()[name](0, 1, 1)


@each_operator
@each_question
def test_a_session_that_goes_on_for_long(name: str, question: str) -> None:
    """State, ids and pruning over many small batches; judged now and then."""
    stream = long(question, 1)
    n = len(stream)
    many = replace(stream, cuts=[*range(0, n, 9), n])  # what has been judged is shared
    assert_judged(many, through(many, operators()[name], RESTLESS, seed=5), every=23)


def test_the_check_of_a_snapshot_can_fail() -> None:
    """A stream through its own yardstick, with one row of one snapshot spoiled."""
    stream = small("PK_TOPK", 3)
    snapshots = through(stream, operators()["NAIVE"])
    assert_judged(stream, snapshots)
    cell, rows = snapshots[len(snapshots) // 2]
    spoiled = dict(snapshots) | {cell: [(rows[0][0], math.nextafter(rows[0][1], 2) + 1e-8)]}
    with pytest.raises(AssertionError):
        assert_judged(stream, list(spoiled.items()))
    with pytest.raises(AssertionError):
        assert_judged(stream, snapshots[:-1])
    with pytest.raises(AssertionError):
        assert_judged(stream, [*snapshots, ((0, 10**6), rows)])
