"""The clauses behind FROM, each to the fields of ``Query`` that it sets.

They may come in any order, each once. A new clause is one method, one line in the table and a line
of ``Query.__str__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crestline.core.errors import QueryError
from crestline.language.advice import ELSEWHERE
from crestline.language.ordering import Ordering
from crestline.language.query import (
    EMISSIONS,
    LATE,
    SEMANTICS,
    Option,
    Probability,
    Selected,
    default_name,
)
from crestline.language.tokens import Kind, Token, did_you_mean


class Clauses(Ordering):
    """Reads clauses; columns that will need distinct names come with their place."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._clauses: dict[str, Callable[[], dict[str, Any]]] = {
            "WHERE": self._where,
            "PARTITION": self._partition_by,
            "COMBINE": self._combine,
            "WITH": self._probability,
            "BY": self._summed,
            "ORDER": self.order_by,
            "KEY": self._key,
            "LATENESS": self._lateness,
            "FREQUENCY": self._frequency,
            "EMIT": self._emit,
            "EXACT": self._exact,
            "APPROXIMATE": self._approximate,
            "USING": self._using,
        }

    def clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        seen: set[str] = set()
        while not (self.token.kind is Kind.END or self.token.is_symbol(";")):
            word = self.token.keyword
            if word not in self._clauses:
                raise self.no_clause()
            kind = "EXACT" if word == "APPROXIMATE" else word
            if kind in seen:
                hint = "write either EXACT or APPROXIMATE" if kind == "EXACT" else ""
                raise self.error(f"a second {word} clause", hint=hint or "write each clause once")
            seen.add(kind)
            found.update(self._clauses[word]())
        found["order_by"] = self.settled_order(found)
        token = found.pop("summed_token", None)
        if token is not None and "probability" not in found:
            raise self.error(
                "BY SUM OF PROBABILITY needs to know how probable a record is",
                token,
                "write WITH PROBABILITY p BY SUM OF PROBABILITY",
            )
        return found

    def no_clause(self) -> QueryError:
        """The word here begins no clause: what to write instead."""
        token, word = self.token, self.token.keyword
        known = [*self._clauses, "ASC", "DESC", "AND", "OR"]
        hint = ELSEWHERE.get(word) or did_you_mean(word, known)
        return self.error(
            f"{token.described()} does not begin a clause",
            hint=hint or f"the clauses are {', '.join(self._clauses)}",
        )

    def _where(self) -> dict[str, Any]:
        self.expect("WHERE")
        return {"where": self.expression()}

    def _partition_by(self) -> dict[str, Any]:
        self.expect("PARTITION", "BY")
        return {"partition_by": self.listed(self.selected)}

    def selected(self) -> tuple[Selected, Token]:
        token = self.token
        expression = self.expression()
        name = self.name("a column name") if self.takes("AS") else default_name(expression)
        after = self.token
        if after.kind in (Kind.WORD, Kind.QUOTED) and self.ahead().keyword in ("FROM", "AS"):
            raise self.error(
                f"expected a comma, AS or FROM before {after.described()}", after, "write AS"
            )
        return Selected(expression, name), token

    def _combine(self) -> dict[str, Any]:
        return {"combine": self.combine()}

    def _probability(self) -> dict[str, Any]:
        self.expect("WITH", "PROBABILITY")
        expression = self.expression()
        exclusive = None
        if self.takes("EXCLUSIVE"):
            self.expect("BY")
            exclusive = self.column("EXCLUSIVE BY")
        semantics, threshold = "PK_TOPK", None
        if self.takes("AS"):
            semantics = self.one_of((*SEMANTICS, "GLOBAL_TOPK"), "a meaning")
            if semantics == "PT_K":
                threshold = self._threshold()
        semantics = "PK_TOPK" if semantics == "GLOBAL_TOPK" else semantics
        return {"probability": Probability(expression, exclusive, semantics, threshold)}

    def _summed(self) -> dict[str, Any]:
        token = self.token
        self.expect("BY")
        hint = "write BY SUM OF PROBABILITY, or ORDER BY or PARTITION BY"
        self.expect("SUM", "OF", "PROBABILITY", hint=hint)
        return {"summed": True, "summed_token": token}

    def _threshold(self) -> float:
        self.expect_symbol("(", "write PT_K(0.5)")
        token = self.token
        threshold = self.real("the threshold")
        if not 0 < threshold <= 1:
            raise self.error("the threshold is above 0 and at most 1", token, "write PT_K(0.5)")
        self.expect_symbol(")")
        return threshold

    def _key(self) -> dict[str, Any]:
        self.expect("KEY")
        token = self.token
        self.expect_symbol("(", "write KEY (a, b)")
        key = self.listed(lambda: self.column("KEY"))
        self.expect_symbol(")")
        if len({name.casefold() for name in key}) < len(key):
            raise self.error("a column stands twice in the key", token, "name each once")
        return {"key": tuple(key)}

    def _lateness(self) -> dict[str, Any]:
        self.expect("LATENESS")
        found: dict[str, Any] = {"lateness": self.duration("the lateness", zero=True)}
        if self.takes("LATE"):
            found["late"] = self.one_of(LATE, "DROP or REVISE")
        return found

    def _frequency(self) -> dict[str, Any]:
        self.expect("FREQUENCY")
        return {"frequency": self.duration("the frequency")}

    def _emit(self) -> dict[str, Any]:
        self.expect("EMIT")
        return {"emit": self.one_of(EMISSIONS, "SNAPSHOTS or CHANGES")}

    def _exact(self) -> dict[str, Any]:
        self.expect("EXACT")
        return {}

    def _approximate(self) -> dict[str, Any]:
        self.expect("APPROXIMATE")
        if not self.takes("ERROR"):
            return {"approximate": True}
        token = self.token
        error = self.real("the error")
        if not 0 < error < 1:
            raise self.error("the error lies between 0 and 1", token, "write ERROR 0.01")
        return {"approximate": True, "error": error}

    def _using(self) -> dict[str, Any]:
        self.expect("USING")
        # One of them is called IN, which no other name may be.
        named = self.takes("IN")
        using = "IN" if named else self.name("the name of an algorithm").upper()
        found: dict[str, Any] = {"using": using}
        if self.takes_symbol("("):
            token = self.token
            options = self.listed(self._option)
            self.expect_symbol(")", "write USING NAME (option => value)")
            if len({name for name, _ in options}) < len(options):
                raise self.error("an option is given twice", token, "give each option once")
            found["options"] = tuple(options)
        return found

    def _option(self) -> tuple[str, Option]:
        name = self.name("the name of an option").lower()
        self.expect_symbol("=>", "write option => value")
        token = self.token
        if token.kind is Kind.STRING:
            return name, self.next().value
        if token.keyword in ("TRUE", "FALSE"):
            return name, self.next().keyword == "TRUE"
        return name, self.number("the value of an option")
