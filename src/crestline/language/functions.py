r"""The functions that an expression may call, and what each becomes in Spark and in DuckDB.

This table is the whitelist: what is not here cannot be called. The two texts of a function give the
same value for the same record, which the tests check in DuckDB against values taken from Spark.
No function fails on a record: where Spark's ANSI mode would stop the run (a logarithm of zero, text
that is no number, an overflow), the value is NULL or NaN, and the record is set aside as bad.

Both engines must run in the time zone UTC. Three differences remain, because no text removes them:
the last digit of roots, logarithms, powers and angles; how a FLOAT or DOUBLE looks once it is text
(CAST AS STRING, CONCAT, ``||``); and letters whose other case is several letters (upper('ß')).

In a template ``{0}`` is the first argument and ``{d[0]}`` the first argument as a double.

>>> FUNCTIONS["LN"].call(["x"], DUCKDB)
'(CASE WHEN TRY_CAST(x AS DOUBLE) > 0 THEN ln(TRY_CAST(x AS DOUBLE)) END)'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from crestline.language.advice import WINDOW_FUNCTIONS

Template = str | Callable[[list[str]], str]
SPARK, DUCKDB = 0, 1

#: No limit on the number of arguments.
ANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the whitelist.

    It takes ``least`` to ``most`` arguments; those at the positions ``literals`` must be literals.
    """

    name: str
    least: int
    most: int
    spark: Template
    duckdb: Template
    usage: str = ""
    literals: tuple[int, ...] = ()

    def call(self, arguments: list[str], engine: int) -> str:
        """Write a call of the function with these arguments."""
        return filled((self.spark, self.duckdb)[engine], arguments, engine)

    @property
    def example(self) -> str:
        """How the function is written."""
        names = "x" if self.most == 1 else "a, b" if self.least <= 2 <= self.most else "a, b, c"
        return self.usage or f"{self.name}({names if self.most else ''})"


#: An argument that weighs more is computed once where a template repeats it. Lighter ones are
#: written out: engines see by themselves that they are the same, and filters can use them.
SHARED_FROM = 200
#: The name of the structure of arguments that are computed once.
SHARED = "__crestline_shared"
_NAME = rf"{SHARED}\.v\d+_"
#: Engines repeat the operand of these, whatever its size.
_REPEATING = re.compile(r"nullif\(| BETWEEN | IN \(|CASE (?!WHEN)")
_REPEATED = re.compile(rf"nullif\((TRY_CAST\()?{_NAME}|{_NAME} (NOT )?(BETWEEN|IN) |CASE {_NAME}")


def filled(template: Template, arguments: list[str], engine: int) -> str:
    """Fill a template, in parentheses; the text stays short however deep the arguments nest.

    Heavy arguments are bound to names if one of them is repeated: engines have no LET, but they
    transform lists, here of one element. All heavy arguments get names then, since engines take
    exponential time for a transformation inside another.

    >>> filled("{0} * {0}", ["x"], DUCKDB)
    '(x * x)'
    >>> heavy = "sqrt(" * 50 + "x" + ")" * 50
    >>> print(filled("{0} * {0}", [heavy], DUCKDB).replace(heavy, "...").replace(SHARED, "shared"))
    (list_transform([struct_pack(v0_ := ...)], lambda shared: (shared.v0_ * shared.v0_))[1])
    """
    heavy = {i for i, text in enumerate(arguments) if _weight(text) > SHARED_FROM}
    if heavy:
        names = {i: f"{SHARED}.v{i}_" for i in heavy}
        body = _written(template, [names.get(i, text) for i, text in enumerate(arguments)])
        written = re.findall(_NAME, body)
        if len(written) > len(set(written)) or _REPEATED.search(body):
            values = [(f"v{i}_", arguments[i]) for i in sorted(heavy)]
            if engine == DUCKDB:
                packed = ", ".join(f"{name} := {value}" for name, value in values)
                return f"(list_transform([struct_pack({packed})], lambda {SHARED}: {body})[1])"
            packed = ", ".join(f"'{name}', {value}" for name, value in values)
            return f"(transform(array(named_struct({packed})), {SHARED} -> {body})[0])"
    return _written(template, arguments)


