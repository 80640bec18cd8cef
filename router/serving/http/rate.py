"""How often a client may ask: the generic cell rate algorithm, one number a client."""

import ipaddress
import math
from collections import OrderedDict

# Clients remembered. The one that asked longest ago goes first: it has the least to be held to.
_CLIENTS = 100_000


class Rate:
    """So many requests a minute for each client, a tenth of them at once.

    GCRA (ITU-T I.371): a client's requests are as if each took 60 / rate seconds, one after the other, and one is
    refused whose turn would end more than a burst ahead. One float a client and 1 µs a request; the memory storage of
    `limits` starts a thread for a request and keeps each address it ever saw.
    """

    def __init__(self, requests_per_minute: int) -> None:
        self._each = 60.0 / requests_per_minute
        self._ahead = self._each * max(requests_per_minute // 10, 1)
        self._until: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str, now: float) -> int:
        """0 where a request at `now` (seconds of any steady clock) may pass, and counts; else the seconds to wait."""
        client = client_of(address)
        until = max(self._until.get(client, now), now) + self._each
        if until - now > self._ahead * (1 + 1e-9):
            return max(math.ceil(until - now - self._ahead), 1)
        self._until[client] = until
        self._until.move_to_end(client)
        if len(self._until) > _CLIENTS:
            self._until.popitem(last=False)
        return 0


def client_of(address: str) -> str:
    """Whom an address stands for: itself, or its network of 64 bits in IPv6, of which each client has all to itself."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
