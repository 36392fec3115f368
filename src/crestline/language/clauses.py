"""The clauses behind FROM, each to the fields of ``Query`` that it sets.

They may come in any order, each once. A new clause is one function, one line in ``CLAUSES`` and a
line of ``Query.__str__``.
"""

from __future__ import annotations

from collections.abc import Callable

from crestline.core.errors import QueryError
from crestline.language.advice import ELSEWHERE
from crestline.language.combining import read_combine
from crestline.language.cursor import Cursor
from crestline.language.draft import Draft, Fields
from crestline.language.expression import read_column, read_expression
from crestline.language.ordering import read_order_by, settled_order
from crestline.language.query import EMISSIONS, LATE, SEMANTICS, Option, Probability
from crestline.language.selecting import read_selected
from crestline.language.tokens import TokenKind, did_you_mean


def read_clauses(cursor: Cursor, draft: Draft) -> Fields:
    """Read all clauses up to the end of the query; PARTITION BY columns come with their tokens."""
    fields: Fields = {}
    seen: set[str] = set()
    while not (cursor.token.kind is TokenKind.END or cursor.token.is_symbol(";")):
        word = cursor.token.keyword
        if word not in CLAUSES:
            raise no_clause(cursor)
        clause = "EXACT" if word == "APPROXIMATE" else word
        if clause in seen:
            hint = "write either EXACT or APPROXIMATE" if clause == "EXACT" else ""
            raise cursor.error(f"a second {word} clause", hint=hint or "write each clause once")
        seen.add(clause)
        fields |= CLAUSES[word](cursor, draft)
    order = fields.get("order_by", ())
    fields["order_by"] = settled_order(cursor, draft, order, fields.get("combine"))
    if "summed" in fields and "probability" not in fields:
        raise cursor.error(
            "BY SUM OF PROBABILITY needs to know how probable a record is",
            draft.tokens["summed"],
            "write WITH PROBABILITY p BY SUM OF PROBABILITY",
        )
    return fields


def no_clause(cursor: Cursor) -> QueryError:
    """The error of a word that begins no clause: what to write instead."""
    token, word = cursor.token, cursor.token.keyword
    hint = ELSEWHERE.get(word) or did_you_mean(word, [*CLAUSES, "ASC", "DESC", "AND", "OR"])
    return cursor.error(
        f"{token.described()} does not begin a clause",
        hint=hint or f"the clauses are {', '.join(CLAUSES)}",
    )


def _where(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("WHERE")
    return {"where": read_expression(cursor)}


def _partition_by(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("PARTITION", "BY")
    return {"partition_by": cursor.listed(lambda: read_selected(cursor))}


def _probability(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("WITH", "PROBABILITY")
    expression = read_expression(cursor)
    exclusive = None
    if cursor.takes("EXCLUSIVE"):
        cursor.expect("BY")
        exclusive = read_column(cursor, "EXCLUSIVE BY")
    semantics, threshold = "PK_TOPK", None
    if cursor.takes("AS"):
        semantics = cursor.one_of((*SEMANTICS, "GLOBAL_TOPK"), "a meaning")
        if semantics == "PT_K":
            threshold = _threshold(cursor)
        elif semantics == "PRF":
            threshold = _alpha(cursor)
    semantics = "PK_TOPK" if semantics == "GLOBAL_TOPK" else semantics
    return {"probability": Probability(expression, exclusive, semantics, threshold)}


def _threshold(cursor: Cursor) -> float:
    cursor.expect_symbol("(", "write PT_K(0.5)")
    token = cursor.token
    threshold = cursor.real("the threshold")
    if not 0 < threshold <= 1:
        raise cursor.error("the threshold is above 0 and at most 1", token, "write PT_K(0.5)")
    cursor.expect_symbol(")")
    return threshold


def _alpha(cursor: Cursor) -> float:
    cursor.expect_symbol("(", "write PRF(0.9)")
    token = cursor.token
    alpha = cursor.real("alpha")
    if not 0 < alpha < 1:
        raise cursor.error("alpha is above 0 and below 1", token, "write PRF(0.9)")
    cursor.expect_symbol(")")
    return alpha


def _summed(cursor: Cursor, draft: Draft) -> Fields:
    draft.tokens["summed"] = cursor.token
    cursor.expect("BY")
    hint = "write BY SUM OF PROBABILITY, or ORDER BY or PARTITION BY"
    cursor.expect("SUM", "OF", "PROBABILITY", hint=hint)
    return {"summed": True}


def _key(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("KEY")
    token = cursor.token
    cursor.expect_symbol("(", "write KEY (a, b)")
    key = cursor.listed(lambda: read_column(cursor, "KEY"))
    cursor.expect_symbol(")")
    if len({name.casefold() for name in key}) < len(key):
        raise cursor.error("a column stands twice in the key", token, "name each once")
    return {"key": tuple(key)}


def _lateness(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("LATENESS")
    fields: Fields = {"lateness": cursor.duration("the lateness", zero=True)}
    if cursor.takes("LATE"):
        fields["late"] = cursor.one_of(LATE, "DROP or REVISE")
    return fields


def _frequency(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("FREQUENCY")
    return {"frequency": cursor.duration("the frequency")}


def _emit(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("EMIT")
    return {"emit": cursor.one_of(EMISSIONS, "SNAPSHOTS, CHANGES or ENTRIES")}


def _exact(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("EXACT")
    return {}


def _approximate(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("APPROXIMATE")
    if not cursor.takes("ERROR"):
        return {"approximate": True}
    token = cursor.token
    error = cursor.real("the error")
    if not 0 < error < 1:
        raise cursor.error("the error lies between 0 and 1", token, "write ERROR 0.01")
    return {"approximate": True, "error": error}


def _using(cursor: Cursor, _: Draft) -> Fields:
    cursor.expect("USING")
    # One algorithm is called IN, which is no name elsewhere.
    using = "IN" if cursor.takes("IN") else cursor.name("the name of an algorithm").upper()
    fields: Fields = {"using": using}
    if cursor.takes_symbol("("):
        token = cursor.token
        options = cursor.listed(lambda: _option(cursor))
        cursor.expect_symbol(")", "write USING NAME (option => value)")
        if len({name for name, _ in options}) < len(options):
            raise cursor.error("an option is given twice", token, "give each option once")
        fields["options"] = tuple(options)
    return fields


def _option(cursor: Cursor) -> tuple[str, Option]:
    name = cursor.name("the name of an option").lower()
    cursor.expect_symbol("=>", "write option => value")
    token = cursor.token
    if token.kind is TokenKind.STRING:
        return name, cursor.next().value
    if token.keyword in ("TRUE", "FALSE"):
        return name, cursor.next().keyword == "TRUE"
    return name, cursor.number("the value of an option")


#: The word that begins each clause, and what reads it.
CLAUSES: dict[str, Callable[[Cursor, Draft], Fields]] = {
    "WHERE": _where,
    "PARTITION": _partition_by,
    "COMBINE": read_combine,
    "WITH": _probability,
    "BY": _summed,
    "ORDER": read_order_by,
    "KEY": _key,
    "LATENESS": _lateness,
    "FREQUENCY": _frequency,
    "EMIT": _emit,
    "EXACT": _exact,
    "APPROXIMATE": _approximate,
    "USING": _using,
}
