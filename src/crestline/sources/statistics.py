"""Row groups of parquet files that WHERE leaves out as a whole, by their statistics.

A comparison of a column with a constant is computed for the smallest and the largest value of a row
group, by the engine that computes it for records. If it is false for the value that is most likely
to pass, it is false for all values between. NULL never passes. Statistics leave out NaN, which is
larger than all numbers, so of floats only upper limits count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from crestline.language import Expression
from crestline.language.nodes import Binary, Chain, Column, Literal, Node, Parentheses, canonical
from crestline.runtime.columns import usable
from crestline.runtime.sql import Evaluator
from crestline.types import Bools

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

#: What must be true of the smallest or the largest value for a comparison to be true of any.
_LEAST = {"<": "<", "<=": "<=", "=": "<="}
_MOST = {">": ">", ">=": ">=", "=": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def left_out(metadata: FileMetaData, schema: pa.Schema, where: Expression, stream: str) -> Bools:
    """Which row groups of a file have no record that passes WHERE, as far as is known."""
    groups = metadata.num_row_groups
    out = np.zeros(groups, bool)
    for comparison in _comparisons(where.root):
        column = comparison.left
        assert isinstance(column, Column)
        index = schema.get_field_index(column.name)
        if index < 0 or not _is_ordered(schema.field(index).type):
            continue
        limits = _limits(metadata, schema.field(index))
        if limits is None:
            continue
        smallest, largest = limits
        floating = pa.types.is_floating(schema.field(index).type)
        for values, operators in ((smallest, _LEAST), (largest, {} if floating else _MOST)):
            if comparison.operator in operators:
                test = replace(comparison, operator=operators[comparison.operator])
                out |= _is_false(test, values, column.name, stream)
    return out


def _comparisons(node: Node) -> Iterator[Binary]:
    """The comparisons of a column with a constant that must all be true, column first."""
    match node:
        case Parentheses(items=(inner,)):
            yield from _comparisons(inner)
        case Chain(operator="AND", operands=operands):
            for operand in operands:
                yield from _comparisons(operand)
        case Binary(operator=operator, left=Column(), right=Literal()) if operator in _TURNED:
            yield node
        case Binary(operator=operator, left=Literal(), right=Column()) if operator in _TURNED:
            yield replace(node, operator=_TURNED[operator], left=node.right, right=node.left)


def _is_ordered(dtype: pa.DataType) -> bool:
    """Whether statistics of the type are exact and ordered as the engine orders values."""
    whole = pa.types.is_integer(dtype) or pa.types.is_date(dtype) or pa.types.is_timestamp(dtype)
    return bool(whole or pa.types.is_float32(dtype) or pa.types.is_float64(dtype))


def _limits(metadata: FileMetaData, field: pa.Field) -> tuple[pa.Array, pa.Array] | None:
    """The smallest and the largest value of each row group; NULL where it is not known."""
    columns = range(metadata.num_columns)
    index = next((i for i in columns if metadata.schema.column(i).path == field.name), None)
    if index is None:
        return None
    smallest, largest = [], []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        known = statistics is not None and statistics.has_min_max
        smallest.append(statistics.min if known else None)
        largest.append(statistics.max if known else None)
    try:
        return pa.array(smallest, field.type), pa.array(largest, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
        return None  # values that Python has no type for


def _is_false(test: Binary, values: pa.Array, column: str, stream: str) -> Bools:
    """For which of the values the comparison is false."""
    sql = Expression(canonical(test)).to("duckdb")
    table = pa.table({column: usable(pa.chunked_array([values]), column, stream)})
    answers = Evaluator(stream)(table, {"answer": sql})["answer"]
    passes: Sequence[bool | None] = answers.to_pylist()
    return np.array([answer is False for answer in passes], bool)


__all__ = ["left_out"]
