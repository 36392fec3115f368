"""Files of web servers, through fsspec, with the calls of a ``pyarrow.fs.FileSystem``."""

from __future__ import annotations

import io
import os
import shutil
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import WeakValueDictionary

import pyarrow as pa
from pyarrow.fs import FileInfo, FileType

from crestline.core.extras import need
from crestline.sources.scratch import Scratch

_CONNECT_SECONDS, _READ_SECONDS = 4, 8
_GONE = (404, 410)
_PIECE, _COPY = 1 << 20, "copy"


class Web:
    """The files of all web servers. Proxies and ``~/.netrc`` count, as for other tools."""

    def __init__(self) -> None:
        for package in ("fsspec", "aiohttp"):
            need(package, "a web address")
        import aiohttp
        from fsspec.implementations.http import HTTPFileSystem

        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=_READ_SECONDS
        )
        self._http = HTTPFileSystem(
            cache_type="none",  # Arrow reads what it needs, in large pieces
            headers={"Accept-Encoding": "identity"},
            client_kwargs={"timeout": timeout, "trust_env": True, "auto_decompress": False},
        )
        #: Copies of files on servers that send whole files only, as long as a reader is open.
        self._copies: WeakValueDictionary[str, Scratch] = WeakValueDictionary()

    def get_file_info(self, address: str) -> FileInfo:
        try:
            info = self._http.info(address)
        except FileNotFoundError as error:  # whatever happened, fsspec says this
            cause = error.__cause__
            if cause is None or getattr(cause, "status", None) in _GONE:
                return FileInfo(address, FileType.NotFound)
            raise cause from None
        changed = info.get("Last-Modified")
        modified = None if changed is None else parsedate_to_datetime(changed).timestamp()
        return FileInfo(address, FileType.File, mtime=modified, size=info.get("size"))

    def open_input_file(self, address: str) -> pa.NativeFile:
        size = self.get_file_info(address).size
        if size:
            opened = self._http.open(address, size=size)
            opened.seek(size - 1)
            try:
                opened.read(1)
                return pa.PythonFile(opened, mode="r")
            except ValueError:  # the server knows no ranges
                opened.close()
        return self._copied(address)

    def open_input_stream(self, address: str, compression: None = None) -> Any:
        # With a size it is not asked for, and without blocks the file comes as one.
        return self._http.open(address, block_size=0, size=-1)

    def _copied(self, address: str) -> pa.NativeFile:
        scratch = self._copies.get(address)
        if scratch is None:
            scratch = Scratch()
            with (
                self.open_input_stream(address) as opened,
                open(os.path.join(scratch.path, _COPY), "wb") as out,
            ):
                shutil.copyfileobj(opened, out, _PIECE)
            self._copies[address] = scratch
        return pa.PythonFile(_Copy(scratch), mode="r")


class _Copy(io.FileIO):
    """An open copy, whose folder exists as long as something refers to this."""

    def __init__(self, scratch: Scratch) -> None:
        super().__init__(os.path.join(scratch.path, _COPY))
        self._scratch = scratch

    def __del__(self) -> None:
        self.close()  # Arrow leaves it open, and Python would warn
