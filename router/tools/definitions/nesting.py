"""Finds the tool definitions in a document: in lists, in pages of responses, under the servers that offer them.

The server that holds the tools is their provider: `[{"name": "ClickHouse", "tools": […]}]`,
`{"servers": {"ClickHouse": {"tools": […]}}}`, `{"ClickHouse": {"tools": […]}}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.vendors import PARAMETERS, WRAPPERS, value_at

# Keys of lists of tools, and of lists of servers.
TOOLS = ("tools", "functions", "functionDeclarations", "function_declarations", "languageModelTools", "api_list")
SERVERS = ("servers", "mcpServers", "mcp_servers", "toolkits")
# Keys of the provider of the tools that an object holds; the first that is not empty counts.
_PROVIDER_KEYS = (
    "serverInfo.name",
    "server_info.name",
    "server.name",
    "server",
    "name",
    "provider",
    "server_name",
    "serverName",
    "tool_name",  # ToolBench, where a tool holds APIs
    "qualifiedName",
    "title",
)
_MAX_DEPTH = 8
_PARAMETER_KEYS = tuple(place for place, certain in PARAMETERS.items() if certain)


@dataclass(frozen=True, slots=True)
class ListedDefinition:
    """A definition in a document: its JSON pointer, its value, and the provider that it is listed under."""

    pointer: str
    row: Any
    provider: str | None = None


def find_definitions(document: Any) -> list[ListedDefinition] | None:
    """Return the definitions of a document in order; None where it holds no tools in a known format."""
    if isinstance(document, dict) and _is_tool(document) and not _is_holder(document):
        return [ListedDefinition("/0", document)]  # the only one of its file
    return _in_container(document, "", None, 0)


def definitions_within(row: Any, pointer: str, provider: str | None = None) -> list[ListedDefinition]:
    """Return the definitions that a row holds; the row itself where it holds none."""
    holds_tools = isinstance(row, dict) and _is_holder(row, filled=True)
    found = _in_holder(row, pointer, provider, 1) if holds_tools else None
    return [ListedDefinition(pointer, row, provider)] if found is None else found


def _in_container(value: Any, pointer: str, provider: str | None, depth: int) -> list[ListedDefinition] | None:
    """Return the definitions in a list, an object that has a list, or an object by name; None where it is none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return _in_list(value, pointer, provider, depth)
    if not isinstance(value, dict):
        return None
    return (_in_holder if _is_holder(value) else _in_object_by_name)(value, pointer, provider, depth)


def _in_list(rows: list[Any], pointer: str, provider: str | None, depth: int) -> list[ListedDefinition] | None:
    found: list[ListedDefinition] = []
    # An object with an empty list of tools is a server only if it has no name or stands among servers.
    has_servers = any(isinstance(row, dict) and _is_holder(row, filled=True) for row in rows)
    for index, row in enumerate(rows):
        place = f"{pointer}/{index}"
        if isinstance(row, dict) and _is_holder(row, filled=not has_servers and "name" in row):
            part = _in_holder(row, place, provider, depth + 1)
            if part is None:
                return None
            found += part
        else:
            found.append(ListedDefinition(place, row, provider))
    return found


def _in_holder(holder: dict[str, Any], pointer: str, provider: str | None, depth: int) -> list[ListedDefinition] | None:
    """Return the definitions in a response, a page, a server, or several servers."""
    if depth > _MAX_DEPTH:
        return None
    provider = provider_of(holder) or provider
    if isinstance(holder.get("result"), dict):
        return _in_holder(holder["result"], f"{pointer}/result", provider, depth + 1)
    key = next(key for key in (*TOOLS, *SERVERS) if key in holder)
    if holder[key] is None and provider is not None and depth:
        return []  # a server without tools, in a list of servers
    return _in_container(holder[key], f"{pointer}/{key}", None if key in SERVERS else provider, depth + 1)


def _in_object_by_name(
    named: dict[str, Any], pointer: str, provider: str | None, depth: int
) -> list[ListedDefinition] | None:
    """Return the definitions of servers by name (each a list, or an object that has one), or of tools by name."""
    if not named:
        return None
    places = {name: f"{pointer}/{escape_pointer_part(name)}" for name in named}
    if all(isinstance(value, dict) and _is_holder(value) for value in named.values()):
        parts = [_in_holder(value, places[name], name, depth + 1) for name, value in named.items()]
        return None if None in parts else [definition for part in parts for definition in part or ()]
    if all(_is_list_of_tools(value) for value in named.values()):
        rows = [(name, index, row) for name, rows in named.items() for index, row in enumerate(rows)]
        return [ListedDefinition(f"{places[name]}/{index}", row, name) for name, index, row in rows]
    values = [value for value in named.values() if isinstance(value, dict)]
    are_described = all("description" in value or _takes_parameters(value) for value in values)
    # A description alone is not enough: documents of any kind have objects with one.
    are_tools = pointer.rpartition("/")[2] in TOOLS or any(_takes_parameters(value) for value in values)
    if len(values) == len(named) and are_described and are_tools:
        return [ListedDefinition(places[name], {"name": name, **value}, provider) for name, value in named.items()]
    return None


def _is_holder(value: dict[str, Any], *, filled: bool = False) -> bool:
    """Return whether an object holds tools or servers and is no tool itself; with `filled`, at least one."""
    if isinstance(value.get("result"), dict):
        return _is_holder(value["result"], filled=filled)
    if _takes_parameters(value):
        return False
    key = next((key for key in (*TOOLS, *SERVERS) if key in value), None)
    content = value.get(key, "") if key else ""
    if content and key in SERVERS:  # a server may be an address, which holds no tools
        servers = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
        return any(isinstance(server, dict) and _is_holder(server) for server in servers)
    if isinstance(content, list):
        return any(isinstance(row, dict) for row in content) if content else not filled
    return isinstance(content, dict) or (content is None and not filled)


def _takes_parameters(value: dict[str, Any]) -> bool:
    return any(key in value for key in _PARAMETER_KEYS)


def _is_tool(value: dict[str, Any]) -> bool:
    return "name" in value or any(isinstance(value.get(wrapper), dict) for wrapper in WRAPPERS) or "function" in value


def _is_list_of_tools(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and _is_tool(row) and not _is_holder(row) for row in value)
    )


def provider_of(holder: Mapping[str, Any]) -> str | None:
    """Return the provider of the tools that an object holds; None where it names none."""
    for place in _PROVIDER_KEYS:
        value = value_at(holder, place)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None
