"""A tool as a candidate: what it needs, what it finds from words, and how it is asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.naming import Operation, parse_operation
from router.tools.prerequisites.needs import Need, find_needs
from router.tools.prerequisites.nouns import (
    bare_name,
    head_of,
    identified_noun,
    last_name,
    literal_segments,
    nouns_of,
    path_of,
)

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
_CONTAINERS = frozenset(
    "data item result response payload body value entry record list content object node hit".split()
)
_READING_METHODS = ("GET", "HEAD")
_METHODS = (*_READING_METHODS, "POST", "PUT", "PATCH", "DELETE")
_PLAIN_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class Traits:
    """What a record says of its tool, as one that needs something and as one that another may need."""

    needs: tuple[Need, ...]
    words: frozenset[str]  # of its name, its path and its needs, in the singular
    geocodes: bool  # it turns words into a point on earth
    searches: bool
    reads: bool  # it changes nothing
    nouns: tuple[tuple[str, ...], ...]  # readings of what it returns, in the singular: its name's and its path's
    enum: frozenset[str]  # the things that a search takes by type
    named: frozenset[str]  # the things that the texts of a search name
    outputs: frozenset[tuple[str, ...]]  # the things whose identifiers it returns, empty for an `id` at the top
    outputs_coordinates: bool
    takes_words: bool  # it can be given a person's words
    is_one: bool  # it gets one thing: `get_active_window`, `GET /auth/session/info`
    is_narrowed: bool  # its name has a condition: `teams_with_access_to_the_branch`
    of_self: bool  # it is about the caller
    of_own: bool  # it finds what is the caller's
    signs_in: bool  # it opens a session: by its name, or as one that gives a token for a password

    @classmethod
    def of(cls, record: ToolRecord, *, marks_required: bool) -> "Traits":
        """Return the traits of a tool. `marks_required` as in `find_needs`."""
        operation = parse_operation(replace(record, name=bare_name(record)), identifier_words(record.provider or ""))
        path = path_of(record)
        segments = [identifier_words(segment) for segment in literal_segments(path)]
        words = {*operation.words, *(word for segment in segments for word in segment)}
        first = re.split("[_ ]", record.name, maxsplit=1)[0].upper()  # "GET /search/person"
        in_name = first if "/" in record.name and first in _METHODS else ""
        method = str(record.annotations.get("method", "")).upper() or in_name
        is_get = method in _READING_METHODS or (bool(path) and not method)  # a path without a method is read
        is_plural = operation.noun_phrase.is_plural
        lists = operation.verb in _LISTING or is_get or (not operation.verb and is_plural)  # `radar_stations`
        first_and_last = segments[-1] if segments else [*operation.words[:3], *operation.words[-2:]]
        is_one = not _ONE.isdisjoint(segments[-1][-1:]) if segments else operation.verb != "list" and not is_plural

        needs = find_needs(record, operation, marks_required=marks_required)
        geocodes = bool(_GEOCODING & words)
        searches = (operation.verb in _SEARCHING or bool(words & _SEARCHING)) and operation.verb in _READING
        named_words = nouns_of([*identifier_words(record.name), *identifier_words(path)])
        return cls(
            needs=needs,
            words=frozenset((*named_words, *(word for need in needs for word in need.noun))),
            geocodes=geocodes,
            searches=searches,
            reads=(lists or operation.verb in _SEARCHING or geocodes)
            and (method in ("", *_READING_METHODS) or searches),
            nouns=tuple(dict.fromkeys(filter(None, (_of_name(record, operation), _of_path(segments, path))))),
            enum=_enumerated(record) if searches else frozenset(),
            named=_named(record) if searches else frozenset(),
            outputs=_output_nouns(record),
            outputs_coordinates=any(last_name(row).casefold() in ("lat", "latitude") for row in record.outputs),
            takes_words=any(
                not p.enum and not _WORDS.isdisjoint(identifier_words(last_name(p))[-1:]) for p in record.parameters
            ),
            is_one=is_one and not searches,
            is_narrowed=operation.noun_phrase.tail[:1] in (("with",), ("without",)) and not segments,
            of_self=not _SELF.isdisjoint(first_and_last),
            of_own=bool(_OWN & words),
            signs_in=bool(words & _SIGNING_IN or {"log", "in"} <= words or {"sign", "in"} <= words)
            or (
                operation.noun_phrase.head == "token"
                and any(identifier_words(p.path)[-1:] == ["password"] for p in record.parameters)
            ),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate(Traits):
    """A tool of a provider with its record: each is equal to itself alone."""

    record: ToolRecord


def _enumerated(record: ToolRecord) -> frozenset[str]:
    """Return the nouns among the values of a search's parameters: `type: [album, artist, track]`."""
    values = (value for p in record.parameters if "." not in p.path for value in p.enum)
    return frozenset(noun for value in values for noun in nouns_of(identifier_words(value))[-1:])


def _named(record: ToolRecord) -> frozenset[str]:
    """Return the nouns in what the vendor says of a search: "search for albums, artists or tracks"."""
    texts = [record.description[:400]]
    texts += [p.description[:200] for p in record.parameters if "." not in p.path and identified_noun(p.path) is None]
    return frozenset(nouns_of(_PLAIN_WORD.findall(" ".join(texts).lower())))


def _output_nouns(record: ToolRecord) -> frozenset[tuple[str, ...]]:
    """Return what the identifiers of a tool's output identify: `person_id`, `people[].id`; empty for a top `id`.

    Identifiers deep inside are those of other things.
    """
    found = set[tuple[str, ...]]()
    for row in record.outputs:
        *parents, words = map(identifier_words, row.path.split("."))
        around = [nouns for parent in parents if (nouns := nouns_of(parent)) and nouns[-1] not in _CONTAINERS]
        if words and words[-1] in ("id", "uuid", "slug") and len(around) <= 1:
            found.add(nouns_of(words[:-1]) or (around[-1] if around else ()))
    return frozenset(found)


def _of_name(record: ToolRecord, operation: Operation) -> tuple[str, ...]:
    """Return the noun phrase of a tool's name, without its verb and the words that name no thing."""
    if "/" in record.name.strip("/") and path_of(record):
        return ()
    if operation.verb in _SEARCHING and operation.noun_phrase.head in _WHOLES:
        return ()
    return head_of([word for word in nouns_of(operation.noun_phrase.nouns) if word not in _SEARCHING | _SELF])


def _of_path(segments: Sequence[Sequence[str]], path: str) -> tuple[str, ...]:
    """Return the noun phrase of a path's last literal segment that names a thing."""
    for segment in reversed(segments):
        if nouns := head_of([word for word in nouns_of(segment) if word not in _SEARCHING | _SELF | _LISTING]):
            return nouns
    return nouns_of(segments[-1]) if segments and path.rstrip("/").endswith(("}", ">")) else ()
