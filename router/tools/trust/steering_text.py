"""Finds steering text: prompt injection, tool poisoning, promotion of a tool over others, defamation of others.

Generated phrases are checked more strictly than sentences of a vendor's description, where advice to the model ("always
call this before you edit a page") is ordinary and useful.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from router.tools.trust import claims, poisoning, prompt_injection
from router.tools.trust.characters import fold_lookalikes, strip_hidden

_CHAT_MARK = re.compile(prompt_injection.CHAT_MARK, re.IGNORECASE | re.MULTILINE)
_MARKUP = re.compile(claims.MARKUP, re.IGNORECASE)
_ACCUSATION_EXCEPTION = re.compile(claims.ACCUSATION_EXCEPTION)
_SENTENCE_START = re.compile(r"[.!?\n]")
_NAMED_DEFAMATION = re.compile(claims.NAMED_DEFAMATION)
_TOKEN = re.compile(r"[\w']+")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})
# Number, name of the check, pattern, and whether `claims.ACCUSATION_EXCEPTION` applies.
_Rule = tuple[int, str, re.Pattern[str], bool]
_SHINGLE_WORDS = 8  # no two texts share as many by chance; "when somebody wants to know the" has six


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit: the name of the check and the words that it found."""

    check: str
    detail: str


def check_generated_phrase(text: str) -> Finding | None:
    """Return the first steering text or markup in a generated phrase; None without any."""
    if finding := _search(text, strict=True):
        return finding
    if text.replace(" ", "").isalpha() and text.islower():  # it cannot hold a mark or a name
        return None
    visible_text = strip_hidden(text)
    for check, pattern in (("instruction", _CHAT_MARK), ("defamation", _NAMED_DEFAMATION), ("markup", _MARKUP)):
        match = pattern.search(visible_text)
        if match and not (pattern is _NAMED_DEFAMATION and _is_excepted(visible_text.casefold(), match)):
            return Finding(check, match.group().strip())
    return None


def check_vendor_sentence(sentence: str) -> Finding | None:
    """Return the first steering text in a sentence of a vendor's text; None without any.

    Advice on how and when to use the tool is none of them.
    """
    if finding := _search(sentence, strict=False):
        return finding
    if match := _CHAT_MARK.search(strip_hidden(sentence)):
        return Finding("instruction", match.group().strip())
    return None


def _search(text: str, strict: bool) -> Finding | None:
    rules = _rules(strict)
    normalized = _normalize(text)
    candidates = {rule for word in rules.keys() & set(_TOKEN.findall(normalized)) for rule in rules[word]}
    for _, check, pattern, has_exception in sorted(candidates, key=lambda rule: rule[0]):
        for match in pattern.finditer(normalized):
            if not (has_exception and _is_excepted(normalized, match)):
                return Finding(check, match.group().strip())
    return None


def _is_excepted(text: str, match: re.Match[str]) -> bool:
    """Return whether an accusation only mentions such things: "where is malware", "a file that is malicious"."""
    start = max((gap.end() for gap in _SENTENCE_START.finditer(text, 0, match.start())), default=0)
    return _ACCUSATION_EXCEPTION.search(text, start, match.end()) is not None


@cache
def _rules(strict: bool) -> Mapping[str, tuple[_Rule, ...]]:
    """Return the rules by each word that a text must hold to match them, numbered in their order."""
    tables = [
        ("instruction", prompt_injection.INSTRUCTION),
        ("poisoning", poisoning.POISONING),
        ("promotion", claims.PROMOTION),
        ("defamation", claims.DEFAMATION),
        ("defamation", claims.ACCUSATION),
    ]
    if strict:
        tables += [("instruction", prompt_injection.STRICT_INSTRUCTION), ("promotion", claims.STRICT_PROMOTION)]
    rules: dict[str, tuple[_Rule, ...]] = {}
    rows = [(check, *row, table is claims.ACCUSATION) for check, table in tables for row in table]
    for number, (check, words, pattern, has_exception) in enumerate(rows):
        rule = (number, check, re.compile(pattern), has_exception)
        for word in words.split():
            rules[word] = (*rules.get(word, ()), rule)
    return rules


def _normalize(text: str) -> str:
    """Return a text in lower case and NFKC, without hidden characters, with `_`, `-` and humps as spaces."""
    if not text.isascii():
        text = fold_lookalikes(unicodedata.normalize("NFKC", strip_hidden(text)).translate(_QUOTES))
    return _SEPARATORS.sub(" ", _HUMPS.sub(" ", text)).casefold()


@cache
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return the shingles of a text: every sequence of eight words."""
    return frozenset(_iter_shingles(text))


def first_shared_shingle(text: str, other: frozenset[tuple[str, ...]]) -> str:
    """Return the first eight words in a row that a text shares with another, given by its shingles; else empty."""
    if text.count(" ") < _SHINGLE_WORDS - 1:
        return ""
    return next((" ".join(shingle) for shingle in _iter_shingles(text) if shingle in other), "")


def _iter_shingles(text: str) -> Iterator[tuple[str, ...]]:
    tokens = _TOKEN.findall(text.casefold())
    return zip(*(tokens[start:] for start in range(_SHINGLE_WORDS)), strict=False)
