"""A record without the sentences that speak to the model, promote the tool over others or speak ill of them.

Hidden characters go without a word, for most are traces of copying; text that is for machines alone is reported.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from router.record import Parameter, ToolRecord
from router.tools.trust.characters import first_smuggled_character, strip_hidden
from router.tools.trust.steering_text import Finding, check_vendor_sentence

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_SHOWN = 300  # characters of a sentence that is left out
_LATIN_WORD = re.compile(r"[a-z\u00df-\u024f]+")


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A sentence that is indexed nowhere: the record's field that it stood in, the check that found it, and what."""

    field: str
    text: str
    check: str
    detail: str


def sanitize(record: ToolRecord) -> tuple[ToolRecord, tuple[RemovedText, ...]]:
    """A record whose texts are fit to be indexed, and each sentence that was left out; most records are unchanged.

    After an order to the model the rest of the text, or of the parameter, goes too: what follows is what is ordered.
    Of a text that is stuffed with words its first sentence is left.
    """
    description, spoken = _clean(record.description)
    left_out = [("description", *found) for found in spoken]
    parameters = tuple(_parameter(parameter, left_out) for parameter in record.parameters)
    categories = _list(record.categories, "categories", left_out)
    examples = _list(record.examples, "examples", left_out)
    found = tuple(
        RemovedText(field, sentence[:_SHOWN], finding.check, finding.detail) for field, sentence, finding in left_out
    )
    if (description, parameters, categories, examples) == (
        record.description,
        record.parameters,
        record.categories,
        record.examples,
    ):
        return record, found
    return (
        replace(record, description=description, parameters=parameters, categories=categories, examples=examples),
        found,
    )


def _parameter(parameter: Parameter, left_out: list[tuple[str, str, Finding]]) -> Parameter:
    """A parameter without what it should not say; of one that gives orders no value is left."""
    (path, in_path), (description, in_description) = _clean(parameter.path), _clean(parameter.description)
    enum = _list(parameter.enum, "parameters", left_out)
    left_out.extend(("parameters", *one) for one in (*in_path, *in_description))
    if any(finding.check == "instruction" for _, finding in (*in_path, *in_description)):
        enum = ()
    if (path, description, enum) == (parameter.path, parameter.description, parameter.enum):
        return parameter
    return replace(parameter, path="" if in_path else path, description=description, enum=enum)


def _list(texts: tuple[str, ...], field: str, left_out: list[tuple[str, str, Finding]]) -> tuple[str, ...]:
    """Texts of a list without what they should not say; none of them where one is an order: the others are ordered."""
    cleaned = [_clean(text) for text in texts]
    found = [one for _, in_text in cleaned for one in in_text]
    left_out.extend((field, *one) for one in found)
    if any(finding.check == "instruction" for _, finding in found):
        return ()
    return tuple(kept for kept, _ in cleaned if kept)


@lru_cache(maxsize=65_536)  # the parameters of a provider's tools repeat themselves
def _clean(text: str) -> tuple[str, tuple[tuple[str, Finding], ...]]:
    """A text without hidden characters and suspicious sentences; and those, each with what it says."""
    shown = strip_hidden(text)
    found: list[tuple[str, Finding]] = []
    if trace := first_smuggled_character(text):
        found.append((shown, Finding("hidden", trace)))
    if detail := _stuffed(shown):
        found.append((shown, Finding("stuffing", detail)))
        shown = _SENTENCE.split(shown, maxsplit=1)[0][:_SHOWN]
    kept: list[str] = []
    position = 0
    for gap in (*_SENTENCE.finditer(shown), None):
        sentence = shown[position : gap.start() if gap else len(shown)]
        finding = check_vendor_sentence(sentence) if sentence else None
        if finding:
            found.append((sentence, finding))
            if finding.check == "instruction":
                break
        else:
            kept.append(shown[position : gap.end() if gap else len(shown)])
        position = gap.end() if gap else len(shown)
    return ("".join(kept).strip() if found else shown), tuple(found)


def _stuffed(text: str) -> str:
    """What makes a text a heap of words: the same few again and again, or hardly a short one that joins others.

    The least in 37,871 different real texts, in several languages: 15 different words of 100 where there are 100 or
    more, and 4 short ones of 100 where there are 40 or more.
    """
    if len(text) < 200:
        return ""
    words = _LATIN_WORD.findall(text.casefold())
    if len(words) >= 100 and len(set(words)) < 0.08 * len(words):
        return f"{len(set(words))} different words of {len(words)}"
    if len(words) >= 40 and sum(map(len, words)) > 0.6 * len(text):
        short = sum(len(word) <= 3 for word in words)
        if short < 0.03 * len(words):
            return f"{short} short words of {len(words)}"
    return ""
