"""Parses the names of tools into verb and noun phrase (`issues/create`), and finds everyday words for them.

The lexicon (`lexicon.toml`) lists what people say for the verbs and nouns of APIs: deterministic, free, offline. It
cannot invent an outcome ("my card was declined") that shares no word with the name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from router.record import Kind, ToolRecord
from router.text import identifier_words
from router.tools.definitions.raw_tool import RawTool, tool_id_of
from router.tools.grammar import NounPhrase, load_lexicon, singular
from router.tools.text_overlap import MAX_LABEL_WORDS, label_words

_ROUTE = re.compile(r"^(?P<method>[a-z]+)_(?P<path>/.*)$")
_PARAMETER = re.compile(r"\{([^{}=]*)(?:=[^{}]*)?\}")
_METHODS = {"get": "get", "head": "get", "post": "create", "put": "update", "patch": "update", "delete": "delete"}
_VERSION = re.compile(r"(?<![A-Za-z])[vV]\d+(?![a-z])|(?<=[a-z])V\d+(?=[A-Z]|$)")
# A namespace before the operation: `issues/create`, `chat.postMessage`.
_NAMESPACE = re.compile(r"^.*[/.](?=[^/.]*\w)")
# Two words of a name that are one verb.
_SPLIT_VERBS = {("re", "run"): "rerun", ("look", "up"): "lookup", ("log", "in"): "login", ("log", "out"): "logout"}
_MAX_VERBS = 2  # said in requests beside the name's own
_QUESTION = re.compile("is|are|has|have|can|does|should|was|will")
_ADJECTIVE = re.compile(r"\A(?:\w{3,}ed|active|all|authenticated|current|default|latest|new|private|public|recent)")
# Verbs that are nouns as often, beside those that the lexicon lists as both: `book_get` gets a book.
_ALSO_NOUNS = frozenset(
    (
        "block book build call change copy count download draft export filter import like link load lock log patch "
        "play post put query rate scan search set share sort split store sync test transfer update upload vote watch "
        "write"
    ).split()
)
# Verbs that act on a single object, also where the name has the plural: `issues/create`.
_SINGLE_OBJECT_VERBS = frozenset(
    (
        "create add insert new register get read view show describe update edit modify change patch replace rename "
        "delete remove destroy cancel close open archive restore approve reject assign complete resolve publish "
        "upsert place submit enable disable activate deactivate lock unlock send upload"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a tool does, by its name: the verb (empty without one), its object, and the words of the name."""

    verb: str
    noun_phrase: NounPhrase
    words: tuple[str, ...]


def route_name(method: str, path: str, *, every: bool = False) -> str:
    """Return an HTTP method and a path as words: `get_emp_mgr` of `/emp/{id}/mgr`, `get_emp_by_id` of `/emp/{id}`.

    Only the parameters at the end are named, unless `every` one is.
    """
    parts = _PARAMETER.split(path)  # text and names in turn
    last = max((place for place, part in enumerate(parts) if not place % 2 and re.search(r"\w", part)), default=-1)
    named = (f"by_{part}" * (every or place > last) if place % 2 else part for place, part in enumerate(parts))
    words = [word for part in named for word in re.split(r"\W+", part) if word]
    return "_".join([method.lower(), *(words or ["root"])])


def route_forms(record: ToolRecord) -> tuple[ToolRecord, ...]:
    """Return the record under each name that method and path make or made; where its name is another, as it is."""
    method, path = str(record.annotations.get("method", "")).lower(), str(record.annotations.get("path", ""))
    names = (f"{method}_{path}", route_name(method, path), route_name(method, path, every=True))
    if not path or record.name not in names:
        return (record,) * len(names)
    ids = (tool_id_of(RawTool(name, record.origin, provider=record.provider)) for name in names)
    return tuple(replace(record, tool_id=tool_id, name=name) for tool_id, name in zip(ids, names, strict=True))


def former_ids(records: Iterable[ToolRecord]) -> dict[str, str]:
    """Return the ids of today by those that operations without an `operationId` may have had.

    An id that a tool has today is not among them, nor one that two tools may have had.
    """
    forms = ((record, *(route_forms(record) if record.annotations.get("path") else ())) for record in records)
    pairs = {(form.tool_id, one[0].tool_id) for one in forms for form in one}
    claims = Counter(former for former, _ in pairs)
    return {former: today for former, today in sorted(pairs) if former != today and claims[former] == 1}


