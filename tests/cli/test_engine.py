"""The bridge to Java keeps its stack traces to itself: what matters arrives as an exception."""

from __future__ import annotations

import logging
import subprocess
import sys

from cli.command import environment
from crestline.cli.engine import hush_the_bridge

INTERRUPTED = """
from py4j.java_gateway import GatewayClient
from crestline.cli.engine import hush_the_bridge

hush_the_bridge()

class Interrupted(GatewayClient):
    class Connection:
        socket = None

        def send_command(self, command):
            raise KeyboardInterrupt

    def _get_connection(self):
        return self.Connection()

try:
    Interrupted().send_command("c")
except KeyboardInterrupt:
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
