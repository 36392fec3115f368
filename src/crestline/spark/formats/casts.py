"""Text to values inside Catalyst, by expressions that follow DuckDB's rules rather than Spark's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.spark.formats.scan import PLAIN, local_moment, spark_type

_SPACES = " \t\n\x0b\x0c\r"
_USUAL = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?"
_CLOCK = r"\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?"
_ZONE = r"\s*([zZ]|UTC|[+-]\d{1,2}(:?\d{2})?)"
_ISO = rf"^\d{{1,6}}([-/])\d{{1,2}}\1\d{{1,2}}([T ]{_CLOCK}({_ZONE})?)?$"
_PARTS = {
    "Y": r"(\d{1,4})", "y": r"(\d{2})", "m": r"(\d{1,2})", "d": r"(\d{1,2})", "H": r"(\d{1,2})",
    "I": r"(\d{1,2})", "M": r"(\d{1,2})", "S": r"(\d{1,2})", "f": r"(\d{1,9})",
    "p": r"([aApP][mM])", "z": r"([zZ]|[+-]\d{2}(?::?\d{2})?)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cast:
    """How a stored column is read; ``fault`` is said of a value that cannot be read."""

    read: Callable[[Column], Column]
    fault: str | None = None
    stored: T.DataType = T.StringType()  # noqa: RUF009


def csv_cast(kind: pa.DataType, formats: dict[str, str]) -> Cast | None:
    """How a field of csv is read; None where Spark has no type."""
    wanted = spark_type(kind)
    if wanted is None:
        return None
    if pa.types.is_integer(kind):
        return Cast(lambda text: _integer(text, wanted, F.round), "not a number")
    if pa.types.is_floating(kind):
        return Cast(_double, "not a number")
    if pa.types.is_boolean(kind):
        return Cast(_boolean, "not a number")
    if pa.types.is_date(kind):
        return Cast(lambda text: _date(text, formats.get("date")), "not a timestamp")
    if pa.types.is_timestamp(kind):
        form = None if kind.tz else formats.get("timestamp")
        return Cast(lambda text: _moment(text, bool(kind.tz), form), "not a timestamp")
    if pa.types.is_decimal(kind):
        return Cast(lambda text: text.try_cast(wanted), "not a number")
    if wanted == T.StringType():
        return Cast(lambda text: text)
    return None


def json_cast(kind: pa.DataType, any_type: bool) -> Cast | None:
    """How a value of json is read; None for nested values, which Spark's own reader reads."""
    if any_type:
        return Cast(lambda value: F.nullif(F.to_json(value), F.lit("null")), stored=T.VariantType())
    if pa.types.is_integer(kind):
        # DuckDB rounds halves of numbers in json to even, and those in text away from zero.
        wanted = PLAIN[kind]
        return Cast(lambda text: _integer(_without_truth(text), wanted, F.bround))
    if pa.types.is_floating(kind):
        return Cast(lambda text: _double(_without_truth(text)))
    if pa.types.is_boolean(kind):
        return Cast(lambda text: F.coalesce(_boolean(text), _double(text) != 0))
    if pa.types.is_date(kind):
        return Cast(lambda text: _date(text, "%Y-%m-%d"))
    if pa.types.is_timestamp(kind) and not kind.tz:
        return Cast(lambda text: _moment(text, False, None, shift=True))
    return csv_cast(kind, {})


def _trimmed(text: Column) -> Column:
    return F.btrim(text, F.lit(_SPACES))


def _without_truth(text: Column) -> Column:
    """In json, true is 1, false is 0, and so is -0 (but not -0.0)."""
    return F.when(text == "true", "1").when(text.isin("false", "-0"), "0").otherwise(text)


def _without_separators(text: Column) -> Column:
    """1_000 is a number to DuckDB, 1__0 and _1 are none."""
    return F.regexp_replace(_trimmed(text), r"(?<=\d)_(?=\d)", "")


