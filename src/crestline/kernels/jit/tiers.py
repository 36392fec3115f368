"""When a kernel runs as plain Python and when as machine code.

Compiling takes seconds, and so does loading a compiler. Plain Python gives the first answer over a
few thousand records in a tenth of a second. So a kernel has two tiers. Its *twin* is the same code
in a namespace in which every kernel is replaced by its twin: plain Python, with the same answers as
the compiled kernel. A call stays with the twin

1. while its arrays are small (``SMALL`` numbers in all, unused room included), and
2. while this process has spent less time in twins than switching would cost: ``LOADING`` seconds
   if compiled code is in the cache, and none once a large batch has come. If there is no code,
   other processes compile it after ``COMPILING`` seconds, and twins continue until it is there.

So a process never pays much more than twice the cost of the better choice from the start.

Before many records come, a *rehearsal* plays a few of them with the twins. It notes which kernels
are called with which types, inner calls included. Then all of them are compiled at once, on all
cores (``workshop``).

``CRESTLINE_KERNELS=plain`` or ``compiled`` fixes the tier (``NUMBA_DISABLE_JIT=1`` is plain).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, Literal, ParamSpec, TypeVar, cast

import numpy as np

from crestline.kernels.jit import store
from crestline.kernels.jit.signature import Key, Undescribed, elements, key

P = ParamSpec("P")
R = TypeVar("R")

Mode = Literal["auto", "plain", "compiled"]
#: Most numbers in the arrays of a call that plain Python takes.
SMALL = 1 << 17
#: Seconds in twins before compiled code is loaded, and before code that is missing is compiled.
LOADING, COMPILING = 0.3, 2.0
#: Inner calls of a kernel that a rehearsal looks at. Describing arguments takes time.
_LOOKED_AT = 4


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function of numbers and arrays a kernel: plain Python at first, then compiled."""
    return cast(Callable[P, R], Kernel(function))


def borrowing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Make a kernel that neither creates nor returns arrays, so that references need no counting.

    numba counts, atomically, the references to every array of every tuple that a function takes.
    """
    return cast(Callable[P, R], Kernel(function, borrows=True))


class Variant:
    """A kernel with one combination of argument types."""

    __slots__ = ("cached", "kernel", "key", "pointed", "ready")

    def __init__(self, kernel: Kernel, key: Key, pointed: list[Any]) -> None:
        self.kernel, self.key = kernel, key
        self.pointed = pointed  # functions whose addresses it receives
        self.cached = self.ready = False  # whether its code is in the cache, or in this process
        self.look()

    def look(self) -> bool:
        """Check whether there is code by now."""
        self.cached = self.cached or store.find(self.kernel.name, self.key) is not None
        return self.cached


class Kernel:
    """A function with two tiers."""

    def __init__(self, function: Callable[..., Any], borrows: bool = False) -> None:
        update_wrapper(self, function)
        self._borrows = borrows
        self.function = cast(FunctionType, function)
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.variants: dict[Key, Variant] = {}
        self._dispatcher: Any = None
        self._compiled: Any = None  # the dispatcher, once there is code in it

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None or _tiers.rehearsal is not None:
            return _tiers.call(self, arguments)
        try:
            return self._compiled(*arguments)
        except _tiers.unready:
            return _tiers.call(self, arguments)

    def variant(self, arguments: tuple[Any, ...]) -> Variant:
        """This kernel with the types of these arguments."""
        types = key(arguments)
        variant = self.variants.get(types)
        if variant is None:
            variant = Variant(self, types, list(_pointers(arguments)))
            self.variants[types] = variant
        return variant

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        if self._dispatcher is None:
            from crestline.kernels.jit.compile import dispatcher

            self._dispatcher = dispatcher(self.name, self.function, self._borrows)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this object for, inside other kernels."""
        return self.dispatcher._numba_type_

    def compile(self, types: Key) -> Any:
        """Compile for these types, or load the code; return the function to call."""
        from crestline.kernels.jit.compile import types_of

        self.dispatcher.compile(types_of(types))
        self._compiled = self.dispatcher
        return self.dispatcher


