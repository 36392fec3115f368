"""What holds for every query: the round trip, and that nothing but ``QueryError`` is raised."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.core.errors import QueryError
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow
from crestline.language import (
    Combine,
    Expression,
    OrderTerm,
    Probability,
    Query,
    Selected,
    StreamDefaults,
    parse,
    parse_all,
)
from crestline.language.functions import FUNCTIONS
from crestline.language.query import (
    COMBINATIONS,
    OWN_COLUMNS,
    SEMANTICS,
    default_name,
    is_plain,
    own_columns_of,
)
from crestline.language.tokens import quoted_name, quoted_text
from refusals import refusals

GOLDEN = Path(__file__).with_name("golden")

# -- strategies ------------------------------------------------------------------------------------

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
texts = st.text(characters, max_size=8)
names = st.one_of(
    st.sampled_from(
        ["x", "price", "order", "from", "key", "TOP", "a b", 'say "hi"', "it`s", "größe"]
    ),
    st.text(characters, min_size=1, max_size=6),
)
numbers = st.one_of(
    st.integers(0, 2**63 - 1).map(str),
    st.floats(0, allow_nan=False, allow_infinity=False).map(repr),
)
literals = st.one_of(
    numbers,
    texts.map(quoted_text),
    st.sampled_from(["NULL", "true", "FALSE", "interval 3 days", "interval '-5' month"]),
    st.dates().map(lambda day: f"DATE '{day}'"),
    st.datetimes().map(lambda moment: f"timestamp '{moment}'"),
)


def _composed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    ordinary = [f for f in FUNCTIONS.values() if f.spark and not f.literals]

    def call(drawn: tuple[int, list[str]]) -> str:
        function = ordinary[drawn[0] % len(ordinary)]
        arguments = (drawn[1] * 3)[: max(function.least, min(function.most, len(drawn[1])))]
        return f"{function.name}({', '.join(arguments[: function.most])})"

    operators = st.sampled_from("+ - * / % || = <> < <= > >= <=> AND OR DIV".split())  # noqa: SIM905
    grouped = inner.map(lambda text: f"({text})")
    return st.one_of(
        grouped,
        st.tuples(grouped, operators, grouped).map(" ".join),
        grouped.map(lambda text: f"- {text}"),
        grouped.map(lambda text: f"NOT {text}"),
        grouped.map(lambda text: f"{text} IS NOT NULL"),
        st.tuples(grouped, st.lists(literals, min_size=1, max_size=3)).map(
            lambda drawn: f"{drawn[0]} NOT IN ({', '.join(_in_list(drawn[1]))})"
        ),
        st.tuples(grouped, grouped, grouped).map(lambda t: f"{t[0]} NOT BETWEEN {t[1]} AND {t[2]}"),
        st.tuples(inner, inner, inner).map(
            lambda t: f"CASE WHEN {t[0]} THEN {t[1]} ELSE {t[2]} END"
        ),
        st.tuples(inner, inner).map(lambda t: f"DISTANCE(({t[0]}, 1), (2.5, {t[1]}))"),
        inner.map(lambda text: f"CAST({text} AS DOUBLE)"),
        inner.map(lambda text: f"ROUND({text}, 2)"),
        st.tuples(st.integers(0, 1000), st.lists(inner, min_size=1, max_size=3)).map(call),
    )


def _in_list(values: list[str]) -> list[str]:
    return [value for value in values if not value.startswith("interval")] or ["1"]


expressions = (
    st.recursive(st.one_of(names.map(quoted_name), literals), _composed, max_leaves=6)
    .filter(lambda text: len(text) < 2_000)
    .map(Expression)
)
#: What can rank: of constants all records are equal.
rankings = expressions.filter(lambda expression: expression.columns)
durations = st.integers(1, 2**61)
counts = st.integers(1, 2**61)
times = expressions.map(lambda expression: expression.sql)
windows = st.one_of(
    st.builds(RangeWindow, durations, st.none() | durations, times),
    st.builds(RowsWindow, counts, counts, st.none() | times),
    st.builds(UnboundedWindow, counts, st.none()),
    st.builds(UnboundedWindow, durations, times),
)
reals = st.floats(allow_nan=False, allow_infinity=False)


#: Names of columns that some results have of their own, and others have not.
SOMETIMES_TAKEN = st.sampled_from(
    sorted({*chain(*OWN_COLUMNS.values()), "probability", "upper", "certain", "revision"})
)


@st.composite
def columns(
    draw: st.DrawFn, own: tuple[str, ...]
) -> tuple[tuple[Selected, ...], tuple[Selected, ...]]:
    """Partition columns and selected columns, whose names all differ, and from the result's own."""
    taken = set(own)
    drawn: list[Selected] = []
    for expression in draw(st.lists(expressions, max_size=4)):
        name = draw(st.sampled_from([default_name(expression), draw(names), draw(SOMETIMES_TAKEN)]))
        if name.casefold() not in taken:
            taken.add(name.casefold())
            drawn.append(Selected(expression, name))
    cut = draw(st.integers(0, len(drawn)))
    return tuple(drawn[:cut]), tuple(drawn[cut:])


