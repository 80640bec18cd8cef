"""Phrases that a program gives for its tools: example requests, by tool id or by name."""

from collections.abc import Iterable, Mapping, Sequence

from router.errors import SettingsInvalid, quoted
from router.record import ToolRecord
from router.tools.definitions.json_values import replace_unstorable

# Somewhat more phrases, and longer ones, than a build takes from a model's answer for one tool.
_MAX_PHRASES, _MAX_CHARACTERS = 32, 200


def phrases_by_id(
    phrases: Mapping[str, Sequence[str]] | None, records: Sequence[ToolRecord]
) -> dict[str, tuple[str, ...]]:
    """Return the cleaned phrases by tool id. The keys of `phrases` are ids or names of the records.

    Raises SettingsInvalid for a tool that is not among the records, for a name that several have, and for phrases that
    are not a list of texts.
    """
    if not isinstance(phrases, Mapping | None):
        raise SettingsInvalid(f"phrases are {quoted(phrases)}, they must be lists of texts by the id or name of a tool")
    by_name: dict[str, list[str]] = {}
    for record in records:
        by_name.setdefault(record.name, []).append(record.tool_id)
    ids = {record.tool_id for record in records}
    by_id: dict[str, tuple[str, ...]] = {}
    for key, texts in (phrases or {}).items():
        named = [key] if key in ids else by_name.get(key, [])
        if len(named) > 1:
            raise SettingsInvalid(f"phrases: {key!r} is the name of several tools: give an id, {' or '.join(named)}")
        if not named:
            raise SettingsInvalid(f"phrases: there is no tool {key!r}{_suggestion(key, [*ids, *by_name])}")
        by_id[named[0]] = (*by_id.get(named[0], ()), *cleaned_phrases(named[0], texts))
    return by_id


def cleaned_phrases(tool_id: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases of a tool as one line each, without repeats, cut to 200 characters.

    Raises SettingsInvalid where `texts` is not a list of texts, or has more than 32 phrases.
    """
    if isinstance(texts, Iterable) and not isinstance(texts, str):
        texts = list(texts)  # a generator can be read only once
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingsInvalid(f"the phrases of {tool_id!r} are {quoted(texts)}, they must be a list of texts")
    lines = (" ".join(replace_unstorable(text).split()) for text in texts)
    cleaned = tuple(dict.fromkeys(line[:_MAX_CHARACTERS].rstrip() for line in lines if line))
    if len(cleaned) > _MAX_PHRASES:
        raise SettingsInvalid(f"{tool_id!r} has {len(cleaned)} phrases, it may have {_MAX_PHRASES}")
    return cleaned


def _suggestion(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # here: only an error needs it

    similar = get_close_matches(str(key), known, 1)
    return f", did you mean {similar[0]!r}?" if similar else ""