class Rehearsal:
    """Notes what is called while kernels run as plain Python."""

    def __init__(self) -> None:
        #: What was called, kernels with their types and functions behind pointers, in order; of
        #: kernels, whether they were called from outside.
        self.variants: dict[Variant, bool] = {}
        self.pointed: dict[Any, None] = {}
        self._looks: dict[Kernel, int] = {}
        self._depth = 0

    def call(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
        """Note a call and play it, with those inside."""
        looks = self._looks.get(kernel, 0)
        if self._depth == 0 or looks < _LOOKED_AT:
            self._looks[kernel] = looks + 1
            try:
                variant = kernel.variant(arguments)
                self.variants[variant] = self.variants.get(variant, False) or self._depth == 0
                self.pointed.update(dict.fromkeys(variant.pointed))
            except Undescribed:
                if self._depth == 0:
                    raise
        self._depth += 1
        try:
            return _as_compiled(kernel.function(*arguments))
        finally:
            self._depth -= 1


class Tiers:
    """Decides for all kernels of this process."""

    def __init__(self) -> None:
        self.mode: Mode = _wished()
        self.rehearsal: Rehearsal | None = None
        #: The error of a compiled kernel without code for its arguments.
        self.unready: tuple[type[Exception], ...] = ()
        #: Seconds spent in twins, and seconds that callers waited for code.
        self.spent = self.waited = 0.0
        #: What was called while it was not compiled.
        self.called: dict[Variant, None] = {}
        #: Whether many records are on their way: then compiled code is not put off.
        self.many = False
        self.lock = RLock()
        self.listener: Callable[[int, int], None] = _on_terminal
        #: Begins to compile what was called, beside this process; whether twins go on meanwhile.
        self.compile_beside: Callable[[], bool] = bool
        self._spaces: dict[int, dict[str, Any]] = {}
        self._twins: dict[Kernel, Callable[..., Any]] = {}

    def call(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
        """A call for which no compiled code is at hand."""
        if self.rehearsal is not None:
            return self.rehearsal.call(kernel, arguments)
        if self.mode == "plain":
            return self._play(kernel, arguments)
        variant = kernel.variant(arguments)
        self.called[variant] = None
        if not variant.ready and self._stays_plain(variant, arguments):
            return self._play(kernel, arguments)
        return self._load(variant)(*map(_addressed, arguments))

    def _stays_plain(self, variant: Variant, arguments: tuple[Any, ...]) -> bool:
        if self.mode == "compiled" or elements(arguments) > SMALL:
            return False
        if variant.cached:
            return self.spent < LOADING and not self.many
        if self.spent < COMPILING:
            return True
        return self.compile_beside()

    def _play(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
        """Run the twin, and note how long it took, whatever else the machine was doing."""
        began = time.thread_time()
        with np.errstate(all="ignore"):  # as compiled code: no warnings where infinities meet
            result = self.twin(kernel)(*arguments)
        self.spent += time.thread_time() - began
        return _as_compiled(result)

    def _load(self, variant: Variant) -> Any:
        """The compiled kernel; compiles it here and now if need be."""
        with self.lock:
            if not variant.ready:
                with waiting():
                    self._make_ready(variant)
        return variant.kernel.dispatcher

    def _make_ready(self, variant: Variant) -> None:
        from crestline.kernels.jit.compile import Unready

        self.unready = (Unready,)
        if variant.look():
            variant.kernel.compile(variant.key)
        else:
            tell(0, 1)
            with store.compiling():
                variant.kernel.compile(variant.key)
            tell(1, 1)
        variant.ready = variant.cached = True

    # -- twins --------------------------------------------------------------------------------

    def twin(self, kernel: Kernel) -> Callable[..., Any]:
        """The kernel as plain Python."""
        twin = self._twins.get(kernel)
        if twin is None:
            with self.lock:
                twin = self._twins[kernel] = self.plain(kernel.function)
        return twin

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with twins in place of kernels."""
        original = cast(FunctionType, function)
        space = self._space(original.__globals__)
        return FunctionType(original.__code__, space, original.__name__, original.__defaults__)

    def _space(self, module: dict[str, Any]) -> dict[str, Any]:
        """Return the namespace of a module with twins in place of kernels."""
        space = self._spaces.get(id(module))
        if space is None:
            space = self._spaces[id(module)] = dict(module)  # first: kernels may call each other
            for name, value in module.items():
                if isinstance(value, Kernel):
                    if value not in self._twins:
                        self._twins[value] = self.plain(value.function)
                    space[name] = self._twins[value]
                elif hasattr(value, "pointed"):
                    space[name] = _without_address(self.plain(value.pointed.function))
        return space


def _on_terminal(done: int, total: int) -> None:
    """One line on a terminal, which goes away at the end."""
    if sys.stderr is not None and sys.stderr.isatty():
        text = "" if done == total else f"compiling kernels, once: {done} of {total} ..."
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _wished() -> Mode:
    wish = os.environ.get("CRESTLINE_KERNELS", "auto")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        wish = "plain"
    if wish not in ("auto", "plain", "compiled"):
        raise ValueError(f"CRESTLINE_KERNELS is {wish!r}: say auto, plain or compiled")
    return cast(Mode, wish)


def _without_address(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda address, *arguments: function(*arguments)


def _as_compiled(result: Any) -> Any:
    """Return what a compiled kernel would have returned: plain numbers, not those of NumPy."""
    if isinstance(result, np.generic) and not isinstance(result, np.void):
        return result.item()
    if type(result) is tuple:
        return tuple(map(_as_compiled, result))
    return result


def _pointers(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """The functions behind pointers among arguments."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _pointers(argument)
        elif hasattr(argument, "is_pointer"):
            yield argument


def _addressed(argument: Any) -> Any:
    """An argument with addresses in the place of functions behind pointers."""
    if isinstance(argument, tuple):
        addressed = map(_addressed, argument)
        return tuple(addressed) if type(argument) is tuple else type(argument)(*addressed)
    return argument.load() if hasattr(argument, "is_pointer") else argument


_tiers = Tiers()


@contextmanager
def rehearsing() -> Iterator[Rehearsal]:
    """Run kernels as plain Python, and note which ones are called with which types."""
    with _tiers.lock, np.errstate(all="ignore"):
        before, _tiers.rehearsal = _tiers.rehearsal, Rehearsal()
        try:
            yield _tiers.rehearsal
        finally:
            _tiers.rehearsal = before


@contextmanager
def using(mode: Mode) -> Iterator[None]:
    """Let kernels run in one tier only."""
    before, _tiers.mode = _tiers.mode, mode
    try:
        yield
    finally:
        _tiers.mode = before


@contextmanager
def waiting() -> Iterator[None]:
    """Count the time in which kernels are made ready."""
    began = time.perf_counter()
    inside = _tiers.waited
    try:
        yield
    finally:
        _tiers.waited = inside + time.perf_counter() - began


def waited() -> float:
    """Seconds for which this process has waited for code."""
    return _tiers.waited


def compile_with(beside: Callable[[], bool]) -> None:
    """Name what compiles beside this process: it returns whether twins go on meanwhile."""
    _tiers.compile_beside = beside


def expect_many() -> None:
    """Prefer compiled code from now on, where there is any."""
    _tiers.many = True


def mode() -> Mode:
    """Which tiers are used."""
    return _tiers.mode


def tell(done: int, total: int) -> None:
    """Report how many of the kernels are compiled."""
    _tiers.listener(done, total)


@contextmanager
def told_to(listener: Callable[[int, int], None]) -> Iterator[None]:
    """Send reports on compiling to this function instead of the terminal."""
    before, _tiers.listener = _tiers.listener, listener
    try:
        yield
    finally:
        _tiers.listener = before


def called() -> list[Variant]:
    """Return what was called in this process before it was compiled."""
    return list(_tiers.called)


def pointed_of(variants: list[Variant]) -> list[Any]:
    """The functions behind pointers that these call."""
    return list(dict.fromkeys(p for variant in variants for p in variant.pointed))


def lock() -> RLock:
    """Held while kernels are made ready."""
    return _tiers.lock


__all__ = [
    "Kernel", "Mode", "Rehearsal", "Variant", "borrowing_kernel", "called", "expect_many",
    "kernel", "lock", "mode", "pointed_of", "rehearsing", "tell", "told_to", "using", "waited",
    "waiting",
]  # fmt: skip
