"""Large payloads go from task to task as files, and only their places cross Spark.

Inside the JVM a payload of some megabytes is copied from buffer to buffer, compressed, sorted and
collected as garbage. This takes longer than the work of the stages before and after it. Where all
workers and the driver reach one folder, they write large payloads there. Files are written once,
under names of their own, so tasks that are tried again do not meet.
"""

from __future__ import annotations

import shutil
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crestline.core.errors import StateError

#: Bytes of the payloads of a task that go to a file.
LARGE = 1 << 18
_MARK = b"\0parcel\0"
#: Where a payload is: offset and length in a file, whose name follows.
_PLACE = struct.Struct("<8sqq")


@dataclass(frozen=True, slots=True)
class Parcels:
    """The folder of large payloads on their way, on a disk that the driver and all workers reach.

    >>> import tempfile
    >>> parcels = Parcels(tempfile.mkdtemp())
    >>> sent = parcels.sent([b"small", bytes(LARGE)])
    >>> len(sent[1]) < 200, [len(fetched(payload)) for payload in sent] == [5, LARGE]
    (True, True)
    >>> parcels.clear()
    """

    folder: str

    def sent(self, payloads: Sequence[bytes]) -> list[bytes]:
        """The payloads of a task, or their places if they are large."""
        if sum(map(len, payloads)) < LARGE:
            return list(payloads)
        path = Path(self.folder, uuid.uuid4().hex)
        places, offset = [], 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                for payload in payloads:
                    file.write(payload)
                    places.append(_PLACE.pack(_MARK, offset, len(payload)) + str(path).encode())
                    offset += len(payload)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise StateError(f"cannot write to {self.folder}: {error.strerror}") from error
        return places

    def clear(self) -> None:
        """Remove all payloads."""
        shutil.rmtree(self.folder, ignore_errors=True)


def size_of(payload: bytes) -> int:
    """The bytes of a payload, or of what is at this place."""
    return _PLACE.unpack_from(payload)[2] if payload.startswith(_MARK) else len(payload)


def fetched(payload: bytes) -> bytes:
    """The payload, from its file if this is its place."""
    if not payload.startswith(_MARK):
        return payload
    _, offset, length = _PLACE.unpack_from(payload)
    path = Path(payload[_PLACE.size :].decode())
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(length)
    except OSError as error:
        raise StateError(_unreachable(path)) from error
    if len(data) < length:
        raise StateError(_unreachable(path))
    return data


def _unreachable(path: Path) -> str:
    return (
        f"{path}, which another worker wrote, is not there or not complete: all workers and the"
        " driver need to reach its folder. Name a checkpoint on a disk that they share"
    )


__all__ = ["LARGE", "Parcels", "fetched", "size_of"]
