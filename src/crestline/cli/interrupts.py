"""Ctrl-C (SIGINT) and SIGTERM: one of them ends a command, whatever it is doing just then.

Python would raise KeyboardInterrupt in the main thread, between any two of its instructions: in the
middle of an import, or of a callback of DuckDB, LLVM or Java. Libraries do not survive that: runs
crashed, or took the interrupt for a failure of their own. And as long as a library computes, the
exception waits. So no thread of the command gets these signals. They are blocked everywhere, which
threads inherit, and one thread waits for them. It removes unfinished files, says what was written
and ends the process at once, without unwinding anything. Files are complete or hidden at every
moment, so nothing else has to be done.

A run that follows a stream is ended by the first interrupt as a matter of course, and wants to sum
up. It asks for that with ``polite``; the second interrupt then does what the first does elsewhere.
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

_asked, _ending = threading.Event(), threading.Event()
_polite = 0


def watch() -> None:
    """Take care of the signals from now on. Call it in the main thread, before heavy imports."""
    # A shell makes commands in the background ignore the interrupts that are meant for others.
    watched = {number for number in _WORDS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    # Java is started by a fork, and must hear a SIGTERM.
    os.register_at_fork(after_in_child=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, watched))
    if watched:
        threading.Thread(target=_wait, args=(watched,), name="interrupts", daemon=True).start()


def _wait(watched: set[signal.Signals]) -> None:
    while True:
        number = signal.sigwait(watched)
        if _polite and not _asked.is_set():
            _asked.set()
        else:
            _end(number, watched)


@contextmanager
def polite() -> Iterator[Callable[[], bool]]:
    """Inside, the first interrupt ends nothing: the command asks now and then whether it came."""
    global _polite  # noqa: PLW0603  (the signals of a process are global too)
    _polite += 1
    try:
        yield _asked.is_set
    finally:
        _polite -= 1


def stand_back() -> None:
    """Let an interrupt have the last word: what fails while the process ends is no news."""
    if _ending.is_set():
        threading.Event().wait()


def _end(number: int, watched: set[signal.Signals]) -> None:
    try:
        _ending.set()
        # Removing files may take a while, on a disk far away: nobody has to wait for that.
        threading.Thread(target=_end_at_once, args=(watched,), daemon=True).start()
        _say(f"{_WORDS[signal.Signals(number)]}: {files.give_up()}\n")
        _end_children()
        files.remove_scratch()
    finally:
        os._exit(128 + number)


def _end_at_once(watched: set[signal.Signals]) -> None:
    os._exit(128 + signal.sigwait(watched))


def _say(text: str) -> None:
    """On stderr, past all buffers and locks, which another thread may hold."""
    from select import select

    with suppress(OSError):
        for stream in (1, 2):
            if os.isatty(stream) and select([], [stream], [], _PATIENCE)[1]:
                os.write(stream, _RESTORE_TERMINAL)
    with suppress(OSError):
        if select([], [2], [], _PATIENCE)[1]:
            os.write(2, text.encode(errors="replace"))


def _end_children() -> None:
    """Spark's Java process would end by itself, but only once it has seen that we are gone."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/status", "rb") as status:
                told = dict(line.split(b":\t", 1) for line in status if b":\t" in line)
                if int(told[b"PPid"]) == os.getpid():
                    # A child that was not forked by Python has inherited what is blocked here.
                    deaf = int(told[b"SigBlk"], 16) >> (signal.SIGTERM - 1) & 1
                    os.kill(int(name), signal.SIGKILL if deaf else signal.SIGTERM)


__all__ = ["polite", "stand_back", "watch"]