@st.composite
def combinations(draw: st.DrawFn, inputs: list[str]) -> Combine:
    """COMBINE of these streams behind FROM."""
    function = draw(st.sampled_from(COMBINATIONS))
    known = inputs if inputs[1:] else draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    weights, streams = [], list[str]()
    if function == "WEIGHTED_SUM":
        weights = [(name, draw(st.floats(0, 1e300))) for name in draw(st.permutations(known))]
    if draw(st.booleans()):
        streams = draw(st.permutations(known))
    low, high = 0.0, None
    if draw(st.booleans()):
        low, high = sorted(draw(st.lists(reals, min_size=2, max_size=2, unique=True)))
    repeats = draw(st.none() | st.sampled_from(COMBINATIONS[:-1]))
    at_most = None if repeats is None else draw(counts)
    return Combine(
        function, draw(expressions), draw(names), draw(names), low, high, repeats, at_most,
        tuple(weights), tuple(streams),
    )  # fmt: skip


@st.composite
def probabilities(draw: st.DrawFn) -> Probability:
    semantics = draw(st.sampled_from(SEMANTICS))
    threshold = None
    if semantics in ("PT_K", "PRF"):
        threshold = draw(st.floats(0, 1, exclude_min=True, exclude_max=semantics == "PRF"))
    return Probability(draw(expressions), draw(st.none() | names), semantics, threshold)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    inputs = draw(st.lists(names, min_size=1, max_size=3, unique_by=str.casefold))
    combine = draw(st.none() | combinations(inputs))
    emit = draw(st.sampled_from(["SNAPSHOTS", "CHANGES", "ENTRIES"]))
    probability = draw(st.none() | probabilities())
    lateness = draw(st.none() | st.integers(0, 2**61))
    late = "DROP" if lateness is None else draw(st.sampled_from(["DROP", "REVISE"]))
    own = own_columns_of(emit, probability is not None, combine is not None, late)
    partition_by, select = draw(columns(own))
    terms = st.lists(st.builds(OrderTerm, rankings, st.booleans()), min_size=1, max_size=3)
    if combine is not None:
        partition_by = tuple(p for p in partition_by if p.name.casefold() != "the object")
        called = draw(st.sampled_from([combine.object, combine.object.swapcase()]))
        if called.casefold() != combine.object.casefold():  # letters such as \u0130
            called = combine.object
        select = (Selected(Expression(quoted_name(called)), "the object"), *partition_by[:1])
    using = draw(st.none() | names.map(str.upper))
    approximate = draw(st.booleans())
    options = st.dictionaries(
        names.map(str.lower), st.one_of(st.booleans(), st.integers(), reals, texts), max_size=3
    )
    keys = st.lists(names, max_size=3, unique_by=str.casefold)
    summed = probability is not None and draw(st.booleans())
    star = None
    if not (combine or summed or any(map(is_plain, select))):
        star = draw(st.none() | st.integers(0, len(select)))
    return Query(
        k=draw(st.integers(1, 10_000_000)),
        select=select,
        stream=inputs[0],
        others=tuple(inputs[1:]) if combine else (),
        window=draw(windows),
        order_by=() if combine else tuple(draw(terms)),
        name=draw(st.none() | names),
        where=draw(st.none() | expressions),
        partition_by=partition_by,
        combine=combine,
        probability=probability,
        summed=summed,
        key=tuple(draw(keys)),
        lateness=lateness,
        late=late,
        frequency=draw(st.none() | durations),
        emit=emit,
        approximate=approximate,
        error=draw(st.none() | st.floats(0.001, 0.999)) if approximate else None,
        using=using,
        options=tuple(draw(options).items()) if using else (),
        star=star,
    )


# -- properties ------------------------------------------------------------------------------------


@given(queries())
def test_canonical_text_parses_to_the_same_query(query: Query) -> None:
    text = str(query)
    assert parse(text) == query
    assert str(parse(text)) == text


def _ranked_by(query: Query, written: str) -> Query:
    """The query with this text as its only ORDER BY term, descending."""
    term = OrderTerm(Expression("the_ranking"), True)
    text = str(replace(query, order_by=(term,)))
    return parse(text.replace("the_ranking", written))


