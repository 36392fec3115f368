"""Files on their way: written under a hidden name, renamed when they are complete.

A process has one register of them. So whoever ends it, at whatever moment, can remove what is
unfinished and say what was written. All of this may be called from any thread. After ``give_up`` no
file appears any more: the others wait for a lock until the process has ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Seconds that ``give_up`` waits for a rename that is just being done.
_PATIENCE = 0.3


class Register:
    """What is being written, what was, and what has to go if the process ends now.

    >>> register = Register()
    >>> register.begin(".top.csv.partial-1", "top.csv")
    >>> register.sentence()
    'no file was written, unfinished ones were removed'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Hidden names, and the names by which the user knows the files.
        self._partial: dict[str, str] = {}
        #: How many files were completed, by the name of the file or of the folder they are in.
        self._written: dict[str, int] = {}
        self._folders: list[str] = []
        self._scratch: set[str] = set()
        self._removed = self._rows_on_stdout = False

    def restart(self) -> None:
        """Forget what was written before: a new command begins."""
        with self._lock:
            self._written.clear()
            self._removed = self._rows_on_stdout = False

    def begin(self, partial: str | os.PathLike[str], name: str) -> None:
        """Something is about to be written under a hidden name."""
        with self._lock:
            self._partial[os.fspath(partial)] = name

    def appear(self, partial: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        """Rename what is complete."""
        with self._lock:
            os.replace(partial, target)
            name = self._partial.pop(os.fspath(partial), os.fspath(target))
            self._written[name] = self._written.get(name, 0) + 1

    def end(self, partial: str | os.PathLike[str]) -> None:
        """Nothing is left under the hidden name, whether it was renamed or removed."""
        with self._lock:
            self._removed |= self._partial.pop(os.fspath(partial), None) is not None

    def made(self, folder: str | os.PathLike[str]) -> None:
        """A folder was made for files to come; it goes if it stays empty."""
        with self._lock:
            self._folders.append(os.fspath(folder))

    def shown(self) -> None:
        """Rows went to stdout."""
        self._rows_on_stdout = True

    @contextmanager
    def scratch(self, prefix: str) -> Iterator[str]:
        """A folder that nobody needs once the process has ended."""
        from shutil import rmtree
        from tempfile import mkdtemp

        with self._lock:  # in the register from its first moment to its last
            folder = mkdtemp(prefix=prefix)
            self._scratch.add(folder)
        try:
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)
            self._scratch.discard(folder)

    def give_up(self) -> str:
        """Remove what is unfinished, let nothing more appear, and say what was written."""
        self._lock.acquire(timeout=_PATIENCE)  # for good
        left = [partial for partial in list(self._partial) if not _remove(partial)]
        for folder in reversed(self._folders):
            with suppress(OSError):  # not empty
                os.rmdir(folder)
        return self.sentence(left)

    def remove_scratch(self) -> None:
        for folder in list(self._scratch):
            _remove(folder)

    def sentence(self, left: list[str] | None = None) -> str:
        """What was written, as far as files are concerned; ``left`` could not be removed."""
        names = [
            name if count == 1 else f"{name} ({count} files)"
            for name, count in list(self._written.items())
        ]
        sentences = [f"written: {', '.join(names)}" if names else "no file was written"]
        if left:
            sentences.append(f"unfinished, not removed: {', '.join(left)}")
        elif self._partial or self._removed:
            sentences.append("unfinished ones were removed")
        if self._rows_on_stdout:
            sentences.append("the rows on stdout are not all")
        return ", ".join(sentences)


def _remove(path: str) -> bool:
    """Remove a file or a folder with all that is in it; whether it has gone."""
    with suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            from shutil import rmtree

            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    return not os.path.lexists(path)


#: That of this process.
files = Register()

__all__ = ["Register", "files"]
