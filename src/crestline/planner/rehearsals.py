"""Queries that together call all kernels of an algorithm, to compile them ahead of time.

They read a stream of ``id``, ``ts``, ``x``, ``p`` (a probability), ``grp``, ``y`` and ``way``; see
``runtime.rehearsal``. ``USING`` is added where the algorithm is not the default.
"""

from __future__ import annotations

from crestline.language.query import SEMANTICS

_STEPS = ("RANGE 20 SECONDS SLIDE 5 SECONDS ON ts", "ROWS 20 SLIDE 5", "ROWS 20 SLIDE 5 ON ts")
_PARAMETER = {"PT_K": "PT_K(0.5)", "PRF": "PRF(0.5)"}
_ARRIVALS = ("RANGE 20 SECONDS ON ts", "ROWS 20")


def _queries(windows: tuple[str, ...], ending: str) -> tuple[str, ...]:
    return tuple(
        f"SELECT TOP 2 id FROM s [{window}]{partition} {ending} EMIT {emit}"
        for window in windows
        for partition in ("", " PARTITION BY grp")
        for emit in ("SNAPSHOTS", "CHANGES")
    )


def _questions() -> tuple[str, ...]:
    """All questions on uncertain records, alone and shared."""
    texts: list[str] = []
    for exclusive in ("", " EXCLUSIVE BY y"):
        uncertain = f"id FROM s [{_STEPS[0]}] WITH PROBABILITY p{exclusive}"
        alone = [
            f"SELECT TOP {k} {uncertain} AS {question} ORDER BY x"
            for question in (_PARAMETER.get(name, name) for name in SEMANTICS)
            for k in (2, 3)
        ]
        summed = f"SELECT TOP 2 {uncertain} BY SUM OF PROBABILITY ORDER BY x"
        texts += [*alone, "; ".join(alone), summed]
    return tuple(texts)


IN_STEPS = _queries(_STEPS, "ORDER BY x DESC")
AT_ARRIVALS = _queries(_ARRIVALS, "ORDER BY x DESC")
#: The attributes that the score is computed from are told, too.
ATTRIBUTES_IN_STEPS = _queries(_STEPS[:1], "ORDER BY DISTANCE((x, p), (1, 0.5)) ASC")
ATTRIBUTES_AT_ARRIVALS = _queries(_ARRIVALS[1:], "ORDER BY DISTANCE((x, p), (1, 0.5)) ASC")
UNCERTAIN = _queries(_STEPS + _ARRIVALS, "WITH PROBABILITY p EXCLUSIVE BY y ORDER BY x")
QUESTIONS = _questions()
COMBINED = _queries(
    _STEPS + _ARRIVALS,
    "COMBINE SUM(x) ACROSS way IN ('a', 'b') OBJECT id VALUES BETWEEN 0 AND 9",
)
#: Two queries that share an operator.
SHARED = tuple(f"{text}; {text.replace('TOP 2', 'TOP 3')}" for text in IN_STEPS + AT_ARRIVALS)

#: Queries whose scores differ, with a place and without.
STANDING = tuple(
    "; ".join(
        f"SELECT TOP 2 id FROM s [{window}] ORDER BY {ranking} EMIT {emit} {using}"
        for ranking in rankings
        for emit in ("SNAPSHOTS", "CHANGES")
    )
    for window in _ARRIVALS
    for rankings, using in (
        (("DISTANCE((x, p), (1, 2))", "x - p"), ""),
        (("DISTANCE((x, p), (1, 2))", "x - p"), "USING SNN"),
        (("x * p", "abs(x)", "x / p", "p / x"), ""),
    )
)

__all__ = [
    "ATTRIBUTES_AT_ARRIVALS",
    "ATTRIBUTES_IN_STEPS",
    "AT_ARRIVALS",
    "COMBINED",
    "IN_STEPS",
    "QUESTIONS",
    "SHARED",
    "STANDING",
    "UNCERTAIN",
]
