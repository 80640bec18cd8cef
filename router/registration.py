"""Tools that a program registers, changes and removes while a router serves, and the functions behind them."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from router.errors import RequestInvalid
from router.provider_formats.formats import VendorText
from router.record import Kind, ToolRecord
from router.served_tools import ServedTools
from router.snapshot.current import LiveSnapshot
from router.snapshot.overlay import Overlay
from router.snapshot.phrases import phrases_by_id
from router.tools.functions.calling import Functions

if TYPE_CHECKING:
    from router.tools.functions.reading import Tools, ToolSet

_logger = logging.getLogger("router")


class ToolRegistration(ServedTools):
    """The methods of `Router` that change its tools and call them. They hold over every snapshot that it serves."""

    def __init__(self, live: LiveSnapshot, vendor_text: VendorText) -> None:
        super().__init__(live, vendor_text)
        self._functions = Functions(lambda tool_id: live.snapshot.records.ordinal(tool_id) is not None)

    def register(
        self,
        tools: "Tools",
        *,
        provider: str | None = None,
        source: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
        strict: bool = False,
    ) -> tuple[ToolRecord, ...]:
        """Add tools, or change those of the same ids, from the next request on. Return their records.

        They lie over the next snapshots too, until one has them unchanged: from then on they are the build's.

        Args:
            tools: As in `from_tools`.
            provider: As in `from_tools`.
            source: Who lists them, for `replace`.
            phrases: Requests that a tool is for, by its id or name. Without any, a tool of the snapshot keeps its own.
            strict: As in `from_tools`.

        Raises:
            SettingsInvalid: None of the values is a tool, or with `strict` one is not. Nothing changes.
        """
        tool_set = read_with_warnings(tools, provider, strict=strict)
        by_id = phrases_by_id(phrases, tool_set.records)
        self._live.change(lambda overlay: overlay.registered(tool_set.records, source, by_id))
        return self._with_functions(tool_set)

    def replace(
        self, source: str, tools: "Tools", *, phrases: Mapping[str, Sequence[str]] | None = None, strict: bool = False
    ) -> tuple[ToolRecord, ...]:
        """Make these the only tools of a source, as after MCP's `list_changed`. Return their records.

        Args:
            source: The label of their provider. The router serves no other tool of it from then on. Its skills and
                prompts stay, unless the tools have some.
            tools: As in `from_tools`.
            phrases: As in `register`.
            strict: As in `from_tools`.

        Raises:
            SettingsInvalid: None of the values is a tool, or with `strict` one is not. Nothing changes.
        """
        tool_set = read_with_warnings(tools, source, strict=strict)
        by_id = phrases_by_id(phrases, tool_set.records)
        self._live.change(lambda overlay: overlay.replaced(source, tool_set.records, by_id))
        return self._with_functions(tool_set)

    def remove(self, tool_ids: Iterable[str]) -> None:
        """Take tools out of the next request and out of every snapshot to come, until they are registered again."""
        self._live.change(lambda overlay: overlay.removed(tool_ids))

    @property
    def overlay(self) -> Overlay:
        """Return what is registered and removed over the snapshot that serves; empty where nothing is."""
        return self._live.overlay

    def save_overlay(self, path: str | Path) -> None:
        """Write what is registered and removed to a file, for `open(overlay=…)`.

        Raises:
            OSError: The file cannot be written.
        """
        self._live.save(Path(path))

    @property
    def functions(self) -> Functions:
        """Return the Python functions behind the tools that serve, by tool id."""
        return self._functions

    def call(self, tool_id: str, arguments: Any, *, context: object = None) -> Any:
        """Call the function behind a tool with the arguments of a model. Return its result, or its coroutine.

        Arguments, an object or its JSON text, are converted to the types of the annotations: an Enum, a dataclass, a
        date. Those that do not fit are mended by the tool's schema where that loses nothing; the logger "router" says
        so. A skill is answered with its instructions.

        `context` is what belongs to a run, such as its user or credentials. A function gets it as its parameter `ctx`,
        or as one whose type is a framework's context (`RunContext`, `ToolRuntime`); no model sees these parameters.

        Raises:
            RequestInvalid: The tool has no function, or the arguments do not fit it; a prompt has none either.
            Exception: Whatever the function raises.
        """
        record = self.record(tool_id)
        if tool_id not in self._functions and record is not None:
            if record.kind is Kind.SKILL:
                return self.instructions(tool_id)
            if record.kind is Kind.PROMPT:
                raise RequestInvalid(
                    f"{tool_id!r} is a prompt of an MCP server: ask the server for it (prompts/get), or call it "
                    "through `quartermaster serve mcp`"
                )
        return self._functions.call(tool_id, arguments, record.input_schema if record else None, context=context)

    def _with_functions(self, tool_set: "ToolSet") -> tuple[ToolRecord, ...]:
        """Keep the functions behind some tools. Return the tools' records."""
        self._functions.put((record.tool_id for record in tool_set.records), tool_set.functions)
        return tool_set.records


def read_with_warnings(tools: "Tools", provider: str | None, *, strict: bool = False) -> "ToolSet":
    """Read tools, and warn of what was left out, renamed, merged, or has no JSON form."""
    from router.tools.functions.reading import read_tools  # here: a router of a snapshot needs no reader of tools

    tool_set = read_tools(tools, provider, strict=strict)
    for note in tool_set.notes:
        _logger.warning("%s", note)
    return tool_set
