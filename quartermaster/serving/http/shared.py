"""What the workers of one server have in common. One process alone shares nothing: these are the defaults."""

from collections.abc import Callable
from dataclasses import dataclass

from quartermaster.serving.rate_limit import Limit, RateLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts of a server that its workers share.

    Attributes:
        exposition: Returns the metrics of all workers in Prometheus' text format; None for one process alone.
        client_limit: Makes the rate limit of client addresses.
        token_limit: Makes the rate limit of a token.
    """

    exposition: Callable[[], bytes] | None = None
    client_limit: Limit = RateLimit
    token_limit: Limit = RateLimit
