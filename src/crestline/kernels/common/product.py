"""Products for hashes, which are meant to overflow."""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel

_ALL = np.uint64((1 << 63) - 1)


@kernel
def product(a: int, b: int) -> int:
    """The low 63 bits of the product of two numbers that are not negative.

    Not ``a * b & _ALL``: numba promises LLVM that a product of signed numbers fits, and LLVM then
    leaves out the mask behind it, here or there as it likes.
    """
    return int(np.int64((np.uint64(a) * np.uint64(b)) & _ALL))
