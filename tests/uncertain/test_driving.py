"""An operator reports the same, however it is driven: batches, saving, renaming, pruning."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tiers import TIERS, in_tier
from uncertain.replay import (
    RESTLESS,
    Habits,
    Snapshots,
    each_operator,
    each_question,
    long,
    operators,
    replay,
    small,
    through,
)
from uncertain.streams import Stream, parameter


def in_place(snapshots: Snapshots) -> Snapshots:
    """By end, then partition: of rows, one partition may be ahead of another."""
    return sorted(snapshots, key=lambda snapshot: snapshot[0][::-1])


@each_operator
@each_question
def test_one_batch_equals_many(name: str, question: str) -> None:
    for seed in range(20):
        stream = small(question, seed)
        whole = through(stream.in_one_batch(), operators()[name])
        assert in_place(through(stream, operators()[name])) == in_place(whole), stream


SINGLE = {
    "prune": Habits(prune=0.7),
    "save": Habits(save=1.0),
    "rename": Habits(rename=1.0),
    "recode": Habits(recode=0.7),
    "forget": Habits(rename=1.0, forget=1.0),
    "shuffle": Habits(shuffle=True),
}


@cache
def steady(name: str, question: str, seed: int) -> Snapshots:
    return in_place(through(of_any_size(name, question, seed), operators()[name]))


def of_any_size(name: str, question: str, seed: int) -> Stream:
    """Every fourth is long, but for the yardstick, which takes too long for those."""
    return long(question, seed) if seed % 4 == 3 and name != "NAIVE" else small(question, seed)


@pytest.mark.parametrize("habit", SINGLE)
@each_operator
@each_question
def test_nothing_depends_on_what_happens_between_batches(
    name: str, question: str, habit: str
) -> None:
    """To the last bit: what is shown must not depend on the size of batches either."""
    for seed in range(6):
        stream = of_any_size(name, question, seed)
        got = through(stream, operators()[name], SINGLE[habit], seed=seed)
        assert in_place(got) == steady(name, question, seed), stream


@each_operator
@each_question
def test_the_numbers_of_rules_and_groups_do_not_show(name: str, question: str) -> None:
    """To the last bit: which numbers they get depends on what else was kept at the time."""
    rng = np.random.default_rng(23)
    for _ in range(3):
        n = 40
        stream = Stream(
            question=question,
            k=3,
            window=25,
            slide=5,
            scores=rng.permutation(n).astype(np.float64),
            probability=rng.random(n) / 4,
            rule=rng.integers(0, 10, n),
            group=rng.integers(0, 6, n),
            cuts=[0, 10, 20, 30, n],
            threshold=parameter(question, 0.1),
        )
        stream.rule[rng.random(n) < 0.2] = -1
        numbered = through(stream, operators()[name])
        assert through(stream, operators()[name], Habits(recode=1.0)) == numbered


@each_operator
@each_question
def test_only_changes_leaves_out_repetitions_only(name: str, question: str) -> None:
    for seed in range(15):
        stream = small(question, seed)
        everything = through(stream, operators()[name])
        sparse = through(stream, operators()[name], only_changes=True)
        for p in np.unique(stream.parts).tolist():
            assert distinct(sparse, p) == distinct(with_gaps(stream, everything), p), stream


def with_gaps(stream: Stream, snapshots: Snapshots) -> Snapshots:
    """Empty snapshots where a window is due that holds nothing, and where nobody passes."""
    told = dict(snapshots)
    found: Snapshots = []
    for p in np.unique(stream.parts).tolist():
        ends = sorted(end for q, end in stream.windows if q == p)
        if stream.times is not None and stream.slide is not None and stream.window is not None:
            until = stream.until(len(stream)) or 0
            following = [end + stream.slide for end in ends]
            ends = sorted({*ends, *(end for end in following if end <= until)})
        found += [((p, end), told.get((p, end), [])) for end in ends]
    return found


def distinct(snapshots: Snapshots, partition: int) -> list[tuple[int, Any]]:
    """Each snapshot of the partition that differs from the one before it."""
    found: list[tuple[int, Any]] = []
    shown: Any = []
    for (p, end), rows in snapshots:
        if p == partition and rows != shown:
            found.append((end, rows))
            shown = rows
    return found


@each_operator
def test_the_input_is_not_touched(name: str) -> None:
    stream = small("PK_TOPK", 4)
    given = [stream.scores, stream.probability, stream.rule, stream.group]
    for array in given:
        array.flags.writeable = False
    before = [array.copy() for array in given]
    through(stream, operators()[name], RESTLESS)
    assert all(np.array_equal(a, b) for a, b in zip(given, before, strict=True))


def test_kernels_equal_plain_python() -> None:
    told = []
    for tier in TIERS:
        with in_tier(tier):
            told.append(str(replay(7, 18)))
    assert told[0] == told[1] == told[2]
