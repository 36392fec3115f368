"""The papers are at the root, beside `src`. A test module names its paper in `PAPER`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="module")
def paper(request: pytest.FixtureRequest) -> Any:
    """The module `example` of the paper."""
    return import_module(f"papers.{request.module.PAPER}.example")


@pytest.fixture(scope="module")
def steps(paper: Any) -> Any:
    """What the examples of the paper give, computed once."""
    return paper.steps()
