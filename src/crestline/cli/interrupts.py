"""Ctrl-C (SIGINT) and SIGTERM: one signal ends a command, whatever it is doing.

Python would raise KeyboardInterrupt in the main thread between any two instructions: in the middle
of an import, or of a callback of DuckDB, LLVM or Java. Libraries do not survive that: runs crashed,
or took the interrupt for a failure of their own. While a library computes, the exception even has
to wait. So the signals are blocked in all threads, and one thread waits for them. It removes
unfinished files, says what was written, and ends the process at once, without unwinding anything.
Files are complete or hidden at every moment, so nothing else has to be done.

A run that follows a stream usually ends by an interrupt, and then prints its summary. It uses
``first_is_a_request``: the first interrupt only asks it to stop, the second one ends the process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crestline.core.unfinished import files

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
#: Shows the cursor, which a progress bar hides, and clears the bar's line.
_RESTORE_TERMINAL = b"\x1b[?25h\r\x1b[K"
#: Seconds to wait for a terminal or a pipe that takes no text just now.
_PATIENCE = 0.2

_requested, _ending = threading.Event(), threading.Event()
_requests = 0


def watch() -> None:
    """Start to handle the signals. Call it in the main thread, before heavy imports."""
    # A shell lets commands in the background ignore interrupts: leave those ignored.
    watched = {number for number in _WORDS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    # Java is started by a fork, and must receive SIGTERM.
    os.register_at_fork(after_in_child=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, watched))
    if watched:
        threading.Thread(target=_wait, args=(watched,), name="interrupts", daemon=True).start()


def _wait(watched: set[signal.Signals]) -> None:
    while True:
        number = signal.sigwait(watched)
        if _requests and not _requested.is_set():
            _requested.set()
        else:
            _end(number, watched)


@contextmanager
def first_is_a_request() -> Iterator[Callable[[], bool]]:
    """Inside, the first interrupt ends nothing. Yields a function that tells whether it came."""
    global _requests  # noqa: PLW0603  (the signals of a process are global too)
    _requests += 1
    try:
        yield _requested.is_set
    finally:
        _requests -= 1


def wait_if_ending() -> None:
    """Wait for the end if an interrupt is ending the process: later failures do not matter."""
    if _ending.is_set():
        threading.Event().wait()


def _end(number: int, watched: set[signal.Signals]) -> None:
    try:
        _ending.set()
        # Removing files from a remote disk may take long. A second signal does not wait for it.
        threading.Thread(target=_end_at_once, args=(watched,), daemon=True).start()
        _say(f"{_WORDS[signal.Signals(number)]}: {files.give_up()}\n")
        _end_children()
        files.remove_scratch()
    finally:
        os._exit(128 + number)


def _end_at_once(watched: set[signal.Signals]) -> None:
    os._exit(128 + signal.sigwait(watched))


def _say(text: str) -> None:
    """Write to stderr without buffers and locks, which another thread may hold."""
    from select import select

    with suppress(OSError):
        for stream in (1, 2):
            if os.isatty(stream) and select([], [stream], [], _PATIENCE)[1]:
                os.write(stream, _RESTORE_TERMINAL)
    with suppress(OSError):
        if select([], [2], [], _PATIENCE)[1]:
            os.write(2, text.encode(errors="replace"))


def _end_children() -> None:
    """End the child processes: Spark's Java process would end only after it misses this one."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/status", "rb") as status:
                fields = dict(line.split(b":\t", 1) for line in status if b":\t" in line)
                if int(fields[b"PPid"]) == os.getpid():
                    # A child that Python did not fork has inherited the blocked signals.
                    blocked = int(fields[b"SigBlk"], 16) >> (signal.SIGTERM - 1) & 1
                    os.kill(int(name), signal.SIGKILL if blocked else signal.SIGTERM)


__all__ = ["first_is_a_request", "wait_if_ending", "watch"]
