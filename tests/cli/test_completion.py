"""What a shell completes, and that it need not wait for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cli.command import environment, process
from crestline.cli import completion
from crestline.streams import KINDS

HEAVY = "numpy pyarrow numba duckdb pyspark matplotlib"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run --engine ", {"spark", "local"}),
        ("run --engine l", {"local"}),
        ("demo --engine s", {"spark"}),
        ("generate ", set(KINDS)),
        ("bench st", {"steps"}),
        ("reproduce j", {"jin2008"}),
        ("run --follow --trigger ", {"available-now"}),
        ("algo", {"algorithms"}),
    ],
)
def test_a_shell_completes_what_can_be_known(typed: str, offered: set[str]) -> None:
    words = f"crestline {typed}"
    place = len(words.split()) - (not words.endswith(" "))
    asked = environment(
        _CRESTLINE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place)
    )
    done = subprocess.run(process(), env=asked, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == offered, done.stderr


def test_the_kinds_that_are_completed_are_those_there_are() -> None:
    assert set(completion.KINDS) == set(KINDS)


@pytest.mark.parametrize("what", ["engines", "kinds", "suites", "papers"])
def test_completing_imports_nothing_heavy(what: str) -> None:
    code = (
        f"import sys; from crestline.cli import commands, completion; completion.{what}('')\n"
        f"print([name for name in '{HEAVY}'.split() if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
