"""What a query says: plain, immutable values without any knowledge of algorithms.

``str(query)`` is canonical text that parses to an equal query. Durations are microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.core.display import cell
from crestline.core.errors import QueryError
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow, Window
from crestline.language import duration
from crestline.language.expression import Expression, qualified
from crestline.language.tokens import quoted_name, quoted_text, shortened

#: The largest k.
MAX_K = 10_000_000

#: The columns that a result has of its own, whatever is selected, by EMIT.
OWN_COLUMNS = {
    "SNAPSHOTS": ("query", "window_start", "window_end", "rank", "score"),
    "CHANGES": ("query", "at", "change", "rank", "previous_rank", "score"),
    "ENTRIES": ("query", "at", "change", "rank", "previous_rank", "score"),
}

COMBINATIONS = ("SUM", "AVG", "MIN", "MAX", "WEIGHTED_SUM")
SEMANTICS = ("PK_TOPK", "PT_K", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF")
EMISSIONS = tuple(OWN_COLUMNS)
LATE = ("DROP", "REVISE")

Option = int | float | str | bool


@dataclass(frozen=True, slots=True)
class Selected:
    """A column of the result: by default named after its column or its canonical text."""

    expression: Expression
    name: str

    def __str__(self) -> str:
        if self.name == default_name(self.expression):
            return self.expression.sql
        return f"{self.expression.sql} AS {quoted_name(self.name)}"


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """What records are ranked by: an expression of the stream's columns.

    What a name or a number of the select list stands for is written out.
    """

    expression: Expression
    descending: bool

    def __str__(self) -> str:
        return f"{self.expression.sql} {'DESC' if self.descending else 'ASC'}"


@dataclass(frozen=True, slots=True)
class Combine:
    """The score of an object from its values on several streams (``COMBINE``).

    A missing value counts as ``low``. Where an object has several values on one stream inside the
    window, ``at_most`` so many, the function ``repeats`` makes one of them. ``streams`` are all
    there are (``ACROSS column IN ...``), as text; none if the query does not list them.
    """

    function: str
    value: Expression
    across: str
    object: str
    low: float = 0.0
    high: float | None = None
    repeats: str | None = None
    at_most: int | None = None
    weights: tuple[tuple[str, float], ...] = ()
    streams: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        weighted = [name for name, _ in self.weights]
        if self.function not in COMBINATIONS:
            raise QueryError(f"{self.function} is not one of {', '.join(COMBINATIONS)}")
        if bool(weighted) != (self.function == "WEIGHTED_SUM"):
            raise QueryError("WEIGHTED_SUM has weights, and no other function")
        if any(len(set(names)) < len(names) for names in (weighted, self.streams)):
            raise QueryError("each stream is named once")
        if weighted and self.streams and set(weighted) != set(self.streams):
            raise QueryError("the weights are those of other streams")
        if self.low != 0.0 if self.high is None else not self.low < self.high:
            raise QueryError("the range of values has a lower end below its upper end")
        if (self.repeats is None) != (self.at_most is None):
            raise QueryError("REPEATS has a function and a number")
        if self.at_most is not None and self.at_most < 1:
            raise QueryError(f"REPEATS ... AT MOST {self.at_most}: it goes from 1")

    def __str__(self) -> str:
        weights = ", ".join(f"{quoted_text(name)} => {weight!r}" for name, weight in self.weights)
        arguments = f"{self.value.sql}, ({weights})" if weights else self.value.sql
        pieces = [f"COMBINE {self.function}({arguments})", f"ACROSS {quoted_name(self.across)}"]
        if self.streams:
            pieces.append(f"IN ({', '.join(map(quoted_text, self.streams))})")
        pieces.append(f"OBJECT {quoted_name(self.object)}")
        if self.high is not None:
            pieces.append(f"VALUES BETWEEN {self.low!r} AND {self.high!r}")
        if self.repeats is not None:
            pieces.append(f"REPEATS {self.repeats} AT MOST {self.at_most}")
        return " ".join(pieces)


@dataclass(frozen=True, slots=True)
class Probability:
    """How probable a record is, which records exclude one another, and what is to be answered."""

    expression: Expression
    exclusive_by: str | None = None
    semantics: str = "PK_TOPK"
    #: Of PT_K; of PRF it is alpha.
    threshold: float | None = None

    def __str__(self) -> str:
        pieces = [f"WITH PROBABILITY {self.expression.sql}"]
        if self.exclusive_by is not None:
            pieces.append(f"EXCLUSIVE BY {quoted_name(self.exclusive_by)}")
        threshold = "" if self.threshold is None else f"({self.threshold!r})"
        return " ".join([*pieces, f"AS {self.semantics}{threshold}"])


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """One continuous top-k query.

    With ``combine`` the combined value is the order, and there may be ``others``, further streams
    to read. With ``summed`` the distinct combinations of the selected columns are ranked by their
    sums of probability.
    """

    k: int
    select: tuple[Selected, ...]
    stream: str
    window: Window
    order_by: tuple[OrderTerm, ...]
    name: str | None = None
    others: tuple[str, ...] = ()
    where: Expression | None = None
    partition_by: tuple[Selected, ...] = ()
    combine: Combine | None = None
    probability: Probability | None = None
    summed: bool = False
    key: tuple[str, ...] = ()
    lateness: int | None = None
    late: str = "DROP"
    frequency: int | None = None
    emit: str = "SNAPSHOTS"
    approximate: bool = False
    error: float | None = None
    using: str | None = None
    options: tuple[tuple[str, Option], ...] = ()
    #: Before which of the selected columns ``*`` stands; None if it is not selected.
    star: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise QueryError(f"k is {self.k}; it goes from 1 to {MAX_K:,}")
        if bool(self.order_by) == bool(self.combine):
            raise QueryError("a query has either ORDER BY terms or COMBINE")
        for term in self.order_by:
            if problem := order_problem(term.expression):
                raise QueryError(problem[0], hint=problem[1])
        if self.summed and self.probability is None:
            raise QueryError("BY SUM OF PROBABILITY needs WITH PROBABILITY")
        if self.late != "DROP" and self.lateness is None:
            raise QueryError("LATE REVISE needs LATENESS")
        if self.others:
            self._check_inputs()
        if self.star is not None:
            self._check_star(self.star)
        taken: set[str] = set()
        # A PARTITION BY column that is selected as well is shown once.
        selected_only = (item for item in self.select if item not in self.partition_by)
        for selected in (*self.partition_by, *selected_only):
            if problem := name_problem(selected.name, taken, self.own_columns):
                raise QueryError(*problem[:1], hint=problem[1])
            taken.add(selected.name.casefold())

    def _check_inputs(self) -> None:
        if self.combine is None:
            raise QueryError("a query reads several streams only with COMBINE")
        if len({name.casefold() for name in self.inputs}) < len(self.inputs):
            raise QueryError("each stream is read once")
        if set(self.known_streams or ()) != set(self.inputs):
            raise QueryError("with several streams behind FROM there are no others")

    def _check_star(self, position: int) -> None:
        if self.combine is not None or self.summed:
            raise QueryError("* is neither for COMBINE nor for BY SUM OF PROBABILITY")
        if not 0 <= position <= len(self.select):
            raise QueryError(f"* stands before column {position} of {len(self.select)}")
        for item in self.select:
            if problem := beside_star(item):
                raise QueryError(problem[0], hint=problem[1])

    @property
    def inputs(self) -> tuple[str, ...]:
        """All streams that are read."""
        return (self.stream, *self.others)

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of its results that are neither selected nor of PARTITION BY."""
        probable, combined = self.probability is not None, self.combine is not None
        return own_columns_of(self.emit, probable, combined, self.late)

    @property
    def descending(self) -> bool:
        """Whether larger scores come first, as they do with COMBINE."""
        return not self.order_by or self.order_by[0].descending

    @property
    def delay(self) -> int:
        """How far the watermark stays behind the largest event time: LATENESS, else 0."""
        return self.lateness or 0

    @property
    def known_streams(self) -> tuple[str, ...] | None:
        """The streams across which values are combined; None if the query does not say which."""
        if self.combine is not None and self.combine.streams:
            return self.combine.streams
        if self.combine is not None and self.combine.weights:
            return tuple(name for name, _ in self.combine.weights)
        return self.inputs if self.others else None

    def __repr__(self) -> str:
        return f"Query({cell(str(self).replace(chr(10), ' '))})"

    def __str__(self) -> str:
        selected = [str(item) for item in self.select]
        if self.star is not None:
            selected.insert(self.star, "*")
        lines = [
            f"SELECT TOP {self.k} {', '.join(selected)}".rstrip(),
            f"FROM {', '.join(map(quoted_name, self.inputs))} [{window_text(self.window)}]",
        ]
        if self.name is not None:
            lines.insert(0, f"CREATE QUERY {quoted_name(self.name)} AS")
        if self.where is not None:
            lines.append(f"WHERE {self.where.sql}")
        if self.partition_by:
            lines.append(f"PARTITION BY {', '.join(map(str, self.partition_by))}")
        lines += [str(clause) for clause in (self.combine, self.probability) if clause is not None]
        if self.summed:
            lines.append("BY SUM OF PROBABILITY")
        if self.order_by:
            lines.append(f"ORDER BY {', '.join(map(self._ordered, self.order_by))}")
        return "\n".join([*lines, *self._small_clauses()])

    def _ordered(self, term: OrderTerm) -> str:
        """The term as text, with the stream before columns whose name the select list gives to
        something else."""
        hidden = aliases(self.select)
        text = qualified(term.expression, hidden, self.stream) if hidden else term.expression.sql
        return f"{text} {'DESC' if term.descending else 'ASC'}"

    def _small_clauses(self) -> list[str]:
        lines = []
        if self.key:
            lines.append(f"KEY ({', '.join(map(quoted_name, self.key))})")
        if self.lateness is not None:
            revise = " LATE REVISE" if self.late == "REVISE" else ""
            lines.append(f"LATENESS {duration.written(self.lateness)}{revise}")
        if self.frequency is not None:
            lines.append(f"FREQUENCY {duration.written(self.frequency)}")
        if self.emit != "SNAPSHOTS":
            lines.append(f"EMIT {self.emit}")
        if self.approximate:
            lines.append("APPROXIMATE" + ("" if self.error is None else f" ERROR {self.error!r}"))
        if self.using is not None:
            options = ", ".join(f"{quoted_name(n)} => {option_text(v)}" for n, v in self.options)
            lines.append(f"USING {quoted_name(self.using)}" + (f" ({options})" if options else ""))
        return lines


