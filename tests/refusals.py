"""What a fuzzer may see: an answer, or one of a few errors.

Every test that throws random or damaged input at Crestline wraps it in ``refusals``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crestline import PlanError, QueryError, RecordError, SourceError, StateError

#: All of them; ``test_hostile.py`` compares the list with what users can catch by name.
REFUSALS: tuple[type[Exception], ...] = (
    QueryError,
    PlanError,
    SourceError,
    RecordError,
    StateError,
)


@contextmanager
def refusals(*expected: type[Exception]) -> Iterator[list[Exception]]:
    """Collect the refusal, if there is one; whatever else is raised fails the test.

    ``expected`` says which of the refusals may come here; all, if none is given.
    """
    allowed = expected or REFUSALS
    assert set(allowed) <= set(REFUSALS), "a fuzzer sees no error that is not in the list"
    refused: list[Exception] = []
    try:
        yield refused
    except Exception as error:  # the point of it
        if type(error) not in allowed:
            raise AssertionError(f"{type(error).__name__} came out: {error}") from error
        assert str(error)
        refused.append(error)
