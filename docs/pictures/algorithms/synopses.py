"""Drawings of the synopses for uncertain streams: BS, CSQ, CCSQ, SCSQ, SCSQ_BUFFER."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import (
    ACCENT,
    ANSWER,
    FAINT,
    INK,
    KEPT,
    PALE,
    PAPER,
    blank,
    box,
    paper,
    plain,
    records,
    say,
)

from crestline.core.batch import Batch, Uncertainty
from crestline.kernels.uncertain.lists import ID, LEAVES
from crestline.uncertain import BS, CCSQ, CSQ, SCSQ, SCSQBuffer

#: The window of the pages: eight records, each of which exists with 0.4, and the best is asked for.
SCORES = np.array([9.0, 5, 3, 7, 1, 2, 8, 6])
CHANCE = 0.4


def filled(kind: Callable[..., Any], **asked: Any) -> Any:
    """An operator that has taken in the window."""
    count = len(SCORES)
    none = np.full(count, -1)
    operator = kind(k=1, window=count, slide=1, **asked)
    operator.observe(
        Batch(SCORES, uncertainty=Uncertainty(np.full(count, CHANCE), rule=none, group=none))
    )
    return operator


def ids_of(ints: np.ndarray) -> list[int]:
    return [int(id) for id in ints[ID]]


# -- BS -------------------------------------------------------------------------------------------


def chances() -> dict[float, float]:
    """The probability of every record of the window to be the best one, best score first."""
    reported = filled(BS, semantics="PT_K", threshold=1e-6).advance()
    *_, (_, _, _, best) = reported
    last = slice(int(reported.offset[-2]), int(reported.offset[-1]))
    told = dict(zip(best.tolist(), reported.probability[last].tolist(), strict=True))
    return dict(sorted(told.items(), reverse=True))


def bs() -> Figure:
    found = chances()
    compact = {float(SCORES[id]) for id in compact_sets()[0]}
    figure = paper()
    ax = figure.subplots()
    places = np.arange(len(found))
    rest = 1 - np.cumsum(list(found.values()))  # what is left to all that rank behind
    for place, (score, chance) in zip(places, found.items(), strict=True):
        chosen = score in compact
        ax.bar(place, chance, width=0.62, color=ANSWER if chosen else PALE, zorder=2,
               edgecolor=ANSWER if chosen else "#b9bec5")  # fmt: skip
        ax.text(place, chance + 0.012, f"{chance:.2g}", ha="center", va="bottom",
                color=INK if chosen else FAINT)  # fmt: skip
    ends = len(compact)
    ax.plot([-0.45, len(found) - 0.4], [found[max(found)]] * 2, color=ANSWER, linewidth=1,
            linestyle=":", zorder=1)  # fmt: skip
    ax.plot([ends - 0.5, len(found) - 0.4], [rest[ends - 1]] * 2, color=ACCENT, linewidth=1.8)
    ax.plot([ends - 0.5] * 2, [0, rest[ends - 1]], color=ACCENT, linewidth=1.8)
    say(ax, f"all these together: {rest[ends - 1]:.2f}, less than {found[max(found)]:g}."
        " None of them can win", (ends - 0.35, rest[ends - 1] - 0.035), color=ACCENT)  # fmt: skip
    say(ax, f"the best has {found[max(found)]:g}", (len(found) - 0.4, 0.425), color=ANSWER,
        ha="right")  # fmt: skip
    ax.set_xticks(places, [f"{score:.0f}" for score in found])
    ax.set(xlim=(-0.55, len(found) - 0.35), ylim=(0, 0.5), yticks=[0, 0.2, 0.4],
           xlabel="the window in rank order, all kept", ylabel="is the best with")  # fmt: skip
    plain(ax, f"k = 1, each record exists with {CHANCE}: the compact set is the first {ends}")
    return figure


# -- suffixes -------------------------------------------------------------------------------------


def compact_sets() -> list[list[int]]:
    """The sets that CSQ holds, the oldest first, each in rank order."""
    operator = filled(CSQ)
    operator.advance()
    part = operator._parts[0]
    ints = part.records("queue")[1]
    bounds = part.extra["bounds"]
    count = int(np.searchsorted(bounds, part.filled("queue")))
    return [ids_of(ints[:, bounds[i] : bounds[i + 1]]) for i in range(count)]


def set_of_suffix(sets: list[list[int]], first: int) -> list[int]:
    """The compact set of the records from ``first`` on: the oldest set that has none before."""
    return next((members for members in sets if min(members) >= first), [])


def _columns(ax: Axes, top: float) -> None:
    """The window in the order of arrival, above everything."""
    for at, score in enumerate(SCORES):
        ax.text(at, top, f"{score:.0f}", ha="center", va="center", fontsize=9.5, weight="bold")
    say(ax, "arrived", (-0.8, top), ha="right")


def csq() -> Figure:
    sets = compact_sets()
    figure = paper(3.3)
    ax = figure.subplots()
    _columns(ax, 1.1)
    rows: dict[tuple[int, ...], list[int]] = {}
    for first in range(len(SCORES)):
        members = set_of_suffix(sets, first)
        rows.setdefault(tuple(members), []).append(first)
        ax.plot([first - 0.42, len(SCORES) - 0.58], [-first, -first], color=PALE, linewidth=13,
                solid_capstyle="butt", zorder=1)  # fmt: skip
        for at in range(first, len(SCORES)):
            if at in members:
                state = "answer" if first == 0 else "kept"
                box(ax, at, -first, f"{SCORES[at]:.0f}", state, 0.7, 0.72)
    say(ax, "now", (-0.8, 0), ha="right")
    for first in (1, 2):
        say(ax, f"when {SCORES[first - 1]:.0f} has gone", (-0.8, -first), ha="right")
    for members, firsts in rows.items():
        high, low = -firsts[0] + 0.32, -firsts[-1] - 0.32
        ax.plot([8.0, 8.25, 8.25, 8.0], [high, high, low, low], color=ANSWER, linewidth=1.2)
        told = "{" + " ".join(f"{SCORES[id]:.0f}" for id in members) + "}"
        words = f"{told}, held once" if len(firsts) > 1 else f"{told}, the answer's"
        if not members:
            words = "too few for a set: waits as it is"
        say(ax, words, (8.5, (high + low) / 2), color=ANSWER if members else FAINT)
    ax.set(xlim=(-3.6, 13.2), ylim=(-7.5, 1.6))
    blank(ax, "the compact set of every suffix; equal ones are held once")
    return figure


def notes() -> dict[int, int]:
    """The records that CCSQ keeps, with the first of the records that begin the suffix that lost
    each; -1 where none has."""
    operator = filled(CCSQ)
    operator.advance()
    part = operator._parts[0]
    ints = part.records("kept")[1]
    begins = {int(leaves): id for id, leaves in zip(ids_of(ints), ints[LEAVES], strict=True)}
    gone = part.extra["gone"][: ints.shape[1]]
    return {id: begins.get(int(lost), -1) for id, lost in zip(ids_of(ints), gone, strict=True)}


def ccsq() -> Figure:
    kept = notes()
    figure = paper(3.3)
    ax = figure.subplots()
    for row, score in enumerate(SCORES):
        say(ax, f"{score:.0f}", (-1.5, -row), weight="bold", ha="right",
            color=INK if row in kept else FAINT)  # fmt: skip
        if row not in kept:
            ax.plot(row, -row, "x", color=FAINT, ms=6, markeredgewidth=1.4)
            continue
        first = kept[row] + 1
        ax.plot([first - 0.42, row + 0.42], [-row, -row], color=KEPT if first else ANSWER,
                linewidth=12, solid_capstyle="butt", zorder=2)  # fmt: skip
        words = f"until {SCORES[kept[row]]:.0f} has left" if first else "in the window's set"
        say(ax, words, (row + 0.7, -row), color=ANSWER if first else INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1})  # fmt: skip
        if first:
            ax.plot([first - 0.42] * 2, [-row - 0.38, -row + 0.38], color=ACCENT, linewidth=2.2,
                    zorder=3)  # fmt: skip
    say(ax, "x  lost by its own suffix,\n    forgotten", (8.2, -1.5), color=FAINT)
    say(ax, "|  lost by the next suffix:\n   it has better ones", (8.2, -4.0), color=ACCENT)
    for at, score in enumerate(SCORES):
        ax.text(at, 1.0, f"{score:.0f}", ha="center", va="center", color=FAINT)
        ax.axvline(at, color=PALE, linewidth=0.7, ymax=0.86, zorder=0)
    say(ax, "suffix that\nbegins with", (-1.0, 1.0), color=FAINT, ha="right")
    ax.set(xlim=(-3.6, 13.2), ylim=(-7.6, 1.6))
    blank(
        ax, f"in which suffixes' sets each record is: {len(kept)} of {len(SCORES)} are kept, once"
    )
    return figure


@dataclass(frozen=True)
class Segments:
    """What SCSQ holds, by the places of the records in the window."""

    whole: list[int]
    #: Set and extras, the oldest first.
    segments: list[tuple[list[int], list[int]]]
    newest: list[int]


def segments(operator: Any) -> Segments:
    part = operator._parts[0]
    return Segments(
        ids_of(part.records("whole")[1]),
        [(ids_of(members[1]), ids_of(extras[1])) for members, extras in part.segments()],
        ids_of(part.records("newest")[1]),
    )


def scsq() -> Figure:
    operator = filled(SCSQ)
    operator.advance()
    held = segments(operator)
    figure = paper(2.7)
    ax = figure.subplots()
    _columns(ax, 1.1)
    rows: list[tuple[str, list[int], list[int], str]] = [
        ("the window", held.whole, [], "the answer is read off here")
    ]
    for number, (members, extras) in enumerate(held.segments, start=1):
        told = "the next set is found here when one leaves" if number == 1 else "takes over later"
        rows.append((f"segment {number}", members, extras, told))
    rows.append(("newest", held.newest, [], "too few to have a compact set"))
    for row, (name, members, extras, told) in enumerate(rows):
        level = -1.05 * row
        ax.plot([-0.42, len(SCORES) - 0.58], [level] * 2, color=PALE, linewidth=14, zorder=1,
                solid_capstyle="butt")  # fmt: skip
        say(ax, name, (-0.8, level), ha="right")
        say(ax, told, (8.0, level), color=ANSWER if row == 0 else INK)
        for at in members:
            box(ax, at, level, f"{SCORES[at]:.0f}", "answer" if row == 0 else "kept", 0.7, 0.72)
        for at in extras:
            box(ax, at, level, f"{SCORES[at]:.0f}", "waiting", 0.7, 0.72)
    below = -1.05 * len(rows) - 0.15
    for at, state, words in (
        (0, "kept", "in the set"),
        (3.6, "waiting", "extra: older sets may need it"),
    ):
        box(ax, at, below, "", state, 0.7, 0.62)
        say(ax, words, (at + 0.6, below))
    known = {at for _, members, extras, _ in rows for at in (*members, *extras)}
    none = [f"{score:.0f}" for at, score in enumerate(SCORES) if at not in known]
    say(ax, f"{' '.join(none)} are in none: forgotten", (12.3, below), color=FAINT)
    ax.set(xlim=(-2.8, 16.5), ylim=(below - 0.6, 1.6))
    blank(ax, "sets of few suffixes only, with extras beside them")
    return figure


# -- SCSQ_BUFFER ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Buffered:
    first: int
    scores: np.ndarray
    held: Segments


def buffered(count: int = 896, window: int = 400) -> Buffered:
    rng = np.random.default_rng(6)
    scores, probability, none = rng.random(count), 0.1 + 0.4 * rng.random(count), np.full(count, -1)
    operator = SCSQBuffer(k=2, window=window, slide=1)
    for at in range(count):
        part = slice(at, at + 1)
        operator.observe(
            Batch(scores[part], uncertainty=Uncertainty(probability[part], none[part], none[part]))
        )
        operator.advance()
    return Buffered(count - window, scores, segments(operator))


def scsq_buffer() -> Figure:
    shown = buffered()
    held, scores = shown.held, shown.scores
    figure = paper()
    ax, words = figure.subplots(1, 2, width_ratios=(3.4, 1.75))
    inside = [id for id in held.newest if id >= shown.first]
    oldest = min(inside)
    in_segments = sorted({id for pair in held.segments for part in pair for id in part})
    in_segments = [id for id in in_segments if id >= shown.first and id not in held.whole]
    known = {*held.whole, *in_segments, *inside}
    rest = np.array([at for at in range(shown.first, len(scores)) if at not in known])
    ax.axvspan(oldest - 0.5, len(scores), color="#eef1f4", zorder=0)
    ax.plot(rest + 1, scores[rest], ".", color="#c3c7cc", ms=3)
    waiting = [id for id in inside if id not in held.whole]
    records(ax, np.array(waiting) + 1, scores[waiting], "waiting", 13)
    records(ax, np.array(in_segments) + 1, scores[in_segments], "kept", 28)
    records(ax, np.array(held.whole) + 1, scores[held.whole], "answer", 32)
    last = float(min(scores[held.whole]))
    ax.axhline(last, color=ANSWER, linewidth=1.1, linestyle="--", zorder=1)
    say(ax, "buffer", ((oldest + len(scores)) / 2, 1.09), ha="center")
    ax.set(xlim=(shown.first, len(scores) + 2), ylim=(-0.02, 1.15), yticks=[0, 0.5, 1],
           xlabel="arrival", ylabel="score")  # fmt: skip
    plain(ax)
    words.set(xlim=(0, 5), ylim=(0, 10))
    blank(words)
    marks = (
        ("answer", f"{len(held.whole)}: the window's compact set,\nexact at every moment"),
        ("kept", f"{len(in_segments)} more in segments: the next\nset is found here"),
        ("waiting", f"{len(waiting)} wait in the buffer;\nwhen it is full, most go"),
    )
    for place, (state, told) in enumerate(marks):
        records(words, [0.2], [9.0 - 2.1 * place], state, 36)
        say(words, told, (0.5, 9.0 - 2.1 * place))
    words.plot([0.2], [2.7], ".", color="#c3c7cc", ms=4)
    say(words, f"{len(rest)} forgotten", (0.5, 2.7), color=FAINT)
    words.plot([0.0, 0.4], [1.1] * 2, color=ANSWER, linewidth=1.1, linestyle="--")
    say(words, "an arrival below it: a\ncomparison, into the buffer", (0.5, 1.1))
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "bs": bs, "csq": csq, "ccsq": ccsq, "scsq": scsq, "scsq_buffer": scsq_buffer,
}  # fmt: skip
