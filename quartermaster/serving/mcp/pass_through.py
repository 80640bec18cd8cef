"""The resources and prompts of the upstreams, listed and read through this server, within the caller's profile."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError

from quartermaster.serving.mcp.connection import Connection
from quartermaster.serving.mcp.server_names import split_name, split_uri, unique_name, unique_uri
from quartermaster.serving.mcp.session import ListName
from quartermaster.serving.mcp.upstream import UpstreamFailed
from quartermaster.serving.profiles import Caller
from router.provider_formats import VendorText
from router.router import Router
from router.selection import Selection
from router.selection.admission import refusal_reason
from router.tools.trust import trusted_text, visible_value

_logger = logging.getLogger("quartermaster.serving")
_PAGE = 200  # items of an answer
_TEXTS = ("title", "description")


class PassThrough:
    """Lists and reads what the upstreams have. `router` has all tools, `selection` excludes some of them."""

    def __init__(self, router: Router, selection: Selection, connections: Mapping[str, Connection]) -> None:
        self._router = router
        self._selection = selection
        self._connections = connections

    async def page(self, caller: Caller, what: ListName, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return some items of all servers, and the next cursor. A server that fails is left out, with a warning.

        Raises MCPError for a cursor that is none.
        """
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
            raise MCPError(types.INVALID_PARAMS, "the cursor is none of this server's: begin without one")
        start, rows = int(cursor or 0), await self._all(caller, what)
        following = start + _PAGE
        return rows[start:following], str(following) if following < len(rows) else None

    async def read(self, caller: Caller, uri: str) -> types.ReadResourceResult:
        """Return what a resource holds, without hidden characters. Raises MCPError, UpstreamFailed."""
        server, own = await self._place(caller, split_uri(uri), f"resource {uri[:200]!r}")
        answer = await self._connections[server].read_resource(own)
        contents = [self._shown(part, uri=unique_uri(server, part.uri)) for part in answer.contents]
        return types.ReadResourceResult(contents=contents)

    async def prompt(self, caller: Caller, name: str, arguments: Mapping[str, str] | None) -> types.GetPromptResult:
        """Return a prompt, without hidden characters. Raises MCPError, UpstreamFailed."""
        server, own = await self._place(caller, split_name(name), f"prompt {name[:200]!r}")
        answer = await self._connections[server].get_prompt(own, arguments)
        messages = [
            self._shown(message, content=with_unique_uris(server, message.content)) for message in answer.messages
        ]
        description = None if answer.description is None else self._text(answer.description)
        return types.GetPromptResult(messages=messages, description=description)

    async def _place(self, caller: Caller, place: tuple[str, str] | None, what: str) -> tuple[str, str]:
        """Return the server and the own name of a thing. One outside of the profile is unknown."""
        if place is None or not await self._within(caller, place[0]):
            raise MCPError(types.INVALID_PARAMS, f"there is no {what} here: the lists give their names")
        return place

    async def _all(self, caller: Caller, what: ListName) -> list[dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = {}

        async def read(server: str, connection: Connection) -> None:
            try:
                if await self._within(caller, server):
                    rows = (await connection.listed(what)).values()
                    found[server] = [row for own in rows if (row := self._row(server, own, what))]
            except UpstreamFailed as error:
                _logger.warning("the %s of %s are left out: %s", what, connection, error)

        async with anyio.create_task_group() as tasks:
            for server, connection in self._connections.items():
                tasks.start_soon(read, server, connection)
        return [row for server in self._connections for row in found.get(server, ())]

    def _row(self, server: str, own: Mapping[str, Any], what: ListName) -> dict[str, Any] | None:
        """Return an item as clients see it; None where its name hides characters: it could not be told of exactly."""
        key = {"resources": "uri", "resource templates": "uriTemplate", "prompts": "name"}[what]
        row: dict[str, Any] = {name: value for name, value in own.items() if name not in ("_meta", "icons")}
        if visible_value(row[key]) != row[key]:
            _logger.warning("one of the %s of %r is left out: its name hides characters", what, server)
            return None
        if self._router.vendor_text is VendorText.TRUSTED:
            row = visible_value(row)
            row |= {name: trusted_text(row[name]) for name in _TEXTS if name in row}
            for argument in row.get("arguments", ()):
                argument |= {name: trusted_text(argument[name]) for name in _TEXTS if name in argument}
        row[key] = unique_name(server, own[key]) if what == "prompts" else unique_uri(server, own[key])
        return row

    async def _within(self, caller: Caller, server: str) -> bool:
        """Return whether a caller may use a server as a whole: it may call, and no tool of it is kept from it.

        A resource declares neither a category nor whether reading it is safe, so a part of a server cannot be allowed.
        Raises UpstreamFailed where a server must tell its name first, and does not.
        """
        connection = self._connections.get(server)
        if connection is None or not caller.may_call:
            return False
        if caller.sees_all and self._selection.admits_all:
            return True
        if connection.label is None:
            await connection.tools()
        served = self._router.tools
        label = connection.label
        records = [served[place] for place in served.places_of(label)] if label is not None else []
        return bool(records) and all(
            caller.router.record(record.tool_id) is not None and refusal_reason(self._selection, record) is None
            for record in records
        )

    def _text(self, text: str) -> str:
        return trusted_text(text) if self._router.vendor_text is VendorText.TRUSTED else text

    def _shown(self, part: Any, **changed: Any) -> Any:
        """Return a part of an answer as clients see it: with unique URIs, without the server's metadata."""
        row = part.model_copy(update=changed).model_dump(by_alias=True, exclude_none=True)
        row.pop("_meta", None)
        if self._router.vendor_text is VendorText.TRUSTED:
            row = visible_value(row)
        return type(part).model_validate(row, by_name=False)


def named_apart(connections: Sequence[Connection]) -> dict[str, Connection]:
    """Return connections by name. Of several with one name, the later ones get a number."""
    named: dict[str, Connection] = {}
    for connection in connections:
        name, count = connection.upstream.name, 1
        while name in named:
            count += 1
            name = f"{connection.upstream.name}-{count}"
        named[name] = connection
    return named


def with_unique_uris(server: str, block: Any) -> Any:
    """Return a content block whose link to a resource, or embedded resource, has the URI that clients read it by."""
    if isinstance(block, types.ResourceLink):
        return block.model_copy(update={"uri": unique_uri(server, block.uri)})
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource.model_copy(update={"uri": unique_uri(server, block.resource.uri)})
        return block.model_copy(update={"resource": resource})
    return block
