"""Log a person in to a remote MCP server, with a port of this machine for the authorization code."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from pipeline.errors import RunAborted
from pipeline.settings import SourceSettings
from pipeline.settings.access import OAuthSettings
from pipeline.sources.naming import location
from pipeline.sources.transport.access import resolve_access
from pipeline.sources.transport.mcp_client import list_server
from pipeline.sources.transport.oauth import Authentication, MemoryStorage, client_of, metadata_of, stored_at

_PATH = "/callback"
_MOST_HEADERS = 100


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
    access, storage = resolve_access(source), MemoryStorage()
    oauth = source.oauth or OAuthSettings()
    with _Callback(port) as callback:
        auth = Login(
            access.url, metadata_of(oauth, callback.address), storage, callback.brought_by(show), callback.answer
        )
        auth.source, auth.access = source, access
        tools = list_server(source.model_copy(update={"timeout_s": wait_s}), folder, access, auth).tools
    if storage.tokens is None:
        raise RunAborted(f"the MCP server {location(source)!r} lists its tools without a token: oauth can be left out")
    client, metadata = auth.context.client_info, auth.context.oauth_metadata
    if client is not None and metadata is not None:
        client.issuer = str(metadata.issuer)
    file = stored_at(source, access, folder)
    file.write(storage.tokens, client)
    return file.path, len(tools)


class _Callback:
    """The port of this machine that the browser is led back to."""

    def __init__(self, port: int) -> None:
        try:
            self._socket = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise RunAborted(f"the login needs port {port} of this machine: {error.strerror}") from error
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}{_PATH}"

    def __enter__(self) -> "_Callback":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def brought_by(self, show: Callable[[str], None]) -> Callable[[str], Awaitable[None]]:
        """Return the SDK's redirect handler: `show`, which may wait for a browser, in a thread of its own."""

        async def redirect(address: str) -> None:
            await asyncio.to_thread(show, address)

        return redirect

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brings back to the SDK. Raises RunAborted where the login was refused."""
        came: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                target = urlsplit((await reader.readline()).decode("ascii", "replace").split(" ")[1])
                for _ in range(_MOST_HEADERS):
                    if not (await reader.readline()).strip():
                        break
                ours = target.path == _PATH
                said = b"You can close this page: quartermaster goes on." if ours else b"Nothing is here."
                status = b"200 OK" if ours else b"404 Not Found"
                head = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                writer.write(head % (status, len(said)) + said)
                await writer.drain()
                if ours and not came.done():
                    came.set_result({name: values[0] for name, values in parse_qs(target.query).items()})
            except (ValueError, IndexError, ConnectionError):
                pass  # no request of a browser
            finally:
                writer.close()

        async with await asyncio.start_server(receive, sock=self._socket):
            brought = await came
        if "code" not in brought:
            raise RunAborted(f"the login was refused: {brought.get('error', 'it brought no code')[:100]!r}")
        return AuthorizationCodeResult(code=brought["code"], state=brought.get("state"), iss=brought.get("iss"))
