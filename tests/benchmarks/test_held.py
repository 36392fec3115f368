"""The bytes of an operator are those of its arrays, wherever it keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.certain import SMA, MinTopK, PreTopK


@pytest.mark.parametrize("make", [MinTopK, PreTopK, SMA])
def test_no_record_is_kept_in_less_than_its_score_and_id(make: type) -> None:
    from benchmarks.held import held_bytes

    operator = make(10, 1_000, 100)
    empty = held_bytes(operator)
    operator.observe(np.random.default_rng(1).random(2_000))
    operator.advance()
    assert held_bytes(operator) >= empty + 16 * operator.candidates
