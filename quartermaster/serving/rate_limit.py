"""The rate limit of each client, by the generic cell rate algorithm (GCRA, ITU-T I.371)."""

import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

# Clients remembered. The one that asked longest ago is forgotten first: its limit has recovered most.
_MAX_CLIENTS = 100_000


class BusyClients(Protocol):
    """Until when each client is busy, in seconds of a monotonic clock. What several processes share is one, too."""

    def get(self, client: str) -> float | None:
        """Return until when a client is busy; None for one that is not known."""
        ...

    def set(self, client: str, until: float) -> None:
        """Remember until when a client is busy. Others that are free again may be forgotten for it."""
        ...


class RateLimit:
    """Limits each client to a number of requests a minute, of which a tenth may come at once.

    Each request occupies its client for 60 / rate seconds, one after the other. A request is refused if its turn would
    end more than a burst ahead of now. This keeps one float a client; the memory storage of the package `limits`
    starts a thread and keeps every address that it ever saw.
    """

    def __init__(self, requests_per_minute: int, busy: BusyClients | None = None) -> None:
        """Begin with no client busy, or with those of `busy`."""
        self._interval_s = 60.0 / requests_per_minute
        self._burst_s = self._interval_s * max(requests_per_minute // 10, 1)
        self._busy = _InMemory() if busy is None else busy

    def wait(self, address: str, now: float) -> int:
        """Return 0 if a request at `now` may pass, which is then counted, else the seconds to wait.

        `now` is in seconds of any monotonic clock.
        """
        client = client_network(address)
        known = self._busy.get(client)
        until = (now if known is None else max(known, now)) + self._interval_s
        if until - now > self._burst_s * (1 + 1e-9):
            return max(math.ceil(until - now - self._burst_s), 1)
        self._busy.set(client, until)
        return 0


Limit = Callable[[int], RateLimit]
"""Makes the limit of so many requests a minute."""


class _InMemory:
    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()

    def get(self, client: str) -> float | None:
        return self._until.get(client)

    def set(self, client: str, until: float) -> None:
        self._until[client] = until
        self._until.move_to_end(client)
        if len(self._until) > _MAX_CLIENTS:
            self._until.popitem(last=False)


def client_network(address: str) -> str:
    """Return the network that a client's address stands for: in IPv6 its /64, which one client owns, else itself."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
