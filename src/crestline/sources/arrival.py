"""Wait for files that do not exist yet."""

from __future__ import annotations

import os
import time

from crestline.core.errors import SourceError, UnreachableError
from crestline.sources import stores
from crestline.sources.files import find_files


def wait_for_files(path: str | os.PathLike[str], stream: str, patience: float) -> list[str]:
    """The files of a path, once one is not empty; SourceError after ``patience`` seconds,
    and at once where no waiting helps."""
    deadline = time.monotonic() + patience
    while True:
        try:
            files = find_files(stores.absolute(os.fspath(path)), stream)
            if any(stores.size(file) for file in files):
                return files
            raise SourceError(f"stream {stream!r}: {path} holds only empty files so far")
        except UnreachableError:
            raise
        except (SourceError, FileNotFoundError) as error:
            left = deadline - time.monotonic()
            if left <= 0:
                if isinstance(error, SourceError):
                    raise
                raise SourceError(f"stream {stream!r}: {error}") from error
        time.sleep(min(0.2, max(left, 0.01)))


__all__ = ["wait_for_files"]
