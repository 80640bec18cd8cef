"""Removes steering text and hidden characters from a record.

Hidden characters are not reported, as most are traces of copying; text that only machines read is reported.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from router.record import Parameter, ToolRecord
from router.tools.trust.characters import first_smuggled_character, strip_hidden
from router.tools.trust.steering_text import Finding, check_vendor_sentence

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_ENDS = (".", "!", "?", "。", ":")
ORDERS = ("instruction", "poisoning")  # checks after which the rest of a text may be what was ordered
_MAX_REPORTED = 300  # characters of a removed sentence
_LATIN_WORD = re.compile(r"[a-z\u00df-\u024f]+")


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
    description, description_hits = sanitize_text(record.description)
    hits = [("description", *hit) for hit in description_hits]
    parameters = tuple(_sanitize_parameter(parameter, hits) for parameter in record.parameters)
    categories = _sanitize_list(record.categories, "categories", hits)
    examples = _sanitize_list(record.examples, "examples", hits)
    removed = tuple(
        RemovedText(field, text[:_MAX_REPORTED], finding.check, finding.detail) for field, text, finding in hits
    )
    kept = replace(record, description=description, parameters=parameters, categories=categories, examples=examples)
    return record if kept == record else kept, removed


def _sanitize_parameter(parameter: Parameter, hits: list[tuple[str, str, Finding]]) -> Parameter:
    """Return a parameter without steering text, and add the hits; one that gives orders loses its enum."""
    path, path_hits = sanitize_text(parameter.path)
    description, description_hits = sanitize_text(parameter.description)
    enum = _sanitize_list(parameter.enum, "parameters", hits)
    hits.extend(("parameters", *hit) for hit in (*path_hits, *description_hits))
    if any(finding.check in ORDERS for _, finding in (*path_hits, *description_hits)):
        enum = ()
    return replace(parameter, path="" if path_hits else path, description=description, enum=enum)


def _sanitize_list(texts: tuple[str, ...], field: str, hits: list[tuple[str, str, Finding]]) -> tuple[str, ...]:
    """Return the texts of a list without steering text, and add the hits; none where one gives orders."""
    sanitized = [sanitize_text(text) for text in texts]
    list_hits = [hit for _, text_hits in sanitized for hit in text_hits]
    hits.extend((field, *hit) for hit in list_hits)
    if any(finding.check in ORDERS for _, finding in list_hits):
        return ()
    return tuple(text for text, _ in sanitized if text)


@lru_cache(maxsize=65_536)  # the tools of a provider share parameters
def sanitize_text(text: str) -> tuple[str, tuple[tuple[str, Finding], ...]]:
    """Return a text without hidden characters and steering sentences, and the sentences with their findings."""
    visible_text = strip_hidden(text)
    hits: list[tuple[str, Finding]] = []
    if character := first_smuggled_character(text):
        hits.append((visible_text, Finding("hidden", character)))
    if detail := _keyword_stuffing(visible_text):
        hits.append((visible_text, Finding("stuffing", detail)))
        visible_text = _SENTENCE.split(visible_text, maxsplit=1)[0][:_MAX_REPORTED]
    kept_parts: list[str] = []
    position = 0
    for gap in (*_SENTENCE.finditer(visible_text), None):
        sentence = visible_text[position : gap.start() if gap else len(visible_text)]
        finding = _check_wrapped(sentence, visible_text, gap) if sentence else None
        if finding:
            hits.append((sentence, finding))
            if finding.check in ORDERS:
                break
        else:
            kept_parts.append(visible_text[position : gap.end() if gap else len(visible_text)])
        position = gap.end() if gap else len(visible_text)
    return ("".join(kept_parts).strip() if hits else visible_text), tuple(hits)


def _check_wrapped(sentence: str, text: str, gap: re.Match[str] | None) -> Finding | None:
    """Return the finding of a sentence of a text, read with the next line where it ends within a line's wrap."""
    if finding := check_vendor_sentence(sentence):
        return finding
    if gap is None or gap.group() != "\n" or sentence.endswith(_ENDS):
        return None
    next_line = _SENTENCE.split(text[gap.end() : gap.end() + _MAX_REPORTED], maxsplit=1)[0]
    if not next_line[:1].islower():  # a list or another heading
        return None
    finding = check_vendor_sentence(f"{sentence} {next_line}")
    return finding if finding and not check_vendor_sentence(next_line) else None


def _keyword_stuffing(text: str) -> str:
    """Return why a text is keyword stuffing: few different words, or hardly any short word; empty where it is none.

    The least in 37,871 different real texts, in several languages: 15 different words of 100 where there are 100 or
    more, and 4 short ones of 100 where there are 40 or more.
    """
    if len(text) < 200:
        return ""
    words = _LATIN_WORD.findall(text.casefold())
    if len(words) >= 100 and len(set(words)) < 0.08 * len(words):
        return f"{len(set(words))} different words of {len(words)}"
    if len(words) >= 40 and sum(map(len, words)) > 0.6 * len(text):
        short_words = sum(len(word) <= 3 for word in words)
        if short_words < 0.03 * len(words):
            return f"{short_words} short words of {len(words)}"
    return ""
