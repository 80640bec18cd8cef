"""The overlay as a value: what was registered and removed, over whichever snapshot. Each method gives another one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from router.errors import SettingsInvalid
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.tools.definitions.json_values import replace_unstorable

Value = TypeVar("Value")

_SHOWN = 8  # hexadecimal digits of a revision
# As many phrases, and as long, as a build takes of a model's answer for one tool, and some.
_MAX_PHRASES, _MAX_PHRASE = 32, 200


@dataclass(frozen=True, slots=True)
class Registered:
    """A tool as it was registered. `source` is who lists it, an MCP server's label for one.

    `phrases` are requests that it is for; None where none were given: a tool that the snapshot has under another form
    then keeps those of the snapshot.
    """

    record: ToolRecord
    source: str | None = None
    phrases: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Overlay:
    """`tools` by id; `gone` are ids that serve no longer; of a source in `lists` only the ids of its list serve.

    What is said last holds: a tool registered after it was removed is there, and one of a list that is registered or
    removed by itself too. Equal contents have equal revisions.
    """

    tools: Mapping[str, Registered] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def registered(
        self,
        records: Iterable[ToolRecord],
        source: str | None = None,
        phrases: Mapping[str, Sequence[str]] | None = None,
    ) -> "Overlay":
        """With these tools, each new or in the place of the one that has its id; `phrases` by id.

        A tool keeps the phrases that it was registered with, where none are given. Raises SettingsInvalid for two
        records of one id, for a source without a name, and for phrases that are none, or of a tool that is not among
        the records.
        """
        source = None if source is None else _label(source)
        if not isinstance(phrases, Mapping | None):
            raise SettingsInvalid(f"phrases are {phrases!r:.60}, they must be lists of texts by tool id")
        given = {tool_id: cleaned_phrases(tool_id, texts) for tool_id, texts in (phrases or {}).items()}
        added: dict[str, Registered] = {}
        for record in records:
            if record.tool_id in added:
                raise SettingsInvalid(f"two tools have the id {record.tool_id!r}: ids must be unique")
            before = self.tools.get(record.tool_id)
            kept = given.get(record.tool_id, before.phrases if before else None)
            added[record.tool_id] = Registered(record, source, kept)
        if unknown := sorted(given.keys() - added.keys()):
            raise SettingsInvalid(f"there are phrases for {unknown[0]!r}, which is not among the tools")
        lists = dict(self.lists)
        for tool_id, tool in added.items():
            for owner in {source, tool.record.provider}:
                if owner is not None and owner in lists:
                    lists[owner] |= {tool_id}
        return Overlay(_sorted({**self.tools, **added}), self.gone - added.keys(), lists)

    def without(self, tool_ids: Collection[str]) -> "Overlay":
        """As if these had not been registered: the snapshot's own tools of these ids serve again."""
        kept = {tool_id: tool for tool_id, tool in self.tools.items() if tool_id not in tool_ids}
        return replace(self, tools=kept)

    def removed(self, tool_ids: Iterable[str]) -> "Overlay":
        """Without these tools, now and in the snapshots to come. One that is not there is kept out all the same."""
        if isinstance(tool_ids, str) or not isinstance(tool_ids, Iterable):  # a text would be taken for its letters
            raise SettingsInvalid(f"the ids are {tool_ids!r:.80}, they must be a list of tool ids")
        ids = frozenset(tool_ids)
        if wrong := [
            tool_id for tool_id in ids if not isinstance(tool_id, str) or replace_unstorable(tool_id) != tool_id
        ]:
            raise SettingsInvalid(f"the id {wrong[0]!r:.80} is not a text")
        return replace(self.without(ids), gone=self.gone | ids)

    def replaced(
        self, source: str, records: Sequence[ToolRecord], phrases: Mapping[str, Sequence[str]] | None = None
    ) -> "Overlay":
        """With just these tools of a source: what else it registered, and what else the snapshot has of the provider of
        that name, serves no longer. Raises SettingsInvalid as `registered` does."""
        source = _label(source)
        ids = frozenset(record.tool_id for record in records)
        others = [
            tool_id
            for tool_id, tool in self.tools.items()
            if source in (tool.source, tool.record.provider) and tool_id not in ids
        ]
        listed = replace(self.without(others), lists=_sorted({**self.lists, source: ids}))
        return listed.registered(records, source, phrases)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.tools or self.gone or self.lists)

    @cached_property
    def revision(self) -> str:
        """A short hash of what it says, for logs; empty where it says nothing."""
        return fingerprint(self.to_json())[:_SHOWN] if self else ""

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `router.overlay.stored` reads it back."""
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


def _sorted(by_name: Mapping[str, Value]) -> dict[str, Value]:
    return dict(sorted(by_name.items()))


def _label(source: str) -> str:
    """A source's name, cleaned as a provider's is. Raises SettingsInvalid where there is none."""
    if not isinstance(source, str) or not source.strip():
        raise SettingsInvalid(f"the source is {source!r:.80}, it must be a name: the label of its provider")
    return str(replace_unstorable(source)).strip()


def cleaned_phrases(tool_id: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases of a tool as one line each, without repeats. Raises SettingsInvalid for what is none."""
    if isinstance(texts, Iterable) and not isinstance(texts, str):
        texts = list(texts)  # of a generator too, which can be read once
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingsInvalid(f"the phrases of {tool_id!r} are {texts!r:.80}, they must be a list of texts")
    lines = (" ".join(replace_unstorable(text).split()) for text in texts)
    kept = tuple(dict.fromkeys(line[:_MAX_PHRASE].rstrip() for line in lines if line))
    if len(kept) > _MAX_PHRASES:
        raise SettingsInvalid(f"{tool_id!r} has {len(kept)} phrases, it may have {_MAX_PHRASES}")
    return kept
