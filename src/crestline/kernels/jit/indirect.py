"""How numba calls a function through an address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic


def caller_type(signature: str) -> Any:
    """The type of a function ``call(address, ...)`` for functions of this signature."""
    takes, returns = normalize_signature(signature)

    @intrinsic
    def call(typing: Any, address: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, chosen: Any, given: Any) -> Any:
            argument_types = [context.get_value_type(kind) for kind in takes]
            kind = ir.FunctionType(context.get_value_type(returns), argument_types)
            values = [builder.extract_value(given[1], i) for i in range(len(argument_types))]
            return builder.call(builder.inttoptr(given[0], kind.as_pointer()), values)

        taken = types.StarArgTuple(takes)
        return returns(types.int64, taken), generate

    context = cpu_target.typing_context
    context.refresh()
    _KEPT.append(call)  # numba holds only a weak reference
    return context.resolve_value_type(call)


_KEPT: list[Any] = []
