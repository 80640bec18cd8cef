"""The settings of an upstream: an MCP server at which a catalog's tools are called."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from router.errors import QuartermasterError, SettingsInvalid
from router.record import ToolRecord
from router.variables import expanded


class UpstreamFailed(QuartermasterError):
    """Raised when a tool cannot be called at its own server; the message gives the reason and a remedy."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server: a `command` over stdio, run in `folder`, or a `url` over streamable HTTP; HTTP+SSE with `sse`.

    `provider` is the label of its tools in the catalog; without it, they are recognised by `place`, the origin that
    the build recorded. `environment` is added to the few variables that a command gets (PATH, HOME, …), `headers` go
    with each request to a url; both may hold secrets, so no message contains them. `auth`, an httpx2.Auth,
    authenticates requests. `timeout_s` bounds each answer and each whole list, in seconds.

    With `may_ask`, what the server asks of the user (elicitation) or of the model (sampling) during a call goes to the
    client of that call, if it takes such questions. Otherwise the server is told that nobody does.

    Of a longer list, the first `max_tools` serve. A list of more than `max_pages` pages or `max_list_bytes`, and a
    message of more than `max_message_bytes`, are failures.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    provider: str | None = None
    place: str = ""
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: Any = field(default=None, repr=False)
    timeout_s: float = 30.0
    max_tools: int = 1_000
    max_pages: int = 1_000
    max_list_bytes: int = 33_554_432
    max_message_bytes: int = 16_777_216
    sse: bool = False
    may_ask: bool = True

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a tool of the catalog is one of this server's."""
        return record.provider == self.provider if self.provider else record.origin.file == self.place


_Limit = Annotated[int, msgspec.Meta(ge=1)]


class _Server(msgspec.Struct):
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    type: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    timeout_s: float = 30.0
    max_tools: _Limit = 1_000
    max_pages: _Limit = 1_000
    max_list_bytes: _Limit = 33_554_432
    max_message_bytes: _Limit = 16_777_216
    may_ask: bool = True


class _Servers(msgspec.Struct):
    servers: dict[str, _Server] = msgspec.field(name="mcpServers")


def read_upstreams(path: Path, variables: Mapping[str, str] = os.environ) -> tuple[Upstream, ...]:
    """Read a JSON file of servers, as MCP clients have it: `{"mcpServers": {name: {"command", "args", "env"}}}`.

    A server may have a `url` and `headers` instead, with `"type": "sse"` over HTTP+SSE. Its name is the provider of
    its tools in the catalog. `${NAME}` in `env` and `headers` is replaced from `variables`, so that the file holds no
    secret. Raises SettingsInvalid, naming the place of the mistake.
    """
    try:
        servers = msgspec.json.decode(path.read_bytes(), type=_Servers).servers
    except (OSError, ValueError, RecursionError) as error:  # of reading, of UTF-8, of JSON and its types
        raise SettingsInvalid(f'{path} is not a file of MCP servers ({{"mcpServers": …}}): {error}') from error
    return tuple(_upstream(name, server, path, variables) for name, server in servers.items())


def _upstream(name: str, server: _Server, path: Path, variables: Mapping[str, str]) -> Upstream:
    where = f"{path}, mcpServers.{name}"
    if bool(server.command) == bool(server.url):
        raise SettingsInvalid(f"{where}: a server has either a command or a url")
    if server.type == "sse" and not server.url:
        raise SettingsInvalid(f"{where}: type is 'sse', which is for a url")
    if not 0 < server.timeout_s <= 3600:
        raise SettingsInvalid(f"{where}: timeout_s is {server.timeout_s}, it must be seconds above 0, up to 3600")
    return Upstream(
        name,
        command=(server.command, *server.args) if server.command else (),
        url=server.url or None,
        provider=name,
        folder=path.parent / server.cwd if server.cwd else None,
        environment={key: expanded(value, f"{where}.env.{key}", variables) for key, value in server.env.items()},
        headers={key: expanded(value, f"{where}.headers.{key}", variables) for key, value in server.headers.items()},
        timeout_s=server.timeout_s,
        max_tools=server.max_tools,
        max_pages=server.max_pages,
        max_list_bytes=server.max_list_bytes,
        max_message_bytes=server.max_message_bytes,
        sse=server.type == "sse",
        may_ask=server.may_ask,
    )
