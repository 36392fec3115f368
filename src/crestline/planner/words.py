"""What a query asks for and how it is run, in words."""

from __future__ import annotations

from fractions import Fraction

from crestline.core.window import RowsWindow, UnboundedWindow
from crestline.language import Query
from crestline.planner.algorithm import Algorithm
from crestline.planner.plan import needs_whole_window

#: Names that are listed at most.
_LONGEST_LIST = 8
_UNITS = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "min"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
)


def duration(microseconds: int) -> str:
    """Write a duration in the shortest exact way.

    >>> duration(90_000_000), duration(7_200_000_000), duration(0)
    ('90 s', '2 h', '0 s')
    """
    if microseconds == 0:
        return "0 s"
    for size, unit in _UNITS:
        if microseconds % size == 0:
            return f"{microseconds // size:,} {unit}"
    raise AssertionError("every whole number is a multiple of one microsecond")


def per_minute(cost: Fraction) -> str:
    """Write a cost per microsecond as a cost per minute.

    >>> per_minute(Fraction(9, 4 * 60_000_000))
    '2.25'
    """
    return f"{float(cost * 60_000_000):,.4g}"


def window_text(query: Query) -> str:
    """The window in words."""
    window = query.window
    if isinstance(window, RowsWindow):
        per = " of its partition" if query.partition_by else ""
        order = f" in the order of {window.on}" if window.on else ""
        return f"the last {window.rows:,} records{per}{order}, after every {window.slide:,}"
    if isinstance(window, UnboundedWindow):
        every = f"{window.slide:,} records" if window.on is None else duration(window.slide)
        return f"every record so far, every {every}"
    if query.frequency is not None:
        often = duration(query.frequency)
        return f"the last {duration(window.width)} of {window.on}, never older than {often}"
    if window.slide is None:
        return f"the last {duration(window.width)} of {window.on}, at every arrival"
    return f"the last {duration(window.width)} of {window.on}, every {duration(window.slide)}"


