"""The run that this code is part of: its catalog and number for log records, and the secrets that none may show."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_SHORTEST = 4  # a shorter secret is part of ordinary words


@dataclass
class CurrentRun:
    """A build that goes on. `run` is its number; None until the ledger has given it one."""

    catalog: str
    run: int | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def redact(self, text: str) -> str:
        """Return a text with "…" in place of each secret."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, "…")
        return text

    def identity(self) -> dict[str, Any]:
        """Return the catalog and the number of the run, for JSON."""
        return {"catalog": self.catalog, "run": self.run}


_CURRENT: ContextVar[CurrentRun | None] = ContextVar("current_run", default=None)


def current_run() -> CurrentRun | None:
    """Return the build that this code is part of; None outside of builds."""
    return _CURRENT.get()


@contextmanager
def running(run: CurrentRun) -> Iterator[None]:
    """Make a build the current one inside the `with` block. A thread that it starts needs a copy of the context."""
    token = _CURRENT.set(run)
    try:
        yield
    finally:
        _CURRENT.reset(token)