def _weight(text: str) -> int:
    return len(text) if len(text) > SHARED_FROM else len(text) + 50 * len(_REPEATING.findall(text))


def _written(template: Template, arguments: list[str]) -> str:
    if callable(template):
        return f"({template(arguments)})"
    doubles = [f"TRY_CAST({argument} AS DOUBLE)" for argument in arguments]
    return f"({template.format(*arguments, d=doubles)})"


def _same(name: str, template: str, arguments: int, usage: str = "") -> Function:
    """A function whose text is the same in both engines."""
    return Function(name, arguments, arguments, template, template, usage)


def _call(name: str) -> Callable[[list[str]], str]:
    return lambda arguments: f"{name}({', '.join(arguments)})"


def _joined(arguments: list[str]) -> str:
    # DuckDB's concat() skips NULLs, Spark's does not.
    return balanced("||", [f"CAST({argument} AS VARCHAR)" for argument in arguments])


def balanced(operator: str, terms: list[str]) -> str:
    """Put an associative operator between the terms, as a balanced tree: a long chain is deeper
    than engines parse.

    >>> balanced("+", ["a", "b", "c"])
    '((a + b) + c)'
    """
    while len(terms) > 1:
        pairs = [f"({a} {operator} {b})" for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]


def _rounded_in_spark(arguments: list[str]) -> str:
    return f"round({', '.join([f'TRY_CAST({arguments[0]} AS DOUBLE)', *arguments[1:]])})"


def _rounded_in_duckdb(arguments: list[str]) -> str:
    """Spark rounds the decimal digits that a double prints as, half up: 1.005 to 1.01."""
    double = f"TRY_CAST({arguments[0]} AS DOUBLE)"
    if len(arguments) == 1:
        return f"round({double})"
    digits = f"TRY_CAST(CAST({double} AS VARCHAR) AS DECIMAL(38, 20))"
    exact = f"CAST(round({digits}, {arguments[1]}) AS DOUBLE)"
    return f"CASE WHEN abs({double}) < 1e17 THEN {exact} ELSE {double} END"


def _logarithm_in_spark(arguments: list[str]) -> str:
    return f"log({', '.join(f'TRY_CAST({argument} AS DOUBLE)' for argument in arguments)})"


def _logarithm_in_duckdb(arguments: list[str]) -> str:
    doubles = [f"TRY_CAST({argument} AS DOUBLE)" for argument in arguments]
    positive = " AND ".join(f"{double} > 0" for double in doubles)
    value = " / ".join(f"ln({double})" for double in reversed(doubles))
    return f"CASE WHEN {positive} THEN {value} END"


def _whole(name: str) -> Function:
    """FLOOR and CEIL give a BIGINT, or NULL where it does not fit; integers stay as they are."""
    fits = f"abs({{d[0]}}) < 9.2e18 THEN CAST({name.lower()}({{0}}) AS BIGINT) END"
    spark = f"CASE WHEN typeof({{0}}) IN ('tinyint', 'smallint', 'int', 'bigint') OR {fits}"
    duckdb = (
        "CASE WHEN typeof({0}) IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT')"
        f" THEN TRY_CAST({{0}} AS BIGINT) WHEN {fits}"
    )
    return Function(name, 1, 1, spark, duckdb)


def _part(name: str, duckdb: str) -> Function:
    return Function(name, 1, 1, f"{name.lower()}({{0}})", f"CAST({duckdb} AS INTEGER)")


def _from_epoch(name: str, micros: int) -> Function:
    """Seconds, milliseconds or microseconds since 1970 to a timestamp; NULL beyond the calendar."""
    guard = f"CASE WHEN abs({{d[0]}}) < {9e18 / micros!r} THEN "
    scaled = f"{{0}} * CAST({micros} AS BIGINT)"
    spark = f"{guard}timestamp_micros(CAST({scaled} AS BIGINT)) END"
    return Function(
        name, 1, 1, spark, f"{guard}make_timestamp(CAST(trunc({scaled}) AS BIGINT)) END"
    )


