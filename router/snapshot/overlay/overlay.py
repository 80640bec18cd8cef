"""The overlay as a value: the tools that were registered and removed, whatever the snapshot below."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from router.errors import SettingsInvalid, quoted
from router.fingerprint import fingerprint
from router.record import Kind, ToolRecord
from router.snapshot.phrases import cleaned_phrases
from router.tools.definitions.json_values import replace_unstorable

_Value = TypeVar("_Value")

_REVISION_DIGITS = 8  # hexadecimal


class RegisteredTool(msgspec.Struct, frozen=True):
    """A tool as it was registered. `source` is the label of who lists it, such as an MCP server.

    `phrases` are example requests; None where none were given: a tool whose id the snapshot has then keeps the
    snapshot's phrases.
    """

    record: ToolRecord
    source: str | None = None
    phrases: tuple[str, ...] | None = None


class Overlay(msgspec.Struct, frozen=True, dict=True):
    """Registered tools by id, the removed ids in `gone`, and the complete lists of some sources.

    Of a source in `lists`, only the listed ids are served, of those kinds that the list has. The last change wins: a
    tool that is registered after it was removed is served, and so is one that is registered beside its source's list.
    Every method returns a new overlay.
    """

    tools: Mapping[str, RegisteredTool] = msgspec.field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    lists: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)

    def registered(
        self,
        records: Iterable[ToolRecord],
        source: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
    ) -> "Overlay":
        """Return an overlay with these tools added, each replacing the one with its id. `phrases` are by id.

        A tool without new phrases keeps those that it was registered with. Raises SettingsInvalid for two records of
        one id, an empty source, phrases that are not a list of texts, and phrases of a tool that is not among the
        records.
        """
        source = None if source is None else _label(source)
        if not isinstance(phrases, Mapping | None):
            raise SettingsInvalid(f"phrases are {quoted(phrases)}, they must be lists of texts by tool id")
        cleaned = {tool_id: cleaned_phrases(tool_id, texts) for tool_id, texts in (phrases or {}).items()}
        added: dict[str, RegisteredTool] = {}
        for record in records:
            if record.tool_id in added:
                raise SettingsInvalid(f"two tools have the id {record.tool_id!r}: ids must be unique")
            before = self.tools.get(record.tool_id)
            phrases_of_tool = cleaned.get(record.tool_id, before.phrases if before else None)
            added[record.tool_id] = RegisteredTool(record, source, phrases_of_tool)
        if unknown := sorted(cleaned.keys() - added.keys()):
            raise SettingsInvalid(f"there are phrases for {unknown[0]!r}, which is not among the tools")
        by_owner: dict[str, set[str]] = {}
        for tool_id, tool in added.items():
            for owner in {source, tool.record.provider}:
                if owner is not None and owner in self.lists:
                    by_owner.setdefault(owner, set()).add(tool_id)
        lists = {**self.lists, **{owner: self.lists[owner] | ids for owner, ids in by_owner.items()}}
        return Overlay(_sorted({**self.tools, **added}), self.gone - added.keys(), lists)

    def without(self, tool_ids: Collection[str]) -> "Overlay":
        """Return an overlay without these registrations: the snapshot's own tools of these ids are served again."""
        return replace(self, tools={tool_id: tool for tool_id, tool in self.tools.items() if tool_id not in tool_ids})

    def removed(self, tool_ids: Iterable[str]) -> "Overlay":
        """Return an overlay that serves none of these ids, in this snapshot and later ones, even where one is unknown.

        Raises SettingsInvalid where they are not a list of texts.
        """
        if isinstance(tool_ids, str) or not isinstance(tool_ids, Iterable):  # a text would be read as its letters
            raise SettingsInvalid(f"the ids are {quoted(tool_ids)}, they must be a list of tool ids")
        listed = list(tool_ids)
        if invalid := [
            tool_id for tool_id in listed if not isinstance(tool_id, str) or replace_unstorable(tool_id) != tool_id
        ]:
            raise SettingsInvalid(f"the id {quoted(invalid[0])} is not a text")
        ids = frozenset(listed)
        return replace(self.without(ids), gone=self.gone | ids)

    def replaced(
        self, source: str, records: Sequence[ToolRecord], phrases: Mapping[str, Sequence[str]] | None = None
    ) -> "Overlay":
        """Return an overlay in which a source has exactly these tools.

        Its other registrations, and the snapshot's other tools of the provider of that name, are not served. Skills and
        prompts stay, unless there are some among the records: an MCP server lists tools separately. Raises
        SettingsInvalid as `registered` does.
        """
        source = _label(source)
        ids = frozenset(record.tool_id for record in records)
        kinds = {Kind.TOOL, *(record.kind for record in records)}
        unlisted = [
            tool_id
            for tool_id, tool in self.tools.items()
            if source in (tool.source, tool.record.provider) and tool_id not in ids and tool.record.kind in kinds
        ]
        listed = replace(self.without(unlisted), lists=_sorted({**self.lists, source: ids}))
        return listed.registered(records, source, phrases)

    @cached_property
    def listed_kinds(self) -> Mapping[str, frozenset[Kind]]:
        """Return of which kinds each list is: tools, and what else is in it."""
        kinds = {tool_id: tool.record.kind for tool_id, tool in self.tools.items()}
        return {
            source: frozenset((Kind.TOOL, *(kinds[tool_id] for tool_id in ids & kinds.keys())))
            for source, ids in self.lists.items()
        }

    def __bool__(self) -> bool:
        """Return True where the overlay changes anything."""
        return bool(self.tools or self.gone or self.lists)

    @cached_property
    def revision(self) -> str:
        """Return a short hash of the content, for logs; "" for an empty overlay. Equal contents have equal hashes."""
        return fingerprint(self.to_json())[:_REVISION_DIGITS] if self else ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, which `router.snapshot.overlay.storage` reads back."""
        return {
            "tools": [
                {
                    "record": tool.record.to_json(),
                    "source": tool.source,
                    "phrases": None if tool.phrases is None else list(tool.phrases),
                }
                for tool in self.tools.values()
            ],
            "gone": sorted(self.gone),
            "lists": {source: sorted(ids) for source, ids in self.lists.items()},
        }


def _sorted(by_name: Mapping[str, _Value]) -> dict[str, _Value]:
    return dict(sorted(by_name.items()))


def _label(source: str) -> str:
    """Return a source's label, cleaned as a provider's is. Raises SettingsInvalid where it is empty."""
    if not isinstance(source, str) or not source.strip():
        raise SettingsInvalid(f"the source is {quoted(source)}, it must be a name: the label of its provider")
    return str(replace_unstorable(source)).strip()
