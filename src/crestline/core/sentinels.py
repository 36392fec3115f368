"""Numbers that stand for something else."""

from __future__ import annotations

#: Before every event time that counts, and before every step.
LONG_AGO = -(1 << 62)

__all__ = ["LONG_AGO"]
