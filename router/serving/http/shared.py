"""What the workers of one server have in common. One process alone shares nothing: these are the defaults."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from router.serving.rate_limit import Limit, RateLimit


class OpenConnections(Protocol):
    """The connections of the other workers."""

    def others(self) -> int:
        """Return how many connections the other workers have."""
        ...

    def others_of(self, network: str) -> int:
        """Return how many of a client's connections the other workers have."""
        ...

    def changed(self, connections: int, network: str, of_network: int) -> None:
        """Tell the others how many connections this worker has, and how many of a client."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of a server that its workers share.

    Attributes:
        exposition: Returns the metrics of all workers in Prometheus' text format; None for one process alone.
        client_limit: Makes the rate limit of client addresses.
        token_limit: Makes the rate limit of a token.
        connections: The connections of the other workers; None for one process alone.
    """

    exposition: Callable[[], bytes] | None = None
    client_limit: Limit = RateLimit
    token_limit: Limit = RateLimit
    connections: OpenConnections | None = None
