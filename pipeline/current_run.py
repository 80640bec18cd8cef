"""The run that this code is part of: its catalog and number for log records, and the secrets that none may show."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

_SHORTEST = 4  # a shorter secret is part of ordinary words


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """A build that goes on. `run` is None until the ledger has given it a number."""

    catalog: str
    run: int | None = None
    secrets: frozenset[str] = frozenset()

    def redact(self, text: str) -> str:
        """Return a text with "…" in place of each secret."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, "…")
        return text


_CURRENT: ContextVar[CurrentRun | None] = ContextVar("current_run", default=None)


def current_run() -> CurrentRun | None:
    """Return the build that this code is part of; None outside of builds."""
    return _CURRENT.get()


@contextmanager
def running(catalog: str, secrets: frozenset[str]) -> Iterator[None]:
    """Make a build the current one inside the `with` block. A thread that it starts needs a copy of the context."""
    token = _CURRENT.set(CurrentRun(catalog, None, secrets))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def set_run(run: int) -> None:
    """Give the current build its number in the ledger."""
    if (current := _CURRENT.get()) is not None:
        _CURRENT.set(replace(current, run=run))
