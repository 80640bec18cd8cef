"""Ports of loopback for servers that bind them themselves, or listen at them again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """Yield a port that no other program gets before the block ends; until a server listens at it, it is refused.

    A socket that is bound and does not listen keeps it. Servers share it, because they set SO_REUSEADDR.
    """
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        yield int(keeper.getsockname()[1])