def _to_epoch(name: str, micros: int) -> Function:
    """A timestamp to whole units since 1970, rounded down."""
    count = "epoch_us({0})"
    # The remainder has the sign of the dividend, so it is made positive first.
    floored = f"({count} - ((({count} % {micros}) + {micros}) % {micros})) // {micros}"
    spark = f"{name.lower()}(CAST({{0}} AS TIMESTAMP))"
    return Function(name, 1, 1, spark, f"CAST({floored} AS BIGINT)")


#: ISO 8601 text, the form on which the engines agree, without and with an offset from UTC.
_LOCAL = (
    r"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?"
)
_OFFSET = r"[0-9-]+[ T][0-9:.]+(Z|[+-][0-9]{{2}}(:[0-9]{{2}})?)"
_TIMESTAMP_IN_SPARK = (
    "CASE WHEN typeof({0}) IN ('date', 'timestamp', 'timestamp_ntz')"
    f" OR CAST({{0}} AS STRING) RLIKE '^({_LOCAL}|{_OFFSET})$' THEN TRY_CAST(regexp_replace("
    "CAST({0} AS STRING), '(:[0-9][0-9:.]*[+-][0-9][0-9])$', '$1:00') AS TIMESTAMP) END"
)
_TIMESTAMP_IN_DUCKDB = (
    "CASE WHEN typeof({0}) IN ('DATE', 'TIMESTAMP')"
    f" OR regexp_full_match(CAST({{0}} AS VARCHAR), '{_LOCAL}') THEN TRY_CAST({{0}} AS TIMESTAMP)"
    f" WHEN regexp_full_match(CAST({{0}} AS VARCHAR), '{_OFFSET}')"
    # DuckDB drops the offset of a text that it casts to a plain timestamp.
    " THEN make_timestamp(epoch_us(TRY_CAST(CAST({0} AS VARCHAR) AS TIMESTAMPTZ))) END"
)

_NUMBER = (
    r"(?i)\\s*[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\\s*",
    r"(?i)\s*[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\s*",
)


#: Text is read as a decimal number; Spark alone would take '1d', DuckDB alone '1_000'.
_REAL = (
    f"CASE WHEN typeof({{0}}) <> 'string' OR CAST({{0}} AS STRING) RLIKE '^{_NUMBER[0]}$'"
    " THEN TRY_CAST({0} AS DOUBLE) END",
    "CASE WHEN typeof({0}) <> 'VARCHAR' OR"
    f" regexp_full_match(CAST({{0}} AS VARCHAR), '{_NUMBER[1]}')"
    " THEN TRY_CAST({0} AS DOUBLE) END",
)


def _integer(spark: str, duckdb: str) -> tuple[str, str]:
    """Spark cuts fractions off and takes only digits from text; DuckDB would round both."""
    return (
        f"TRY_CAST({{0}} AS {spark})",
        "CASE WHEN typeof({0}) IN ('FLOAT', 'DOUBLE') OR starts_with(typeof({0}), 'DECIMAL')"
        f" THEN TRY_CAST(trunc(TRY_CAST({{0}} AS DOUBLE)) AS {duckdb})"
        " WHEN typeof({0}) <> 'VARCHAR' OR"
        r" regexp_full_match(CAST({0} AS VARCHAR), '\s*[+-]?[0-9]+\s*')"
        f" THEN TRY_CAST({{0}} AS {duckdb}) END",
    )


