"""Removes steering text and hidden characters from a record.

Hidden characters are not reported, as most are traces of copying; text that only machines read is reported.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from router.record import Parameter, ToolRecord
from router.tools.trust.characters import first_smuggled_character, strip_hidden
from router.tools.trust.steering_text import Finding, check_vendor_sentence

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
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
        return replace(
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
        visible = _SENTENCE.split(visible, maxsplit=1)[0][:_MAX_REPORTED]
    kept: list[str] = []
    lines: list[str] = []  # of a sentence, each with the white space after it

    def close() -> bool:
        """Keep the lines of a sentence, if they do not steer when they are read as one; return whether that orders."""
        steers = _first_wrapped(lines)
        number, finding = steers or (len(lines), None)
        kept.extend(lines[:number])
        if finding:
            hits.append(("".join(lines[number:]).strip(), finding))
        lines.clear()
        return finding is not None and finding.check in _ORDERS

    for line in _lines(visible):
        if finding := check_vendor_sentence(line.strip()):
            hits.append((line.strip(), finding))
            if finding.check in _ORDERS:
                break
        else:
            lines.append(line)
        if line.rstrip().endswith(_ENDS) and close():
            break
    close()
    return ("".join(kept).strip() if hits else visible), tuple(hits)


def _lines(text: str) -> Iterator[str]:
    """Yield sentences and lines of a text, each with the white space after it."""
    start = 0
    for gap in _SENTENCE.finditer(text):
        yield text[start : gap.end()]
        start = gap.end()
    yield text[start:]


def _first_wrapped(lines: Sequence[str]) -> tuple[int, Finding] | None:
    """Return where steering text begins in lines that are one sentence, and its finding; None without any."""

    def finding(start: int, end: int) -> Finding | None:
        return check_vendor_sentence(" ".join(line.strip(_MARGIN) for line in lines[start:end]))

    if len(lines) < 2 or (found := finding(0, len(lines))) is None:
        return None
    end = bisect_left(range(len(lines)), True, key=lambda number: finding(0, number + 1) is not None) + 1
    return max(bisect_left(range(end), True, key=lambda number: finding(number, end) is None) - 1, 0), found


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
