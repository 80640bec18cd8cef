"""The MCP server over streamable HTTP, as an ASGI app. It needs what `quartermaster.serving.http` needs."""

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import ASGIApp

from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.request_guard import RequestGuard
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.profiles import Callers

PATH = "/mcp"


def http_app(served: Server[Any], settings: HttpSettings, callers: Callers | None = None) -> ASGIApp:
    """Return the server as an app at `/mcp`, behind the host, rate, token and size checks of the HTTP API.

    It keeps no session, so any replica answers any request, and each within the profile of its token: `callers`
    are those that the server was made with.

    Raises ValueError where the settings have profiles and there are no callers.
    """
    if (settings.profiles is None) != (callers is None):
        raise ValueError("settings.profiles and callers belong together: give both or neither")
    hosts = sorted(settings.known_hosts)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection="*" not in hosts,
        allowed_hosts=[name for host in hosts for name in (host, f"{host}:*")],
        allowed_origins=[name for host in hosts for name in (f"http://{host}", f"http://{host}:*", f"https://{host}")],
    )
    app = served.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.max_request_bytes,
        transport_security=security,
    )
    # GET would open a stream for notifications. Without sessions there are none, and each client of the 2025 protocol
    # would occupy one of the requests that the server answers at a time. The protocol permits to refuse it.
    refusal = failure(405, "this server sends nothing unasked: use POST", headers={"Allow": "POST"})
    app.router.routes.insert(0, Route(PATH, refusal, methods=["GET"]))
    return RequestGuard(app, settings, callers)
