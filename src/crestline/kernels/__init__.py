"""Compiled loops on plain arrays: the only place that imports numba.

Kernels take and return NumPy arrays, allocate what they return, never touch their inputs unless
their name says so, and release the GIL. Set ``NUMBA_DISABLE_JIT=1`` to run every one of them as
the plain Python it is written in: the tests do, so that a miscompilation cannot hide.
"""
