"""What a tool needs that a person does not say: identifiers, coordinates, a session."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.grammar import singular
from router.tools.naming import Operation
from router.tools.prerequisites import NeedKind
from router.tools.prerequisites.nouns import (
    IDENTIFYING,
    head_of,
    identified_noun,
    last_name,
    nouns_of,
    path_of,
    placeholder_in_name,
    placeholders,
)


@dataclass(frozen=True, slots=True)
class Need:
    """A value that a tool must be given and that people do not say.

    `parameter` is the path of its parameter, `noun` the words of what it identifies (empty where nothing says),
    `or_noun` another reading of it, `text` what the vendor says of it.
    """

    parameter: str
    kind: NeedKind
    noun: tuple[str, ...]
    text: str = ""
    or_noun: tuple[str, ...] = ()


_MOST_NEEDS = 8
_PLAIN_PLACEHOLDERS = frozenset(("id", "ids", "uuid", "slug", "key"))
_LATITUDE, _LONGITUDE = frozenset(("lat", "latitude")), frozenset(("lng", "lon", "long", "longitude"))
_COORDINATES = frozenset(("coordinates", "coordinate", "latlng", "latlong", "geocode", "geolocation"))
_SESSIONS = (
    ("session",),
    ("session", "id"),
    ("session", "token"),
    *((word, "token") for word in ("auth", "login", "user")),
)
_REQUIRED = re.compile(r"^\W*(?:required|mandatory)\b|\((?:required|mandatory)\)", re.IGNORECASE)
# A description that says so of a parameter named otherwise: "ID of the charge to refund".
_DESCRIBED_AS_ID = re.compile(r"^\W*(?:the )?(?:\w+ ){0,2}(?:id|uuid|guid|identifier)\b(?! or\b)", re.IGNORECASE)
_CREATING = frozenset("create new register insert upload".split())
# The caller's own credentials, or a place in a list: no other tool gives them to an agent.
_OF_THE_CALLER = frozenset("api app client correlation idempotency nonce oauth request trace transaction".split())
_POSSESSIVE = re.compile(r"['’]s?\b")
_ARTICLES = frozenset("a all an any each every its of one or some that the their this whose your".split())
# What follows says how it is found: "a customer's id by name".
_HOW = frozenset("based by for from given in matching named on using via when where which with".split())


def find_needs(record: ToolRecord, operation: Operation, *, marks_required: bool = True) -> tuple[Need, ...]:
    """Return what a tool needs, in the order of its parameters, those of its path first.

    `operation` is that of its name. `marks_required` is False for a provider that marks no parameter of any tool: then
    all that identify count.
    """
    needs: dict[str, Need] = {}
    texts = {parameter.path: parameter.description for parameter in record.parameters}
    in_path = dict(placeholders(path_of(record)))
    for name, before in in_path.items():
        noun = identified_noun(name)
        if noun is not None or name.casefold() in _PLAIN_PLACEHOLDERS:  # people say `{owner}`, `{date}`, `{status}`
            needs[name] = Need(name, NeedKind.IDENTIFIER, noun or before, texts.get(name, ""))
    required = required_parameters(record) if marks_required else list(record.parameters)
    acted_on = head_of(nouns_of(operation.noun_phrase.nouns))  # `updateContact` → contact
    for parameter in required:
        if parameter.path not in needs and (need := _need(parameter, record.name, acted_on)):
            needs[parameter.path] = need
    if coordinates := _coordinates(required):
        needs[coordinates.parameter] = coordinates

    def is_made(need: Need) -> bool:
        """Return whether the tool makes what the need identifies, so that the caller invents its identifier."""
        if operation.verb not in _CREATING or need.kind is not NeedKind.IDENTIFIER or need.parameter in in_path:
            return False
        return need.noun != () and need.noun[-1:] == acted_on[-1:]

    return tuple(need for need in needs.values() if not is_made(need))[:_MOST_NEEDS]


def required_parameters(record: ToolRecord) -> list[Parameter]:
    """Return the parameters that every call must have, at any depth.

    Where the vendor marks none, those whose description says so.
    """
    by_path = {parameter.path: parameter for parameter in record.parameters}
    required = [
        parameter
        for parameter in record.parameters
        if all(by_path[step].required for step in _steps(parameter.path) if step in by_path)
    ]
    if required or "required" in record.input_schema:
        return required
    return [parameter for parameter in record.parameters if _REQUIRED.search(parameter.description)]


def _steps(path: str) -> list[str]:
    """Return a parameter's path and those of the objects around it."""
    parts = path.split(".")
    return [path, *(".".join(parts[:end]).removesuffix("[]") for end in range(1, len(parts)))]


def _need(parameter: Parameter, name_of_tool: str, acted_on: tuple[str, ...]) -> Need | None:
    """Return the need that a parameter shows; `acted_on` are the words of what the tool acts on."""
    text, words = parameter.description, tuple(identifier_words(last_name(parameter)))
    if words == ("token",) or words[-1:] in _SESSIONS or words[-2:] in _SESSIONS:
        return Need(parameter.path, NeedKind.SESSION, ("session",), text)
    noun = identified_noun(parameter.path)
    if noun is None and _DESCRIBED_AS_ID.search(text[:200]):
        noun = nouns_of(words)
    if noun is None or parameter.enum or (len(noun) == 1 and noun[0] in _OF_THE_CALLER):
        return None
    if noun:
        return Need(parameter.path, NeedKind.IDENTIFIER, noun, text)
    # A bare `id` is that of the object, or of what stands before it: `get_person_credits(id)`.
    words = placeholder_in_name(name_of_tool, parameter.path) or acted_on
    return Need(parameter.path, NeedKind.IDENTIFIER, words, text, words[:1])


def _coordinates(required: list[Parameter]) -> Need | None:
    """Return the need for a point on earth, where latitude and longitude are required."""
    by_word = {word: p for p in required for word in identifier_words(last_name(p))[-1:]}
    latitudes = sorted(_LATITUDE & by_word.keys()) if _LONGITUDE & by_word.keys() else []
    found = [by_word[word] for word in (*latitudes, *sorted(_COORDINATES & by_word.keys()))]
    return Need(found[0].path, NeedKind.COORDINATES, ("coordinates",), found[0].description) if found else None


def stated_thing(statement: str) -> tuple[str, ...]:
    """Return the words of the thing whose identifier a statement speaks of: "a customer's id by name" → customer.

    Empty for a statement that speaks of no identifier, or only of "an id".
    """
    before: list[str] = []
    for word in identifier_words(_POSSESSIVE.sub(" ", statement)):
        if word in IDENTIFYING:
            return nouns_of(before)
        if word in _HOW:
            return ()
        if word not in _ARTICLES:
            before.append(word)
    return ()


def stated_needs(record: ToolRecord, known: Sequence[Need], statements: Sequence[str]) -> Iterator[Need]:
    """Yield a need for each statement of what a tool requires that names one of its required parameters.

    `known` are the needs that its schema shows: they are not yielded again.
    """
    taken = {need.parameter for need in known}
    for statement in statements:
        thing = stated_thing(statement)
        words = {singular(word) for word in identifier_words(statement)}
        for parameter in required_parameters(record) if thing else ():
            names = nouns_of(identifier_words(last_name(parameter)))
            if parameter.path not in taken and not parameter.enum and not words.isdisjoint(names):
                taken.add(parameter.path)
                yield Need(parameter.path, NeedKind.IDENTIFIER, thing, parameter.description)
                break
