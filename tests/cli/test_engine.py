"""The bridge to Java keeps its stack traces to itself: what matters arrives as an exception."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from cli.command import environment
from crestline.cli.engine import hush_the_bridge, interrupt_behind
from crestline.cli.errors import Terminated

INTERRUPTED = """
from py4j.java_gateway import GatewayClient
from crestline.cli.engine import hush_the_bridge
from crestline.cli.errors import Terminated

hush_the_bridge()

class Interrupted(GatewayClient):
    class Connection:
        socket = None

        def send_command(self, command):
            raise Terminated

    def _get_connection(self):
        return self.Connection()

try:
    Interrupted().send_command("c")
except Terminated:
    print("raised")
"""


def test_an_interrupt_on_the_bridge_to_java_tells_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("raised\n", "")


def test_what_others_log_is_still_heard() -> None:
    hush_the_bridge()
    hush_the_bridge()
    root = logging.getLogger()
    assert len(root.filters) == 1
    record = root.makeRecord("root", logging.ERROR, __file__, 1, "heard", (), None)
    assert root.filter(record)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Terminated])
def test_an_interrupt_behind_an_error_comes_to_light(kind: type[KeyboardInterrupt]) -> None:
    error = RuntimeError("the job failed")
    error.__context__ = KeyError("on the way")
    error.__context__.__context__ = kind()
    assert type(interrupt_behind(error)) is kind
    assert interrupt_behind(RuntimeError("on its own")) is None
