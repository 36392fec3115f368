"""DISTANCE, WEIGHTED_DISTANCE, ATTRIBUTE_DISTANCE, HAVERSINE and COSINE as plain arithmetic.

The text of the first four is the same in Spark and DuckDB, so both engines add in the same order
and round alike. Sums are balanced trees, because a long chain is deeper than engines parse.
"""

from __future__ import annotations

from math import sqrt

from crestline.language.functions import balanced

#: Mean radius of the earth in metres (IUGG).
EARTH_RADIUS = 6_371_008.8


def distance(here: list[str], there: list[str], weights: list[str] | None = None) -> str:
    """Euclidean, each squared difference multiplied by its weight.

    >>> distance(["x"], ["1e0"]).count("(TRY_CAST(x AS DOUBLE) - TRY_CAST(1e0 AS DOUBLE))")
    2
    """
    squares = [_square(f"{_double(a)} - {_double(b)}") for a, b in zip(here, there, strict=True)]
    if weights is not None:
        squares = [f"({_double(w)} * {square})" for w, square in zip(weights, squares, strict=True)]
    return f"(sqrt({balanced('+', squares)}))"


def attribute_distance(here: list[str], there: list[str], weights: list[str]) -> str:
    """The largest difference of a coordinate, each multiplied by its weight; NULL if one is.

    >>> attribute_distance(["x"], ["1e0"], [])
    'abs(TRY_CAST(x AS DOUBLE) - TRY_CAST(1e0 AS DOUBLE))'
    """
    terms = [f"abs({_double(a)} - {_double(b)})" for a, b in zip(here, there, strict=True)]
    if weights:
        terms = [f"({_double(w)} * {term})" for w, term in zip(weights, terms, strict=True)]
    if len(terms) == 1:
        return terms[0]
    # greatest() passes over NULLs, a sum does not.
    every = balanced("+", terms)
    return f"CASE WHEN {every} IS NOT NULL THEN greatest({', '.join(terms)}) END"


def haversine(arguments: list[str]) -> str:
    """Great-circle distance in metres between two points given in degrees."""
    lat, lon, lat0, lon0 = (f"radians({_double(argument)})" for argument in arguments)
    chord = (
        f"({_square(f'sin(({lat} - {lat0}) / 2e0)')}"
        f" + cos({lat}) * cos({lat0}) * {_square(f'sin(({lon} - {lon0}) / 2e0)')})"
    )
    # abs(): rounding may carry the chord of antipodes just beyond 1.
    return f"{2 * EARTH_RADIUS!r}e0 * atan2(sqrt({chord}), sqrt(abs(1e0 - {chord})))"


def cosine(vector: str, other: list[float]) -> tuple[str, str]:
    """Cosine similarity of an array column and a constant vector, for (Spark, DuckDB).

    NULL where the array has another length or a NULL element, or where a vector is zero. Vectors
    have hundreds of elements, so this uses the engines' own functions on arrays; their sums may
    differ in the last digit.
    """
    weights = ", ".join(map(_literal, other))
    length = _literal(sqrt(sum(weight * weight for weight in other)))
    summed = "CAST(0 AS DOUBLE), (total, x) -> total + x)"
    square = "TRY_CAST(x AS DOUBLE) * TRY_CAST(x AS DOUBLE)"
    product = f"zip_with({vector}, array({weights}), (x, w) -> TRY_CAST(x AS DOUBLE) * w)"
    spark = (
        f"size({vector}) = {len(other)}",
        f"aggregate({product}, {summed}",
        f"aggregate(transform({vector}, x -> {square}), {summed}",
    )
    doubles = f"TRY_CAST({vector} AS DOUBLE[])"
    # The function fails on NULL elements, even on those of records that the CASE leaves out.
    dense = f"list_transform({doubles}, lambda x: coalesce(x, 0e0))"
    duckdb = (
        f"len({vector}) = {len(other)} AND list_count({doubles}) = {len(other)}",
        f"list_inner_product({dense}, [{weights}])",
        f"list_inner_product({dense}, {dense})",
    )
    texts = [
        f"CASE WHEN {fits} THEN {dot} / nullif(sqrt({norm}) * {length}, 0e0) END"
        for fits, dot, norm in (spark, duckdb)
    ]
    return texts[0], texts[1]


def _square(text: str) -> str:
    """A product: the last digit of ``pow`` differs from engine to engine."""
    return f"(({text}) * ({text}))"


def _literal(value: float) -> str:
    shown = repr(value)
    return shown if "e" in shown else shown + "e0"


def _double(text: str) -> str:
    return f"TRY_CAST({text} AS DOUBLE)"
