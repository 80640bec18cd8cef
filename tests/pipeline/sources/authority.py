"""An OAuth authorization server and an MCP server that wants its tokens, both real, on two ports of loopback."""

import base64
import hashlib
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

ID, SECRET = "nightly", "s3cret-of-the-client/+"


@dataclass
class Authority:
    """The authorization server; tests turn its knobs and read what it was sent. `url` is the MCP server's."""

    issuer: str = ""
    url: str = ""
    valid: set[str] = field(default_factory=set)  # access tokens
    refreshes: set[str] = field(default_factory=set)
    codes: dict[str, str] = field(default_factory=dict)  # with the challenge of each
    asked: list[dict[str, str]] = field(default_factory=list)  # of the token endpoint
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # every request's path and headers
    methods: tuple[str, ...] = ("client_secret_basic", "client_secret_post", "none")
    status: int = 200
    rotates: bool = True
    denies: bool = False
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def reset(self) -> None:
        """Forget what it was sent, and turn all knobs back."""
        for kept in (self.valid, self.refreshes, self.codes, self.asked, self.seen):
            kept.clear()
        self.methods, self.status, self.rotates, self.denies = Authority.methods, 200, True, False

    def grant(self, refreshable: bool = True) -> dict[str, Any]:
        """Give a new token."""
        access, refresh = f"access-token-{next(self._numbers)}", f"refresh-token-{next(self._numbers)}"
        self.valid.add(access)
        told: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": 3600}
        if refreshable:
            self.refreshes.add(refresh)
            told["refresh_token"] = refresh
        return told

    def app(self) -> Starlette:
        """The server."""
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server/login", self._metadata),
                Route("/login/authorize", self._authorize),
                Route("/login/register", self._register, methods=["POST"]),
                Route("/login/token", self._token, methods=["POST"]),
            ]
        )

    async def _metadata(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "registration_endpoint": f"{self.issuer}/register",
                "token_endpoint": f"{self.issuer}/token",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "client_credentials", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": list(self.methods),
            }
        )

    async def _authorize(self, request: Request) -> Response:
        self._note(request)
        asked, code = request.query_params, f"code-{next(self._numbers)}"
        self.codes[code] = asked["code_challenge"]
        answer = {"error": "access_denied"} if self.denies else {"code": code}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}")

    async def _register(self, request: Request) -> Response:
        self._note(request)
        client = {**(await request.json()), "client_id": "registered", "token_endpoint_auth_method": "none"}
        return JSONResponse(client, 201)

    async def _token(self, request: Request) -> Response:
        self._note(request)
        asked = dict(parse_qsl((await request.body()).decode()))
        self.asked.append(asked)
        if self.status != 200:
            return Response("out of order", self.status)
        grant = asked["grant_type"]
        if grant == "client_credentials":
            if self._client(request, asked) != (ID, SECRET):
                return JSONResponse({"error": "invalid_client", "error_description": f"not {SECRET}"}, 401)
            return JSONResponse(self.grant(refreshable=False))
        if grant == "refresh_token" and asked["refresh_token"] in self.refreshes:
            if not self.rotates:
                return JSONResponse(self.grant(refreshable=False))
            self.refreshes.remove(asked["refresh_token"])
            return JSONResponse(self.grant())
        if grant == "authorization_code" and (challenge := self.codes.pop(asked["code"], None)):
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge:
                return JSONResponse(self.grant())
        return JSONResponse({"error": "invalid_grant"}, 400)

    def _client(self, request: Request, asked: dict[str, str]) -> tuple[str, str]:
        kind, _, encoded = request.headers.get("authorization", "").partition(" ")
        if kind == "Basic" and "client_secret_basic" in self.methods:
            name, _, secret = base64.b64decode(encoded).decode().partition(":")
            return unquote(name), unquote(secret)
        return asked.get("client_id", ""), asked.get("client_secret", "")

    def _note(self, request: Request) -> None:
        self.seen.append((request.url.path, dict(request.headers)))

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the MCP server asks of each token."""
        return AccessToken(token=token, client_id=ID, scopes=[]) if token in self.valid else None


@contextmanager
def protected() -> Iterator[Authority]:
    """The authorization server, beside an MCP server of one tool that wants its tokens."""
    authority = Authority()
    with listening() as (own, authority_root), listening() as (others, root):
        authority.issuer, authority.url = f"{authority_root}/login", f"{root}/mcp"
        auth = AuthSettings(
            issuer_url=AnyHttpUrl(authority.issuer),
            resource_server_url=AnyHttpUrl(authority.url),
            validate_token_resource=False,
        )
        server = MCPServer("vault", token_verifier=authority, auth=auth)

        @server.tool()
        def open_vault(code: str) -> str:
            """Open the vault."""
            return code

        with running(authority.app(), own), running(server.streamable_http_app(), others):
            yield authority


@contextmanager
def listening() -> Iterator[tuple[socket.socket, str]]:
    """A socket of loopback that listens, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer in two parts takes 40 ms
        yield own, f"http://127.0.0.1:{own.getsockname()[1]}"


@contextmanager
def running(app: Any, own: socket.socket) -> Iterator[None]:
    """An application that serves a socket in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]})
    thread.start()
    try:
        until = time.monotonic() + 30
        while not server.started:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        thread.join()
