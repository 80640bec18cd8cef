"""The router behind a FastMCP server: it follows the server's tools, and answers from those that a caller may see."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

from fastmcp.tools.base import Tool

from router.errors import SettingsInvalid, quoted
from router.record import ToolRecord
from router.router import Router
from router.selection.profile import Profile
from router.selection.settings import Selection
from router.snapshot.memory import EncoderChoice
from router.tools.definitions.raw_tool import numbered_id
from router.tools.definitions.reading import record_of

_logger = logging.getLogger("quartermaster.adapters")

_MOST_VIEWS = 64  # sets of visible tools whose filter is kept
_MOST_UNSEEN = 5_000  # tools kept beside those of a search: other callers', and those of sessions that ended


class _Indexed(NamedTuple):
    """What the router has of a tool. `tool_id` is None where the tool has no valid definition."""

    content: tuple[Any, ...]
    tool_id: str | None


class Catalog:
    """A router over all tools that its callers have seen. Safe to use from many threads."""

    def __init__(self, router: Router | None, provider: str | None, encoder: EncoderChoice) -> None:
        self._router, self._provider, self._encoder = router, provider, encoder
        self._snapshot = ""
        self._indexed: dict[str, _Indexed] = {}  # by the tool's name
        self._narrowed = lru_cache(_MOST_VIEWS)(_narrowed)
        self._lock = Lock()

    def among(self, tools: Sequence[Tool]) -> tuple[Router | None, Mapping[str, Tool]]:
        """Return a router that finds only these tools, and the tools by its ids; no router where there are none.

        Tools that are new, or changed, are indexed first: about 10 ms each with an encoder.
        """
        with self._lock:
            self._follow(tools)
            by_id = {tool_id: tool for tool in tools if (tool_id := self._indexed[tool.name].tool_id) is not None}
            if self._router is None or not by_id:
                return None, {}
            if len(by_id) == len(self._router):
                return self._router, by_id
            return self._narrowed(self._router, frozenset(by_id)), by_id

    def _follow(self, tools: Sequence[Tool]) -> None:
        """Index what is new or changed, and take tools out that nobody may see any more, where they are many."""
        if self._router is not None and self._router.manifest.snapshot != self._snapshot:  # another one serves
            self._snapshot = self._router.manifest.snapshot
            self._indexed.clear()
        changed = []
        for tool in tools:
            content = (tool.title, tool.description, tool.parameters, tool.output_schema, tool.annotations)
            known = self._indexed.get(tool.name)
            if known is None or known.content != content:
                record = self._record(tool, known)
                self._indexed[tool.name] = _Indexed(content, None if record is None else record.tool_id)
                changed += [] if record is None else [record]
        if self._router is not None:
            if changed:
                self._router.register(changed)  # changes nothing of a tool that the snapshot has as it is
        elif changed:
            self._router = Router.from_tools(changed, encoder=self._encoder)
            self._snapshot = self._router.manifest.snapshot
        unseen = self._indexed.keys() - {tool.name for tool in tools}
        if self._router is not None and len(unseen) > _MOST_UNSEEN:
            self._router.remove(tool_id for name in unseen if (tool_id := self._indexed.pop(name).tool_id) is not None)

    def _record(self, tool: Tool, known: _Indexed | None) -> ToolRecord | None:
        """Return a tool's record under an id of its own; None, with a warning, where its definition is invalid."""
        try:
            record = record_of(definition(tool), self._provider)
        except SettingsInvalid as error:
            _logger.warning("a tool of the FastMCP server is not searched: %s", error)
            return None
        if known is not None and known.tool_id is not None:
            return replace(record, tool_id=known.tool_id)
        taken = {other.tool_id: record for other in self._indexed.values() if other.tool_id == record.tool_id}
        return replace(record, tool_id=numbered_id(record.tool_id, {}, taken)) if taken else record


def _narrowed(router: Router, tool_ids: frozenset[str]) -> Router:
    """Return the router as a caller who sees only these tools may use it."""
    return router.for_profile(Profile("fastmcp", Selection(allow=tuple(sorted(tool_ids)))))


def definition(tool: Tool) -> dict[str, Any]:
    """Return a tool as the server would list it."""
    return tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)


def provider_of(router: Router, provider: str | None) -> str | None:
    """Return the provider whose tools a server has: the one named, or the router's only one.

    Raises SettingsInvalid where the router has no tool of the provider, or tools of several and none is named.
    """
    providers = list(router.providers)
    if provider is None and len(providers) == 1:
        return providers[0]
    if provider is None or provider not in providers:
        choices = ", ".join(map(repr, providers))
        raise SettingsInvalid(f"provider is {quoted(provider)}: name this server's among the router's, {choices}")
    return provider
