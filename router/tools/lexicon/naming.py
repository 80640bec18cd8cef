"""The verb and the thing of a tool's name, wherever they stand: `create_issue`, `issues/create`, `charges_list`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.lexicon.grammar import NounPhrase, load_lexicon, singular

__all__ = ["Operation", "parse_operation"]

_ROUTE = re.compile(r"^(?P<method>[a-z]+)_(?P<path>/.*)$")
_METHODS = {"get": "get", "head": "get", "post": "create", "put": "update", "patch": "update", "delete": "delete"}
_VERSION = re.compile(r"(?<![A-Za-z])[vV]\d+(?![a-z])|(?<=[a-z])V\d+(?=[A-Z]|$)")
# A namespace before the operation: `issues/create`, `chat.postMessage`.
_NAMESPACE = re.compile(r"^.*[/.](?=[^/.]*\w)")
# Two words of a name that are one verb.
_SPLIT_VERBS = {("re", "run"): "rerun", ("look", "up"): "lookup", ("log", "in"): "login", ("log", "out"): "logout"}
_QUESTION = re.compile("is|are|has|have|can|does|should|was|will")
_ADJECTIVE = re.compile(r"\w{3,}ed|active|all|authenticated|current|default|latest|new|private|public|recent")
# Verbs that are as often nouns, beside those that the lexicon has as both: `book_get` gets a book.
_ALSO_NOUNS = frozenset(
    (
        "block book build call change copy count download draft export filter import like link load lock log patch "
        "play post put query rate scan search set share sort split store sync test transfer update upload vote watch "
        "write"
    ).split()
)
# An operation on one thing, whose name says where it belongs: `issues/create`.
_OF_ONE = frozenset(
    (
        "create add insert new register get read view show describe update edit modify change patch replace rename "
        "delete remove destroy cancel close open archive restore approve reject assign complete resolve publish "
        "upsert place submit enable disable activate deactivate lock unlock send upload"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a tool does, as its name says: the verb, empty where the name has none, and what it is done to."""

    verb: str
    thing: NounPhrase
    words: tuple[str, ...]

    @property
    def is_question(self) -> bool:
        """Return whether the name asks: `is_valid_email`."""
        return bool(self.words) and _QUESTION.fullmatch(self.words[0]) is not None


def parse_operation(record: ToolRecord, without: Sequence[str] = ()) -> Operation:
    """Return the operation of a record's name. Words of `without`, the provider's, are left out unless all are."""
    if route := _ROUTE.match(record.name):
        return _of_route(route["method"], route["path"], without)
    text = _VERSION.sub(" ", record.name)
    name = _words(text, without) or identifier_words(record.name)
    if not name:
        return Operation("", NounPhrase(()), ())
    space = _NAMESPACE.match(text)
    start = min(len(_words(space[0], without)) if space else 0, len(name) - 1)
    method = str(record.annotations.get("method", "")).casefold()
    place = _place_of_verb(name, start)
    if place is None or _QUESTION.fullmatch(name[0]):
        return Operation("", NounPhrase.of(name), tuple(name))
    verb, before, after = name[place], name[:place], name[place + 1 :]
    if place and before[0] == method:  # `PostAccountsVerify`
        before = before[1:]
    if len(after) > 1 and after[0] in ("and", "or") and after[1] in load_lexicon()["verbs"]:
        after = after[2:]  # "create or update": the first verb stands for both
    of_one = not after
    if before and after and all(map(_ADJECTIVE.fullmatch, after)):  # `users/get-authenticated`
        before, after, of_one = after, before, True
    rest = before + after
    if not NounPhrase.of(rest).nouns and not NounPhrase.of(rest).tail and record.categories:
        rest = identifier_words(record.categories[0])
    thing = NounPhrase.of(rest)
    verb = _METHODS[verb] if verb == method and verb in _METHODS else verb
    return Operation(verb, thing.one() if of_one and verb in _OF_ONE else thing, tuple(name))


def _words(text: str, without: Sequence[str]) -> list[str]:
    found = [word for word in identifier_words(text) if not word.isdigit() and word not in without]
    for place, pair in enumerate(pairwise(found)):
        if pair in _SPLIT_VERBS:
            return [*found[:place], _SPLIT_VERBS[pair], *found[place + 2 :]]
    return found


def _of_route(method: str, path: str, without: Sequence[str]) -> Operation:
    """Return the operation of a method and a path, where a document gives no other name."""
    parts = [part for part in path.strip("/").split("/") if part]
    said = [word for part in parts if "{" not in part for word in _words(_VERSION.sub(" ", part), (*without, "api"))]
    verb = _METHODS.get(method, method)
    of_one = verb == "create" or (bool(parts) and "{" in parts[-1])
    if verb == "get" and not of_one and said and singular(said[-1]) != said[-1]:
        verb = "list"
    thing = NounPhrase.of(said)
    return Operation(verb, thing.one() if of_one and said else thing, (verb, *said))


def _place_of_verb(name: Sequence[str], start: int) -> int | None:
    """Return where the verb stands: at `start`, after the namespace, at the end, or inside.

    A word that may be a noun too counts only where no other is a verb: at the start, or at the end where the lexicon
    does not know it as a noun (`hotel_search`, but no `sales_report`).
    """
    verbs, nouns = load_lexicon()["verbs"], load_lexicon()["nouns"]
    places = [place for place in (start, len(name) - 1, *range(len(name))) if name[place] in verbs]
    sure = [p for p in places if name[p] == "list" or (name[p] not in nouns and name[p] not in _ALSO_NOUNS)]
    maybe = [p for p in places if p in (0, start) or (p == len(name) - 1 and name[p] not in nouns)]
    return next(iter((*sure, *maybe)), None)