@given(queries(), st.data())
def test_a_selected_column_ranks_by_its_name_and_number(query: Query, data: st.DataObject) -> None:
    chosen = [n for n, item in enumerate(query.select) if item.expression.columns]
    if query.combine is not None or not chosen:
        return
    place = data.draw(st.sampled_from(chosen))
    item = query.select[place]
    meant = replace(query, order_by=(OrderTerm(item.expression, True),))
    if query.star is None or place < query.star:
        assert _ranked_by(query, str(place + 1)) == meant
    name = data.draw(st.sampled_from([item.name, item.name.swapcase(), item.name.upper()]))
    if is_plain(item) or name.casefold() != item.name.casefold():  # letters such as \u0130
        return
    assert _ranked_by(query, quoted_name(name)) == meant
    inner = item.expression.sql if item.expression.column else f"({item.expression.sql})"
    doubled = replace(query, order_by=(OrderTerm(Expression(f"2 * {inner}"), True),))
    assert _ranked_by(query, f"2 * {quoted_name(name)}") == doubled


@given(queries(), names)
def test_a_column_with_its_stream_before_it_is_no_alias(query: Query, name: str) -> None:
    if query.combine is not None:
        return
    meant = replace(query, order_by=(OrderTerm(Expression(quoted_name(name)), True),))
    assert _ranked_by(query, f"{quoted_name(query.stream)}.{quoted_name(name)}") == meant


@given(queries())
def test_the_streams_of_a_query(query: Query) -> None:
    assert query.inputs == (query.stream, *query.others)
    combine, known = query.combine, query.known_streams
    listed = combine is not None and (combine.streams or combine.weights)
    assert (known is None) == (not listed and not query.others)
    if combine is not None and combine.streams:
        assert known == combine.streams
    if combine is not None and combine.weights:
        assert set(known or ()) == {name for name, _ in combine.weights}
    if query.others:
        assert set(known or ()) == set(query.inputs)


@given(queries(), st.sampled_from([str.upper, str.lower, str.title]))
def test_names_of_inputs_ignore_case(query: Query, cased: Callable[[str], str]) -> None:
    """Weights and lists of several inputs become as FROM spells them, however they are written."""
    combine = query.combine
    if combine is None or not query.others:
        return
    if any(cased(name).casefold() != name.casefold() for name in query.inputs):
        return
    written = replace(
        combine,
        weights=tuple((cased(name), weight) for name, weight in combine.weights),
        streams=tuple(map(cased, combine.streams)),
    )
    assert parse(str(query).replace(str(combine), str(written))) == query


@settings(max_examples=10)
@given(st.lists(queries(), min_size=1, max_size=3, unique_by=lambda q: (q.name or "").casefold()))
def test_several_queries_in_one_text(several: list[Query]) -> None:
    assert parse_all(";\n".join(map(str, several))) == tuple(several)


@given(expressions)
def test_canonical_expression_is_its_own_canonical_text(expression: Expression) -> None:
    assert Expression(f" {expression.sql} /* comment */ ").sql == expression.sql


@given(expressions)
def test_engines_can_read_every_expression(expression: Expression) -> None:
    """Types may not fit, but the text must be SQL."""
    with duckdb.connect() as connection:
        try:
            connection.execute(f"SELECT {expression.to('duckdb')}")
        except duckdb.ParserException:
            raise
        except duckdb.Error:
            pass


@given(st.text(max_size=200))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    with refusals(QueryError):
        parse_all(text)


VALID = [
    path.read_text(encoding="utf-8")
    for path in sorted(GOLDEN.glob("*.sql"))
    if not path.name.startswith("error_")
]
PIECES = (
    "( ) [ ] , ; . + - * / % < > = => <=> || -- /* */ ' \" ` \\ 0 1e9 9999999999999999999 0.5"
    " SELECT TOP FROM WHERE ORDER BY AND OR NOT IN LIKE IS NULL BETWEEN CASE WHEN THEN ELSE END"
    " AS CAST INTERVAL DATE EXTRACT ARRAY DISTANCE COSINE ON RANGE ROWS SLIDE UNBOUNDED COMBINE"
    " \x00 \u2028 é 🙂 \ud800 DIV WITH PROBABILITY BY SUM OF LATENESS USING KEY EMIT"
    " ACROSS OBJECT VALUES REPEATS MOST a,"
)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_queries_raise_nothing_but_query_errors(seed: int) -> None:
    """Pieces of valid queries are cut out, doubled, swapped and mixed with hostile ones."""
    chance = random.Random(seed)
    pieces = PIECES.split(" ")
    defaults = {"sensor": StreamDefaults("value DESC", "ts")}
    parsed = 0
    for _ in range(150):
        text = chance.choice(VALID)
        for _ in range(chance.randint(0, 3)):
            start = chance.randint(0, len(text))
            end = min(len(text), start + chance.randint(0, 12))
            replacement = chance.choice(
                ["", f" {chance.choice(pieces)} ", chance.choice(pieces), text[start:end] * 2]
            )
            text = text[:start] + replacement + text[end:]
        with refusals(QueryError) as refused:
            for query in parse_all(text, defaults):
                assert parse(str(query)) == query
                parsed += 1
        for error in refused:
            assert isinstance(error, QueryError)
            assert str(error).startswith("line ")
            assert error.line <= text.count("\n") + 1
    assert parsed, "the damage should leave some queries whole"
