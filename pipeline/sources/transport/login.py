"""Log a person in to a remote MCP server, with a port of this machine for the authorization code."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from pipeline.errors import RunAborted
from pipeline.settings import SourceSettings
from pipeline.settings.access import OAuthSettings
from pipeline.sources.naming import name_of
from pipeline.sources.transport.access import resolve_access
from pipeline.sources.transport.mcp_client import list_server
from pipeline.sources.transport.oauth import Authentication, client_of, metadata_of, stored_at
from pipeline.sources.transport.token_file import MemoryTokens

_PATH = "/callback"


class Login(Authentication):
    """Asks a person, in a browser, for a token."""

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.client_info = client_of(self.access, self._oauth)
        if self.context.client_info is not None:
            self.context.client_info.redirect_uris = self.context.client_metadata.redirect_uris

    async def _perform_authorization(self) -> httpx2.Request:
        if self.access.client_secret or self._oauth.issuer:
            self._check_issuer(self._oauth.issuer)  # a secret of the settings goes to no other server
        return await super()._perform_authorization()


def log_in(
    source: SourceSettings, folder: Path, *, show: Callable[[str], None], port: int = 0, wait_s: float = 300.0
) -> tuple[Path, int]:
    """Log in to a source's server and store the token. Returns the token's file and how many tools the server lists.

    `show` brings the address to a person, who has `wait_s` to log in; `port` is that of the redirect, 0 for any. Raises
    RunAborted, or Unavailable where another try may go better.
    """
    access = resolve_access(source)
    storage = MemoryTokens(access.url)
    oauth = source.oauth or OAuthSettings()
    with _Callback(port) as callback:
        address = f"http://127.0.0.1:{callback.server_port}{_PATH}"

        async def redirect(login: str) -> None:
            await anyio.to_thread.run_sync(show, login)  # which may wait for a browser

        auth = Login(access.url, metadata_of(oauth, address), storage, redirect, callback.answer)
        auth.source, auth.access = source, access
        tools = list_server(source.model_copy(update={"timeout_s": wait_s}), folder, access, auth).tools
    if (token := storage.stored.token) is None:
        raise RunAborted(f"the MCP server {name_of(source)!r} lists its tools without a token: oauth can be left out")
    client, metadata = auth.context.client_info, auth.context.oauth_metadata
    if client is not None and metadata is not None:
        client.issuer = str(metadata.issuer)
    file = stored_at(source, access, folder)
    file.write(token, client)
    return file.path, len(tools)


class _Callback(HTTPServer):
    """The port of this machine that the browser is led back to."""

    timeout = 0.1  # of one look, so that a login without an answer ends
    brought: dict[str, str] | None = None

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Page)
        except OSError as error:
            raise RunAborted(f"the login needs port {port} of this machine: {error.strerror}") from error

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brings back to the SDK. Raises RunAborted where the login was refused."""
        while self.brought is None:
            await anyio.to_thread.run_sync(self.handle_request)
        if "code" not in self.brought:
            raise RunAborted(f"the login was refused: {self.brought.get('error', 'it brought no code')[:100]!r}")
        state, issuer = self.brought.get("state"), self.brought.get("iss")
        return AuthorizationCodeResult(code=self.brought["code"], state=state, iss=issuer)


class _Page(BaseHTTPRequestHandler):
    timeout = 5  # seconds for a browser to say what it wants
    server: _Callback

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        ours = target.path == _PATH
        said = b"You can close this page: quartermaster goes on." if ours else b"Nothing is here."
        self.send_response(200 if ours else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
        if ours:
            self.server.brought = {name: values[0] for name, values in parse_qs(target.query).items()}

    def log_message(self, *_: object) -> None:
        """Log nothing: the address holds the code."""
