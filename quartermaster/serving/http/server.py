"""The app under uvicorn: listening, serving until SIGTERM or SIGINT, logging."""

import logging
import signal
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import IPv6Address, ip_address
from multiprocessing.reduction import DupFd
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from quartermaster.serving.http.connections import BoundedProtocol, Connections
from quartermaster.serving.http.settings import HttpSettings
from router.errors import SettingsInvalid

_QUEUED = 1_024  # connections that the kernel holds until they are accepted
_ACCEPTED_AT_ONCE = 16


def listen(settings: HttpSettings) -> socket.socket:
    """Return a socket that listens as the settings say. Raises SettingsInvalid if it cannot."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = _Listening(family, kind, protocol)
    except OSError as error:
        raise SettingsInvalid(f"host is {settings.host!r}, which is not an address of this machine: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        where = f"{settings.host} port {settings.port}"
        raise SettingsInvalid(f"cannot listen at {where}: {error}; --port 0 takes any that is free") from error
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if isinstance(ip_address(host), IPv6Address) else f"http://{host}:{port}"


def serve(app: ASGIApp, settings: HttpSettings, listening: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT; then refuse new ones and finish those under way.

    Waits for them up to `settings.stop_timeout_s` seconds. Call it from the main thread.
    """
    server = uvicorn.Server(server_config(app, settings))
    # At its end uvicorn raises the signal again for the handlers from before. It has been obeyed already.
    previous = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def server_config(app: ASGIApp | Callable[[], ASGIApp], settings: HttpSettings, **more: Any) -> uvicorn.Config:
    """Return uvicorn's settings, with the bounds on connections. `more` are others of its settings."""
    values: dict[str, Any] = {
        # The app writes its own log, without the text of requests.
        "log_config": None,
        "access_log": False,
        "server_header": False,
        # Otherwise a local client could claim any address, and so evade its rate limit.
        "proxy_headers": False,
        "ws": "none",
        # On h11. httptools, which uvicorn prefers, reads headers of any length before the token is checked.
        "http": partial(BoundedProtocol, settings=settings, connections=Connections(settings)),
        "timeout_keep_alive": settings.keep_alive_s,
        # The loop accepts so many at once before the table of connections sees one: each takes a file descriptor.
        "backlog": _ACCEPTED_AT_ONCE,
        "lifespan": "on",
        "timeout_graceful_shutdown": round(settings.stop_timeout_s),
    }
    return uvicorn.Config(app, **{**values, **more})


class _Listening(socket.socket):
    """A socket whose queue stays as long as it is: asyncio would cut it to what it accepts at once.

    The queue is that of all workers, so a worker that starts would shorten it for those that answer.
    """

    def listen(self, _backlog: int = 0, /) -> None:
        """Listen with the queue that the socket has."""
        super().listen(_QUEUED)

    def __reduce__(self) -> tuple[Callable[[Any], "_Listening"], tuple[Any]]:
        """Let a worker have the socket."""
        return _in_worker, (DupFd(self.fileno()),)


def _in_worker(descriptor: Any) -> _Listening:
    return _Listening(fileno=descriptor.detach())


def configure_logs(*, workers: bool = False) -> None:
    """Log warnings, errors and a line for each request to standard error, with timestamps.

    With `workers` a line has the id of the process that wrote it, and uvicorn says which start and end.
    """
    handler = logging.StreamHandler()
    process = " [%(process)d]" if workers else ""
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s{process} %(name)s: %(message)s"))
    of_uvicorn = logging.INFO if workers else logging.WARNING
    for name, level in (("router", logging.INFO), ("quartermaster", logging.INFO), ("uvicorn", of_uvicorn)):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
