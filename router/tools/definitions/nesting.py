"""Finds the tool definitions in a document: in lists, in pages of responses, under the servers that offer them.

The server that holds the tools is their provider: `[{"name": "ClickHouse", "tools": […]}]`,
`{"servers": {"ClickHouse": {"tools": […]}}}`, `{"ClickHouse": {"tools": […]}}`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.errors import RecordRejected
from router.record import Origin
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.schemas import JSON_SCHEMA
from router.tools.definitions.vendors import PARAMETERS, WRAPPERS, read_tool, value_at

# Keys of lists of tools, and of lists of servers.
_TOOLS = ("tools", "functions", "functionDeclarations", "function_declarations", "languageModelTools", "api_list")
_SERVERS = ("servers", "mcpServers", "mcp_servers", "toolkits")
# Keys of the provider of the tools that an object holds; the first that is not empty counts. In ToolBench a tool with a
# `tool_name` holds APIs.
_PROVIDER_KEYS = (
    "serverInfo.name server_info.name server.name server name provider server_name serverName tool_name qualifiedName "
    "title"
).split()
_OF_PACKAGES = frozenset("$schema version license author authors homepage repository url schema_version".split())
# Keys that say that a list goes on where they hold anything.
_CURSORS = ("nextCursor", "next_cursor", "nextPageToken", "next_page_token", "has_more", "hasMore")
_ABOUT_PAGES = ("", "/meta", "/metadata", "/pagination", "/paging")
# Links to the next page: of JSON:API, of HAL, of OData, of others.
_NEXT_LINKS = ("/links/next", "/links/next/href", "/_links/next/href", "/@odata.nextLink", "/next")
_MAX_DEPTH = 8
_PARAMETER_KEYS = tuple(place for place, certain in PARAMETERS.items() if certain)


@dataclass(frozen=True, slots=True)
class ListedDefinition:
    """A definition in a document: its JSON pointer, its value, and the provider that it is listed under."""

    pointer: str
    row: Any
    provider: str | None = None


class _NoTools(Exception):
    """A value holds no tools in a known format."""


def find_definitions(document: Any) -> list[ListedDefinition] | None:
    """Return the definitions of a document in order; None where it holds no tools in a known format."""
    if isinstance(document, dict) and _is_tool(document) and not _is_holder(document):
        return [ListedDefinition("/0", document)] if _is_whole_tool(document) else None  # the only one of its file
    try:
        return [*_in_container(document, "", None, 0)]
    except _NoTools:
        return None


def definitions_within(row: Any, pointer: str, provider: str | None = None) -> list[ListedDefinition]:
    """Return the definitions that a row holds; the row itself where it holds none."""
    try:
        if isinstance(row, dict) and _is_holder(row, filled=True):
            return [*_in_holder(row, pointer, provider, 1)]
    except _NoTools:
        pass
    return [ListedDefinition(pointer, row, provider)]


def unfinished_lists(document: Any, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, str | int]]:
    """Yield the cursors and links to pages that the document lacks, by place: those of the last page of each server."""
    children: Iterable[tuple[Any, Any]] = ()
    if isinstance(document, list):
        pages = enumerate(document)
        children = {provider_of(page) if isinstance(page, dict) else None: (n, page) for n, page in pages}.values()
    elif isinstance(document, dict):
        children = document.items()
        goes_on = pointer in _ABOUT_PAGES or any(key in document for key in (*_TOOLS, "prompts"))
        for key, value in children:
            if (goes_on and key in _CURSORS) or f"{pointer}/{key}" in _NEXT_LINKS:
                yield from [(f"{pointer}/{key}", value)] if isinstance(value, str | int) and value else ()
    for key, child in children if depth < _MAX_DEPTH // 2 else ():  # further down are only schemas
        if isinstance(child, list | dict):
            yield from unfinished_lists(child, f"{pointer}/{escape_pointer_part(key)}", depth + 1)


# The functions below yield definitions, and raise _NoTools.


def _in_container(value: Any, pointer: str, provider: str | None, depth: int) -> Iterator[ListedDefinition]:
    """Find the definitions in a list, an object that has a list, or an object by name."""
    if depth > _MAX_DEPTH or not isinstance(value, list | dict):
        raise _NoTools
    if isinstance(value, dict):
        yield from (_in_holder if _is_holder(value) else _in_object_by_name)(value, pointer, provider, depth)
        return
    # An object with an empty list of tools is a server only if it has no name or stands among servers.
    has_servers = any(isinstance(row, dict) and _is_holder(row, filled=True) for row in value)
    for index, row in enumerate(value):
        if isinstance(row, dict) and _is_holder(row, filled=not has_servers and "name" in row):
            yield from _in_holder(row, f"{pointer}/{index}", provider, depth + 1)
        else:
            yield ListedDefinition(f"{pointer}/{index}", row, provider)


def _in_holder(holder: dict[str, Any], pointer: str, provider: str | None, depth: int) -> Iterator[ListedDefinition]:
    """Find the definitions in a response, a page, a server, or several servers."""
    if depth > _MAX_DEPTH:
        raise _NoTools
    provider = provider_of(holder) or provider
    if isinstance(holder.get("result"), dict):
        yield from _in_holder(holder["result"], f"{pointer}/result", provider, depth + 1)
        return
    key = next(key for key in (*_TOOLS, *_SERVERS) if key in holder)
    if holder[key] is None and provider is not None and depth:
        return  # a server without tools, in a list of servers
    yield from _in_container(holder[key], f"{pointer}/{key}", None if key in _SERVERS else provider, depth + 1)


def _in_object_by_name(
    named: dict[str, Any], pointer: str, provider: str | None, depth: int
) -> Iterator[ListedDefinition]:
    """Find the definitions of servers by name (each a list, or an object that has one), or of tools by name."""
    places = {name: f"{pointer}/{escape_pointer_part(name)}" for name in named}
    values = [value for value in named.values() if isinstance(value, dict)]
    if not named:
        raise _NoTools
    if len(values) == len(named) and all(map(_is_holder, values)):
        for name, value in named.items():
            yield from _in_holder(value, places[name], name, depth + 1)
    elif all(_is_list_of_tools(value) for value in named.values()):
        for name, rows in named.items():
            yield from (ListedDefinition(f"{places[name]}/{index}", row, name) for index, row in enumerate(rows))
    else:
        are_described = all("description" in value or _takes_parameters(value) for value in values)
        # A description is not enough: documents of any kind have objects with one.
        are_tools = pointer.rpartition("/")[2] in _TOOLS or any(map(_takes_parameters, values))
        if len(values) < len(named) or not are_described or not are_tools:
            raise _NoTools
        for name, value in named.items():
            yield ListedDefinition(places[name], {"name": name, **value}, provider)


def _is_holder(value: dict[str, Any], *, filled: bool = False) -> bool:
    """Return whether an object holds tools or servers and is not a tool itself; with `filled`, at least one."""
    if isinstance(value.get("result"), dict):
        return _is_holder(value["result"], filled=filled)
    if _takes_parameters(value):
        return False
    key = next((key for key in (*_TOOLS, *_SERVERS) if key in value), None)
    content = value.get(key, "") if key else ""
    if content and key in _SERVERS:  # a server may be an address, which holds no tools
        servers = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
        return any(isinstance(server, dict) and _is_holder(server) for server in servers)
    if isinstance(content, list):
        return any(isinstance(row, dict) for row in content) if content else not filled
    return isinstance(content, dict) or (content is None and not filled)


def _takes_parameters(value: dict[str, Any]) -> bool:
    return any(key in value for key in _PARAMETER_KEYS)


def _is_tool(value: dict[str, Any]) -> bool:
    return "name" in value or "function" in value or any(isinstance(value.get(wrapper), dict) for wrapper in WRAPPERS)


def _is_whole_tool(value: dict[str, Any]) -> bool:
    """Return whether an object that has a file of its own is a tool, not a document of another kind with a name.

    A JSON Schema as its parameters settles it. Beside other parameters an object or a list that no reader knows tells
    of another kind; without parameters any unknown value does, and what only packages have, such as a version.
    """
    try:
        tool = read_tool(value, Origin("", ""))
    except RecordRejected as rejected:
        return not rejected.keys  # those of an object without a name; a tool's own fault is reported with the tool
    if tool.input_schema or _takes_parameters(value):
        return JSON_SCHEMA in tool.shape or not any(said.startswith(("{", "[")) for said in tool.unread.values())
    return not tool.unread and _OF_PACKAGES.isdisjoint(value)


def _is_list_of_tools(value: Any) -> bool:
    rows = value if isinstance(value, list) else []
    return rows != [] and all(isinstance(row, dict) and _is_tool(row) and not _is_holder(row) for row in rows)


def provider_of(holder: Mapping[str, Any]) -> str | None:
    """Return the provider of the tools that an object holds; None where it names none."""
    values = (value_at(holder, place) for place in _PROVIDER_KEYS)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)
