"""An execution plan as text: which queries are computed when, over one cycle.

>>> from crestline.sharing import PLANS, Demand
>>> plan = PLANS["DP"]([Demand("a", 2, 3), Demand("b", 3, 4), Demand("c", 5, 5)])
>>> print(timeline(plan, width=44, unit=lambda t: f"{t} min"))
a, b |                  x                  x
c    |                                     x
k    |                  4                  5
     0 min            2 min            4 min
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd

from crestline.sharing import Execution, ExecutionPlan

_FEWEST_COLUMNS = 24
#: Further lines are only counted.
_MOST_LINES = 24
_LONGEST_NAMES = 28
_ONE, _SEVERAL = "x", "#"
#: Steps of the axis, in multiples of the unit that divides the times of all executions.
_STEPS = [m * 60**e for e in range(8) for m in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)]


def timeline(plan: ExecutionPlan, *, width: int = 72, unit: Callable[[int], str]) -> str:
    """A line for each set of queries that always run together, with a mark at its executions over
    the longest cycle, then the k of each computation where there is room, and an axis.

    ``unit`` writes a time. A ``#`` stands for several executions too close to be told apart.
    """
    if not plan.cycles:
        return "no query is planned"
    span = plan.length
    events = executions_until(plan, span)
    together = run_together(events)
    shown = list(together)[:_MOST_LINES]
    left = max(len(short_label(names)) for names in shown)
    columns = max(_FEWEST_COLUMNS, width - left - 1)

    def column(moment: int) -> int:
        return round(moment * (columns - 1) / span)

    lines = []
    for names in shown:
        row = [" "] * columns
        for moment in together[names]:
            row[column(moment)] = _ONE if row[column(moment)] == " " else _SEVERAL
        row[0] = "|" if row[0] == " " else row[0]
        lines.append((short_label(names), "".join(row)))
    if len(together) > len(shown):
        lines.append((f"and {len(together) - len(shown)} lines more", ""))
    ks: dict[int, list[str]] = {}
    for event in events:
        ks.setdefault(event.at, []).append(str(event.k))
    costs = [(column(moment), "+".join(k)) for moment, k in sorted(ks.items())]
    if (written := _written([(0, "|"), *costs], columns)) is not None:
        lines.append(("k", written))
    lines.append(("", _axis(sorted(ks), span, column, columns, unit)))
    return "\n".join(f"{label:<{left}} {row}".rstrip() for label, row in lines)


def executions_until(plan: ExecutionPlan, span: int) -> list[Execution]:
    """All executions up to ``span``, cycles repeated, in the order of time."""
    events = [
        Execution(start + execution.at, execution.k, execution.members)
        for cycle in plan.cycles
        for start in range(0, span, cycle.length)
        for execution in cycle.executions
        if start + execution.at <= span
    ]
    return sorted(events, key=lambda event: event.at)


def run_together(events: Iterable[Execution]) -> dict[tuple[str, ...], list[int]]:
    """The sets of queries that are in the same executions, and when those are."""
    of_query: dict[str, list[int]] = {}
    times: list[int] = []
    for number, event in enumerate(events):
        times.append(event.at)
        for name in event.members:
            of_query.setdefault(name, []).append(number)
    names: dict[tuple[int, ...], list[str]] = {}
    for name, numbers in of_query.items():
        names.setdefault(tuple(numbers), []).append(name)
    often = sorted(names.items(), key=lambda item: -len(item[0]))
    return {tuple(same): [times[number] for number in numbers] for numbers, same in often}


def short_label(names: tuple[str, ...]) -> str:
    """
    >>> short_label(("a",)), short_label(("a", "b", "c")), short_label(("a", "b", "c", "d"))
    ('a', 'a, b, c', 'a, b (+2)')
    """
    more = f" (+{len(names) - 2})" if len(names) > 3 else ""
    listed = ", ".join(names[:2] if more else names)
    return (
        listed if len(listed) <= _LONGEST_NAMES else listed[: _LONGEST_NAMES - 3] + "..."
    ) + more


def _written(texts: Iterable[tuple[int, str]], columns: int) -> str | None:
    """Each text around its column; None if two would touch."""
    row = ""
    for column, text in texts:
        start = min(max(0, column - len(text) // 2), max(0, columns - len(text)))
        if row and start <= len(row):
            return None
        row = f"{row:<{start}}{text}"
    return row


def _axis(
    moments: list[int],
    span: int,
    column: Callable[[int], int],
    columns: int,
    unit: Callable[[int], str],
) -> str:
    """Return the times at the finest steps that fit, and always the ends."""
    for times in ticks(moments, span, columns):
        if (row := _written([(column(t), unit(t)) for t in times], columns)) is not None:
            return row
    return unit(span).rjust(columns)


def ticks(moments: Iterable[int], span: int, most: int) -> Iterator[list[int]]:
    """Times for an axis from 0 to ``span``, at most so many: the finest first, then coarser ones.
    They are multiples of what all executions are multiples of, and so read well.

    >>> next(ticks([4, 6, 8], 14, 6))
    [0, 4, 8, 14]
    """
    base = gcd(span, *moments)
    for step in (base * step for step in _STEPS):
        if span // step < most:
            yield [*(t for t in range(0, span, step) if t == 0 or 2 * (span - t) > step), span]
    yield [0, span]
