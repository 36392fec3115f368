"""Sessions may be remote (Spark Connect); then there is no SparkContext in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a session; None if the session is remote."""
    context: SparkContext | None = getattr(session, "sparkContext", None)
    return context


__all__ = ["context_of"]