#: What CAST(x AS type) becomes, (Spark, DuckDB).
CASTS = {
    "INT": _integer("INT", "INTEGER"),
    "BIGINT": _integer("BIGINT", "BIGINT"),
    "DOUBLE": _REAL,
    "STRING": ("CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    "TIMESTAMP": (_TIMESTAMP_IN_SPARK, _TIMESTAMP_IN_DUCKDB),
    "DATE": (
        f"CAST(({_TIMESTAMP_IN_SPARK}) AS DATE)",
        f"CAST(({_TIMESTAMP_IN_DUCKDB}) AS DATE)",
    ),
}

#: The remainder has the sign of the dividend; DuckDB fails on the smallest integer modulo -1.
REMAINDER = (
    "{0} % nullif({1}, 0)",
    "coalesce(TRY({0} % nullif({1}, 0)), CASE WHEN {0} IS NOT NULL AND {1} = -1 THEN 0 END)",
)

_TRUNCATED = "date_trunc({0}, {1})"
#: The units that DATE_TRUNC knows.
TRUNCATIONS = (
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
    "microsecond",
)  # fmt: skip

_ABSOLUTE_IN_SPARK = "CASE WHEN {0} < 0 THEN try_multiply({0}, -1Y) ELSE {0} END"
_POWER_IN_DUCKDB = (  # C says 1 where Java says NaN
    "CASE WHEN abs({d[0]}) = 1 AND (isnan({d[1]}) OR isinf({d[1]})) THEN CAST('NaN' AS DOUBLE)"
    " ELSE pow({d[0]}, {d[1]}) END"
)

_TABLE = (
    Function("ABS", 1, 1, _ABSOLUTE_IN_SPARK, "TRY(abs({0}))"),
    _whole("CEIL"),
    _whole("FLOOR"),
    Function(
        "ROUND", 1, 2, _rounded_in_spark, _rounded_in_duckdb, "ROUND(x) or ROUND(x, 2)", (1,)
    ),
    Function("SIGN", 1, 1, "sign({d[0]})",
             "CASE WHEN isnan({d[0]}) THEN {d[0]} ELSE CAST(sign({d[0]}) AS DOUBLE) END"),
    _same("SQRT", "sqrt({d[0]})", 1),
    _same("EXP", "exp({d[0]})", 1),
    Function("LN", 1, 1, "ln({d[0]})", _logarithm_in_duckdb),
    Function("LOG", 1, 2, _logarithm_in_spark, _logarithm_in_duckdb, "LOG(x) or LOG(base, x)"),
    Function("LOG2", 1, 1, "log2({d[0]})", "CASE WHEN {d[0]} > 0 THEN log2({d[0]}) END"),
    Function("LOG10", 1, 1, "log10({d[0]})", "CASE WHEN {d[0]} > 0 THEN log10({d[0]}) END"),
    Function("POW", 2, 2, "pow({d[0]}, {d[1]})", _POWER_IN_DUCKDB),
    Function("MOD", 2, 2, *REMAINDER),
    Function("GREATEST", 2, ANY, _call("greatest"), _call("greatest")),
    Function("LEAST", 2, ANY, _call("least"), _call("least")),
    _same("PI", "pi()", 0),
    *(_same(name, f"{name.lower()}({{d[0]}})", 1)
      for name in ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "RADIANS", "DEGREES")),
    _same("ATAN2", "atan2({d[0]} + 0e0, {d[1]} + 0e0)", 2),
    Function("ISNAN", 1, 1, "isnan({d[0]})", "coalesce(isnan({d[0]}), FALSE)"),
    Function("COALESCE", 1, ANY, _call("coalesce"), _call("coalesce")),
    _same("NULLIF", "nullif({0}, {1})", 2),
    _same("IF", "CASE WHEN {0} THEN {1} ELSE {2} END", 3, "IF(condition, a, b)"),
    Function("LENGTH", 1, 1, "length({0})", "CAST(length({0}) AS INTEGER)"),
    _same("LOWER", "lower({0})", 1),
    _same("UPPER", "upper({0})", 1),
    Function("TRIM", 1, 1, "trim({0})", "trim({0}, ' ')"),
    Function("LTRIM", 1, 1, "ltrim({0})", "ltrim({0}, ' ')"),
    Function("RTRIM", 1, 1, "rtrim({0})", "rtrim({0}, ' ')"),
    Function("SUBSTRING", 2, 3, _call("substring"), _call("substring"),
             "SUBSTRING(text, 1, 3)", (1, 2)),
    Function("CONCAT", 1, ANY, _call("concat"), _joined),
    Function("DATE_TRUNC", 2, 2, _TRUNCATED, _TRUNCATED, "DATE_TRUNC('hour', ts)", (0,)),
    *(_part(name, f"{name.lower()}({{0}})")
      for name in ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFYEAR", "WEEKOFYEAR",
                   "HOUR", "MINUTE", "SECOND")),
    _part("DAYOFWEEK", "dayofweek({0}) + 1"),  # Sunday is 1 in Spark, 0 in DuckDB
    _from_epoch("TIMESTAMP_SECONDS", 1_000_000),
    _from_epoch("TIMESTAMP_MILLIS", 1_000),
    _from_epoch("TIMESTAMP_MICROS", 1),
    _to_epoch("UNIX_SECONDS", 1_000_000),
    _to_epoch("UNIX_MILLIS", 1_000),
    _to_epoch("UNIX_MICROS", 1),
    Function("TO_TIMESTAMP", 1, 1, _TIMESTAMP_IN_SPARK, _TIMESTAMP_IN_DUCKDB, "TO_TIMESTAMP(text)"),
    Function("ARRAY", 1, ANY, _call("array"), lambda arguments: f"[{', '.join(arguments)}]"),
    # The text of these is made in geometry.py and in the printer, from more than argument texts.
    Function("CAST", 2, 2, "", "", "CAST(x AS DOUBLE)"),
    Function("DISTANCE", 2, 2, "", "", "DISTANCE((x, y), (1.0, 2.0))"),
    Function("WEIGHTED_DISTANCE", 3, 3, "", "", "WEIGHTED_DISTANCE((x, y), (1.0, 2.0), (0.5, 2))"),
    Function("ATTRIBUTE_DISTANCE", 2, 3, "", "",
             "ATTRIBUTE_DISTANCE((x, y), (1.0, 2.0), (0.5, 2))"),
    Function("HAVERSINE", 4, 4, "", "", "HAVERSINE(lat, lon, 37.77, -122.42)"),
    Function("COSINE", 2, 2, "", "", "COSINE(vector, ARRAY(0.1, 0.2))"),
)  # fmt: skip

