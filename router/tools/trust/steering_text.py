"""Sentences that speak to the model, promote a tool over others or speak ill of them.

Two readers: a phrase that a model wrote is held to more than a sentence of a vendor's description, where advice to the
model ("always call this before you edit a page") is ordinary and useful. What both look for is an order to whoever
writes or ranks, a claim over other tools, ill report of them.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from router.tools.trust import claims, prompt_injection
from router.tools.trust.characters import fold_lookalikes, strip_hidden

_CHAT_MARK = re.compile(prompt_injection.CHAT_MARK, re.IGNORECASE | re.MULTILINE)
_MARKUP = re.compile(claims.MARKUP, re.IGNORECASE)
_EXCUSED = re.compile(claims.EXCUSED)
_SENTENCE_START = re.compile(r"[.!?\n]")
_NAMED_ILL = re.compile(claims.NAMED_ILL)
_TOKEN = re.compile(r"[\w']+")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})
# Its number, its check, its pattern, and whether `claims.EXCUSED` is asked first.
_Rule = tuple[int, str, re.Pattern[str], bool]
_RUN = 8  # words in a row that no two texts share by chance; "when somebody wants to know the" is six


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's name and the words that it found."""

    check: str
    detail: str


def check_generated_phrase(text: str) -> Finding | None:
    """What a phrase that a model wrote should not say: an order, a promotion, ill report, markup."""
    if finding := _search(text, strict=True):
        return finding
    if text.replace(" ", "").isalpha() and text.islower():  # neither mark nor name
        return None
    shown = strip_hidden(text)
    for check, pattern in (("instruction", _CHAT_MARK), ("defamation", _NAMED_ILL), ("markup", _MARKUP)):
        found = pattern.search(shown)
        if found and not (pattern is _NAMED_ILL and _is_excused(shown.casefold(), found)):
            return Finding(check, found.group().strip())
    return None


def check_vendor_sentence(sentence: str) -> Finding | None:
    """What a sentence of a tool's own text should not say. Advice on how and when to use the tool is no such thing."""
    if finding := _search(sentence, strict=False):
        return finding
    if found := _CHAT_MARK.search(strip_hidden(sentence)):
        return Finding("instruction", found.group().strip())
    return None


def _search(text: str, strict: bool) -> Finding | None:
    rules = _rules(strict)
    read = _read(text)
    met = {rule for word in rules.keys() & set(_TOKEN.findall(read)) for rule in rules[word]}
    for _, check, pattern, excusable in sorted(met, key=lambda rule: rule[0]):
        for found in pattern.finditer(read):
            if not (excusable and _is_excused(read, found)):
                return Finding(check, found.group().strip())
    return None


def _is_excused(read: str, found: re.Match[str]) -> bool:
    """Whether ill report only asks or tells of such things: "where is malware", "a file that is malicious"."""
    start = max((gap.end() for gap in _SENTENCE_START.finditer(read, 0, found.start())), default=0)
    return _EXCUSED.search(read, start, found.end()) is not None


@cache
def _rules(strict: bool) -> Mapping[str, tuple[_Rule, ...]]:
    """The patterns that each word may be the sign of, numbered in their order."""
    tables = [
        ("instruction", prompt_injection.INSTRUCTION),
        ("promotion", claims.PROMOTION),
        ("defamation", claims.DEFAMATION),
        ("defamation", claims.ILL_REPORT),
    ]
    if strict:
        tables += [("instruction", prompt_injection.STRICT_INSTRUCTION), ("promotion", claims.STRICT_PROMOTION)]
    rules: dict[str, tuple[_Rule, ...]] = {}
    rows = [(check, *row, table is claims.ILL_REPORT) for check, table in tables for row in table]
    for number, (check, words, pattern, excusable) in enumerate(rows):
        rule = (number, check, re.compile(pattern), excusable)
        for word in words.split():
            rules[word] = (*rules.get(word, ()), rule)
    return rules


def _read(text: str) -> str:
    """A text in lower case, compatibility forms undone, hidden characters out, `_`, `-` and humps as spaces."""
    if not text.isascii():
        text = fold_lookalikes(unicodedata.normalize("NFKC", strip_hidden(text)).translate(_QUOTES))
    return _SEPARATORS.sub(" ", _HUMPS.sub(" ", text)).casefold()


@cache
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every run of eight words of a text."""
    return frozenset(_runs(text))


def first_shared_shingle(text: str, of: frozenset[tuple[str, ...]]) -> str:
    """The first run of eight words that a text shares with another, given by its shingles; else empty."""
    if text.count(" ") < _RUN - 1:
        return ""
    return next((" ".join(run) for run in _runs(text) if run in of), "")


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    tokens = _TOKEN.findall(text.casefold())
    return zip(*(tokens[start:] for start in range(_RUN)), strict=False)
