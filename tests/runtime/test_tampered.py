"""States that were altered and given a right checksum again: refused, or run to their end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crestline.core import sound
from crestline.core.errors import PlanError, StateError

PROGRAM = Path(__file__).with_name("tampering.py")


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 3), pytest.param(2, 400, marks=pytest.mark.stress)]
)
def test_a_tampered_state_is_refused_or_runs_to_its_end(seed: int, count: int) -> None:
    """With compiled kernels, which do not look whether an index is inside its array. In a process
    of its own: a crash would take this one with it."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(seed), str(count)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120 * count,
    )
    last = done.stderr.strip().splitlines()[-1:]  # what was tried when it crashed
    assert done.returncode == 0, (done.returncode, last)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("BAD", 0) == 0, done.stdout
    assert told["refused"] > told["finished"] > 0  # most of what can be altered is noticed


def test_what_makes_a_state_sound() -> None:
    ints = np.arange(3)
    sound.offsets("o", np.array([0, 2, 2, 3]), 3, 3)
    sound.within("w", ints, 0, 3)
    sound.like({"a": ints, "b": 1, "c": None}, {"a": ints[:0], "b": 7, "c": None})
    for wrong in (
        lambda: sound.offsets("o", np.array([0, 2, 1, 3]), 3, 3),
        lambda: sound.offsets("o", np.array([0, 2, 3]), 3, 3),
        lambda: sound.offsets("o", np.array([0, 2, 2, 2]), 3, 3),
        lambda: sound.within("w", ints, 0, 2),
        lambda: sound.within("w", ints, 1, 3),
        lambda: sound.within("w", ints.astype(float), 0, 3),
        lambda: sound.length("l", ints, ints[1:]),
        lambda: sound.length("l", ints, of=4),
        lambda: sound.numbers("n", np.array([1.0, np.nan])),
        lambda: sound.moments("m", np.array([(1 << 63) - 1])),
        lambda: sound.like({"a": 1}, {"b": 1}),
        lambda: sound.like({"a": ints}, {"a": ints.astype(float)}),
        lambda: sound.like({"a": ints[None]}, {"a": ints}),
        lambda: sound.like({"a": True}, {"a": 1}),
        lambda: sound.like({"a": 2**70}, {"a": 1}),
        lambda: sound.like({"k": 2}, {"k": 1}, same=("k",)),
        lambda: sound.divided({"x": {"sizes": ints, "values": ints}}, {"x": ints}, 2),
        lambda: sound.divided({"x": {"sizes": ints[1:], "values": ints[1:]}}, {"x": ints}, 2),
    ):
        with pytest.raises(StateError, match="does not make sense"):
            wrong()


@pytest.mark.parametrize("error", [KeyError, IndexError, ValueError, PlanError, OverflowError])
def test_whatever_goes_wrong_while_a_state_is_read_is_its_fault(error: type[Exception]) -> None:
    with pytest.raises(StateError, match="does not make sense"), sound.reading():
        raise error("stray")
