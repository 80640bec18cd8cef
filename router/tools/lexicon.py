"""Everyday words for a tool, by its name: deterministic, free, offline, and less than what a model writes.

The lexicon (`lexicon.toml`) lists what people say for the verbs and nouns of APIs. It cannot invent an outcome ("my
card was declined") that shares no word with the name.
"""

from dataclasses import dataclass

from router.record import Kind, ToolRecord
from router.text import identifier_words
from router.tools.grammar import load_lexicon, singular
from router.tools.naming import parse_operation
from router.tools.text_overlap import MAX_LABEL_WORDS, label_words

_MAX_VERBS = 2  # said in requests beside the name's own


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
