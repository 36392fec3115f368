"""What is counted of a sample of objects, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.kernels.incomplete.sampled import (
    SAMPLED,
    Tallies,
    count_followers,
    hashed,
    in_sample,
)

WIDTH = 10


def counted(rows: list[tuple[int, int, int]], states: int = 8) -> tuple[Any, Tallies]:
    """Count observations (object, stream, step) in two parts; return them and the tallies."""
    observations = np.zeros(len(rows), SAMPLED).view(np.recarray)
    for i, (key, stream, step) in enumerate(rows):
        observations[i].key, observations[i].stream, observations[i].leaves = (
            key,
            stream,
            step + WIDTH,
        )
    steps = np.array([step for *_, step in rows])
    tallies = Tallies(
        np.zeros(states, np.int64), np.zeros(states), np.zeros((states, 3)), np.zeros(3),
        np.zeros((3, 3)),
    )  # fmt: skip
    half = len(rows) // 2
    count_followers(observations[:half], 0, steps[:half], tallies)
    count_followers(observations, half, steps[half:], tallies)
    return observations, tallies


def test_a_sighting_follows_all_earlier_states_of_its_object() -> None:
    observations, tallies = counted([(7, 0, 0), (8, 0, 1), (7, 1, 2), (7, 2, 3), (8, 2, 4)])
    assert observations.state.tolist() == [0b001, 0b001, 0b011, 0b111, 0b101]
    entered = dict(zip(tallies.states.tolist(), tallies.entered.tolist(), strict=True))
    assert {state: n for state, n in entered.items() if state} == {1: 2, 3: 1, 7: 1, 5: 1}
    followed = dict(zip(tallies.states.tolist(), tallies.followed.tolist(), strict=True))
    assert followed[0b001] == [0, 1, 2]  # 7 by streams 1 and 2, 8 by stream 2
    assert followed[0b011] == [0, 0, 1]
    assert tallies.seen.tolist() == [2, 1, 2]
    assert tallies.together.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_what_has_left_the_window_is_not_followed() -> None:
    observations, tallies = counted([(7, 0, 0), (7, 1, WIDTH)])
    assert observations.state.tolist() == [0b001, 0b010]
    assert not tallies.followed.any()


def test_other_partitions_have_other_objects() -> None:
    observations, _ = counted([(7, 0, 0)])
    both = np.concatenate((observations, observations)).view(np.recarray)
    both.owner[1] = 1
    both.stream[1] = 1
    _, tallies = counted([])
    count_followers(both, 0, np.zeros(2, np.int64), tallies)
    assert both.state.tolist() == [0b001, 0b010]


def test_a_repeat_changes_no_state() -> None:
    observations, tallies = counted([(7, 0, 0), (7, 1, 1), (7, 0, 2)])
    assert observations.state.tolist() == [0b001, 0b011, 0b011]
    assert tallies.seen.tolist() == [1, 1, 0]


def test_a_new_state_takes_the_row_of_the_rarest() -> None:
    rows = [(7, 0, 0), (8, 0, 0), (9, 1, 0), (6, 2, 1)]
    _, tallies = counted(rows, states=2)
    assert sorted(tallies.states.tolist()) == [0b001, 0b100]


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    low = np.arange(4_000)
    keys = hashed(np.zeros_like(low), low)
    samples = [in_sample(keys, level) for level in range(4)]
    assert samples[0].all()
    for level in range(1, 4):
        assert not (samples[level] & ~samples[level - 1]).any()
        assert 0.8 < samples[level].mean() * 2**level < 1.2
