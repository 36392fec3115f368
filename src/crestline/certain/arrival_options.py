"""Options of the algorithms that answer at every arrival: defaults and limits."""

from __future__ import annotations

from collections.abc import Mapping

from crestline.core.errors import CrestlineError

#: PA assumes that a window on time holds no more records than this.
LARGE_WINDOW = 10_000_000


def checked_options(
    name: str,
    allowed: Mapping[str, float | None],
    chosen: Mapping[str, float | None],
    k: int,
    window: int,
    slide: int | None,
) -> dict[str, float]:
    """Return the options of an algorithm with their defaults; refuse unknown and bad ones."""
    for option in chosen:
        if option not in allowed:
            names = ", ".join(allowed) or "none"
            raise CrestlineError(f"{name} has no option {option}: it knows {names}")
    options = dict(allowed) | {o: v for o, v in chosen.items() if v is not None}
    if options.get("buffer", 0) is None:
        options["buffer"] = usual_buffer(k, window)
    values = {option: value for option, value in options.items() if value is not None}
    if not 0 < values.get("error", 0.5) < 1:
        raise CrestlineError(f"error must lie between 0 and 1, not {values['error']}")
    for option in ("gamma", "additional"):
        if values.get(option, 0) < 0:
            raise CrestlineError(f"{option} must not be negative, not {values[option]}")
    for option in ("buffer", "expect"):
        if values.get(option, 1) < 1:
            raise CrestlineError(f"{option} must be at least 1, not {values[option]}")
    if "buffer" in values and slide == 1:  # else the first batch shows whether records are counted
        refuse_long_buffer(values["buffer"], window)
    return values


def usual_buffer(k: int, window: int) -> int:
    """Return the default number of recent records in the buffer of a filter.

    A larger buffer spares the band work, but its records are kept; see ``crestline bench
    arrivals``.
    """
    return max(1, min((window + 1) // 2, max(8 * k, 256)))


def refuse_long_buffer(most: float, window: int) -> None:
    """Refuse a buffer that spans more than half of a counting window."""
    if 2 * most - 1 > window:
        raise CrestlineError(
            f"a buffer of {most:,} records is too long for a window of {window:,}: it may"
            f" hold {(window + 1) // 2:,}, half of the window. What beats a record when it"
            " arrives would else expire while the record still waits in the buffer and should"
            " be reported (Theorem 5.1 of Pripuzic et al.)"
        )


__all__ = ["LARGE_WINDOW", "checked_options", "refuse_long_buffer", "usual_buffer"]
