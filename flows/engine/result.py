"""The result of a build, kept apart from Prefect: a server that is lost does not take it along."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pipeline.build.report import BuildReport


@dataclass
class BuildResult:
    """What a build came to: its report, or the error that stopped it; neither while it has not ended."""

    report: BuildReport | None = None
    error: BaseException | None = None


_RESULT: ContextVar[BuildResult | None] = ContextVar("result", default=None)


@contextmanager
def kept_result() -> Iterator[BuildResult]:
    """Yield the result of the build flow that is called in this block, also where Prefect cannot return it."""
    result = BuildResult()
    token = _RESULT.set(result)
    try:
        yield result
    finally:
        _RESULT.reset(token)


def current_result() -> BuildResult:
    """Return the result to be filled: the caller's, or one that nobody reads."""
    return _RESULT.get() or BuildResult()
