"""What each query demands, and which queries one execution serves (Chen et al., sections 4, 5).

An execution for k also yields the answers for every smaller k, so it costs the largest k among the
queries it serves. Queries of the same frequency are a *group*. A group of longer frequency and no
larger k joins one before it, and is served whenever that is (the *combination rule*). In the groups
that remain, both frequency and k rise.

>>> demands = [Demand("a", 2, 3), Demand("b", 2, 1), Demand("c", 5, 5), Demand("d", 7, 2)]
>>> [(g.frequency, g.k, g.members) for g in combined(groups(demands))]
[(2, 3, ('a', 'b')), (5, 5, ('c', 'd'))]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.core.errors import CrestlineError


@dataclass(frozen=True, slots=True)
class Demand:
    """A query whose result must never be older than ``frequency``."""

    name: str
    frequency: int
    k: int

    def __post_init__(self) -> None:
        if self.frequency < 1 or self.k < 1:
            raise CrestlineError(
                f"query {self.name!r} asks for the top {self.k} at least every {self.frequency}:"
                " both must be 1 or more"
            )


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that are always served together, and the largest k among them."""

    frequency: int
    k: int
    members: tuple[str, ...]


def groups(demands: Sequence[Demand]) -> tuple[Group, ...]:
    """Return the queries of each frequency, the shortest frequency first."""
    by_frequency: dict[int, list[Demand]] = {}
    seen: set[str] = set()
    for demand in demands:
        if demand.name in seen:
            raise CrestlineError(
                f"two queries are called {demand.name!r}: give each its own name (CREATE QUERY)"
            )
        seen.add(demand.name)
        by_frequency.setdefault(demand.frequency, []).append(demand)
    return tuple(
        Group(frequency, max(d.k for d in same), tuple(d.name for d in same))
        for frequency, same in sorted(by_frequency.items())
    )


def combined(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Apply the combination rule: a group joins the last one before it if its k is not larger."""
    kept: list[Group] = []
    for group in groups:
        if kept and kept[-1].k >= group.k:
            host = kept[-1]
            kept[-1] = Group(host.frequency, host.k, host.members + group.members)
        else:
            kept.append(group)
    return tuple(kept)