def selected_names(columns: Sequence[str]) -> list[str]:
    """The columns of a result that were selected, whatever ``*`` stands for.

    >>> selected_names(["query", "window_start", "window_end", "g", "rank", "id", "x", "score"])
    ['id', 'x']
    """
    names = list(columns)
    before = "previous_rank" if "previous_rank" in names else "rank"
    return names[names.index(before) + 1 : names.index("score")]


def default_name(expression: Expression) -> str:
    """Name a result column without AS."""
    return expression.sql if expression.column is None else expression.column


def is_plain(item: Selected) -> bool:
    """Whether this is a column under its own name."""
    column = item.expression.column
    return column is not None and column.casefold() == item.name.casefold()


def aliases(select: Sequence[Selected]) -> dict[str, Expression]:
    """The expressions that ORDER BY can call by a name of the select list, by that name in lower
    case. A column under its own name is no alias.

    >>> aliases([Selected(Expression("a + b"), "Sum"), Selected(Expression("c"), "c")])
    {'sum': Expression(sql='a + b')}
    """
    return {item.name.casefold(): item.expression for item in select if not is_plain(item)}


def order_problem(expression: Expression) -> tuple[str, str] | None:
    """Why records cannot be ranked by this (message, hint)."""
    if expression.columns:
        return None
    return (
        f"{shortened(expression.sql)} is the same for all records, so it ranks nothing",
        "write a column, an expression of columns, or the number of a selected column",
    )


