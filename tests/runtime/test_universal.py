"""Every universal check crossed with every catalogued algorithm, on both tiers of kernels and
across the switch from one to the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.engines import Algorithm, catalogue, examples, kinds_of
from runtime.checks import UNIVERSAL, Check
from tiers import TIERS, in_tier

CROSSED = [
    pytest.param(algorithm, check, count, id=f"{algorithm.name}-{check.__name__}")
    for algorithm in catalogue()
    for check, count in UNIVERSAL
    # Those of the arrival family forget what a late record may bring back, and say so.
    if not (algorithm.family == "arrival" and "revision" in check.__name__)
]


@pytest.mark.parametrize(("algorithm", "check", "count"), CROSSED)
def test_every_algorithm(algorithm: Algorithm, check: Check, count: int) -> None:
    @examples(count)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        with in_tier(data.draw(st.sampled_from(TIERS))):
            check(algorithm, data.draw)

    holds()


@pytest.mark.stress
@pytest.mark.parametrize(("algorithm", "check", "count"), CROSSED)
def test_every_algorithm_at_length(algorithm: Algorithm, check: Check, count: int) -> None:
    @examples(count)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        with in_tier(data.draw(st.sampled_from(TIERS))):
            check(algorithm, data.draw)

    holds()


def test_the_catalogue_holds_what_the_design_names() -> None:
    names = {algorithm.name for algorithm in catalogue()}
    assert names == {
        "MINTOPK", "PRETOPK", "SMA", "TMA", "NAIVE",
        "RAPF", "SA", "RA", "SASF", "SARF", "SAPF", "RASF", "RARF", "SNN", "CPM",
    }  # fmt: skip


def test_every_kind_of_window_is_answered_by_the_yardstick() -> None:
    naive = next(algorithm for algorithm in catalogue() if algorithm.name == "NAIVE")
    assert set(kinds_of(naive)) == {
        "range_slide", "range", "rows", "rows_on", "unbounded_time", "unbounded_rows",
    }  # fmt: skip
