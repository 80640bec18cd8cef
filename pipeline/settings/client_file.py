"""Read the file in which an MCP client lists its servers, such as `mcp.json`: each becomes a source of its own.

A file is recognised by its content: `mcpServers` (Claude, Cursor, Windsurf, Cline, Gemini CLI), `servers` or
`mcp.servers` (VS Code), with comments and commas at the end of lists.
"""

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings import variables
from pipeline.settings.problems import problems
from pipeline.settings.sources import ClientServer, SourceSettings
from router.tools.definitions.json_values import parse_json

_logger = logging.getLogger(__name__)
_MAX_BYTES = 16_000_000  # a client may keep its history in the same file
_MAX_NAME = 100
_OTHER_DOCUMENT = re.compile(rb'"(?:openapi|swagger|asyncapi)"\s*:\s*"')
_TEXT = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*+[}\]])", re.DOTALL)
_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_URLS = ("httpUrl", "url", "serverUrl")  # where Gemini CLI has two, the first is the one of streamable HTTP
# A client's own folder in the folder that a person works in: `.vscode/mcp.json`.
_OF_CLIENTS = (".vscode", ".cursor", ".gemini", ".windsurf", ".roo", ".claude")
_BOUNDS = ("max_tools", "max_pages", "max_list_bytes", "max_message_bytes", "may_ask", "protocol")
_SSE = (
    "the deprecated HTTP+SSE transport (sse) is not read: give the server's address of streamable HTTP, often /mcp, or "
    'a command that bridges to it, such as "command": "npx", "args": ["mcp-remote", "URL"]'
)


def client_sources(entry: SourceSettings, path: Path) -> tuple[SourceSettings, ...]:
    """Return the sources that a file at `path` stands for: its servers, or the entry itself if it is no such file.

    A server that is switched off is left out with a warning; one that cannot be used fails when it is read. Raises
    SettingsInvalid for a file that is not readable, or names no server.
    """
    servers = None if entry.format or entry.fields or path.suffix == ".jsonl" else _servers(path)
    if servers is None:
        return (entry,)
    if entry.provider is not None:
        raise SettingsInvalid(f"{path}: its servers are the providers: leave `provider` of the [[source]] out")
    off = [name for name, row in servers.items() if isinstance(row, dict) and row.get("disabled") is True]
    if off:
        _logger.warning("%s: %d of %d servers are disabled there, and left out: %s", path, len(off), len(servers), off)
    if len(servers) == len(off):
        raise SettingsInvalid(f"{path} names no MCP server{' that is not disabled' * bool(off)}")
    return tuple(_source(name, row, path, entry.timeout_s) for name, row in servers.items() if name not in off)


def _servers(path: Path) -> dict[str, Any] | None:
    """Return the servers of a client's file by name; None for any other file, whose reader says what is wrong."""
    surely = False
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):  # as a shell of Windows writes it
            content = content.decode("utf-16").encode()
        surely = b'"mcpServers"' in content
        if len(content) > _MAX_BYTES or not (surely or b'servers"' in content) or _OTHER_DOCUMENT.search(content):
            return None
        text = _COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else " ", content.decode("utf-8-sig"))
        value = parse_json(_LAST_COMMA.sub(lambda match: match[0].removeprefix(","), text), lenient=True)
    except (OSError, ValueError) as error:
        if surely and not isinstance(error, UnicodeDecodeError):
            raise SettingsInvalid(f"{path} is not a file of MCP servers: it is not readable JSON: {error}") from None
        return None
    value = value if isinstance(value, dict) else {}
    nested = value.get("mcp")
    places = [(value, "mcpServers"), (value, "mcp.servers"), (value, "servers"), (nested, "servers")]
    found = [place.get(key) if isinstance(place, dict) else None for place, key in places]
    for servers in (servers for servers in found if isinstance(servers, dict)):
        rows = [row for row in servers.values() if isinstance(row, dict)]
        tools = [tool for row in rows if isinstance(row.get("tools"), list) for tool in row["tools"]]
        if any(isinstance(tool, dict) for tool in tools):
            continue  # a catalog saved them with what they list
        if servers is found[0] or any(key in row for row in rows for key in ("command", *_URLS)):
            return servers
    return None


