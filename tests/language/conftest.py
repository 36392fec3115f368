"""One Spark for all tests of a process: the one of the tests of the engine."""

from spark.conftest import spark

__all__ = ["spark"]
