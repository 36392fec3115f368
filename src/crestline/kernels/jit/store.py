"""The files that hold compiled kernels, and their names.

The code of a kernel is one file for each combination of argument types. Its name holds a stamp of
the kernel's text and of everything it calls, so code is never older than its source. Whatever else
code depends on (processor, Python, numba) is part of the name too. Files are written whole or not
at all, so processes share no index.

Code is looked for in every folder of ``folders`` and written to the first one that can be written:
the folder that ``CRESTLINE_CACHE_DIR`` (or ``NUMBA_CACHE_DIR``) names, or else the installed
package itself; the user's cache; a private temporary folder. So an installation that an
administrator has warmed serves users who may only read it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

#: What a kernel's code depends on: other kernels, and the numbers that they know by name.
_IMPORTED = re.compile(
    r"^\s*from (crestline\.(?:kernels\.[\w.]+|core\.sentinels)) import", re.MULTILINE
)
#: Modules that decide when and where kernels are compiled, but not to what.
_AROUND = {f"crestline.kernels.jit.{name}" for name in ("tiers", "store", "signature", "workshop")}
_ENDING = ".kernel"


@cache
def folders() -> tuple[str, ...]:
    """Return the folders that may hold code, in the order in which they are searched."""
    variables = [os.environ.get(name, "") for name in ("CRESTLINE_CACHE_DIR", "NUMBA_CACHE_DIR")]
    named = [folder for folder in variables if os.path.isabs(folder)]
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if named:
        paths = [os.path.join(named[0], "crestline-kernels")]
    else:
        kernels = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        paths = [os.path.join(kernels, "__pycache__")]
    if os.path.isabs(usual):
        paths.append(os.path.join(usual, "crestline", "kernels"))
    paths.append(_private())
    return tuple(paths)


@cache
def folder() -> str | None:
    """Return the folder that code is written to: the first one that can be written; None if there
    is none."""
    for path in folders():
        try:
            if path == _private():
                os.makedirs(path, mode=0o700, exist_ok=True)
                if not is_mine_alone(path):
                    continue
            elif path.endswith("__pycache__"):
                if not os.path.isdir(os.path.dirname(path)):  # the package lies in an archive
                    continue
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(path, mode=0o700, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError:
            continue
        return path
    return None


def _private() -> str:
    return os.path.join(tempfile.gettempdir(), f"crestline-{os.getuid()}")


def is_mine_alone(path: str) -> bool:
    """Whether only this user can have written to a folder: code from it will be run."""
    status = os.lstat(path)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and stat.S_IMODE(status.st_mode) & 0o022 == 0
    )


@cache
def edition() -> str:
    """Return a stamp of the processor, the Python and the numba that code was compiled for."""
    processor = os.uname().machine
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        lines = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines())
        fields = {name.strip(): value.strip() for name, value in lines.items()}
        processor += fields.get("model name", "") + fields.get("flags", "")
    text = f"{processor} {sys.implementation.cache_tag} {metadata.version('numba')}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def stamp(module: str) -> str:
    """Return a stamp of the text of a module of kernels and of the modules that it imports."""
    texts = []
    waiting, seen = (
        [module],
        {module, "crestline.kernels.jit.compile", "crestline.kernels.jit.indirect"},
    )
    waiting += sorted(seen - {module})
    while waiting:
        name = waiting.pop()
        text = source(name)
        texts.append((name, text))
        for other in _IMPORTED.findall(text):
            if other not in _AROUND and other not in seen:
                seen.add(other)
                waiting.append(other)
    return hashlib.sha256(repr(sorted(texts)).encode()).hexdigest()[:12]


def source(module: str) -> str:
    """The text of a module, also if it lies in an archive."""
    spec = find_spec(module)  # does not import it: the compiler's module would load numba
    return str(spec.loader.get_source(module))  # type: ignore[union-attr]


def file_of(kernel: str, key: object) -> str:
    """The name of the file with a kernel's code for these types."""
    module, _, name = kernel.partition(":")
    types = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    short = f"{module.rpartition('.')[2]}.{name}"
    return f"{short}.{stamp(module)}.{edition()}.{types}{_ENDING}"


def find(kernel: str, key: object) -> str | None:
    """The path of a kernel's code for these types, if there is any."""
    name = file_of(kernel, key)
    for directory in folders():
        path = os.path.join(directory, name)
        if os.path.exists(path) and (directory != _private() or is_mine_alone(directory)):
            return path
    return None


def write(kernel: str, key: object, code: bytes) -> None:
    """Write code to the cache, if there is a folder for it."""
    place = folder()
    if place is None:
        return
    name = file_of(kernel, key)
    with suppress(OSError):  # a full disk, or a folder that is gone: the next process compiles
        with tempfile.NamedTemporaryFile(dir=place, prefix=".", delete=False) as file:
            file.write(code)
        os.replace(file.name, os.path.join(place, name))
        _remove_older(Path(place), name)


def _remove_older(place: Path, name: str) -> None:
    """Remove the code of earlier texts of a kernel, in a folder that serves one version only."""
    if place.name != "__pycache__":
        return
    module, kernel, current, *_ = name.split(".")
    for path in place.glob(f"{module}.{kernel}.*{_ENDING}"):
        if path.name.split(".")[2] != current:
            path.unlink(missing_ok=True)


@cache
def _whole_stamp() -> str:
    """Names the text of all kernels."""
    texts = sorted(_texts(files("crestline.kernels")))
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:12]


def _texts(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    """The modules below a folder, which may lie in an archive."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


def _note(of: str) -> str:
    name = hashlib.sha256(of.encode()).hexdigest()[:16]
    return f"rehearsed.all.{_whole_stamp()}.{edition()}.{name}{_ENDING}"


def is_noted(of: str) -> bool:
    """Whether ``note`` was called with the same text, for the present kernels."""
    return any(os.path.exists(os.path.join(place, _note(of))) for place in folders())


def note(of: str) -> None:
    """Remember that everything for this purpose is compiled."""
    place = folder()
    if place is not None:
        with suppress(OSError):
            Path(place, _note(of)).touch()
            _remove_older(Path(place), _note(of))


@contextmanager
def compiling() -> Iterator[None]:
    """Let only one of the processes that share a folder compile; the others wait."""
    place = folder()
    if place is None:
        yield
        return
    try:
        lock = open(os.path.join(place, "crestline.lock"), "a")  # noqa: SIM115
    except OSError:
        yield
        return
    with lock:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


__all__ = [
    "compiling", "edition", "file_of", "find", "folder", "folders", "is_mine_alone", "is_noted",
    "note", "source", "stamp", "write",
]  # fmt: skip