FUNCTIONS = {function.name: function for function in _TABLE}

#: Other spellings, and what they are canonically.
ALIASES = {
    "CEILING": "CEIL",
    "CHAR_LENGTH": "LENGTH",
    "DAYOFMONTH": "DAY",
    "IFNULL": "COALESCE",
    "LCASE": "LOWER",
    "NVL": "COALESCE",
    "POWER": "POW",
    "SIGNUM": "SIGN",
    "SUBSTR": "SUBSTRING",
    "TRY_CAST": "CAST",
    "UCASE": "UPPER",
}

#: EXTRACT(part FROM ts) is another way to write these.
EXTRACTED = {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEKOFYEAR",
    "DAY": "DAY",
    "DOY": "DAYOFYEAR",
    "DAYOFWEEK": "DAYOFWEEK",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
}

_LEFT_OUT = (
    (
        "SUM AVG MIN MAX COUNT STDDEV VARIANCE MEDIAN MAX_BY MIN_BY COLLECT_LIST COLLECT_SET"
        " FIRST LAST PERCENTILE",
        "an expression looks at one record: aggregates are not available"
        " (COMBINE adds up the values of an object)",
    ),
    (
        "ROW_NUMBER RANK DENSE_RANK LAG LEAD NTILE",
        WINDOW_FUNCTIONS,
    ),
    (
        "READ_CSV READ_PARQUET READ_JSON READ_TEXT READ_BLOB PARQUET_SCAN GLOB QUERY QUERY_TABLE"
        " GETENV READ_FILES EXPLODE UNNEST RANGE GENERATE_SERIES JAVA_METHOD REFLECT",
        "functions that read files, tables or the environment are not available",
    ),
    (
        "RAND RANDOM RANDN UUID NOW CURRENT_TIMESTAMP CURRENT_DATE UNIX_TIMESTAMP",
        "a result depends on the records alone: clocks and random numbers are not available",
    ),
    (
        "REGEXP_REPLACE REGEXP_EXTRACT REGEXP_LIKE REGEXP RLIKE",
        "regular expressions differ between engines: use LIKE",
    ),
)

#: Well-known functions that are left out on purpose, with the reason.
REFUSED = {name: reason for names, reason in _LEFT_OUT for name in names.split()}
