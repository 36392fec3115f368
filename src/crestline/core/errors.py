"""Every error Crestline raises on purpose, and its warnings.

Each one names what was given, what is allowed and what to do next; a traceback is never needed to
understand it.
"""

from __future__ import annotations


class CrestlineError(Exception):
    """The root of all errors that a user may want to catch."""


class QueryError(CrestlineError):
    """A query text that does not parse or that breaks a rule of the language.

    Carries the place, so that editors can jump to it: ``line`` and ``column`` count from 1.

    >>> print(QueryError("k must be at least 1", "SELECT TOP 0 x", 11, 1, "write TOP 1 or more"))
    line 1, column 12: k must be at least 1
      SELECT TOP 0 x
                 ^
    write TOP 1 or more
    """

    #: How much of a long line is shown around the marked place.
    SHOWN = 100

    def __init__(
        self, message: str, text: str = "", offset: int = 0, length: int = 1, hint: str = ""
    ) -> None:
        offset = min(max(offset, 0), len(text))
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        self.message = message
        self.hint = hint
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - start + 1
        self._source_line = text[start : end if end >= 0 else len(text)]
        self._length = length
        super().__init__(str(self))

    def __str__(self) -> str:
        position = self.column - 1
        left = max(0, position - self.SHOWN // 2)
        shown = self._source_line[left : left + self.SHOWN].replace("\t", " ")
        width = max(1, min(self._length, len(shown) - (position - left)))
        lines = [f"line {self.line}, column {self.column}: {self.message}"]
        if shown:
            lines += [f"  {shown}", "  " + " " * (position - left) + "^" * width]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


class PlanError(CrestlineError):
    """A query that is well formed but cannot be run as asked, with the reason."""


class SourceError(CrestlineError):
    """Input that cannot be read: no such file or column, a type that does not fit."""


class UnreachableError(SourceError):
    """A path beyond this disk that cannot be asked for: no answer, no permission, no such store."""


class RecordError(CrestlineError):
    """The first bad record of a strict run; ``row`` is None where several are bad together."""

    def __init__(self, stream: str, row: int | None, column: str, reason: str) -> None:
        self.stream, self.row, self.column, self.reason = stream, row, column, reason
        place = "" if row is None else f" row {row},"
        without = "sets such records aside and counts them"
        if row is None:
            without = "goes on and counts such results"
        super().__init__(
            f"stream {stream!r},{place} column {column!r}: {reason} (a run without --strict"
            f" {without})"
        )


class StateError(CrestlineError):
    """Saved state that is damaged, of another version or of another query."""


class MissingExtraError(CrestlineError, ImportError):
    """Something was asked for that needs a package which only an extra of Crestline installs."""


class LateRecordsWarning(UserWarning):
    """More than one record in a hundred was dropped as late; says which LATENESS suffices."""


class ShufflePartitionsWarning(UserWarning):
    """A Spark session has far more shuffle partitions than a streaming query has use for."""
