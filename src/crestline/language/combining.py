"""The COMBINE clause: which function, of what, across which streams, of which objects."""

from __future__ import annotations

from typing import Any

from crestline.core.errors import QueryError
from crestline.language.cursor import Cursor
from crestline.language.expression import Expression, read_expression
from crestline.language.query import COMBINATIONS, Combine
from crestline.language.tokens import Kind, Token, quoted_name, quoted_text, shortened

_LISTED = "write ACROSS column IN ('a', 'b')"

Weights = tuple[tuple[str, float], ...]


class Combining(Cursor):
    """Reads COMBINE; what names a stream is checked against all that names streams before it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        #: The streams behind FROM, by their names in lower case.
        self.inputs: dict[str, str] = {}

    def combine(self) -> Combine:
        self.expect("COMBINE")
        function = self.one_of(COMBINATIONS, "a function")
        self.expect_symbol("(", "write COMBINE SUM(value) ACROSS stream OBJECT id")
        value, weights, weighted = self._arguments(function)
        if function == "WEIGHTED_SUM" and not weights:
            raise self.error(
                "WEIGHTED_SUM needs weights", hint="write WEIGHTED_SUM(value, (a => 0.5, b => 2))"
            )
        self.expect("ACROSS", hint="write ACROSS and the column that names the stream of a value")
        across = self._across()
        listed = self._streams() if self.takes("IN") else []
        if listed and weighted:
            self._match_weights(weighted, [name for name, _ in listed], "the list of streams")
        self.expect("OBJECT", hint="write OBJECT and the column that names the object")
        combine: dict[str, Any] = {"across": across, "object": self.column("OBJECT")}
        combine |= self._values() | self._repeats()
        streams = tuple(name for name, _ in listed)
        return Combine(function, value, weights=weights, streams=streams, **combine)

    def combined(self, function: str) -> tuple[Expression, Weights]:
        """``value [, (stream => weight, ...)])``, behind the opening parenthesis."""
        value, weights, _ = self._arguments(function)
        return value, weights

    def _arguments(self, function: str) -> tuple[Expression, Weights, list[tuple[str, Token]]]:
        value = self.expression()
        weights: list[tuple[str, Token, float]] = []
        if function == "WEIGHTED_SUM" and self.takes_symbol(","):
            self.expect_symbol("(", "write WEIGHTED_SUM(value, (a => 0.5, b => 2))")
            weights = self.listed(self._weight)
            self.expect_symbol(")")
        self.expect_symbol(")")
        places = [(name, token) for name, token, _ in weights]
        self._each_once(places, "has two weights", "give each stream one weight")
        if weights and len(self.inputs) > 1:
            self._match_weights(places, list(self.inputs.values()), "FROM")
        return value, tuple((name, weight) for name, _, weight in weights), places

    def _weight(self) -> tuple[str, Token, float]:
        place = self.token
        literal = place.kind in (Kind.STRING, Kind.NUMBER) or place.is_symbol("-")
        name = self._stream()[0] if literal else self._spelled(self.name("the name of a stream"))
        self.expect_symbol("=>", "write a => 0.5")
        token = self.token
        weight = self.real("a weight")
        if weight < 0:
            raise self.error("a weight cannot be negative", token, "write 0 or more")
        return name, place, weight

    # -- streams ---------------------------------------------------------------------------------

    def _across(self) -> str:
        """The column, which IN may follow: then it must not be read as a condition."""
        size = 3 if self.ahead().is_symbol(".") else 1
        if self.ahead(size).keyword != "IN" or self.token.kind not in (Kind.WORD, Kind.QUOTED):
            return self.column("ACROSS")
        end = self.ahead(size)
        tokens = [self.ahead(i) for i in range(size)] + [Token(Kind.END, "", end.start, end.end)]
        expression, _ = read_expression(self.text, tokens, 0, self.stream)
        self.at += size
        if expression.column is None:  # such as TRUE
            raise self.error("ACROSS is the plain name of a column", tokens[0])
        return expression.column

    def _streams(self) -> list[tuple[str, Token]]:
        """``('a', 'b', 3)``, behind IN."""
        start = self.token
        self.expect_symbol("(", _LISTED)
        listed = self.listed(self._stream)
        self.expect_symbol(")", _LISTED)
        self._each_once(listed, "stands twice in the list", "name each stream once")
        if len(self.inputs) > 1:
            names, inputs = {name for name, _ in listed}, dict.fromkeys(self.inputs.values())
            for name, token in listed:
                if name not in inputs:
                    raise self._stranger(name, token, list(inputs), "FROM")
            for name in inputs:
                if name not in names:
                    raise self.error(
                        f"the input {name} is missing in the list of streams",
                        start,
                        "leave IN out: FROM says which streams there are",
                    )
        return listed

    def _stream(self) -> tuple[str, Token]:
        """The name of a stream as the data has it: a text or a whole number."""
        start = self.token
        sign = "-" if self.takes_symbol("-") else ""
        token = self.token
        if token.kind is Kind.STRING and not sign:
            return self._spelled(self.next().value), start
        if token.kind is Kind.NUMBER and token.value.isdigit():
            return str(int(sign + self.next().value)), start
        hint = _LISTED
        if token.kind in (Kind.WORD, Kind.QUOTED):
            hint = f"write {quoted_text(token.value)}"
        raise self.error(
            f"a stream is named by a text or a whole number, not by {token.described()}",
            token,
            hint,
        )

    def _spelled(self, name: str) -> str:
        """Inputs are called as FROM spells them; names in the data are taken as they are."""
        return self.inputs.get(name.casefold(), name) if len(self.inputs) > 1 else name

    def _each_once(self, names: list[tuple[str, Token]], problem: str, hint: str) -> None:
        seen: set[str] = set()
        for name, token in names:
            if name in seen:
                raise self.error(f"the stream {shortened(name)} {problem}", token, hint)
            seen.add(name)

    def _match_weights(
        self, weighted: list[tuple[str, Token]], streams: list[str], where: str
    ) -> None:
        """Each stream must have a weight, and nothing else."""
        known, names = set(streams), {name for name, _ in weighted}
        for name, token in weighted:
            if name not in known:
                raise self._stranger(name, token, streams, where)
        for name in streams:
            if name not in names:
                raise self.error(
                    f"the stream {shortened(name)} has no weight",
                    weighted[-1][1],
                    f"write {shortened(quoted_name(name))} => 1 too, or 0 if it does not count",
                )

    def _stranger(self, name: str, token: Token, streams: list[str], where: str) -> QueryError:
        return self.error(
            f"the stream {shortened(name)} is not in {where}",
            token,
            f"the streams are {shortened(', '.join(streams[:20]))}",
        )

    # -- values ----------------------------------------------------------------------------------

    def _values(self) -> dict[str, Any]:
        if not self.takes("VALUES"):
            return {}
        start = self.token
        self.expect("BETWEEN", hint="write VALUES BETWEEN 0 AND 1")
        low = self.real("the lower end")
        self.expect("AND", hint="write VALUES BETWEEN 0 AND 1")
        high = self.real("the upper end")
        if not low < high:
            raise self.error("the range of values is empty", start, "write the lower end first")
        return {"low": low, "high": high}

    def _repeats(self) -> dict[str, Any]:
        if not self.takes("REPEATS"):
            return {}
        repeats = self.one_of(COMBINATIONS[:-1], "a function")
        self.expect("AT", "MOST", hint="write REPEATS SUM AT MOST 3")
        return {"repeats": repeats, "at_most": self.count("the number of repeats")}
