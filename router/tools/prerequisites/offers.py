"""What a tool finds from words: the thing that it returns, and how it is asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from router.record import Parameter, ToolRecord
from router.text import identifier_words
from router.tools.lexicon.naming import Operation
from router.tools.prerequisites.nouns import head_of, identified_noun, literal_segments, nouns_of, path_of

_SEARCHING = frozenset(
    "autocomplete autosuggest browse discover explore filter find geocode locate lookup match query resolve retrieve "
    "search suggest typeahead".split()
)
_LISTING = frozenset("all enumerate fetch get index list load read show view describe".split())
_READING = _SEARCHING | _LISTING | {""}
_SELF = frozenset("me myself self whoami current authenticated viewer".split())
# What holds everything: `search_workspace` searches all that is in it.
_WHOLES = frozenset("account catalog catalogue content everything knowledge library site store workspace".split())
_OWN = _SELF | {"my", "mine", "own", "owned", "saved"} - {"current"}
_ONE = frozenset("current info information me status summary".split())
_GEOCODING = frozenset("geocode geocoding geocoder forward".split())
_SIGNING_IN = frozenset("login signin authenticate authorize".split())
# Parameters that take a person's words.
_WORDS = frozenset(
    "address email filter keyword keywords name names phrase q query question search term terms text title username "
    "location city place".split()
)
_READING_METHODS = ("GET", "HEAD")


_PLAIN_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a tool finds.

    `nouns` are the readings of what it returns, each the words of a noun phrase in the singular (its name's and its
    path's). `enum` are the things that a search takes by type, `told` those that its texts name. `outputs` are the
    things whose identifiers it returns, empty for an `id` at the top; `tells_outputs` says that its vendor tells what
    it returns at all, `outputs_coordinates` that this has a latitude. `reads` says that it changes nothing, `searches`
    that it is a search, `takes_words` that it can be given a person's words, `is_one` that it gets one thing,
    `is_narrowed` that its name has a condition. `of_self` says that it tells about the caller, `of_own` that it finds
    what is the caller's, `geocodes` that it turns words into a point on earth, `signs_in` that it opens a session.
    """

    nouns: tuple[tuple[str, ...], ...]
    enum: frozenset[str]
    told: frozenset[str]
    outputs: frozenset[tuple[str, ...]]
    tells_outputs: bool
    outputs_coordinates: bool
    reads: bool
    searches: bool
    takes_words: bool
    is_one: bool
    is_narrowed: bool
    of_self: bool
    of_own: bool
    geocodes: bool
    signs_in: bool


def find_offer(record: ToolRecord, operation: Operation) -> Offer:
    """Return what a tool finds; `operation` is that of its name."""
    path = path_of(record)
    segments = [identifier_words(segment) for segment in literal_segments(path)]
    name_words = list(operation.words)
    words = frozenset((*name_words, *(word for segment in segments for word in segment)))
    searches = (operation.verb in _SEARCHING or bool(words & _SEARCHING)) and operation.verb in _READING
    of_self = bool(_SELF & set(segments[-1] if segments else name_words[:3] + name_words[-2:]))
    method = str(record.annotations.get("method", "")).upper() or _method_in(record.name)
    is_get = method in _READING_METHODS or (bool(path) and not method)  # a path without a method is read
    geocodes = bool(_GEOCODING & words)
    lists = operation.verb in _LISTING or is_get or _is_plural(operation)
    return Offer(
        nouns=tuple(dict.fromkeys(filter(None, (_of_name(record, operation), _of_path(segments, path))))),
        enum=_enumerated(record) if searches else frozenset(),
        told=_told(record) if searches else frozenset(),
        outputs=_output_nouns(record),
        tells_outputs=bool(record.outputs),
        outputs_coordinates=any(_last(p) in ("lat", "latitude") for p in record.outputs),
        reads=(lists or operation.verb in _SEARCHING or geocodes) and (method in ("", *_READING_METHODS) or searches),
        searches=searches,
        takes_words=any(_takes_words(parameter) for parameter in record.parameters),
        is_one=_is_one(operation, segments) and not searches,
        is_narrowed=operation.noun_phrase.tail[:1] in (("with",), ("without",)) and not segments,
        of_self=of_self,
        of_own=bool(_OWN & words),
        geocodes=geocodes,
        signs_in=_signs_in(record, operation, words),
    )


