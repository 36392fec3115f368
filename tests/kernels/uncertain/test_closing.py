"""When a prefix closes."""

from __future__ import annotations

import numpy as np

from crestline.kernels.uncertain.closing import (
    PK_TOPK,
    PT_K,
    SUMS,
    U_KRANKS,
    closes,
    rounded,
)


def test_rounding_keeps_forty_bits() -> None:
    assert rounded(0.1 + 0.2) == rounded(0.3)
    assert rounded(0.3 * (1 + 1e-10)) > rounded(0.3)
    assert rounded(0.0) == 0.0
    assert rounded(1.0) == 1.0


def test_k_values_must_reach_what_is_left() -> None:
    """The k-th largest value so far is compared with the probability that fewer than k exist."""
    rng = np.random.default_rng(3)
    values, fewer = rng.random(40), np.linspace(0.99, 0.3, 40)
    largest, state, none = np.empty(4), np.zeros(1), np.empty(0, np.int64)
    for i in range(40):
        found = closes(PK_TOPK, 4, 0.0, values[i], fewer[i], 0.0, 0.0, 0.0, 0, largest, state, none)
        kth = np.sort(values[: i + 1])[-4] if i >= 3 else -1.0
        assert found == (kth >= fewer[i])


def test_thresholds_count_when_they_are_reached() -> None:
    nothing = np.empty(0), np.zeros(1), np.empty(0, np.int64)
    for fewer, closed in ((0.51, False), (0.5, False), (0.49, True)):
        assert closes(PT_K, 2, 0.5, 0.1, fewer, 0.0, 0.0, 0.0, 0, *nothing) == closed


def test_ranks_close_at_the_largest_last_value_so_far() -> None:
    state = np.zeros(1)
    how = np.empty(0), state, np.empty(0, np.int64)
    assert not closes(U_KRANKS, 2, 0.0, 0.0, 0.0, 0.0, 0.3, 0.4, 0, *how)
    assert closes(U_KRANKS, 2, 0.0, 0.0, 0.0, 0.0, 0.1, 0.3, 0, *how)
    assert state[0] == 0.3


def test_sums_need_k_groups_and_nothing_left() -> None:
    state, groups = np.zeros(1), np.empty(2, np.int64)
    steps = [(7, 0.0, False), (7, 0.0, False), (8, 1e-3, False), (8, 1e-13, True)]
    for group, rest, closed in steps:
        how = np.empty(2), state, groups
        assert closes(SUMS, 2, 0.0, 0.0, 0.0, rest, 0.0, 0.0, group, *how) == closed
