"""Streams and checks for extreme input: few records, all algorithms, a limit of time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crestline.testing import Spec
from local.engines import (
    Algorithm,
    assert_judged,
    catalogue,
    supports,
)
from strategies import Case

ALGORITHMS = [pytest.param(algorithm, id=algorithm.name) for algorithm in catalogue()]


BLANK = dict.fromkeys(("num", "frac", "txt", "flag", "grp", "site"))


def records(*pairs: tuple[int | None, float | None]) -> list[dict[str, Any]]:
    """``(time, score)`` as full records, numbered."""
    return [{**BLANK, "id": n, "ts": ts, "val": val} for n, (ts, val) in enumerate(pairs)]


def judge(spec: Spec, stream: list[dict[str, Any]], algorithm: Algorithm) -> None:
    if not supports(algorithm)(spec):
        pytest.skip(f"{algorithm.name} does not know this window")
    assert_judged(Case(spec, stream), algorithm.name)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Generous, for slow machines: the mistakes it looks for cost minutes or all memory."""
    start = time.perf_counter()
    yield
    took = time.perf_counter() - start
    assert took < seconds, f"took {took:.1f} s"
