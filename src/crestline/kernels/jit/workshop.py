"""Kernels compiled by other processes, several at a time, into the cache.

A task is a kernel with its types, or a function behind a pointer. A kernel is compiled after those
that it calls. So their code is in the cache by then, and no two processes compile the same kernel.
Of the tasks that can begin, the one with the longest chain of dependent tasks comes first.

``compile_all`` waits and reports progress. ``compile_beside`` does not wait: plain twins continue
meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from crestline.kernels.jit import store, tiers
from crestline.kernels.jit.pointer import Pointed
from crestline.kernels.jit.signature import as_tuples
from crestline.kernels.jit.tiers import Kernel, Variant

#: Receives how many kernels are compiled, and of how many.
Progress = Callable[[int, int], None]
#: A task: the kernel's name and the types, None for a function behind a pointer.
Task = tuple[str, Any]


class _Queue:
    """Tasks, in an order in which each finds what it calls in the cache."""

    def __init__(self, tasks: Iterable[Task], progress: Progress | None) -> None:
        self._waiting = dict.fromkeys(tasks)
        self._running: set[Task] = set()
        self._total, self._done = len(self._waiting), 0
        self._progress = progress
        self._changed = threading.Condition()
        self._callees = {name: _callees(name) for name, _ in self._waiting}
        self._urgency = _urgencies(self._callees)
        if progress is not None and self._total:
            progress(0, self._total)

    def take(self) -> Task | None:
        """Return the next task once everything it calls is compiled; None if there is none left."""
        with self._changed:
            while self._waiting:
                unfinished = {name for name, _ in (*self._waiting, *self._running)}
                free = [t for t in self._waiting if not self._callees[t[0]] & unfinished - {t[0]}]
                if free or not self._running:
                    chosen = max(free or self._waiting, key=lambda t: self._urgency[t[0]])
                    del self._waiting[chosen]
                    self._running.add(chosen)
                    return chosen
                self._changed.wait()
            return None

    def done(self, task: Task) -> None:
        with self._changed:
            self._running.discard(task)
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)
            self._changed.notify_all()


def _found(name: str) -> Kernel | Pointed:
    """Return the kernel, or the function behind a pointer, of this name."""
    module, _, called = name.partition(":")
    namespace = vars(import_module(module))
    if isinstance(namespace.get(called), Kernel):
        return namespace[called]  # type: ignore[no-any-return]
    return next(v for v in namespace.values() if isinstance(v, Pointed) and v.name == name)


def _callees(name: str) -> set[str]:
    """The names of all kernels that one calls, also through others."""
    names: set[str] = set()
    waiting = [_found(name).function]
    while waiting:
        function: Any = waiting.pop()
        for called in function.__code__.co_names:
            value = function.__globals__.get(called)
            if isinstance(value, Kernel) and value.name not in names:
                names.add(value.name)
                waiting.append(value.function)
    return names


def _urgencies(callees: dict[str, set[str]]) -> dict[str, int]:
    """How much code there is to compile from a kernel up to the last one that needs it."""
    sizes = {name: len(_found(name).function.__code__.co_code) for name in callees}
    urgency: dict[str, int] = {}
    for name in sorted(callees, key=lambda n: -len(callees[n])):  # callers before those they call
        above = [urgency[caller] for caller in urgency if name in callees[caller]]
        urgency[name] = sizes[name] + max(above, default=0)
    return urgency


# -- compiling ------------------------------------------------------------------------------------


def compile_all(
    variants: Iterable[Variant], pointed: Iterable[Pointed] = (), progress: Progress | None = None
) -> int:
    """Compile what is not in the cache yet, on all cores, and report to ``progress``; return how
    many tasks there were."""
    wanted = list(variants)
    if store.folder() is None or not _missing(wanted, pointed):
        return 0
    with store.compiling():
        tasks = _missing(wanted, pointed)  # another process may have compiled them meanwhile
        _work_off(_Queue(tasks, progress), min(_cores(), len(tasks)))
    for variant in wanted:
        variant.look()
    return len(tasks)


def _missing(variants: Iterable[Variant], pointed: Iterable[Pointed]) -> list[Task]:
    kernels: list[Task] = [(v.kernel.name, v.key) for v in variants if not v.look()]
    return kernels + [(p.name, None) for p in pointed if not p.is_cached()]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _work_off(queue: _Queue, workers: int) -> None:
    threads = [threading.Thread(target=_serve, args=[queue], daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _serve(queue: _Queue) -> None:
    """Give tasks to a process of its own, one after the other."""
    path = os.pathsep.join(place or os.getcwd() for place in sys.path)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__], env=os.environ | {"PYTHONPATH": path}, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; it ends when its input does
        )  # fmt: skip
    except OSError:
        return  # no program to start: kernels are compiled when they are called
    with process:
        assert process.stdin is not None and process.stdout is not None
        while (task := queue.take()) is not None:
            try:
                process.stdin.write(json.dumps(task).encode() + b"\n")
                alive = bool(process.stdout.readline())
            except OSError:
                alive = False
            queue.done(task)
            if not alive:
                return


class _Beside:
    """Compiling in the background."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.tried: set[Variant] = set()


_beside = _Beside()


def compile_beside() -> bool:
    """Start to compile in the background what was called so far; return False if it cannot be
    compiled."""
    if store.folder() is None:
        return False
    with tiers.lock():
        if _beside.thread is not None and _beside.thread.is_alive():
            return True
        missing = [variant for variant in tiers.called() if not variant.look()]
        if not missing:  # it is done
            return True
        wanted = [variant for variant in missing if variant not in _beside.tried]
        if not wanted:
            return False
        _beside.tried.update(wanted)
        pointed = [p for p in tiers.pointed_of(wanted) if not p.is_cached()]
        _beside.thread = threading.Thread(target=compile_all, args=[wanted, pointed], daemon=True)
        _beside.thread.start()
        return True


def work() -> None:
    """Compile what the lines of the input say, until it ends."""
    tasks: list[str] = []
    arrived = threading.Semaphore(0)

    def listen() -> None:
        for line in sys.stdin:
            tasks.append(line)
            arrived.release()
        os._exit(0)  # the parent has ended: no need to finish

    threading.Thread(target=listen, daemon=True).start()
    while arrived.acquire():
        name, key = json.loads(tasks.pop(0))
        target = _found(name)
        try:
            if isinstance(target, Kernel):
                target.compile(as_tuples(key))
            else:
                target.load()
            outcome = "done"
        except Exception as error:  # a rehearsal may see types that compiled code never does
            outcome = type(error).__name__
        print(outcome, flush=True)


if __name__ == "__main__":
    # As ``__main__`` the module would be a second copy, with kernels of its own.
    import_module("crestline.kernels.jit.workshop").work()
