"""Random queries over uncertain streams, for every algorithm."""

from __future__ import annotations

import random
from typing import Any

import pytest

from crestline.testing import Kind
from uncertain.asking import (
    random_question,
    random_records,
)
from uncertain.replay import operators

NAMES = list(operators())

SECOND = 1_000_000

DAY = 86_400 * SECOND

each_algorithm = pytest.mark.parametrize("using", NAMES)

#: How many random queries of each kind a test looks at.
rounds = pytest.mark.parametrize("count", [1, pytest.param(15, marks=pytest.mark.stress)])


def cases(seed: str, kind: Kind, asked: str, count: int, size: int = 30) -> Any:
    rng = random.Random(f"{seed} {kind} {asked}")
    for _ in range(count):
        yield random_question(rng, kind, asked), random_records(rng, rng.randint(1, size)), rng
