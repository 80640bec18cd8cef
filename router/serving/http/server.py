"""The app under uvicorn, until SIGTERM or SIGINT."""

import logging
import signal
import socket
from ipaddress import IPv6Address, ip_address

import uvicorn
from starlette.types import ASGIApp

from router.errors import SettingsInvalid
from router.serving.http.settings import HttpSettings


def listen(settings: HttpSettings) -> socket.socket:
    """A socket that listens as the settings say. Raises SettingsInvalid where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsInvalid(f"host is {settings.host!r}, which is no address of this machine: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1_024)
    except OSError as error:
        listening.close()
        where = f"{settings.host} port {settings.port}"
        raise SettingsInvalid(f"cannot listen at {where}: {error}; --port 0 takes any that is free") from error
    return listening


def address_of(listening: socket.socket) -> str:
    """The URL under which a socket is reached."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if isinstance(ip_address(host), IPv6Address) else f"http://{host}:{port}"


def serve(app: ASGIApp, settings: HttpSettings, listening: socket.socket) -> None:
    """Answer until SIGTERM or SIGINT; then take no more, and end when what is under way is answered.

    That is waited for `settings.stop_timeout_s`. Call it from the main thread.
    """
    config = uvicorn.Config(
        app,
        # The app has a log of its own, with no request's text in it.
        log_config=None,
        access_log=False,
        server_header=False,
        # Else whoever is on this machine could give itself any address, and so a rate of its own.
        proxy_headers=False,
        ws="none",
        # httptools, which uvicorn prefers where it is installed, reads headers without end, before any token is seen.
        http="h11",
        lifespan="on",
        timeout_graceful_shutdown=round(settings.stop_timeout_s),
    )
    server = uvicorn.Server(config)
    # When it ends uvicorn raises the signal once more, for whoever had it before: then it has been obeyed.
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def configure_logs() -> None:
    """Write warnings, errors and a line for each request to standard error, each with its time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, level in (("router", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
