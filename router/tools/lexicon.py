"""Expansions from a lexicon: deterministic, free, offline, and weaker than a model's.

The lexicon (`lexicon.toml`) lists the words that people use for the verbs and nouns of APIs. It knows only a tool's
name, provider and first sentence, so it cannot invent an outcome ("my card was declined") that shares no word with
them. Phrases that do not read naturally are left out.
"""

import re
from collections.abc import Sequence

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import Kind, ToolRecord
from router.text import identifier_words
from router.tools.foreign_text import foreign_script
from router.tools.grammar import NounPhrase, load_lexicon, singular
from router.tools.naming import Operation, parse_operation
from router.tools.text_overlap import MAX_LABEL_WORDS, label_words

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_THIRD_PERSON = re.compile(
    r"^(?:used to|use to|allows you to|lets you|this (?:tool|endpoint|function|operation))\s+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MAX_SENTENCE = 160
_MAX_VERB_FORMS = 4
_MAX_NOUN_FORMS = 2
# Part of the model's name, and so of every key, like the lexicon: raise it with any change to how phrases are formed.
_VERSION = 3


def lexicon_version() -> str:
    """Return a short hash of the lexicon and of the version of the code that forms phrases."""
    return fingerprint([_VERSION, load_lexicon()])[:8]


def expand(record: ToolRecord) -> Expansion:
    """Return the expansion of a record, which must be sanitized."""
    label = label_words(record.provider)[:MAX_LABEL_WORDS]
    operation = parse_operation(record, [word for part in label for word in (part, *identifier_words(part))])
    # Phrases are English: a sentence in another language is near to requests of all kinds.
    sentence = "" if foreign_script(record.description) else _first_sentence(record.description)
    name = " ".join(operation.words) or record.name
    noun = operation.noun_phrase.bare()
    place = f" in {' '.join(label)}" if label else ""
    # The words of an API's verbs ask a tool for a thing. Nobody asks a skill `release-notes` to "show me the notes".
    is_asked = record.kind is Kind.TOOL and operation.words and name.isascii()
    requests = _requests(operation, " ".join(label), place) if is_asked else []
    action = [f"{operation.verb} {noun}"] if operation.verb and noun else []
    return Expansion.from_json(
        {
            "when_to_use": sentence or (f"{requests[0]}{place}" if requests and operation.verb else name),
            "user_phrases": [*dict.fromkeys(phrase for phrase in (sentence, *requests, name) if phrase.strip())],
            "synonyms": _synonyms(operation),
            "related_concepts": [p.path.replace("_", " ") for p in record.parameters if "." not in p.path][:8],
            "task_categories": [*record.categories[:3], *action],
        }
    )


def _requests(operation: Operation, label: str, place: str) -> list[str]:
    """Return requests for an operation; for a name without a verb, its noun phrase.

    `label` is the provider's, and `place` the same with "in", to append to a request.
    """
    lexicon, phrase, verb = load_lexicon(), operation.noun_phrase, operation.verb
    if not verb:
        is_known = singular(phrase.head) in lexicon["nouns"] or phrase.in_class("value")
        getting = lexicon["verbs"]["get"][:2] if is_known and not operation.is_question else []
        return [*_fill_all("get", phrase, getting), f"{label} {phrase.bare()}".strip()]
    texts: list[str] = [text for text in lexicon["verbs"][verb] if not text.startswith("~")]
    if not phrase.nouns:  # `comment_on_issue`
        texts = [text for text in texts if re.search(r" (?:on|to|for|from) \{the\}$", text)]
        colloquial = _fill_all(verb, NounPhrase.of(phrase.tail[1:]), texts) if phrase.tail else []
        with_place = [f"{verb}{place}"] if place else []
        return [f"{verb} {phrase.bare()}".strip(), *colloquial[:_MAX_VERB_FORMS], *with_place]
    # "search for", "reply to": the verb with its preposition, where it takes one.
    literal = texts[0] if texts[0].startswith(f"{verb} ") else "" if verb in lexicon["articles"]["unsaid"] else verb
    colloquial = _fill_all(verb, phrase, [text for text in texts if text != literal])
    with_synonyms = [
        request
        for text, synonym in zip(texts, phrase.synonyms(), strict=False)
        for request in _fill_all(verb, synonym, [text])
    ]
    is_simple = len(phrase.nouns) == 1 and not phrase.tail
    requests = [
        *(_fill_all(verb, phrase, [literal]) if literal else []),
        *colloquial[:_MAX_VERB_FORMS],
        *(lexicon["pairs"].get(f"{verb} {singular(phrase.head)}", []) if is_simple else []),
        *with_synonyms[:_MAX_NOUN_FORMS],
    ]
    if place and requests:
        requests.append(f"{(colloquial or requests)[0]}{place}")
    if place and not phrase.tail:
        requests.append(f"{phrase.bare()}{place}")
    return requests


def _fill_all(verb: str, phrase: NounPhrase, templates: Sequence[str]) -> list[str]:
    return [request for template in templates if (request := _fill(template, verb, phrase))]


def _fill(text: str, verb: str, phrase: NounPhrase) -> str:
    """Return a verb's template with the noun phrase in its place; empty where the two do not go together."""
    if not _PLACEHOLDER.search(text):
        articles = load_lexicon()["articles"]
        text += " {a}" if verb in articles["a"] else " {all}" if verb in articles["all"] else " {the}"
    # "email the email", "order an order"
    if {singular(word) for word in _PLACEHOLDER.sub("", text).split()} & {singular(word) for word in phrase.nouns}:
        return ""
    is_person = phrase.in_class("person")
    unfit = {"value": not phrase.in_class("value"), "person": not is_person, "other": is_person, "mine": phrase.tail}
    if any(unfit.get(name) for name in _PLACEHOLDER.findall(text)):
        return ""
    forms = {
        **dict.fromkeys(("the", "value", "person", "other"), phrase.with_the()),
        **dict.fromkeys(("all", "mine"), phrase.all().bare()),
        "a": phrase.with_a(),
        "one": phrase.one().bare(),
        "is": "are" if phrase.is_plural else "is",
    }
    return _PLACEHOLDER.sub(lambda placeholder: forms[placeholder[1]], text).strip()


def _synonyms(operation: Operation) -> list[str]:
    templates = load_lexicon()["verbs"].get(operation.verb, [])[1:]
    verbs = [" ".join(_PLACEHOLDER.sub("", template.removeprefix("~")).split()) for template in templates]
    known = [text for noun in operation.noun_phrase.nouns for text in load_lexicon()["nouns"].get(singular(noun), [])]
    return [text for text in dict.fromkeys((*verbs, *(text.removeprefix("~") for text in known))) if text]


def _first_sentence(description: str) -> str:
    """Return the first sentence of a description, cut at a word."""
    sentence = _THIRD_PERSON.sub("", _SENTENCE.split(description.strip(), maxsplit=1)[0].strip(" .#*\n"))
    return sentence if len(sentence) <= _MAX_SENTENCE else sentence[:_MAX_SENTENCE].rsplit(" ", 1)[0]
