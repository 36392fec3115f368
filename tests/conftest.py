"""What all tests share: the hypothesis profiles and the real streams, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    # Compiled kernels do not warn where infinities meet; as plain Python they would.
    np.seterr(all="ignore")

_SLOW_TO_START = [HealthCheck.too_slow]  # the first example may compile kernels

for _name, _examples in (("ci", 50), ("quick", 5)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=_SLOW_TO_START,
    )
settings.register_profile(
    "stress",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW_TO_START,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real streams; tests that need it are marked `data` and skipped without it."""
    named = os.environ.get("CRESTLINE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real streams in {folder}: set CRESTLINE_DATA to the folder that has them")
    return folder
