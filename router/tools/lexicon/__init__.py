"""Phrases for a tool from the verbs and nouns of APIs: deterministic, free, offline, and weaker than a model's.

The lexicon (`lexicon.toml`) knows the words people use for the verbs and nouns of APIs, and nothing of what a tool is
for beyond its name, provider and first sentence. It cannot invent an outcome ("my card was declined") that shares no
word with the tool. What does not read as somebody would say it is left out rather than kept.
"""

import re
from collections.abc import Sequence

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.text import identifier_words
from router.tools.lexicon.grammar import NounPhrase, load_lexicon, singular
from router.tools.lexicon.naming import Operation, parse_operation
from router.tools.provider_labels import MAX_LABEL_WORDS, label_words

__all__ = ["expand", "lexicon_version"]

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_THIRD_PERSON = re.compile(
    r"^(?:used to|use to|allows you to|lets you|this (?:tool|endpoint|function|operation))\s+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MAX_SENTENCE = 160
_SAID = 4  # ways to say the verb
_OTHERS = 2  # and the noun
# In the model's name, and so in every key, as the words are: raise it with any change to how they are put together.
_VERSION = 2


def lexicon_version() -> str:
    """Return a short hash of the lexicon and of how phrases are put together."""
    return fingerprint([_VERSION, load_lexicon()])[:8]


def expand(record: ToolRecord) -> Expansion:
    """Return the expansion of a record, as `router.trust.trusted` leaves it."""
    label = label_words(record.provider)[:MAX_LABEL_WORDS]
    found = parse_operation(record, [word for part in label for word in (part, *identifier_words(part))])
    sentence = _first_sentence(record.description)
    named = " ".join(found.words) or record.name
    bare = found.thing.bare()
    place = f" in {' '.join(label)}" if label else ""
    said = _said(found, " ".join(label), place) if found.words and named.isascii() else []
    phrases = [sentence, *said] if sentence else said
    concepts = [parameter.path.replace("_", " ") for parameter in record.parameters if "." not in parameter.path][:8]
    return Expansion.from_json(
        {
            "when_to_use": sentence or (f"{said[0]}{place}" if said and found.verb else named),
            "user_phrases": [*dict.fromkeys(phrase for phrase in (*phrases, named) if phrase.strip())],
            "synonyms": _synonyms(found),
            "related_concepts": concepts,
            "task_categories": [*record.categories[:3], *([f"{found.verb} {bare}"] if found.verb and bare else [])],
        }
    )


def _said(found: Operation, label: str, place: str) -> list[str]:
    """Return the ways to ask for an operation; of a name without a verb, the thing itself."""
    thing, verb = found.thing, found.verb
    if not verb:
        known = singular(thing.head) in load_lexicon()["nouns"] or thing.in_class("value")
        asked = _ways("get", thing, load_lexicon()["verbs"]["get"][:2]) if known and not found.is_question else []
        return [*asked, f"{label} {thing.bare()}".strip()]
    texts: list[str] = [text for text in load_lexicon()["verbs"][verb] if not text.startswith("~")]
    if not thing.nouns:  # `comment_on_issue`
        texts = [text for text in texts if re.search(r" (?:on|to|for|from) \{the\}$", text)]
        everyday = _ways(verb, thing.of_tail(), texts) if thing.tail else []
        return [f"{verb} {thing.bare()}".strip(), *everyday[:_SAID], *([f"{verb}{place}"] if place else [])]
    # "search for", "reply to": the verb with its preposition, where it takes one.
    own = texts[0] if texts[0].startswith(f"{verb} ") else "" if verb in load_lexicon()["articles"]["unsaid"] else verb
    everyday = _ways(verb, thing, [text for text in texts if text != own])
    others = [said for text, other in zip(texts, thing.others(), strict=False) for said in _ways(verb, other, [text])]
    pair = f"{verb} {singular(thing.head)}" if len(thing.nouns) == 1 and not thing.tail else ""
    said = [
        *(_ways(verb, thing, [own]) if own else []),
        *everyday[:_SAID],
        *load_lexicon()["pairs"].get(pair, []),
        *others[:_OTHERS],
    ]
    if place and said:
        said.append(f"{(everyday or said)[0]}{place}")
    if place and not thing.tail:
        said.append(f"{thing.bare()}{place}")
    return said


def _ways(verb: str, thing: NounPhrase, texts: Sequence[str]) -> list[str]:
    return [said for text in texts if (said := _filled(text, verb, thing))]


def _filled(text: str, verb: str, thing: NounPhrase) -> str:
    """Return a verb's text with the thing in its place; empty where the two do not go together."""
    if not _PLACEHOLDER.search(text):
        articles = load_lexicon()["articles"]
        text += " {a}" if verb in articles["a"] else " {all}" if verb in articles["all"] else " {the}"
    # "email the email", "order an order"
    if {singular(word) for word in _PLACEHOLDER.sub("", text).split()} & {singular(word) for word in thing.nouns}:
        return ""
    fits = {
        "value": thing.in_class("value"),
        "person": thing.in_class("person"),
        "other": not thing.in_class("person"),
        "mine": not thing.tail,
    }
    if not all(fits.get(name, True) for name in _PLACEHOLDER.findall(text)):
        return ""
    forms = {
        "the": thing.with_the(),
        "value": thing.with_the(),
        "person": thing.with_the(),
        "other": thing.with_the(),
        "mine": thing.all().bare(),
        "a": thing.with_a(),
        "all": thing.all().bare(),
        "one": thing.one().bare(),
        "is": "are" if thing.is_plural else "is",
    }
    return _PLACEHOLDER.sub(lambda placeholder: forms[placeholder[1]], text).strip()


def _synonyms(found: Operation) -> list[str]:
    said = load_lexicon()["verbs"].get(found.verb, [])[1:]
    verbs = [" ".join(_PLACEHOLDER.sub("", text.removeprefix("~")).split()) for text in said]
    known = [text for noun in found.thing.nouns for text in load_lexicon()["nouns"].get(singular(noun), [])]
    nouns = [text.removeprefix("~") for text in known]
    return [text for text in dict.fromkeys((*verbs, *nouns)) if text]


def _first_sentence(description: str) -> str:
    text = description.strip()
    sentence = _SENTENCE.split(text, maxsplit=1)[0].strip(" .#*\n") if text else ""
    sentence = _THIRD_PERSON.sub("", sentence)
    if len(sentence) > _MAX_SENTENCE:
        sentence = sentence[:_MAX_SENTENCE].rsplit(" ", 1)[0]
    return sentence
