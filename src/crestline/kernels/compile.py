"""How every kernel is compiled: cached on disk, without the GIL.

numba keeps compiled code beside the sources or, where it may not write there, in the user's cache
folder. That leaves two cases, both common for the workers of a cluster: a package that is imported
from an archive (numba 0.68 knows ``.zip`` only, and keeps a cache for each place an archive was
copied to, that is for each executor) and a user without a home to write to. For these, `_ByContent`
keeps the code under a name made from the kernels' own text.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import ParamSpec, TypeVar

import llvmlite.binding  # type: ignore[import-untyped]
import numba
from numba.core.caching import CacheImpl
from numba.misc.appdirs import user_cache_dir

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call; later processes load it from the cache."""
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    return compiled


@cache
def fingerprint() -> str:
    """Names the text of all kernels: what one is compiled to depends on others that it calls."""
    texts = sorted(
        (entry.name, entry.read_bytes())
        for entry in files(__package__).iterdir()
        if entry.name.endswith(".py")
    )
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:20]


def cache_of(compiled: Callable[..., object]) -> tuple[str | None, str]:
    """Where a kernel's compiled code is kept, and the name of all that the code depends on."""
    folder: str | None = compiled.stats.cache_path  # type: ignore[attr-defined]
    processor = llvmlite.binding.get_host_cpu_name()
    return folder, f"{fingerprint()} numba {numba.__version__} on {processor}"


@cache
def _folder() -> str | None:
    """Where compiled code may be kept: the user's wish, the user's cache, the temporary folder."""
    private = os.path.join(tempfile.gettempdir(), f"crestline-{os.getuid()}")
    wish: str = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    usual: str = user_cache_dir("crestline", False)  # type: ignore[no-untyped-call]
    for root in (wish, usual, private):
        if not os.path.isabs(root):  # no wish, or no home
            continue
        folder = os.path.join(root, f"kernels-{fingerprint()}")
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            if root != private or _is_mine_alone(private):
                return folder
        except OSError:
            continue
    return None


def _is_mine_alone(folder: str) -> bool:
    """What lies in the folder will be run: nobody else may have put it there."""
    found = os.lstat(folder)
    return found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o022 == 0


class _ByContent:
    """A cache locator, in the sense of numba, for kernels that have no other place."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> _ByContent | None:
        ours = function.__module__.startswith(f"{__package__}.")
        return cls(function, file) if ours and _folder() is not None else None

    def get_cache_path(self) -> str | None:
        return _folder()

    def ensure_cache_path(self) -> None:
        os.makedirs(_folder() or "", exist_ok=True)

    def get_source_stamp(self) -> str:
        return fingerprint()

    def get_disambiguator(self) -> str:
        return str(self._line)


# Before numba's own way with ``.zip`` files, which is the last.
CacheImpl._locator_classes.insert(-1, _ByContent)