def _source(name: str, row: Any, path: Path, timeout_s: float) -> SourceSettings:
    """Return the source of one server; of one that cannot be used, a source that says why when it is read."""
    label = name if name.strip() and name.isprintable() and len(name) <= _MAX_NAME else ascii(name)[:_MAX_NAME]
    try:
        if label != name:
            raise ValueError("its name is empty, too long, or holds a control character")
        if not isinstance(row, dict):
            raise ValueError("it is not an object")
        source = SourceSettings(provider=name, **{"timeout_s": timeout_s, **_settings(row, path.parent.resolve())})
        bounds = {key: row[key] for key in _BOUNDS if key in row}
        include = _names(row, "includeTools") if "includeTools" in row else None
        return source.of_client(ClientServer(bounds, include, _names(row, "excludeTools")))
    except ValueError as error:  # pydantic's own too
        why = problems(error, SourceSettings, {}) if isinstance(error, ValidationError) else [str(error)]
        server = ClientServer(refusal=f"{'; '.join(why)} (in {path})")
        return SourceSettings(url="http://refused.invalid", provider=label).of_client(server)


def _settings(row: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a server's settings as those of a source. Raises ValueError where some are wrong; it shows no value."""
    url = next((row[key] for key in _URLS if row.get(key)), None)
    transport = re.sub("[-_]", "", str(row.get("type") or row.get("transport") or "stdio").lower())
    if transport not in ("stdio", "http", "streamablehttp"):
        raise ValueError(_SSE if transport == "sse" else f"its type is {transport[:40]!r}: it must be stdio or http")
    if bool(row.get("command")) == bool(url):
        raise ValueError("a server has either a command or a url")
    if row.get("envFile"):
        raise ValueError("envFile is not read: write its variables to env, as ${NAME}")
    workspace = folder.parent if folder.name in _OF_CLIENTS else folder

    def filled(key: str, value: Any) -> str:
        if isinstance(value, bool | int | float) and "." in key:
            return json.dumps(value)
        if not isinstance(value, str):
            raise ValueError(f"{key} must be a text")
        return variables.check(_PLACEHOLDER.sub(lambda match: _placeholder(match[1], key, workspace), value))

    def table(key: str) -> dict[str, str]:
        values = row.get(key) or {}
        if not isinstance(values, dict):
            raise ValueError(f"{key} must be an object")
        return {name: filled(f"{key}.{name}", value) for name, value in values.items() if value is not None}

    bound = {"timeout_s": row["timeout_s"]} if "timeout_s" in row else {}
    if url:
        return {"url": filled("url", url), "headers": table("headers"), **bound}
    arguments = row.get("args") or []
    if not isinstance(arguments, list):
        raise ValueError("args must be a list")
    command = filled("command", row["command"]), *(filled(f"args.{n}", value) for n, value in enumerate(arguments, 1))
    cwd = filled("cwd", row.get("cwd") or "")
    if variables.names(cwd):
        raise ValueError("cwd takes no variable beside ${workspaceFolder} and ${userHome}")
    return {"command": command, "env": table("env"), "cwd": workspace / os.path.expanduser(cwd), **bound}


def _placeholder(name: str, key: str, workspace: Path) -> str:
    """Return a placeholder as the settings of sources have it, or the text that it stands for."""
    texts = {"workspaceFolder": workspace, "userHome": os.path.expanduser("~"), "/": os.sep, "pathSeparator": os.sep}
    if name in texts:
        return str(texts[name]).replace("${", "$${")
    kind, _, rest = name.partition(":")
    if kind == "input":
        rest = re.sub("[^A-Z0-9]+", "_", rest.upper())
    try:
        return variables.check(f"${{{rest if kind in ('env', 'input') else name}}}")
    except ValueError:
        shown = f"${{{name[:40]}}}"
        raise ValueError(f"{key} has {shown}, which only its client fills in: write the value, or ${{NAME}}") from None


def _names(row: Mapping[str, Any], key: str) -> frozenset[str]:
    """Return the names that a list holds, without what Gemini CLI has in brackets behind them."""
    names = row.get(key) or []
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"{key} must be a list of names")
    return frozenset(name.partition("(")[0] for name in names)
