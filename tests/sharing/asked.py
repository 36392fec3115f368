"""Demands of tests: the paper's, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from crestline.sharing import Demand, Group

#: Q1..Q6 of the paper's introduction, times in minutes.
PAPER = [
    Demand("q1", 2, 3),
    Demand("q2", 2, 2),
    Demand("q3", 3, 4),
    Demand("q4", 5, 5),
    Demand("q5", 5, 1),
    Demand("q6", 7, 2),
]
#: Query Example 2 of section 8.
EXAMPLE_2 = [Demand("a", 30, 2), Demand("b", 51, 3), Demand("c", 60, 4)]


def rising(frequencies: list[int], k: list[int]) -> list[Group]:
    """Groups as they are after the combination."""
    return [Group(f, k, (f"g{i}",)) for i, (f, k) in enumerate(zip(frequencies, k, strict=True))]


def demands(most: int = 8, frequency: int = 20, k: int = 12) -> st.SearchStrategy[list[Demand]]:
    """Up to ``most`` queries."""
    one = st.tuples(st.integers(1, frequency), st.integers(1, k))
    return st.lists(one, min_size=1, max_size=most).map(
        lambda drawn: [Demand(f"q{i}", f, k) for i, (f, k) in enumerate(drawn)]
    )
