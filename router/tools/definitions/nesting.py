"""Where the tools lie in a document: in lists, in pages of answers, under the servers that offer them.

Whoever has the tools is their provider: `[{"name": "ClickHouse", "tools": […]}]`, `{"servers": {"ClickHouse": {"tools":
[…]}}}`, `{"ClickHouse": {"tools": […]}}`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.tools.definitions.field_names import PARAMETERS, WRAPPERS
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.vendors import value_at

# What holds tools, and what holds those who have them.
TOOLS = ("tools", "functions", "functionDeclarations", "function_declarations", "languageModelTools", "api_list")
SERVERS = ("servers", "mcpServers", "mcp_servers", "toolkits")
# How an object says whose tools it holds; the first that says something counts.
_OWNERS = (
    "serverInfo.name",
    "server_info.name",
    "server.name",
    "server",
    "name",
    "provider",
    "server_name",
    "serverName",
    "tool_name",  # ToolBench, whose tools have APIs
    "qualifiedName",
    "title",
)
_MAX_DEPTH = 8
_OF_A_TOOL = tuple(place for place, certain in PARAMETERS.items() if certain)


@dataclass(frozen=True, slots=True)
class ListedDefinition:
    """A definition in a document: its JSON pointer, its value, and whom it is listed under."""

    pointer: str
    row: Any
    provider: str | None = None


def find_definitions(document: Any) -> list[ListedDefinition] | None:
    """Return the definitions of a document in its order; None where it holds no tools of any known kind."""
    if isinstance(document, dict) and _is_tool(document) and not _is_holder(document):
        return [ListedDefinition("/0", document)]  # the only one of its file
    found = _list(document, "", None, 0)
    return None if found is None else list(found)


def definitions_within(row: Any, pointer: str, provider: str | None = None) -> list[ListedDefinition]:
    """Return the definitions that a row holds; the row itself where it is no holder of tools."""
    found = _holder(row, pointer, provider, 1) if isinstance(row, dict) and _is_holder(row, filled=True) else None
    return [ListedDefinition(pointer, row, provider)] if found is None else list(found)


def _list(value: Any, pointer: str, provider: str | None, depth: int) -> Iterator[ListedDefinition] | None:
    """The tools of what is expected to hold some: a list, an object that has a list, or an object by name."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return _of_list(value, pointer, provider, depth)
    if not isinstance(value, dict):
        return None
    if _is_holder(value):
        return _holder(value, pointer, provider, depth)
    return _by_name(value, pointer, provider, depth)


def _of_list(rows: list[Any], pointer: str, provider: str | None, depth: int) -> Iterator[ListedDefinition] | None:
    parts: list[Iterator[ListedDefinition]] = []
    # An empty list of tools makes a server only of what has no name, or stands among servers.
    servers = any(isinstance(row, dict) and _is_holder(row, filled=True) for row in rows)
    for index, row in enumerate(rows):
        place = f"{pointer}/{index}"
        if isinstance(row, dict) and _is_holder(row, filled=not servers and "name" in row):
            part = _holder(row, place, provider, depth + 1)
            if part is None:
                return None
            parts.append(part)
        else:
            parts.append(iter([ListedDefinition(place, row, provider)]))
    return (found for part in parts for found in part)


def _holder(
    holder: dict[str, Any], pointer: str, provider: str | None, depth: int
) -> Iterator[ListedDefinition] | None:
    """The tools of an answer, a page, a server, or several servers."""
    if depth > _MAX_DEPTH:
        return None
    provider = provider_of(holder) or provider
    if isinstance(holder.get("result"), dict):
        return _holder(holder["result"], f"{pointer}/result", provider, depth + 1)
    key = next(key for key in (*TOOLS, *SERVERS) if key in holder)
    if holder[key] is None and provider is not None and depth:
        return iter(())  # a server of a list that has none
    return _list(holder[key], f"{pointer}/{key}", None if key in SERVERS else provider, depth + 1)


def _by_name(
    named: dict[str, Any], pointer: str, provider: str | None, depth: int
) -> Iterator[ListedDefinition] | None:
    """Servers by name (their tools in a list, or an object that holds it), or tools by name."""
    if not named:
        return None
    places = {name: f"{pointer}/{escape_pointer_part(name)}" for name in named}
    if all(isinstance(value, dict) and _is_holder(value) for value in named.values()):
        held = [_holder(value, places[name], name, depth + 1) for name, value in named.items()]
        return None if None in held else (found for part in held if part for found in part)
    if all(_is_list_of_tools(value) for value in named.values()):
        return (
            ListedDefinition(f"{places[name]}/{index}", row, name)
            for name, rows in named.items()
            for index, row in enumerate(rows)
        )
    values = [value for value in named.values() if isinstance(value, dict)]
    described = all("description" in value or _takes_parameters(value) for value in values)
    # In a document of any other kind too there are objects with a description.
    sure = pointer.rpartition("/")[2] in TOOLS or any(_takes_parameters(value) for value in values)
    if len(values) == len(named) and described and sure:
        return (ListedDefinition(places[name], {"name": name, **value}, provider) for name, value in named.items())
    return None


def _is_holder(value: dict[str, Any], *, filled: bool = False) -> bool:
    """Return whether it holds tools, or servers that do, and is no tool itself; `filled`: at least one of them."""
    if isinstance(value.get("result"), dict):
        return _is_holder(value["result"], filled=filled)
    if _takes_parameters(value):
        return False
    key = next((key for key in (*TOOLS, *SERVERS) if key in value), None)
    held = value.get(key, "") if key else ""
    if held and key in SERVERS:  # an address is a server too, and holds none
        servers = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
        return any(isinstance(server, dict) and _is_holder(server) for server in servers)
    if isinstance(held, list):
        return any(isinstance(row, dict) for row in held) if held else not filled
    return isinstance(held, dict) or (held is None and not filled)


def _takes_parameters(value: dict[str, Any]) -> bool:
    return any(key in value for key in _OF_A_TOOL)


def _is_tool(value: dict[str, Any]) -> bool:
    return "name" in value or any(isinstance(value.get(wrapper), dict) for wrapper in WRAPPERS) or "function" in value


def _is_list_of_tools(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and _is_tool(row) and not _is_holder(row) for row in value)
    )


def provider_of(holder: Mapping[str, Any]) -> str | None:
    """Return whose tools an object holds; None where it does not say."""
    for place in _OWNERS:
        value = value_at(holder, place)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None
