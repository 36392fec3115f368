"""The array types that signatures name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
#: Bytes, and integers of 32 bits where many are kept.
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]
#: Arrays of records, whose fields kernels read by name.
Records = Any
