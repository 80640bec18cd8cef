"""The settings of an upstream: an MCP server at which a catalog's tools are called."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quartermaster.variables import expanded
from router.errors import QuartermasterError, SettingsInvalid
from router.record import ToolRecord
from router.typed import converted

_Limit = Annotated[int, Meta(ge=1)]


class UpstreamFailed(QuartermasterError):
    """Raised when a tool cannot be called at its own server; the message gives the reason and a remedy."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may cost. `timeout_s` bounds each answer and each whole list, in seconds.

    Of a longer list, the first `max_tools` serve. A list of more than `max_pages` pages or `max_list_bytes`, and a
    message of more than `max_message_bytes`, are failures. Without `may_ask`, the server learns that nobody answers
    its questions.
    """

    timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    max_tools: _Limit = 1_000
    max_pages: _Limit = 1_000
    max_list_bytes: _Limit = 33_554_432
    max_message_bytes: _Limit = 16_777_216
    may_ask: bool = True


class Upstream(Bounds, frozen=True):
    """A server: a `command` over stdio, run in `folder`, or a `url` over streamable HTTP.

    `provider` is the label of its tools in the catalog; without it, they are recognised by `place`, the origin that
    the build recorded. `environment` is added to the few variables that a command gets (PATH, HOME, …), `headers` go
    with each request to a url; both may hold secrets, so no message contains them. `auth`, an httpx2.Auth,
    authenticates requests.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    provider: str | None = None
    place: str = ""
    folder: Path | None = None
    environment: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    auth: Any = None

    def __repr__(self) -> str:
        return f"Upstream({self.name!r})"  # the rest may hold secrets

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return what rich's tracebacks may show."""
        return [("name", self.name)]

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a tool of the catalog is one of this server's."""
        return record.provider == self.provider if self.provider else record.origin.file == self.place


class _Server(Bounds, frozen=True):
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    type: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}


class _Servers(msgspec.Struct):
    servers: dict[str, dict[str, Any]] = msgspec.field(name="mcpServers")


def read_upstreams(path: Path, variables: Mapping[str, str] = os.environ) -> tuple[Upstream, ...]:
    """Read a JSON file of servers, as MCP clients have it: `{"mcpServers": {name: {"command", "args", "env"}}}`.

    A server may have a `url` and `headers` instead. Its name is the provider of its tools in the catalog. `${NAME}` in
    `env` and `headers` is replaced from `variables`, so that the file holds no secret. Raises SettingsInvalid, naming
    the place of the mistake.
    """
    try:
        servers = msgspec.json.decode(path.read_bytes(), type=_Servers).servers
    except (OSError, ValueError, RecursionError) as error:  # of reading, of UTF-8, of JSON and its types
        raise SettingsInvalid(f'{path} is not a file of MCP servers ({{"mcpServers": …}}): {error}') from error
    return tuple(_upstream(name, table, path, variables) for name, table in servers.items())


def _upstream(name: str, table: Mapping[str, Any], path: Path, variables: Mapping[str, str]) -> Upstream:
    where = f"{path}, mcpServers.{name}"
    server = converted(table, _Server, place=f"{where}: ", secret=True)
    if bool(server.command) == bool(server.url):
        raise SettingsInvalid(f"{where}: a server has either a command or a url")
    if server.type == "sse":
        raise SettingsInvalid(
            f"{where}: tools cannot be called over HTTP+SSE (sse). Give the server's address of streamable HTTP, often "
            "/mcp, or a command that bridges to it, such as `npx mcp-remote URL`"
        )
    return Upstream(
        name,
        command=(server.command, *server.args) if server.command else (),
        url=server.url or None,
        provider=name,
        folder=path.parent / server.cwd if server.cwd else None,
        environment={key: expanded(value, f"{where}.env.{key}", variables) for key, value in server.env.items()},
        headers={key: expanded(value, f"{where}.headers.{key}", variables) for key, value in server.headers.items()},
        **{bound: getattr(server, bound) for bound in Bounds.__struct_fields__},
    )
