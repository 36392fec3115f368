"""Time to step, drawn by hand and against the definition of a window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.window import Panes
from crestline.operators.timing import Timing


def sliding(width: int, slide: int) -> Timing:
    length = int(np.gcd(width, slide))
    return Timing(Panes(length, width // length, slide // length))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(-200, 200), st.integers(-200, 200))
def test_a_record_takes_part_from_the_first_end_behind_it(
    width: int, slide: int, time: int, to: int
) -> None:
    """Ends are the multiples of the slide; a window holds what is before its end."""
    timing = sliding(width, slide)
    ends = range(-20_000 // slide * slide, 20_000, slide)
    assert timing.end_of(timing.step_of(time)) == min(end for end in ends if end > time)
    assert timing.end_of(timing.last_step(to)) == max(end for end in ends if end <= to)


def test_at_every_arrival_the_step_is_the_time() -> None:
    timing = Timing(Panes(1, 10, 1, on_arrival=True))
    assert (timing.step_of(7), timing.last_step(7), timing.end_of(7)) == (7, 7, 7)
    assert timing.pane_after(7) == 8


def test_what_is_closed_never_opens_again() -> None:
    timing = sliding(30, 10)
    timing.settle(np.array([5]))
    assert timing.open_pane == LONG_AGO
    assert timing.close(59) == 5
    assert timing.close(20) == 2
    assert timing.end_of(timing.closed) == 50
    assert timing.open_pane == 5
    timing.refuse_late(50)
    with pytest.raises(CrestlineError, match="a record at 49 came after windows up to 50"):
        timing.refuse_late(49)


@pytest.mark.parametrize(
    "panes", [Panes(10, 3, 1), Panes(5, 3, 2), Panes(1, 10, 1, on_arrival=True)]
)
def test_the_open_pane_says_what_is_closed(panes: Panes) -> None:
    timing, restored = Timing(panes), Timing(panes)
    for to in (0, 37, 1_000):
        timing.close(to)
        restored.open_pane = timing.open_pane
        assert restored.closed == timing.closed
    restored.open_pane = LONG_AGO
    assert restored.closed == LONG_AGO


def test_times_come_with_every_batch_or_with_none() -> None:
    timing = sliding(30, 10)
    timing.settle(None)
    timing.require(None)
    with pytest.raises(CrestlineError, match="with every batch or with none"):
        timing.settle(np.array([1]))
    timed = sliding(30, 10)
    timed.settle(np.array([1]))
    with pytest.raises(CrestlineError, match="needs the time to advance to"):
        timed.require(None)
