"""Query text to ``Query``, by recursive descent.

Keywords are recognised by their place, so most of them may also be names of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crestline.core.errors import QueryError
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow, Window
from crestline.language.advice import DISTINCT, ELSEWHERE, SUBQUERY, how_many
from crestline.language.clauses import Clauses
from crestline.language.cursor import Item
from crestline.language.query import (
    MAX_K,
    Combine,
    OrderTerm,
    Query,
    Selected,
    beside_star,
    name_problem,
    own_columns_of,
)
from crestline.language.tokens import Kind, Token, did_you_mean, quoted_name

_SKELETON = (
    "write SELECT TOP 10 symbol, price FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts]"
    " ORDER BY price DESC"
)
_WINDOW_FORMS = (
    "write [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts], [RANGE 10 MINUTES ON ts],"
    " [ROWS 1000 SLIDE 100], [ROWS 1000], [UNBOUNDED SLIDE 1 MINUTE ON ts]"
    " or [UNBOUNDED SLIDE 100 ROWS]"
)


@dataclass(frozen=True, slots=True)
class StreamDefaults:
    """What a query on a stream means when it does not say so itself.

    ``order_by`` is the text of ORDER BY terms, ``on`` the event-time column of time windows.
    """

    order_by: str | None = None
    on: str | None = None


Defaults = Mapping[str, StreamDefaults]


def parse(text: str, defaults: Defaults | None = None) -> Query:
    """The one query of a text.

    >>> query = parse("select top-3 from SENSOR [Range 20 mins] frequency 2 mins",
    ...               {"sensor": StreamDefaults(order_by="value DESC", on="ts")})
    >>> print(query)
    SELECT TOP 3
    FROM SENSOR [RANGE 20 MINUTES ON ts]
    ORDER BY value DESC
    FREQUENCY 2 MINUTES
    """
    return _Parser(text, defaults or {}).statements(most=1)[0]


def parse_all(text: str, defaults: Defaults | None = None) -> tuple[Query, ...]:
    """All queries of a text, separated by semicolons; at least one."""
    return tuple(_Parser(text, defaults or {}).statements())


class _Parser(Clauses):
    def __init__(self, text: str, defaults: Defaults) -> None:
        super().__init__(text)
        self.defaults = {name.casefold(): default for name, default in defaults.items()}
        #: Where the streams behind FROM are written.
        self._input_places: list[Token] = []
        self._star_place: Token | None = None

    # -- statements ------------------------------------------------------------------------------

    def statements(self, most: int | None = None) -> list[Query]:
        queries: list[Query] = []
        names: set[str] = set()
        while True:
            while self.takes_symbol(";"):
                pass
            if self.token.kind is Kind.END:
                break
            if most is not None and len(queries) == most:
                raise self.error("a second query begins here", hint="one query is expected")
            start = self.token
            query = self._statement()
            if query.name is not None and query.name.casefold() in names:
                raise self.error(f"two queries are named {query.name}", start, "rename one")
            names.add((query.name or "").casefold())
            queries.append(query)
        if not queries:
            raise self.error("the text holds no query", hint=_SKELETON)
        return queries

    def _statement(self) -> Query:
        name = None
        if self.takes("CREATE"):
            self.expect("QUERY", hint="write CREATE QUERY name AS SELECT ...")
            name = self.name("the name of the query")
            self.expect("AS", hint="write CREATE QUERY name AS SELECT ...")
        self._expect_select()
        k = self._top()
        self.stream = self._stream_ahead()
        select = self._select_list()
        self.select = [item for item, _ in select]
        self.expect("FROM", hint=ELSEWHERE.get(self.token.keyword, _SKELETON))
        stream, *others = self._inputs()
        default = self.defaults.get(stream.casefold(), StreamDefaults())
        window = self._window(stream, default)
        found = self.clauses()
        partition_by = found.get("partition_by", [])
        found["partition_by"] = tuple(item for item, _ in partition_by)
        # A PARTITION BY column that is selected as well is shown once.
        select_only = [s for s in select if s[0] not in found["partition_by"]]
        combine = found.get("combine")
        self._check_star(select, combine, found.get("summed", False))
        if combine is not None:
            self._selects_object(combine, select_only)
        elif others:
            raise self._several_inputs()
        elif not found["order_by"]:
            found["order_by"] = self._default_order(stream, default)
        own = own_columns_of(
            found.get("emit", "SNAPSHOTS"), "probability" in found, combine is not None,
            found.get("late", "DROP"),
        )  # fmt: skip
        self._distinct(partition_by + select_only, own)
        return Query(
            k=k,
            select=tuple(self.select),
            star=self.star,
            stream=stream,
            others=tuple(others),
            window=window,
            name=name,
            **found,
        )

    def _expect_select(self) -> None:
        if not self.takes("SELECT"):
            word = self.token.keyword
            if word == "WITH":
                raise self.error(SUBQUERY[0], hint=SUBQUERY[1])
            hint = did_you_mean(word, ["SELECT", "CREATE"]) or _SKELETON
            raise self.error(f"expected SELECT before {self.token.described()}", hint=hint)

    def _top(self) -> int:
        word = self.token
        self._no_distinct()
        if not self.takes("TOP"):
            hint = did_you_mean(word.keyword, ["TOP"]) or how_many(self.tokens[self.at :])
            raise self.error(f"expected TOP before {word.described()}", hint=hint)
        bracket = self.takes_symbol("(")
        dash, number = self.token, self.ahead()
        if dash.is_symbol("-") and dash.start == word.end and dash.end == number.start:
            self.at += 1  # TOP-3, as papers write it
        first = self.token
        last = self.next()
        if first.is_symbol("-") and self.token.kind is Kind.NUMBER:
            last = self.next()
        k = int(first.value) if first.kind is Kind.NUMBER and first.value.isdigit() else 0
        if not 1 <= k <= MAX_K:
            written = Token(first.kind, self.text[first.start : last.end], first.start, last.end)
            raise self.error(
                f"k is a whole number from 1 to {MAX_K:,}, not {written.described()}",
                written,
                "write TOP 10",
            )
        if bracket:
            self.expect_symbol(")")
        return k

    def _no_distinct(self) -> None:
        if self.token.keyword == "DISTINCT":
            raise self.error(DISTINCT[0], hint=DISTINCT[1])

    def _stream_ahead(self) -> str | None:
        """The name behind FROM, which may stand before the columns of the select list; of several
        none may, as a column is one of all of them."""
        depth = 0
        for number in range(self.at, len(self.tokens) - 1):
            token = self.tokens[number]
            if token.is_symbol("("):
                depth += 1
            elif token.is_symbol(")"):
                depth -= 1
            elif token.is_symbol(";"):
                break
            elif token.keyword == "FROM" and depth <= 0:
                several = self.tokens[min(number + 2, len(self.tokens) - 1)].is_symbol(",")
                return None if several else self.tokens[number + 1].value
        return None

    def _inputs(self) -> list[str]:
        """The names behind FROM."""
        self.inputs, self._input_places = {}, []
        while not self.inputs or self.takes_symbol(","):
            token = self.token
            if token.is_symbol("("):
                raise self.error(SUBQUERY[0], hint=SUBQUERY[1])
            name = self.name("the name of a stream")
            if name.casefold() in self.inputs:
                raise self.error(f"FROM names the stream {name} twice", token, "name it once")
            self.inputs[name.casefold()] = name
            self._input_places.append(token)
        return list(self.inputs.values())

    def _several_inputs(self) -> QueryError:
        return self.error(
            "a query reads several streams only to combine the values of objects",
            self._input_places[1],
            "write COMBINE SUM(value) ACROSS stream OBJECT id, or a query for each stream",
        )

    def _select_list(self) -> list[tuple[Selected, Token]]:
        self.star = self._star_place = None
        if self.token.keyword == "FROM":
            return []
        self._no_distinct()
        if self.token.kind in (Kind.END, Kind.SYMBOL) and not self.token.is_symbol("(", "-", "*"):
            raise self.error(f"expected columns before {self.token.described()}", hint=_SKELETON)
        select: list[tuple[Selected, Token]] = []
        more = True
        while more:
            if not self._takes_star(len(select)):
                select.append(self.selected())
            more = self.takes_symbol(",")
        return select

    def _takes_star(self, place: int) -> bool:
        """Whether ``*`` comes next, with or without the stream before it; if so, it is taken."""
        token = self.token
        names_stream = token.value.casefold() == (self.stream or "").casefold()
        if names_stream and self.ahead().is_symbol(".") and self.ahead(2).is_symbol("*"):
            self.at += 2
        if not self.takes_symbol("*"):
            return False
        if self.star is not None:
            raise self.error("* is selected twice", token, "write it once")
        self.star, self._star_place = place, token
        return True

    def _check_star(
        self, select: list[tuple[Selected, Token]], combine: Combine | None, summed: bool
    ) -> None:
        if self.star is None:
            return
        if combine is not None:
            raise self.error(
                "with COMBINE a result row is an object, which has not all columns of the stream",
                self._star_place,
                f"write SELECT TOP 10 {quoted_name(combine.object)}",
            )
        if summed:
            raise self.error(
                "BY SUM OF PROBABILITY ranks the values of the selected columns, so * would add up"
                " nothing",
                self._star_place,
                "write the columns whose values are to be ranked: SELECT TOP 10 symbol",
            )
        for item, token in select:
            if problem := beside_star(item):
                raise self.error(problem[0], token, problem[1])

    def _distinct(self, columns: list[tuple[Selected, Token]], own: tuple[str, ...]) -> None:
        taken: set[str] = set()
        for selected, token in columns:
            if problem := name_problem(selected.name, taken, own):
                raise self.error(problem[0], token, problem[1])
            taken.add(selected.name.casefold())

    def _selects_object(self, combine: Combine, select: list[tuple[Selected, Token]]) -> None:
        for selected, token in select:
            names = {name.casefold() for name in selected.expression.columns}
            if names - {combine.object.casefold()}:
                raise self.error(
                    "with COMBINE a result row is an object, so only the object can be selected",
                    token,
                    f"write SELECT TOP 10 {quoted_name(combine.object)};"
                    " what PARTITION BY has may be selected as well",
                )

    # -- the window ------------------------------------------------------------------------------

    def _window(self, stream: str, default: StreamDefaults) -> Window:
        if not self.takes_symbol("["):
            raise self._no_window(stream)
        kind = self.token.keyword
        window: Window
        if self.takes("RANGE"):
            width = self.duration("the width of the window")
            slide = self.duration("the slide") if self.takes("SLIDE") else None
            window = RangeWindow(width, slide, self._on(default))
        elif self.takes("ROWS"):
            rows = self._rows("the number of records in the window")
            step = self._rows("the slide") if self.takes("SLIDE") else 1
            window = RowsWindow(rows, step, self._event_time() if self.takes("ON") else None)
        elif self.takes("UNBOUNDED"):
            self.expect("SLIDE", hint=_WINDOW_FORMS)
            if self.ahead().keyword == "ROWS":
                window = UnboundedWindow(self._rows("the slide"))
                self.expect("ROWS")
            else:
                window = UnboundedWindow(self.duration("the slide"), self._on(default))
        else:
            hint = did_you_mean(kind, ["RANGE", "ROWS", "UNBOUNDED"]) or _WINDOW_FORMS
            raise self.error(
                f"expected RANGE, ROWS or UNBOUNDED before {self.token.described()}", hint=hint
            )
        if not self.takes_symbol("]"):
            hint = did_you_mean(self.token.keyword, ["SLIDE", "ON", "ROWS"]) or _WINDOW_FORMS
            raise self.error(f"expected ] before {self.token.described()}", hint=hint)
        return window

    def _no_window(self, stream: str) -> QueryError:
        word, name = self.token.keyword, quoted_name(stream)
        if word in ELSEWHERE:
            return self.no_clause()
        hint = f"behind FROM {name}, {_WINDOW_FORMS}"
        if word == "AS" or (word and self.ahead().is_symbol("[")):
            hint = f"a stream has no second name: write FROM {name} [...], and {name}.column"
        return self.error(
            f"expected a window in brackets before {self.token.described()}", hint=hint
        )

    def _rows(self, what: str) -> int:
        rows = self.count(what)
        if self.token.keyword not in ("SLIDE", "ON", "ROWS", ""):
            raise self.error(
                f"ROWS counts records; {self.token.described()} does not belong here",
                hint="write RANGE for a window of time",
            )
        return rows

    def _on(self, default: StreamDefaults) -> str:
        """The event time of a time window, as canonical text."""
        if self.takes("ON"):
            return self._event_time()
        if default.on is not None and self.token.is_symbol("]"):
            return self._from_default(default.on, _Parser._event_time)
        if self.token.is_symbol("]"):
            raise self.error(
                "a window of time needs the column of the event time",
                hint="write ON and the column before ]: [RANGE 10 MINUTES ON ts]",
            )
        hint = did_you_mean(self.token.keyword, ["SLIDE", "ON"]) or _WINDOW_FORMS
        raise self.error(f"expected ON before {self.token.described()}", hint=hint)

    def _event_time(self) -> str:
        return self.expression().sql

    def _default_order(self, stream: str, default: StreamDefaults) -> tuple[OrderTerm, ...]:
        if default.order_by is None:
            raise self.error(
                "ORDER BY is missing: by what are the records ranked?",
                hint=f"write ORDER BY column DESC, or give a default for the stream {stream}",
            )
        return self._from_default(default.order_by, _Parser.order_terms)

    def _from_default(self, text: str, read: Callable[[_Parser], Item]) -> Item:
        """What a default of the stream says; errors show the text of the default."""
        parser = _Parser(text, {})
        parser.stream = self.stream
        value = read(parser)
        if parser.token.kind is not Kind.END:
            raise parser.error(f"{parser.token.described()} does not belong to this default")
        return value
