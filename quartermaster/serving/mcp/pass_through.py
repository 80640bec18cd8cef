"""The resources and prompts of the upstreams, listed and read through this server, within the caller's profile.

Their names and URIs are made unique by their server, and mapped back exactly:

    >>> unique_uri("git", "file:///a b/{path}")
    'quartermaster:git/file:///a b/{path}'
    >>> split_uri("quartermaster:git/file:///a b/{path}")
    ('git', 'file:///a b/{path}')

The server's own URI follows unchanged: a client expands a template in place.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import anyio
import mcp_types as types

from quartermaster.serving.mcp.calling_client import CallingClient
from quartermaster.serving.mcp.connection import Connection
from quartermaster.serving.mcp.session import KEYS, ListName
from quartermaster.serving.mcp.upstream import UpstreamFailed
from quartermaster.serving.profiles import Caller
from router.errors import RequestInvalid
from router.provider_formats import VendorText
from router.router import Router
from router.selection import Selection
from router.selection.admission import refusal_reason
from router.tools.trust import trusted_text, visible_value

_logger = logging.getLogger("quartermaster.serving")
_SCHEME = "quartermaster:"
_TEXTS = ("title", "description")


class PassThrough:
    """Lists and reads what the upstreams have. `router` has all tools, `selection` excludes some of them."""

    def __init__(self, router: Router, selection: Selection, connections: Mapping[str, Connection]) -> None:
        self._router = router
        self._selection = selection
        self._connections = connections

    async def listed(self, caller: Caller, what: ListName) -> list[dict[str, Any]]:
        """Return the items of all servers. A server that fails is left out, with a warning."""
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

    async def read(self, caller: Caller, uri: str, client: CallingClient) -> types.ReadResourceResult:
        """Return what a resource holds, without hidden characters. Raises RequestInvalid, UpstreamFailed."""
        server, own = await self._place(caller, split_uri(uri), f"resource {uri[:200]!r}")
        answer = await self._connections[server].read_resource(own, client)
        contents = [self._shown(part, uri=unique_uri(server, part.uri)) for part in answer.contents]
        return types.ReadResourceResult(contents=contents)

    async def prompt(
        self, caller: Caller, name: str, arguments: Mapping[str, str] | None, client: CallingClient
    ) -> types.GetPromptResult:
        """Return a prompt, without hidden characters. Raises RequestInvalid, UpstreamFailed."""
        server, own = await self._place(caller, split_name(name), f"prompt {name[:200]!r}")
        answer = await self._connections[server].get_prompt(own, arguments, client)
        messages = [
            self._shown(message, content=with_unique_uris(server, message.content)) for message in answer.messages
        ]
        description = answer.description
        if description is not None and self._router.vendor_text is VendorText.TRUSTED:
            description = trusted_text(description)
        return types.GetPromptResult(messages=messages, description=description)

    async def _place(self, caller: Caller, place: tuple[str, str] | None, what: str) -> tuple[str, str]:
        """Return the server and the own name of a thing. One outside of the profile is unknown."""
        if place is None or not await self._within(caller, place[0]):
            raise RequestInvalid(f"there is no {what} here: the lists give their names")
        return place

    def _row(self, server: str, own: Mapping[str, Any], what: ListName) -> dict[str, Any] | None:
        """Return an item as clients see it; None where its name hides characters: it could not be told of exactly."""
        key = KEYS[what]
        row: dict[str, Any] = {name: value for name, value in own.items() if name not in ("_meta", "icons")}
        if visible_value(row[key]) != row[key]:
            _logger.warning("one of the %s of %r is left out: its name hides characters", what, server)
            return None
        if self._router.vendor_text is VendorText.TRUSTED:
            row = visible_value(row)
            for texts in (row, *row.get("arguments", ())):
                texts |= {name: trusted_text(texts[name]) for name in _TEXTS if name in texts}
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


def unique_name(server: str, name: str) -> str:
    """Return the name of a server's prompt, such as "git/review"."""
    return f"{quote(server, safe='')}/{name}"


def split_name(name: str) -> tuple[str, str] | None:
    """Return the server and its own name of a prompt; None where it names no server."""
    server, slash, own = name.partition("/")
    return (unquote(server), own) if slash and server else None


def unique_uri(server: str, uri: str) -> str:
    """Return the URI of a server's resource, or of a template."""
    return f"{_SCHEME}{unique_name(server, uri)}"


def split_uri(uri: str) -> tuple[str, str] | None:
    """Return the server and its own URI of a resource; None where it is no URI of `unique_uri`."""
    return split_name(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None
