"""Finds steering text: prompt injection, tool poisoning, promotion of a tool over others, defamation of others.

The patterns are in `patterns.toml`. Generated phrases are checked more strictly than sentences of a vendor's
description, where advice to the model ("always call this before you edit a page") is ordinary and useful.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from router.tools.trust.characters import strip_hidden
from router.tools.trust.normal_form import fold, readings

_PATTERNS = tomllib.loads(resources.files(__package__).joinpath("patterns.toml").read_text(encoding="utf-8"))


def _filled(pattern: str) -> str:
    """Return a pattern with the parts that it names put in."""
    return re.sub("<([A-Z_]+)>", lambda part: _filled(_PATTERNS["parts"][part[1]]), pattern)


# Name of the check, table, and whether `accusation_exception` applies.
_TABLES = (
    ("instruction", "instruction", False),
    ("poisoning", "poisoning", False),
    ("promotion", "promotion", False),
    ("defamation", "defamation", False),
    ("defamation", "accusation", True),
)
_STRICT_TABLES = (*_TABLES, ("instruction", "strict_instruction", False), ("promotion", "strict_promotion", False))
_CHAT_MARK = re.compile(_filled(_PATTERNS["chat_mark"]), re.IGNORECASE | re.MULTILINE)
_MARKUP = re.compile(_filled(_PATTERNS["markup"]), re.IGNORECASE)
_ACCUSATION_EXCEPTION = re.compile(_filled(_PATTERNS["accusation_exception"]))
_NAMED_DEFAMATION = re.compile(_filled(_PATTERNS["named_defamation"]))
_SENTENCE_START = re.compile(r"[.!?\n]")
_TOKEN = re.compile(r"[\w']+")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHINGLE_WORDS = 8  # no two texts share as many by chance; "when somebody wants to know the" has six
_Rule = tuple[int, str, re.Pattern[str], bool]  # its number, the check, the pattern, whether it has an exception


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit: the name of the check and the words that it found."""

    check: str
    detail: str


def check_generated_phrase(text: str) -> Finding | None:
    """Return the first steering text or markup in a generated phrase; None without any."""
    forms = readings(text)
    if finding := _first_match(forms, strict=True):
        return finding
    for form in forms:
        if (match := _NAMED_DEFAMATION.search(form)) and not _is_excepted(form.casefold(), match):
            return Finding("defamation", match.group().strip())
    return Finding("markup", match.group().strip()) if (match := _MARKUP.search(strip_hidden(text))) else None


def check_vendor_sentence(sentence: str) -> Finding | None:
    """Return the first steering text in a sentence of a vendor's text, where advice is none; None without any."""
    return _first_match(readings(sentence), strict=False)


def _first_match(forms: tuple[str, ...], *, strict: bool) -> Finding | None:
    """Return the first match in forms of a text, or mark of a chat turn; only rules of words in the text are tried."""
    rules = _rules(strict)
    for form in forms:
        lowered = _SEPARATORS.sub(" ", _HUMPS.sub(" ", form)).casefold()
        candidates = {rule for word in rules.keys() & set(_TOKEN.findall(lowered)) for rule in rules[word]}
        for _, check, pattern, has_exception in sorted(candidates, key=lambda rule: rule[0]):
            for match in pattern.finditer(lowered):
                if not (has_exception and _is_excepted(lowered, match)):
                    return Finding(check, match.group().strip())
        if mark := _CHAT_MARK.search(form):
            return Finding("instruction", mark.group().strip())
    return None


def _is_excepted(text: str, match: re.Match[str]) -> bool:
    """Return whether an accusation only mentions such things: "where is malware", "a file that is malicious"."""
    start = max((gap.end() for gap in _SENTENCE_START.finditer(text, 0, match.start())), default=0)
    return _ACCUSATION_EXCEPTION.search(text, start, match.end()) is not None


@cache
def _rules(strict: bool) -> Mapping[str, list[_Rule]]:
    """Return the rules by each word that a text must hold to match them."""
    rules: dict[str, list[_Rule]] = {}
    rows = [
        (check, *row, excepted)
        for check, table, excepted in (_STRICT_TABLES if strict else _TABLES)
        for row in _PATTERNS[table]
    ]
    for number, (check, words, pattern, excepted) in enumerate(rows):
        rule = (number, check, re.compile(fold(_filled(pattern))), excepted)
        for word in fold(_filled(words)).split():
            rules.setdefault(word, []).append(rule)
    return rules


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