def parse_operation(record: ToolRecord, provider_words: Sequence[str] = ()) -> Operation:
    """Return the operation of a record's name, without `provider_words` unless the name has no others."""
    method, path = str(record.annotations.get("method", "")).casefold(), str(record.annotations.get("path", ""))
    if path and record.name in (route_name(method, path), route_name(method, path, every=True)):
        return _route_operation(method, path, provider_words)
    if route := _ROUTE.match(record.name):
        return _route_operation(route["method"], route["path"], provider_words)
    text = _VERSION.sub(" ", record.name)
    name = _words(text, provider_words) or identifier_words(record.name)
    if not name:
        return Operation("", NounPhrase(()), ())
    space = _NAMESPACE.match(text)
    start = min(len(_words(space[0], provider_words)) if space else 0, len(name) - 1)
    place = _verb_position(name, start)
    if place is None or _QUESTION.fullmatch(name[0]):
        return Operation("", NounPhrase.of(name), tuple(name))
    verb, before, after = name[place], name[:place], name[place + 1 :]
    if place and before[0] == method:  # `PostAccountsVerify`
        before = before[1:]
    if len(after) > 1 and after[0] in ("and", "or") and after[1] in load_lexicon()["verbs"]:
        after = after[2:]  # "create or update": keep the first verb
    is_single = not after
    if before and after and all(map(_ADJECTIVE.fullmatch, after)):  # `users/get-authenticated`
        before, after, is_single = after, before, True
    rest = before + after
    if not NounPhrase.of(rest).nouns and not NounPhrase.of(rest).tail and record.categories:
        rest = identifier_words(record.categories[0])
    noun_phrase = NounPhrase.of(rest)
    verb = _METHODS[verb] if verb == method and verb in _METHODS else verb
    is_single = is_single and verb in _SINGLE_OBJECT_VERBS
    return Operation(verb, noun_phrase.one() if is_single else noun_phrase, tuple(name))


def _words(text: str, excluded: Sequence[str]) -> list[str]:
    """Return the words of a name without numbers and excluded words, with the first split verb joined."""
    name_words = [word for word in identifier_words(text) if not word.isdigit() and word not in excluded]
    for place, pair in enumerate(pairwise(name_words)):
        if pair in _SPLIT_VERBS:
            return [*name_words[:place], _SPLIT_VERBS[pair], *name_words[place + 2 :]]
    return name_words


def _route_operation(method: str, path: str, provider_words: Sequence[str]) -> Operation:
    """Return the operation of an HTTP method and a path, where a document gives no other name."""
    parts = [part for part in path.strip("/").split("/") if part]
    excluded = (*provider_words, "api")
    path_words = [word for part in parts if "{" not in part for word in _words(_VERSION.sub(" ", part), excluded)]
    verb = _METHODS.get(method, method)
    is_single = verb == "create" or (bool(parts) and "{" in parts[-1])
    if verb == "get" and not is_single and path_words and singular(path_words[-1]) != path_words[-1]:
        verb = "list"
    noun_phrase = NounPhrase.of(path_words)
    return Operation(verb, noun_phrase.one() if is_single and path_words else noun_phrase, (verb, *path_words))


def _verb_position(name: Sequence[str], start: int) -> int | None:
    """Return the position of the verb: `start` (after the namespace), the end, or elsewhere; None without a verb.

    A word that may be a noun too counts only where no other word is a verb, and then at the start, or at the end where
    the lexicon does not list it as a noun (`hotel_search`, but not `sales_report`).
    """
    verbs, nouns = load_lexicon()["verbs"], load_lexicon()["nouns"]
    places = [place for place in (start, len(name) - 1, *range(len(name))) if name[place] in verbs]
    sure = [p for p in places if name[p] == "list" or (name[p] not in nouns and name[p] not in _ALSO_NOUNS)]
    maybe = [p for p in places if p in (0, start) or (p == len(name) - 1 and name[p] not in nouns)]
    return next(iter((*sure, *maybe)), None)


@dataclass(frozen=True, slots=True)
class EverydayWords:
    """Requests for a tool, the words of its name last, and synonyms of its verb and nouns."""

    requests: tuple[str, ...]
    synonyms: tuple[str, ...] = ()


def everyday_words(record: ToolRecord) -> EverydayWords:
    """Return the everyday words of a record, which must be sanitized."""
    label = label_words(record.provider)[:MAX_LABEL_WORDS]
    operation = parse_operation(record, [word for part in label for word in (part, *identifier_words(part))])
    name = " ".join(operation.words) or record.name
    # The words of an API's verbs ask a tool for a thing. Nobody asks a skill `release-notes` to "show me notes".
    if record.kind is not Kind.TOOL:
        return EverydayWords((name,))
    lexicon, nouns = load_lexicon(), operation.noun_phrase
    verbs = lexicon["verbs"].get(operation.verb, [])
    asked = [operation.verb, *verbs[:_MAX_VERBS]] if operation.verb and nouns.text else []
    known = [text for noun in nouns.nouns for text in lexicon["nouns"].get(singular(noun), [])]
    return EverydayWords(
        tuple(dict.fromkeys([*(f"{verb} {nouns.text}" for verb in asked), name])),
        tuple(dict.fromkeys([*verbs, *known])),
    )
