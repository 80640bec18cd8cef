"""All connections of a server: how many there may be, and which are closed to let others in."""

import logging
import resource
import time
from collections import Counter
from typing import Protocol

from quartermaster.serving.http.settings import HttpSettings

_logger = logging.getLogger("router.http")
_WARNING_INTERVAL_S = 60.0


class Closable(Protocol):
    """What the table needs to know of a connection."""

    @property
    def network(self) -> str:
        """Return the client's address, or its network."""
        ...

    @property
    def waits(self) -> bool:
        """Return whether it waits for a request: it is idle, or the headers are not complete."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """Return the bytes of answers that the client has not taken yet."""
        ...

    def abort(self) -> None:
        """Close it at once, whatever is unsent."""
        ...


class Connections:
    """The open connections, the oldest first.

    At the limit, in all or of one client, a new connection takes the place of one that waits for a request: the oldest
    of the client that has the most. So unfinished requests keep no probe out. Only where all are being answered is the
    new one refused.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._max = _within_descriptors(settings.max_connections)
        self._max_per_client = min(settings.max_connections_per_client, self._max)
        self._max_unsent = settings.max_unsent_bytes
        self._open: dict[Closable, None] = {}
        self._per_client: Counter[str] = Counter()
        self._warned = -_WARNING_INTERVAL_S

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Closable) -> str | None:
        """Add a connection and return None, or return why it is refused."""
        if self._per_client[connection.network] >= self._max_per_client:
            self._warn(f"{connection.network} has {self._max_per_client} connections (--max-connections-per-client)")
            others = [other for other in self._open if other.network == connection.network]
            if not self._close_one_of(others):
                return f"your address has {self._max_per_client} requests under way: wait for an answer"
        if len(self._open) >= self._max:
            self._warn(f"there are {self._max} connections (--max-connections, and half of `ulimit -n`)")
            if not self._close_one_of(list(self._open)):
                return f"the server has {self._max} requests under way: try again"
        self._open[connection] = None
        self._per_client[connection.network] += 1
        return None

    def discard(self, connection: Closable) -> None:
        """Remove a connection that is closed, if it is there."""
        if connection in self._open:
            del self._open[connection]
            self._per_client[connection.network] -= 1
            if not self._per_client[connection.network]:
                del self._per_client[connection.network]

    def limit_unsent(self) -> None:
        """Close connections with the most unsent bytes while all together have more than the settings allow."""
        unsent = {connection: connection.unsent_bytes for connection in self._open}
        total = sum(unsent.values())
        for connection in sorted(unsent, key=lambda c: -unsent[c]):
            if total <= self._max_unsent:
                return
            self._warn(f"clients leave {total:,} bytes of answers unread (max_unsent_bytes)")
            total -= unsent[connection]
            self.discard(connection)
            connection.abort()

    def _close_one_of(self, connections: list[Closable]) -> bool:
        waiting = [connection for connection in connections if connection.waits]
        if not waiting:
            return False
        closed = max(waiting, key=lambda connection: self._per_client[connection.network])  # the oldest of equal ones
        self.discard(closed)
        closed.abort()
        return True

    def _warn(self, limit: str) -> None:
        if (now := time.monotonic()) - self._warned >= _WARNING_INTERVAL_S:
            self._warned = now
            _logger.warning("%s: some are closed for others", limit)


def _within_descriptors(connections: int) -> int:
    """Return a number of connections that leaves half of the process's file descriptors to everything else."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY or connections <= descriptors // 2:
        return connections
    _logger.warning("max_connections is %d, served are %d: half of `ulimit -n`", connections, descriptors // 2)
    return max(descriptors // 2, 1)
