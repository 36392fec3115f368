"""The query language: text to an immutable ``Query``.

>>> query = parse('''
...     SELECT TOP 3 symbol, price * volume AS turnover
...     FROM trades [RANGE 10 minutes SLIDE 1 minute ON ts]
...     ORDER BY price * volume DESC
... ''')
>>> query.k, query.stream, [column.name for column in query.select]
(3, 'trades', ['symbol', 'turnover'])
>>> parse(str(query)) == query
True
"""

from crestline.language.draft import StreamDefaults
from crestline.language.expression import Expression
from crestline.language.parser import parse, parse_all
from crestline.language.query import Combine, OrderTerm, Probability, Query, Selected
from crestline.language.star import in_full

__all__ = [
    "Combine",
    "Expression",
    "OrderTerm",
    "Probability",
    "Query",
    "Selected",
    "StreamDefaults",
    "in_full",
    "parse",
    "parse_all",
]
