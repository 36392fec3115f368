"""Windows that slide in steps, as kernels see them; times are in panes."""

from __future__ import annotations

from typing import NamedTuple

from crestline.core.sentinels import NEVER
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


class StepWindow(NamedTuple):
    """A window: the k best of the last ``width`` panes, every ``slide`` panes."""

    k: int
    width: int
    slide: int
    #: Whether a result is due at every arrival instead.
    on_arrival: bool
    #: Whether a snapshot that equals the one before is left out.
    only_changes: bool


class Ranked(NamedTuple):
    """Records by index: their scores, what breaks ties (larger first), and their panes."""

    score: Floats
    tie: Ints
    pane: Ints


@kernel
def before(scores: Floats, ties: Ints, a: int, b: int) -> bool:
    """Whether record ``a`` ranks before record ``b``: larger score first, then larger tie."""
    return bool(scores[a] > scores[b] or (scores[a] == scores[b] and ties[a] > ties[b]))


@kernel
def first_without(pane: int, width: int, slide: int) -> int:
    """The first window end at which a pane has expired: the least multiple of ``slide`` beyond
    ``pane + width``."""
    return (pane + width) // slide * slide + slide


@kernel
def next_end(
    window: StepWindow, panes: Ints, answer: Ints, first: int, last: int, arriving: int, end: int
) -> int:
    """Return the next window end after ``end`` with something to report; NEVER if there is none.

    ``answer[first:last]`` begins with the answer at ``end``; it is empty if the window is empty.
    ``arriving`` is the pane of the next record, or NEVER.
    """
    slide = window.slide
    if window.on_arrival:
        return arriving + 1 if arriving < NEVER else NEVER
    if first < last and not window.only_changes:
        return end + slide
    due = (arriving // slide + 1) * slide if arriving < NEVER else NEVER
    for i in range(first, min(first + window.k, last)):
        expiry = first_without(panes[answer[i]], window.width, slide)
        due = min(due, max(expiry, end + slide))
    return due


__all__ = ["Ranked", "StepWindow", "before", "first_without", "next_end"]