def _integer(text: Column, kind: T.DataType, rounded: Callable[[Column, int], Column]) -> Column:
    plain = _without_separators(text)
    # Halves away from zero or to even, as the caller says; 20 digits before the point are enough.
    number = plain.rlike(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    decimal = rounded(plain.try_cast(T.DecimalType(38, 18)), 0)
    sign = F.when(plain.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    based = F.when(plain.rlike("^[+-]?0[xX][0-9a-fA-F]{1,15}$"), F.lit(16)).when(
        plain.rlike("^[+-]?0[bB][01]{1,62}$"), F.lit(2)
    )
    digits = F.regexp_replace(plain, "^[+-]?0[xXbB]", "")
    other = F.when(number, decimal.try_cast(kind)).when(
        based.isNotNull(),
        F.concat(
            sign,
            F.when(based == 16, F.conv(digits, 16, 10)).otherwise(F.conv(digits, 2, 10)),
        ).try_cast(kind),
    )
    return F.coalesce(text.try_cast(kind), other)


def _double(text: Column) -> Column:
    plain = _without_separators(text)
    # Java also reads 1d, 1f and 0x1p3.
    digits = r"^[0-9.eE+\-]+$"
    word = F.lower(plain)
    return (
        F.when(text.rlike(digits), text.try_cast("double"))
        .when(plain.rlike(digits), plain.try_cast("double"))
        .when(word.isin("inf", "infinity", "+inf", "+infinity"), F.lit(float("inf")))
        .when(word.isin("-inf", "-infinity"), F.lit(float("-inf")))
        .when(word.isin("nan", "-nan", "+nan"), F.lit(float("nan")))
    )


def _boolean(text: Column) -> Column:
    return F.lower(_trimmed(text)).try_cast("boolean")


def _date(text: Column, form: str | None) -> Column:
    """Without a format, an ISO date, whatever stands after it."""
    pattern, iso = r"^\s*(\d{1,6})([-/])(\d{1,2})\2(\d{1,2})([ T].*)?$", "$1-$3-$4"
    if form is not None:
        pattern, iso, _ = _translated(form)
    found = _year_of_four(F.regexp_replace(text, pattern, iso)).try_cast("date")
    return F.when(text.rlike(pattern), found)


def _moment(text: Column, zoned: bool, form: str | None, shift: bool = False) -> Column:
    """A timestamp with or without zone. A text that names no zone means UTC.

    Without zone, the zone that a text names counts in json (``shift``) and not in csv.
    """
    given, text = text, _trimmed(text)
    hours = None
    if form is None:
        sound = text.rlike(_ISO)
        iso = _year_of_four(F.replace(text, F.lit("/"), F.lit("-")))
    else:
        pattern, shape, hours = _translated(form)
        sound = text.rlike(pattern)
        iso = _year_of_four(F.regexp_replace(text, pattern, shape))
    has_zone = iso.rlike(rf":[\d.]+{_ZONE}$")
    if zoned:
        rest = F.when(~iso.contains(":"), " 00:00:00Z").when(iso.rlike("^[^:]*:[^:]*$"), ":00Z")
        full = F.concat(iso, rest.otherwise("Z"))
        read = F.when(has_zone, iso).otherwise(full).try_cast("timestamp")
    else:
        read = iso.try_cast("timestamp_ntz")
    if shift:
        shifted = local_moment(F.unix_micros(F.when(has_zone, iso).try_cast("timestamp")))
        read = F.when(has_zone, shifted).otherwise(read)
    if hours is not None:
        twelve = F.regexp_replace(text, pattern, hours)
        hour = F.split_part(twelve, F.lit(" "), F.lit(1)).try_cast("int") % 12
        hour = hour + F.when(F.upper(twelve).endswith("PM"), 12).otherwise(0)
        read = read + F.make_dt_interval(hours=hour)
    if form is not None:
        return F.when(sound, read)
    # Nearly all times are written like this, and need no second look.
    usual = given.rlike(_USUAL + (r"(Z|[+-]\d\d:\d\d)$" if zoned else "$"))
    quick = given.try_cast("timestamp" if zoned else "timestamp_ntz")
    return F.when(usual, quick).when(sound, read)


def _year_of_four(text: Column) -> Column:
    """Spark wants four digits. Two that strptime calls %y are marked and mean 1969 to 2068."""
    padded = F.regexp_replace(F.concat(F.lit("000"), text), r"^0*(\d{4,}-)", "$1")
    late = F.regexp_replace(text, "^y", "20")
    early = F.regexp_replace(text, "^y", "19")
    return (
        F.when(text.rlike(r"^\d{4}-"), text)
        .when(text.rlike("^y(69|[789])"), early)
        .when(text.startswith("y"), late)
        .otherwise(padded)
    )


def _translated(form: str) -> tuple[str, str, str | None]:
    """A strptime format as a pattern, the ISO text made of its groups, and the 12-hour clock."""
    groups: dict[str, int] = {}
    pattern = ""
    for literal, part in re.findall(r"([^%]+)|%-?(.)", form):
        if part:
            pattern += _PARTS[part]
            groups[part] = len(groups) + 1
        else:
            pattern += re.escape(literal)
    found = {part: f"${number}" for part, number in groups.items()}
    iso = f"{found.get('Y') or 'y' + found['y']}-{found['m']}-{found['d']}"
    hour = found.get("H") or ("00" if "I" in found else None)
    if hour is not None:
        iso += f" {hour}:{found.get('M', '00')}:{found.get('S', '00')}"
        iso += f".{found['f']}" if "f" in found else ""
        iso += found.get("z", "")
    clock = f"{found['I']} {found.get('p', 'AM')}" if "I" in found else None
    return rf"^\s*{pattern}\s*$", iso, clock