def option_text(value: float) -> str:
    """
    >>> option_text(0.001), option_text(10_000_000), option_text(True)
    ('0.001', '10,000,000', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"


_SEMANTICS = {
    "PK_TOPK": "the k records that are most probably among the top k",
    "PT_K": "every record that is among the top k with probability {threshold} or more",
    "U_KRANKS": "for each rank the record that is most probably exactly there",
    "U_TOPK": "the k records that are most probably the whole top k together",
    "EXPECTED_RANK": "the k records of smallest expected rank, which the column probability holds",
    "PRF": "the k records of the largest sum over ranks i of {threshold}^i times the probability"
    " of rank i, which the column probability holds",
}


def columns_text(query: Query) -> str | None:
    """Return what ``*`` stands for; None for a query that names its columns."""
    if query.star is None:
        return None
    added = "".join(f", {item.name}" for item in query.select)
    return f"all columns of the stream{added}"


def semantics_text(query: Query) -> str | None:
    """Describe the semantics of a query on an uncertain stream; None for certain streams."""
    clause = query.probability
    if clause is None:
        return None
    if query.summed:
        names = ", ".join(item.name for item in query.select) or "selected columns"
        return (
            f"PK_TOPK BY SUM OF PROBABILITY: the k values of {names} whose records are among the"
            " top k with the largest probability, added up"
        )
    return f"{clause.semantics}: " + _SEMANTICS[clause.semantics].format(threshold=clause.threshold)


def rules_text(query: Query) -> str | None:
    """Describe which uncertain records exclude one another; None for certain streams."""
    if query.probability is None:
        return None
    if query.probability.exclusive_by is None:
        return "none: records exist independently of one another"
    each = " and partition" if query.partition_by else ""
    return (
        f"of all records with the same {query.probability.exclusive_by} in a window{each} at most"
        " one exists; those where it is NULL are independent"
    )


def combined_text(query: Query) -> str | None:
    """Describe what is combined across which streams; None for a query without COMBINE."""
    combine, names = query.combine, query.known_streams
    if combine is None:
        return None
    streams = "the streams that have appeared" if names is None else f"{len(names)} streams"
    text = (
        f"{combine.function} of {combine.value.sql} across {streams} of {combine.across}, for each"
        f" {combine.object}; a stream without a value counts {combine.low:g}"
    )
    if combine.repeats is not None:
        text += f"; up to {combine.at_most} values of a stream become one by {combine.repeats}"
    return text


def upper_text(query: Query) -> str | None:
    """Describe what the upper bounds rest on, or why there are none; None without COMBINE."""
    combine = query.combine
    if combine is None:
        return None
    if query.known_streams is None:
        return (
            "nothing can be forgotten early, as any stream may still come: say which there are,"
            f" ACROSS {combine.across} IN (...)"
        )
    if combine.high is None:
        return (
            "nothing can be forgotten early, as any value may still come: say between what they"
            " lie, VALUES BETWEEN 0 AND ..."
        )
    return f"a stream without a value may still bring {combine.high:g}"


_WHOLE = "the whole window"


#: What an answer costs where the whole window is kept in rank order.
_WHOLE_COST = {
    "EXPECTED_RANK": "log n for each record, n log n for each answer from n records",
    "U_TOPK": "log n for each record; an answer looks at as many of the best as decide it",
}


def kept_text(query: Query, algorithm: Algorithm) -> tuple[str, str | None]:
    """Describe what is kept; for an uncertain stream also why no less, or why that is enough."""
    keeps = algorithm.keeps
    if query.probability is None:
        return keeps, None
    if needs_whole_window(query):
        return _WHOLE, f"nothing smaller is known to decide {asked_text(query)}"
    if query.probability.semantics == "PRF":
        keeps = keeps.replace("about 2 k", "from k to k + 2 / (1 - a), for even probabilities")
    return keeps, None if keeps == _WHOLE else "no other record can come into an answer"


def cost_text(query: Query, algorithm: Algorithm) -> str:
    """Describe what the algorithm costs. Where all synopses keep the whole window in rank order,
    that is the same for all of them."""
    if not needs_whole_window(query) or algorithm.plans or algorithm.name == "NAIVE":
        return algorithm.cost
    assert query.probability is not None
    return _WHOLE_COST[query.probability.semantics]


def asked_text(query: Query) -> str:
    """The meaning, with EXCLUSIVE BY if what is kept depends on that."""
    assert query.probability is not None
    rules = " with EXCLUSIVE BY" if query.probability.semantics == "U_TOPK" else ""
    return query.probability.semantics + rules


def emitted_text(query: Query) -> str:
    """Describe which rows are reported."""
    if query.emit == "SNAPSHOTS":
        whole = "top k" if query.probability is None else "answer"
        return f"the whole {whole} each time"
    if query.emit == "ENTRIES":
        return "each record once, when it first becomes one of the answer"
    if query.probability is not None:
        return "enter, leave and move only; a probability that changes is a move"
    if query.combine is not None:
        return "enter, leave and move only; a score or bound that changes is a move"
    return "enter, leave and move only"


def late_text(query: Query) -> str:
    """Describe what happens to records that are out of order."""
    if query.lateness is None:
        return (
            "in a bounded run every record counts, in any order; in one that follows, those out of"
            " order are dropped and counted"
        )
    remembered = "all panes' best are" if query.probability is None else "all records are"
    later = {
        "DROP": "later records are dropped and counted",
        "REVISE": f"later records correct what was reported; {remembered} kept for that",
    }[query.late]
    return f"up to {duration(query.lateness)} in any order; {later}"


def listed(names: list[str]) -> str:
    """Names, or the first of them and how many there are more.

    >>> listed(["a", "b"]), listed([str(n) for n in range(100)])
    ('a, b', '0, 1, 2, 3, 4, 5, 6 and 93 more')
    """
    if len(names) <= _LONGEST_LIST:
        return ", ".join(names)
    return ", ".join(names[: _LONGEST_LIST - 1]) + f" and {len(names) - _LONGEST_LIST + 1:,} more"
