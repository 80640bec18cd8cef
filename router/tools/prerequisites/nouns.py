"""The words of identifiers: which thing a parameter identifies, and which path a tool calls."""

import re
from collections.abc import Sequence
from itertools import takewhile

from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.grammar import singular

# Words that end a parameter that identifies a thing: `person_id`, `teamSlug`.
ID_WORDS = frozenset(
    (
        "id ids iid iids uuid uuids guid guids uid uids gid gids nanoid identifier identifiers slug slugs uri uris urn "
        "urns arn arns"
    ).split()
)
# What identifies a thing in what people write of it, beside an id: "an airport code", "the message's timestamp". No
# references: those are what a person writes, such as that of a payment.
IDENTIFYING = ID_WORDS | frozenset("code codes handle handles key keys number numbers timestamp token tokens".split())
_SAID = frozenset("address email keyword login name phone query term title url username".split())
# Things whose number a person says, or counts.
_NUMBERED = frozenset(
    (
        "account card chapter contact day episode flight house item iteration line model page phone port registration "
        "room routing season serial step tax telephone thought total tracking vat verse version week"
    ).split()
)
# Joined spellings without a hump: `geoid`, `userid`. English words that end so are not identifiers.
_JOINED_ID = re.compile(r"(?P<noun>[a-z]{3,40}?)(?P<id>ids?|uuids?|guids?)")
_ENGLISH_IN_ID = frozenset(
    "acid afraid android aphid arachnid avoid bid braid covid fluid forbid grid humid hybrid invalid lipid liquid "
    "morbid orchid overlaid paid plaid prepaid pyramid rabid raid rapid rigid said solid steroid stupid timid unpaid "
    "valid vivid void".split()
)
# Heads that name no thing: `artist_info` is an artist.
_EMPTY_HEADS = frozenset(
    "all api by data detail details entry id ids index info information list lists object objects record records "
    "result results search summary uuid".split()
)
_CUTS = frozenset("matching using via where".split())  # `issues_using_jql`
_PATH = re.compile(r"(?:^|[\s_])(?P<path>/[\w{}<>:.~$*@%+-][\w{}<>:.~$*@%+/-]*)")
_PLACEHOLDER = re.compile(r"\{([^{}/]{1,80})\}|<([^<>/]{1,80})>|(?<=/):(\w{1,80})")
_NO_WORD = re.compile(r"\W")
_GENERATED = re.compile(r"_(?:get|post|put|patch|delete)$")
_VERSION = re.compile(r"v\d+(?:\.\d+)*|api|rest")


def last_name(parameter: Parameter) -> str:
    """Return the name of a parameter or output inside its parents: `people[].ids[]` → ids."""
    return parameter.path.rsplit(".", 1)[-1].removesuffix("[]")


def identified_noun(parameter: str) -> tuple[str, ...] | None:
    """Return the words of the thing that a parameter's name identifies: `originEntityId` → origin, entity.

    Empty for a bare `id`; None for a name that is not an identifier's, or that also takes something a person says
    (`username_or_id`).
    """
    words = identifier_words(parameter.rsplit(".", 1)[-1])
    if "or" in words:  # `issueIdOrKey` identifies, `username_or_id` takes what a person says
        if ID_WORDS.isdisjoint(words) or not _SAID.isdisjoint(words):
            return None
        words = [word for word in words if word not in ("or", "key")]
    if len(words) > 1 and words[-1] in ("list", "array"):
        words.pop()
    *before, last = words or [""]
    if last in ID_WORDS or (last == "number" and _NUMBERED.isdisjoint(before[-1:])):
        return nouns_of(before)
    joined = _JOINED_ID.fullmatch(last)
    return nouns_of([*before, joined["noun"]]) if joined and last not in _ENGLISH_IN_ID else None


def nouns_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return words in the singular."""
    return tuple(singular(word) for word in words if not word.isdigit())


def head_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return a noun phrase without the words at its end that name no thing."""
    kept = list(takewhile(lambda word: word not in _CUTS, words))
    while kept and kept[-1] in _EMPTY_HEADS:
        kept.pop()
    return tuple(kept)


def path_of(record: ToolRecord) -> str:
    """Return the path of a REST operation: from its annotations, its name, or the start of its description."""
    path = record.annotations.get("path")
    if isinstance(path, str) and path.startswith("/"):
        return path.split("?", 1)[0]
    for text in (record.name, record.description[:200]):
        # A description has a path only where it begins with it, after the method: "GET /search/person: …".
        match = _PATH.search(text)
        if match and (text is record.name or match.start("path") <= len("DELETE ")):
            return match["path"].rstrip("/.:")
    return ""


def bare_name(record: ToolRecord) -> str:
    """Return a name without the path and the method that some frameworks append: `read_user_users__id__get`."""
    path, method = record.annotations.get("path"), str(record.annotations.get("method", "")).lower()
    suffix = f"{_NO_WORD.sub('_', path)}_{method}" if isinstance(path, str) and method else ""
    if suffix and record.name.endswith(suffix) and record.name != suffix:
        return record.name.removesuffix(suffix)
    words = identifier_words(record.name)
    is_generated = "__" in record.name or len(set(words)) < len(words)  # `read_flows_flows_filter_post`
    return _GENERATED.sub("", record.name) if is_generated else record.name


def placeholder_in_name(name: str, parameter: str) -> tuple[str, ...]:
    """Return the word before a parameter in a generated name: `read_user_users__id__get` → user; else nothing."""
    before, found, _ = name.partition(f"__{parameter}_")
    return nouns_of(identifier_words(before)[-1:]) if found else ()


def placeholders(path: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the placeholders of a path, each with the words of the segment before it: what it identifies."""
    found: list[tuple[str, tuple[str, ...]]] = []
    before: tuple[str, ...] = ()
    for segment in path.strip("/").split("/"):
        match = _PLACEHOLDER.search(f"/{segment}")
        if match:
            found.append((next(filter(None, match.groups())), before))
        else:
            before = nouns_of(identifier_words(segment))
    return found


def literal_segments(path: str) -> list[str]:
    """Return the segments of a path that are neither placeholders nor a version."""
    segments = [segment for segment in path.strip("/").split("/") if segment]
    return [s for s in segments if not _PLACEHOLDER.search(f"/{s}") and not _VERSION.fullmatch(s.lower())]
