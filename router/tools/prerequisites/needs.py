"""What a tool needs that a person does not say: identifiers, coordinates, a session."""

import re
from dataclasses import dataclass

from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.lexicon.naming import Operation
from router.tools.prerequisites.nouns import (
    NeedKind,
    head_of,
    identified_noun,
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
_TOLD_AS_ID = re.compile(r"^\W*(?:the )?(?:\w+ ){0,2}(?:id|uuid|guid|identifier)\b(?! or\b)", re.IGNORECASE)
_CREATING = frozenset("create new register insert upload".split())
# The caller's own credentials, or a place in a list: no other tool gives them to an agent.
_NOT_SAID_ELSEWHERE = frozenset("api app client correlation idempotency nonce oauth request trace transaction".split())


def find_needs(record: ToolRecord, operation: Operation, *, marks_required: bool = True) -> tuple[Need, ...]:
    """Return what a tool needs, in the order of its parameters, those of its path first.

    `operation` is that of its name. `marks_required` is False for a provider that marks no parameter of any tool: then
    all that identify count.
    """
    needs: dict[str, Need] = {}
    texts = {parameter.path: parameter.description for parameter in record.parameters}
    path = path_of(record)
    for name, before in placeholders(path):
        noun = identified_noun(name)
        if noun is None and name.casefold() not in _PLAIN_PLACEHOLDERS:
            continue  # `{owner}`, `{date}`, `{status}`: people say them
        needs[name] = Need(name, NeedKind.IDENTIFIER, noun or before, texts.get(name, ""))
    required = required_parameters(record) if marks_required else list(record.parameters)
    for parameter in required:
        if parameter.path not in needs and (need := _need(parameter, record.name, operation)):
            needs[parameter.path] = need
    if coordinates := _coordinates(required):
        needs[coordinates.parameter] = coordinates
    return tuple(need for need in needs.values() if not _is_made_by(record, operation, need))[:_MOST_NEEDS]


_PLAIN_PLACEHOLDERS = frozenset(("id", "ids", "uuid", "slug", "key"))


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
    paths = [".".join(parts[: end + 1]) for end in range(len(parts))]
    return [step.removesuffix("[]") if step != path else step for step in paths]


def _need(parameter: Parameter, name_of_tool: str, operation: Operation) -> Need | None:
    name = parameter.path.rsplit(".", 1)[-1]
    words = tuple(identifier_words(name))
    if words == ("token",) or words[-1:] in _SESSIONS or words[-2:] in _SESSIONS:
        return Need(parameter.path, NeedKind.SESSION, ("session",), parameter.description)
    noun = identified_noun(parameter.path)
    if noun is None and _TOLD_AS_ID.search(parameter.description[:200]):
        noun = nouns_of(identifier_words(name))
    if noun is None or parameter.enum or (len(noun) == 1 and noun[0] in _NOT_SAID_ELSEWHERE):
        return None
    if noun:
        return Need(parameter.path, NeedKind.IDENTIFIER, noun, parameter.description)
    # A bare `id` is that of the object, or of what stands before it: `get_person_credits(id)`.
    words = placeholder_in_name(name_of_tool, parameter.path) or object_of(operation)
    return Need(parameter.path, NeedKind.IDENTIFIER, words, parameter.description, words[:1])


def object_of(operation: Operation) -> tuple[str, ...]:
    """Return the words of what a tool acts on, by its name: `updateContact` → contact."""
    return head_of(nouns_of(operation.noun_phrase.nouns))


def _coordinates(required: list[Parameter]) -> Need | None:
    """Return the need for a point on earth, where latitude and longitude are required."""
    by_word = {word: p for p in required for word in identifier_words(p.path.rsplit(".", 1)[-1])[-1:]}
    latitude = next((by_word[word] for word in sorted(_LATITUDE & by_word.keys())), None)
    if latitude is not None and _LONGITUDE & by_word.keys():
        return Need(latitude.path, NeedKind.COORDINATES, ("coordinates",), latitude.description)
    both = next((by_word[word] for word in sorted(_COORDINATES & by_word.keys())), None)
    return Need(both.path, NeedKind.COORDINATES, ("coordinates",), both.description) if both else None


def _is_made_by(record: ToolRecord, operation: Operation, need: Need) -> bool:
    """Return whether the tool makes the thing that the need identifies, so that the caller invents its identifier."""
    if operation.verb not in _CREATING or not need.noun or need.kind is not NeedKind.IDENTIFIER:
        return False
    return need.parameter not in dict(placeholders(path_of(record))) and object_of(operation)[-1:] == need.noun[-1:]
