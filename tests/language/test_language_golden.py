"""Golden pairs: ``golden/x.sql`` is a text, ``golden/x.txt`` the queries it means, or its error.

After a change that is meant, write the pairs again and read the difference:

    WRITE_GOLDEN=1 python -m pytest tests/language/test_language_golden.py
"""

from __future__ import annotations

import os
from dataclasses import fields, make_dataclass
from pathlib import Path
from pprint import pformat

import pytest

from crestline.core.errors import QueryError
from crestline.language import Query, StreamDefaults, parse, parse_all

GOLDEN = Path(__file__).with_name("golden")
# The queries of the multi-query paper name neither a ranking nor an event time.
DEFAULTS = {"sensor": StreamDefaults(order_by="SENSOR.value DESC", on="ts")}


#: A query whose repr tells every field.
Plain = make_dataclass("Query", [field.name for field in fields(Query)])


def pretty(query: Query) -> str:
    return pformat(Plain(*(getattr(query, field.name) for field in fields(query))), width=100)


def outcome(text: str) -> str:
    try:
        queries = parse_all(text, DEFAULTS)
    except QueryError as error:
        return f"{error}\n"
    return "\n".join(f"{query}\n\n{pretty(query)}\n" for query in queries)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.sql")))
def test_golden(name: str) -> None:
    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    expected = GOLDEN / f"{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        expected.write_text(outcome(text), encoding="utf-8")
    assert outcome(text) == expected.read_text(encoding="utf-8")
    assert name.startswith("error_") == expected.read_text(encoding="utf-8").startswith("line ")


@pytest.mark.parametrize(
    "name", sorted(p.stem for p in GOLDEN.glob("*.sql") if not p.stem.startswith("error_"))
)
def test_canonical_text_is_the_same_query(name: str) -> None:
    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    for query in parse_all(text, DEFAULTS):
        assert parse(str(query)) == query
        assert str(parse(str(query))) == str(query)


def test_no_golden_file_is_left_over() -> None:
    assert {p.stem for p in GOLDEN.glob("*.txt")} == {p.stem for p in GOLDEN.glob("*.sql")}
