"""The rate limit of each client, by the generic cell rate algorithm (GCRA, ITU-T I.371)."""

import ipaddress
import math
from collections import OrderedDict

# Clients remembered. The one that asked longest ago is forgotten first: its limit has recovered most.
_MAX_CLIENTS = 100_000


class RateLimit:
    """Limits each client to a number of requests a minute, of which a tenth may come at once.

    Each request occupies its client for 60 / rate seconds, one after the other. A request is refused if its turn would
    end more than a burst ahead of now. This keeps one float a client; the memory storage of the package `limits`
    starts a thread and keeps every address that it ever saw.
    """

    def __init__(self, requests_per_minute: int) -> None:
        self._interval_s = 60.0 / requests_per_minute
        self._burst_s = self._interval_s * max(requests_per_minute // 10, 1)
        self._busy_until: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str, now: float) -> int:
        """Return 0 if a request at `now` may pass, which is then counted, else the seconds to wait.

        `now` is in seconds of any monotonic clock.
        """
        client = client_network(address)
        until = max(self._busy_until.get(client, now), now) + self._interval_s
        if until - now > self._burst_s * (1 + 1e-9):
            return max(math.ceil(until - now - self._burst_s), 1)
        self._busy_until[client] = until
        self._busy_until.move_to_end(client)
        if len(self._busy_until) > _MAX_CLIENTS:
            self._busy_until.popitem(last=False)
        return 0


def client_network(address: str) -> str:
    """Return the network that a client's address stands for: in IPv6 its /64, which one client owns, else itself."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
