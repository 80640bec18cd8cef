"""Phrases that a program gives for its tools, by id or by name."""

from collections.abc import Mapping, Sequence

from router.errors import SettingsInvalid
from router.record import ToolRecord
from router.snapshot.overlay.overlay import cleaned_phrases


def phrases_by_id(
    phrases: Mapping[str, Sequence[str]] | None, records: Sequence[ToolRecord]
) -> dict[str, tuple[str, ...]]:
    """Return the phrases of each tool that any are given for, by tool id.

    Raises SettingsInvalid for phrases that are none, of a tool that there is not, or of a name that several tools have.
    """
    if not isinstance(phrases, Mapping | None):
        raise SettingsInvalid(f"phrases are {phrases!r:.60}, they must be lists of texts by the id or name of a tool")
    by_name: dict[str, list[str]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record.tool_id)
    ids = {record.tool_id for record in records}
    found: dict[str, tuple[str, ...]] = {}
    for key, texts in (phrases or {}).items():
        named = [key] if key in ids else by_name.get(key, [])
        if len(named) > 1:
            raise SettingsInvalid(f"phrases: {key!r} is the name of several tools: give an id, {' or '.join(named)}")
        if not named:
            raise SettingsInvalid(f"phrases: there is no tool {key!r}{_near(key, [*ids, *by_name])}")
        found[named[0]] = (*found.get(named[0], ()), *cleaned_phrases(named[0], texts))
    return found


def _near(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(str(key), known, 1)
    return f", did you mean {near[0]!r}?" if near else ""