def beside_star(item: Selected) -> tuple[str, str] | None:
    """Why this cannot be selected beside ``*`` (message, hint)."""
    if not is_plain(item):
        return None
    name = quoted_name(item.name)
    return f"{name} is one of the columns of *", f"leave it out, or write {name} AS {name}_2"


def own_columns_of(emit: str, probable: bool, combined: bool, late: str) -> tuple[str, ...]:
    """The columns of a result that are not selected; a selected one needs another name.

    >>> own_columns_of("SNAPSHOTS", True, False, "DROP")
    ('query', 'window_start', 'window_end', 'rank', 'score', 'probability')
    """
    own = OWN_COLUMNS[emit]
    if probable:
        own += ("probability",)
    if combined:
        own += ("upper", "certain")
    return (*own, "revision") if late == "REVISE" else own


def name_problem(name: str, taken: set[str], own: tuple[str, ...]) -> tuple[str, str] | None:
    """Why a selected column cannot have this name (message, hint); names ignore case.

    ``taken`` are the names before it in lower case, ``own`` those that the result has of its own.

    >>> name_problem("Rank", set(), ("query", "rank"))
    ('the result has a column rank of its own', 'give it another name: AS rank_2')
    """
    if name.casefold() in own:
        message = f"the result has a column {name.casefold()} of its own"
        return message, f"give it another name: AS {name.casefold()}_2"
    if name.casefold() in taken:
        return (
            f"the result has two columns named {name}",
            "give one another name with AS, or leave it out"
            " (columns of PARTITION BY are shown in any case)",
        )
    return None


def window_text(window: Window) -> str:
    """Write a window as a query has it, without the brackets.

    >>> window_text(RangeWindow(1_200_000_000, None, "ts"))
    'RANGE 20 MINUTES ON ts'
    """
    on = f" ON {window.on}" if window.on is not None else ""
    if isinstance(window, RangeWindow):
        slide = "" if window.slide is None else f" SLIDE {duration.written(window.slide)}"
        return f"RANGE {duration.written(window.width)}{slide}{on}"
    if isinstance(window, RowsWindow):
        slide = "" if window.slide == 1 else f" SLIDE {window.slide}"
        return f"ROWS {window.rows}{slide}{on}"
    assert isinstance(window, UnboundedWindow)
    if window.on is None:
        return f"UNBOUNDED SLIDE {window.slide} ROWS"
    return f"UNBOUNDED SLIDE {duration.written(window.slide)}{on}"


def option_text(value: Option) -> str:
    """Write the value of an option of USING."""
    if isinstance(value, bool):
        return str(value).upper()
    return quoted_text(value) if isinstance(value, str) else repr(value)
