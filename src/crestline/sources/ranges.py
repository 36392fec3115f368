"""Large text files, read in ranges of bytes.

A range has the lines that begin in it. They are copied behind the header of the file into a portion
of their own. Lines must not contain line breaks, so csv files with quotes are not cut, nor are
compressed files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import duckdb

from crestline.runtime.sql import connect, quoted_text
from crestline.sources import stores
from crestline.sources.base import unreadable
from crestline.sources.endings import CSV, LINES, compression

#: Bytes of a range. Files of twice the size are cut.
RANGE_BYTES = 1 << 25
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Range:
    """The lines of a file that begin in a range of its bytes."""

    start: int
    stop: int
    #: The lines up to the names of columns. They are in no range.
    header: bytes

    def copy(self, name: str, portion: str, stream: str) -> int:
        """Write header and lines to the portion; return the number of lines."""
        lines = 0
        try:
            with open(name, "rb") as file, open(portion, "wb") as out:
                out.write(self.header)
                start = max(self.start, len(self.header))
                if start > len(self.header):  # a line that begins before it is in another range
                    file.seek(start - 1)
                    start += len(file.readline()) - 1
                file.seek(start)
                left = self.stop - start
                while left > 0 and (piece := file.read(min(left, _PIECE))):
                    left -= len(piece)
                    if left == 0 and not piece.endswith(b"\n"):
                        piece += file.readline()
                    lines += piece.count(b"\n")
                    out.write(piece)
        except OSError as error:
            raise unreadable(stream, error, name) from None
        return lines


def ranges_of(name: str, ending: str) -> list[Range]:
    """The ranges of a large file of lines; none if it cannot be cut."""
    if compression(name) or ending not in LINES or stores.is_remote(name):
        return []
    size = os.path.getsize(name)
    if size < 2 * RANGE_BYTES:
        return []
    header = _header(name) if ending in CSV else b""
    if header is None:
        return []
    starts = [*range(0, size - RANGE_BYTES, RANGE_BYTES), size]
    return [Range(a, b, header) for a, b in zip(starts, starts[1:], strict=False)]


def _header(name: str) -> bytes | None:
    """The lines before the records of a csv file; None if a record may span lines."""
    try:
        sniffed = connect().sql(
            f"SELECT Quote, NewLineDelimiter, SkipRows + HasHeader::INT FROM"
            f" sniff_csv({quoted_text(name)}, store_rejects = true)"
        )
        ((quote, newline, lines),) = sniffed.fetchall()
    except duckdb.Error:
        return None
    if quote != "(empty)" or "n" not in newline:
        return None
    with open(name, "rb") as file:
        return b"".join(file.readline() for _ in range(lines))


__all__ = ["Range", "ranges_of"]
