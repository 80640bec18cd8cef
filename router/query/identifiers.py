"""The identifiers that a request brings: "patient 123", an order's `cus_9f3`, a URL, a point on earth."""

import re

import msgspec

from router.text import identifier_words
from router.tools.grammar import singular

_URL = re.compile(r"\bhttps?://|\bwww\.", re.IGNORECASE)
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
# Bounded, since each part of `1-1-1-…` looks ahead anew.
_TOKEN = re.compile(
    r"(?<![\w.])(?:"
    r"(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Za-z])\w+_\w+"  # cus_9f3
    r"|(?=\w*\d\w*\d)(?=\w*[A-Za-z])\w{8,}"  # 4f9a1c20, B00EXAMPLE1
    r"|(?!COVID|GPT|ISO|RFC|SHA|UTF)[A-Z][A-Z0-9]{1,9}-\d+"  # MOB-77
    r"|[#!]\d+"
    r"|\d{6,}"
    r")(?![\w])"
)
_DATED = re.compile(r"(?:19|20)\d{6}")  # 20260214
_NUMBERED = re.compile(
    r"\b(?P<noun>[A-Za-z]{2,30})[\s:,]{1,2}(?:(?:id|no|nr|number|num)\b[\s.:]{0,3}(?:is |of )?)?[#\"'`]?"
    r"(?P<number>[A-Za-z]{0,3}[-_]?\d[\w-]{0,40})"
)
_SAID_ID = re.compile(r"\b(?:id|ids|identifier|uuid|slug)\b[\s:=]{0,3}(?:is |of |= ?)?[\"'`#]?\w*\d", re.IGNORECASE)
_POINT = re.compile(r"-?\d{1,3}\.\d+\s?°?\s?[NS]?\s?[,;/ ]\s?-?\d{1,3}\.\d+|\d\s?°", re.IGNORECASE)
_MINE = re.compile(r"\b(?:my|mine|our|ours|myself)\b", re.IGNORECASE)
_MOST_READ = 4_000  # characters


class RequestIdentifiers(msgspec.Struct, frozen=True):
    """What a request brings: an opaque identifier, a point on earth, numbers.

    `numbered` are the nouns, in the singular, that a number follows. `says_mine` says that it speaks of the caller's.
    """

    opaque: bool
    point: bool
    says_mine: bool
    numbered: frozenset[str]

    def has(self, noun: str) -> bool:
        """Return whether the request brings an identifier of a thing."""
        words = identifier_words(noun)
        return self.opaque or (bool(words) and words[-1] in self.numbered)


def find_identifiers(request: str) -> RequestIdentifiers:
    """Return the identifiers in a request; only its first 4,000 characters are read."""
    text = request[:_MOST_READ]
    says_mine = _MINE.search(text) is not None
    if not any(map(str.isdigit, text)) and "://" not in text:
        return RequestIdentifiers("www." in text, False, says_mine, frozenset())
    opaque = any(pattern.search(text) for pattern in (_URL, _UUID, _SAID_ID)) or any(
        not _DATED.fullmatch(match.group()) for match in _TOKEN.finditer(text)
    )
    numbered = frozenset(singular(match["noun"].lower()) for match in _NUMBERED.finditer(text))
    return RequestIdentifiers(opaque, _POINT.search(text) is not None, says_mine, numbered)
