"""Window ends and ranks, against the definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import NEVER
from crestline.kernels.common.windows import StepWindow, before, first_without, next_end


def test_a_larger_score_ranks_first_and_then_a_larger_tie() -> None:
    scores, ties = np.array([2.0, 1.0, 1.0]), np.array([0, 5, 6])
    assert before(scores, ties, 0, 1) and not before(scores, ties, 1, 0)
    assert before(scores, ties, 2, 1) and not before(scores, ties, 1, 1)


@given(st.integers(-30, 30), st.integers(1, 9), st.integers(1, 9))
def test_the_first_end_without_a_pane(pane: int, width: int, slide: int) -> None:
    end = first_without(pane, width, slide)
    assert end % slide == 0 and end - width > pane
    assert end - slide - width <= pane


@given(
    st.lists(st.integers(0, 12), max_size=4),
    st.integers(0, 20) | st.none(),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_the_next_end(panes: list[int], arriving: int | None, width: int, slide: int) -> None:
    end = (max(panes, default=0) // slide + 1) * slide
    held = np.array([p for p in panes if p >= end - width], np.int64)
    answer = np.arange(len(held))
    coming = NEVER if arriving is None else arriving + end
    for only_changes in (False, True):
        window = StepWindow(2, width, slide, False, only_changes)
        due = next_end(window, held, answer, 0, len(held), coming, end)
        ends = [end + slide * i for i in range(1, 40)]
        if not only_changes and len(held):
            assert due == end + slide
            continue
        # A record comes, or one of the first two goes.
        moments = [] if arriving is None else [e for e in ends if e > coming][:1]
        moments += [next(e for e in ends if p < e - width) for p in held[:2].tolist()]
        assert due == min(moments, default=NEVER)


def test_every_arrival_is_an_end() -> None:
    window = StepWindow(1, 5, 1, True, False)
    nothing = np.empty(0, np.int64)
    assert next_end(window, nothing, nothing, 0, 0, 7, 3) == 8
    assert next_end(window, nothing, nothing, 0, 0, NEVER, 3) == NEVER
