"""The MCP servers that a catalog's tools come from, as this one is told of them."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from router.errors import QuartermasterError, SettingsInvalid
from router.record import ToolRecord

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class UpstreamFailed(QuartermasterError):
    """A tool could not be called at its own server; the message says why, and what may help."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server: a `command` over stdio, run in `folder`, or a `url` over streamable HTTP.

    `provider` is the label of its tools in the catalog; without one they are told by `place`, where the build read
    them. `environment` is added to the few variables that a command is given (PATH, HOME, …), `headers` go with each
    request to a url; both may hold secrets and stand in no message. `auth`, an httpx2.Auth, proves who asks.
    `timeout_s` is for each answer.
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

    def serves(self, record: ToolRecord) -> bool:
        """Whether a tool of the catalog is one of this server's."""
        return record.provider == self.provider if self.provider else record.origin.file == self.place


class _Server(msgspec.Struct):
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    type: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    timeout_s: float = 30.0


class _Servers(msgspec.Struct):
    servers: dict[str, _Server] = msgspec.field(name="mcpServers")


def read_upstreams(path: Path, variables: Mapping[str, str] = os.environ) -> tuple[Upstream, ...]:
    """The servers of a JSON file as MCP clients have them: `{"mcpServers": {name: {"command", "args", "env"}}}`.

    Or a `url` and `headers`. A server's name is its tools' provider in the catalog. `${NAME}` in `env` and `headers` is
    read from `variables`, so that the file holds no secret. Raises SettingsInvalid with the place of what is wrong.
    """
    try:
        servers = msgspec.json.decode(path.read_bytes(), type=_Servers).servers
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsInvalid(f'{path} is not a file of MCP servers ({{"mcpServers": …}}): {error}') from error
    return tuple(_upstream(name, server, path, variables) for name, server in servers.items())


def _upstream(name: str, server: _Server, path: Path, variables: Mapping[str, str]) -> Upstream:
    where = f"{path}, mcpServers.{name}"
    if (server.command is None) == (server.url is None):
        raise SettingsInvalid(f"{where}: a server has either a command or a url")
    if server.type == "sse":
        raise SettingsInvalid(f"{where}: type is 'sse', which is not supported: give its streamable HTTP address")
    if not 0 < server.timeout_s <= 3600:
        raise SettingsInvalid(f"{where}: timeout_s is {server.timeout_s}, it must be seconds above 0, up to 3600")
    return Upstream(
        name,
        command=(server.command, *server.args) if server.command is not None else (),
        url=server.url,
        provider=name,
        folder=path.parent / server.cwd if server.cwd else None,
        environment={key: _filled(value, f"{where}.env.{key}", variables) for key, value in server.env.items()},
        headers={key: _filled(value, f"{where}.headers.{key}", variables) for key, value in server.headers.items()},
        timeout_s=server.timeout_s,
    )


def _filled(value: str, where: str, variables: Mapping[str, str]) -> str:
    for name in _VARIABLE.findall(value):
        if name not in variables:
            raise SettingsInvalid(f"{where}: the environment has no {name}: set it, or write the value")
    return _VARIABLE.sub(lambda found: variables[found[1]], value)
