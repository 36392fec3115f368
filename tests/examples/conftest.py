"""The one Spark of the tests of Spark itself."""

from __future__ import annotations

from spark.conftest import spark

__all__ = ["spark"]
