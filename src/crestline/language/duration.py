"""Durations: ``20 mins``, ``2 MINUTES``, ``500 ms``, ``1.5 hours``, in whole microseconds."""

from __future__ import annotations

from fractions import Fraction

#: Microseconds of each unit, largest first; the first spelling is the one that is printed.
_UNITS = (
    (604_800_000_000, "WEEK WEEKS"),
    (86_400_000_000, "DAY DAYS D"),
    (3_600_000_000, "HOUR HOURS H HR HRS"),
    (60_000_000, "MINUTE MINUTES MIN MINS"),
    (1_000_000, "SECOND SECONDS S SEC SECS"),
    (1_000, "MILLISECOND MILLISECONDS MS"),
    (1, "MICROSECOND MICROSECONDS US"),
)

#: Every spelling of a unit, upper case, to its microseconds.
UNITS = {spelling: size for size, spellings in _UNITS for spelling in spellings.split()}

#: The longest duration: window arithmetic must stay within 64 bits.
MAX_DURATION = 1 << 61


def microseconds(number: str, unit: str) -> int:
    """Convert a duration to microseconds; ``ValueError`` says why that cannot be done.

    >>> microseconds("1.5", "mins")
    90000000
    """
    if "e" in number.lower():  # as a fraction, 1e-999999999 would fill the memory
        raise ValueError("a duration is written without an exponent")
    exact = Fraction(number) * UNITS[unit.upper()]
    if exact.denominator != 1:
        raise ValueError("a duration is a whole number of microseconds")
    if exact > MAX_DURATION:
        raise ValueError(f"a duration is at most {MAX_DURATION:,} microseconds")
    return int(exact)


def rounded_up(duration: int) -> int:
    """Round a duration up, by at most a quarter, to a whole number of a unit that reads easily.

    >>> written(rounded_up(1_234_567)), written(rounded_up(13 * 86_400_000_000 - 1))
    ('1235 MILLISECONDS', '13 DAYS')
    """
    if duration == 0:
        return 0
    multiples = [-(-duration // size) * size for size, _ in _UNITS]
    few = (length for length in multiples if 4 * length <= 5 * duration)
    least = next(few)
    # The next smaller unit says it more closely, as long as that takes no large number.
    closer = next(few, least)
    return min(MAX_DURATION, closer if int(written(closer).split()[0]) < 100 else least)


def written(duration: int) -> str:
    """Write the duration in the largest unit that gives a whole number.

    >>> written(90_000_000), written(3_600_000_000), written(0)
    ('90 SECONDS', '1 HOUR', '0 SECONDS')
    """
    if duration == 0:
        return "0 SECONDS"
    size, spellings = next((size, names) for size, names in _UNITS if duration % size == 0)
    count = duration // size
    singular, plural = spellings.split()[:2]
    return f"{count} {singular if count == 1 else plural}"