def _is_one(operation: Operation, segments: Sequence[Sequence[str]]) -> bool:
    """Return whether a tool gets one thing: `get_active_window`, `GET /auth/session/info`."""
    if segments:
        return bool(segments[-1]) and segments[-1][-1] in _ONE
    return operation.verb != "list" and not operation.noun_phrase.is_plural


def _signs_in(record: ToolRecord, operation: Operation, words: frozenset[str]) -> bool:
    """Return whether a tool opens a session: by its name, or as one that gives a token for a password."""
    if words & _SIGNING_IN or {"log", "in"} <= words or {"sign", "in"} <= words:
        return True
    has_password = any(identifier_words(parameter.path)[-1:] == ["password"] for parameter in record.parameters)
    return operation.noun_phrase.head == "token" and has_password


def _enumerated(record: ToolRecord) -> frozenset[str]:
    """Return the nouns among the values of a search's parameters: `type: [album, artist, track]`."""
    values = (value for p in record.parameters if "." not in p.path for value in p.enum)
    return frozenset(noun for value in values for noun in nouns_of(identifier_words(value))[-1:])


def _told(record: ToolRecord) -> frozenset[str]:
    """Return the nouns in what the vendor says of a search: "search for albums, artists or tracks"."""
    texts = [record.description[:400]]
    texts += [p.description[:200] for p in record.parameters if "." not in p.path and identified_noun(p.path) is None]
    return frozenset(nouns_of(_PLAIN_WORD.findall(" ".join(texts).lower())))


def _is_plural(operation: Operation) -> bool:
    """Return whether a name is a plural without a verb: `radar_stations` lists them."""
    return not operation.verb and operation.noun_phrase.is_plural


def _last(parameter: Parameter) -> str:
    return parameter.path.rsplit(".", 1)[-1].removesuffix("[]").casefold()


def _output_nouns(record: ToolRecord) -> frozenset[tuple[str, ...]]:
    """Return what the identifiers of a tool's output identify: `person_id`, `people[].id`; empty for a top `id`.

    Identifiers deep inside are those of other things.
    """
    found = set[tuple[str, ...]]()
    for row in record.outputs:
        *parents, name = row.path.split(".")
        words = identifier_words(name)
        around = [nouns_of(identifier_words(parent)) for parent in parents]
        things = [nouns for nouns in around if nouns and nouns[-1] not in _CONTAINERS]
        if not words or words[-1] not in ("id", "uuid", "slug") or len(things) > 1:
            continue
        found.add(nouns_of(words[:-1]) or (things[-1] if things else ()))
    return frozenset(found)


_CONTAINERS = frozenset(
    "data item result response payload body value entry record list content object node hit".split()
)


def _takes_words(parameter: Parameter) -> bool:
    words = identifier_words(parameter.path.rsplit(".", 1)[-1])
    return bool(words) and words[-1] in _WORDS and not parameter.enum


def _of_name(record: ToolRecord, operation: Operation) -> tuple[str, ...]:
    """Return the noun phrase of a tool's name, without its verb and the words that name no thing."""
    if "/" in record.name.strip("/") and path_of(record):
        return ()
    if operation.verb in _SEARCHING and operation.noun_phrase.head in _WHOLES:
        return ()
    return head_of(tuple(word for word in nouns_of(operation.noun_phrase.nouns) if word not in _SEARCHING | _SELF))


def _of_path(segments: list[list[str]], path: str) -> tuple[str, ...]:
    """Return the noun phrase of a path's last literal segment that names a thing."""
    if not segments:
        return ()
    last_is_placeholder = path.rstrip("/").endswith(("}", ">"))
    for segment in reversed(segments):
        nouns = head_of(tuple(w for w in nouns_of(segment) if w not in _SEARCHING | _SELF | _LISTING))
        if nouns:
            return nouns
    return () if not last_is_placeholder else nouns_of(segments[-1])


def _method_in(name: str) -> str:
    first = name.split("_", 1)[0].split(" ", 1)[0].upper()
    has_path = "/" in name
    return first if has_path and first in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") else ""
