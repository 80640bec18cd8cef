"""Reports when the lists of an upstream change, to whoever serves them."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from mcp import MCPError

from quartermaster.serving.mcp.failure_texts import reason_of
from quartermaster.serving.mcp.session import Definition, Session
from quartermaster.serving.mcp.upstream import UpstreamFailed

OnTools = Callable[[str, Sequence[Definition]], Awaitable[None]]
OnChange = Callable[[str], Awaitable[None]]  # gets "resources" or "prompts"

_logger = logging.getLogger("quartermaster.serving")
_SETTLE_S = 0.1  # a server that changes a hundred tools sends a hundred notifications
_BETWEEN_LISTS_S = 1.0  # a server that says at each moment that its list changed is asked for it this seldom


class ChangeReports:
    """The reports on one server, over all of its sessions. `server` names it in the log.

    With `report_first`, the first list of tools is a change too.
    """

    def __init__(
        self, server: str, on_tools: OnTools | None, on_change: OnChange | None, *, report_first: bool = False
    ) -> None:
        self._server = server
        self._on_tools = on_tools
        self._on_change = on_change
        self._reported_tools: Mapping[str, Definition] | None = {} if report_first else None

    async def of_tools(self, session: Session, label: str | None) -> None:
        """Call `on_tools` whenever the tools of the server with this label change."""
        while True:
            if self._on_tools is not None and label and self._reported_tools not in (None, session.tools):
                try:
                    await self._on_tools(label, list(session.tools.values()))
                except Exception:  # of the listener: the server itself works, and is called as before
                    _logger.exception("%s: its tools could not be updated", self._server)
            self._reported_tools = session.tools
            await session.stale.wait()
            await anyio.sleep(_SETTLE_S)
            try:
                await session.read_tools()
            except (MCPError, UpstreamFailed) as error:
                _logger.warning("%s: the change of its tools cannot be read: %s", self._server, reason_of(error))
            await anyio.sleep(_BETWEEN_LISTS_S)

    async def of_others(self, session: Session) -> None:
        """Call `on_change` whenever the server's resources or prompts change."""
        while True:
            await session.others_stale.wait()
            await anyio.sleep(_SETTLE_S)
            changed, session.changed = session.changed, set()
            if self._on_change is not None:
                for what in sorted(changed):
                    await self._on_change(what)
            await anyio.sleep(_BETWEEN_LISTS_S)
