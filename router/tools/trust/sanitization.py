"""Removes steering text and hidden characters from a record.

Hidden characters are not reported, as most are traces of copying; text that only machines read is reported.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from msgspec import structs

from router.record import Parameter, ToolRecord
from router.tools.trust.characters import first_smuggled_character, strip_hidden
from router.tools.trust.steering_text import Finding, check_vendor_sentence

_LINE_END = re.compile(r"(?<=[.!?。])\s+|\n+")
_MARGIN = " \t\r\n>*#|/"  # around a line of a quotation, a list, a table or a comment
_ENDS = (".", "!", "?", "。")
_ORDERS = ("instruction", "poisoning")  # checks after which the rest of a text may be what was ordered
_MAX_REPORTED = 300  # characters of a removed sentence
_LATIN_WORD = re.compile(r"[a-z\u00df-\u024f]+")
_Hit = tuple[str, Finding]  # a sentence, and what was found in it


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A removed sentence: its field in the record, its text (shortened), the check that found it, the words found."""

    field: str
    text: str
    check: str
    detail: str


def sanitize(record: ToolRecord) -> tuple[ToolRecord, tuple[RemovedText, ...]]:
    """Return a record without steering text, and the sentences that were removed; most records are unchanged.

    After a prompt injection or tool poisoning the rest of the text, list or parameter is removed too, as it may be what
    was ordered. Of a keyword-stuffed text only the first sentence is kept.
    """
    removed: list[RemovedText] = []

    def report(field: str, hits: Iterable[_Hit]) -> bool:
        """Note the hits of a field; return whether one is an order."""
        removed.extend(RemovedText(field, text[:_MAX_REPORTED], found.check, found.detail) for text, found in hits)
        return any(found.check in _ORDERS for _, found in hits)

    def listed(field: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        sanitized = [sanitize_text(text) for text in texts]
        has_order = report(field, [hit for _, hits in sanitized for hit in hits])
        return () if has_order else tuple(text for text, _ in sanitized if text)

    def parameter_of(parameter: Parameter) -> Parameter:
        enum = listed("parameters", parameter.enum)
        path, path_hits = sanitize_text(parameter.path)
        description, description_hits = sanitize_text(parameter.description)
        has_order = report("parameters", (*path_hits, *description_hits))
        return structs.replace(
            parameter, path="" if path_hits else path, description=description, enum=() if has_order else enum
        )

    description, hits = sanitize_text(record.description)
    report("description", hits)
    kept = replace(
        record,
        description=description,
        parameters=tuple(map(parameter_of, record.parameters)),
        categories=listed("categories", record.categories),
        examples=listed("examples", record.examples),
    )
    return record if kept == record else kept, tuple(removed)


@lru_cache(maxsize=65_536)  # the tools of a provider share parameters
def sanitize_text(text: str) -> tuple[str, tuple[_Hit, ...]]:
    """Return a text without hidden characters and steering sentences, and the sentences with their findings."""
    visible = strip_hidden(text)
    hits: list[_Hit] = []
    if character := first_smuggled_character(text):
        hits.append((visible, Finding("hidden", character)))
    if detail := _keyword_stuffing(visible):
        hits.append((visible, Finding("stuffing", detail)))
        visible = _LINE_END.split(visible, maxsplit=1)[0][:_MAX_REPORTED]
    kept: list[str] = []
    for sentence in _sentences(visible):
        lines, found = _checked(sentence)
        kept += lines
        hits += found
        if any(finding.check in _ORDERS for _, finding in found):
            break
    return ("".join(kept).strip() if hits else visible), tuple(hits)


def _sentences(text: str) -> Iterator[list[str]]:
    """Yield the lines of each sentence, with the white space after them."""
    lines, start = [], 0
    for gap in _LINE_END.finditer(text):
        lines.append(text[start : gap.end()])
        start = gap.end()
        if lines[-1].rstrip().endswith(_ENDS):
            yield lines
            lines = []
    yield [*lines, text[start:]]


def _checked(lines: Sequence[str]) -> tuple[list[str], list[_Hit]]:
    """Return what may be kept of a sentence's lines, and what steers: a line alone, or several read as one."""
    kept: list[str] = []
    hits: list[_Hit] = []
    for line in lines:
        if (finding := check_vendor_sentence(line.strip())) is None:
            kept.append(line)
            continue
        hits.append((line.strip(), finding))
        if finding.check in _ORDERS:
            break
    if len(kept) > 1 and (finding := check_vendor_sentence(" ".join(line.strip(_MARGIN) for line in kept))):
        return [], [*hits, ("".join(kept).strip(), finding)]
    return kept, hits


def _keyword_stuffing(text: str) -> str:
    """Return why a text is keyword stuffing: few different words, or hardly any short word; empty where it is none.

    The least in 37,871 different real texts, in several languages: 15 different words of 100 where there are 100 or
    more, and 4 short ones of 100 where there are 40 or more.
    """
    if len(text) < 200:
        return ""
    words = _LATIN_WORD.findall(text.casefold())
    if len(words) >= 100 and len(set(words)) < 0.08 * min(len(words), 1_000):  # long texts repeat more
        return f"{len(set(words))} different words of {len(words)}"
    short_words = sum(len(word) <= 3 for word in words)
    if len(words) >= 40 and sum(map(len, words)) > 0.6 * len(text) and short_words < 0.03 * len(words):
        return f"{short_words} short words of {len(words)}"
    return ""
