"""The expansion of a record, by the lexicon's templates."""

import re
from collections.abc import Sequence

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import Kind, ToolRecord
from router.text import identifier_words
from router.tools.foreign_text import foreign_script
from router.tools.lexicon.grammar import NounPhrase, load_lexicon, singular
from router.tools.lexicon.naming import Operation, parse_operation
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
    phrases = [sentence, *requests] if sentence else requests
    concepts = [parameter.path.replace("_", " ") for parameter in record.parameters if "." not in parameter.path][:8]
    return Expansion.from_json(
        {
            "when_to_use": sentence or (f"{requests[0]}{place}" if requests and operation.verb else name),
            "user_phrases": [*dict.fromkeys(phrase for phrase in (*phrases, name) if phrase.strip())],
            "synonyms": _synonyms(operation),
            "related_concepts": concepts,
            "task_categories": [
                *record.categories[:3],
                *([f"{operation.verb} {noun}"] if operation.verb and noun else []),
            ],
        }
    )


def _requests(operation: Operation, label: str, place: str) -> list[str]:
    """Return requests for an operation; for a name without a verb, its noun phrase.

    `label` is the provider's, and `place` the same with "in", to append to a request.
    """
    noun_phrase, verb = operation.noun_phrase, operation.verb
    if not verb:
        is_known = singular(noun_phrase.head) in load_lexicon()["nouns"] or noun_phrase.in_class("value")
        getting = load_lexicon()["verbs"]["get"][:2] if is_known and not operation.is_question else []
        return [*_fill_all("get", noun_phrase, getting), f"{label} {noun_phrase.bare()}".strip()]
    texts: list[str] = [text for text in load_lexicon()["verbs"][verb] if not text.startswith("~")]
    if not noun_phrase.nouns:  # `comment_on_issue`
        texts = [text for text in texts if re.search(r" (?:on|to|for|from) \{the\}$", text)]
        colloquial = _fill_all(verb, noun_phrase.of_tail(), texts) if noun_phrase.tail else []
        with_place = [f"{verb}{place}"] if place else []
        return [f"{verb} {noun_phrase.bare()}".strip(), *colloquial[:_MAX_VERB_FORMS], *with_place]
    # "search for", "reply to": the verb with its preposition, where it takes one.
    is_unsaid = verb in load_lexicon()["articles"]["unsaid"]
    literal = texts[0] if texts[0].startswith(f"{verb} ") else "" if is_unsaid else verb
    colloquial = _fill_all(verb, noun_phrase, [text for text in texts if text != literal])
    with_synonyms = [
        request
        for text, synonym in zip(texts, noun_phrase.synonyms(), strict=False)
        for request in _fill_all(verb, synonym, [text])
    ]
    is_simple = len(noun_phrase.nouns) == 1 and not noun_phrase.tail
    pair = f"{verb} {singular(noun_phrase.head)}" if is_simple else ""
    requests = [
        *(_fill_all(verb, noun_phrase, [literal]) if literal else []),
        *colloquial[:_MAX_VERB_FORMS],
        *load_lexicon()["pairs"].get(pair, []),
        *with_synonyms[:_MAX_NOUN_FORMS],
    ]
    if place and requests:
        requests.append(f"{(colloquial or requests)[0]}{place}")
    if place and not noun_phrase.tail:
        requests.append(f"{noun_phrase.bare()}{place}")
    return requests


def _fill_all(verb: str, noun_phrase: NounPhrase, templates: Sequence[str]) -> list[str]:
    return [request for template in templates if (request := _fill(template, verb, noun_phrase))]


def _fill(text: str, verb: str, noun_phrase: NounPhrase) -> str:
    """Return a verb's template with the noun phrase in its place; empty where the two do not go together."""
    if not _PLACEHOLDER.search(text):
        articles = load_lexicon()["articles"]
        text += " {a}" if verb in articles["a"] else " {all}" if verb in articles["all"] else " {the}"
    # "email the email", "order an order"
    if {singular(word) for word in _PLACEHOLDER.sub("", text).split()} & {singular(word) for word in noun_phrase.nouns}:
        return ""
    fits = {
        "value": noun_phrase.in_class("value"),
        "person": noun_phrase.in_class("person"),
        "other": not noun_phrase.in_class("person"),
        "mine": not noun_phrase.tail,
    }
    if not all(fits.get(name, True) for name in _PLACEHOLDER.findall(text)):
        return ""
    forms = {
        "the": noun_phrase.with_the(),
        "value": noun_phrase.with_the(),
        "person": noun_phrase.with_the(),
        "other": noun_phrase.with_the(),
        "mine": noun_phrase.all().bare(),
        "a": noun_phrase.with_a(),
        "all": noun_phrase.all().bare(),
        "one": noun_phrase.one().bare(),
        "is": "are" if noun_phrase.is_plural else "is",
    }
    return _PLACEHOLDER.sub(lambda placeholder: forms[placeholder[1]], text).strip()


def _synonyms(operation: Operation) -> list[str]:
    templates = load_lexicon()["verbs"].get(operation.verb, [])[1:]
    verbs = [" ".join(_PLACEHOLDER.sub("", template.removeprefix("~")).split()) for template in templates]
    known = [text for noun in operation.noun_phrase.nouns for text in load_lexicon()["nouns"].get(singular(noun), [])]
    nouns = [text.removeprefix("~") for text in known]
    return [text for text in dict.fromkeys((*verbs, *nouns)) if text]


def _first_sentence(description: str) -> str:
    text = description.strip()
    sentence = _SENTENCE.split(text, maxsplit=1)[0].strip(" .#*\n") if text else ""
    sentence = _THIRD_PERSON.sub("", sentence)
    if len(sentence) > _MAX_SENTENCE:
        sentence = sentence[:_MAX_SENTENCE].rsplit(" ", 1)[0]
    return sentence
