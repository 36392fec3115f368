"""Folders for copies of files."""

from __future__ import annotations

import shutil
import tempfile
import weakref


class Scratch:
    """A folder that is removed as soon as nothing refers to this object."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="crestline-")
        weakref.finalize(self, shutil.rmtree, self.path, True)


__all__ = ["Scratch"]
