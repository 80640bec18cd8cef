"""Phrases for a tool from the verbs and nouns of APIs: deterministic, free, offline, and weaker than a model's.

The lexicon (`lexicon.toml`) knows the words people use for the verbs and nouns of APIs, and nothing of what a tool is
for beyond its name, provider and first sentence. It cannot invent an outcome ("my card was declined") that shares no
word with the tool.
"""

import re
import tomllib
from functools import cache
from importlib import resources

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.text import words

__all__ = ["expand", "lexicon_version"]

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_THIRD_PERSON = re.compile(
    r"^(?:used to|use to|allows you to|lets you|this (?:tool|endpoint|function|operation))\s+", re.IGNORECASE
)
_MAX_SENTENCE = 160
# In the model's name, and so in every key, as the words are: raise it with any change to how they are put together.
_VERSION = 1


def lexicon_version() -> str:
    """Return a short hash of the lexicon and of how phrases are put together."""
    return fingerprint([_VERSION, _lexicon()])[:8]


def expand(record: ToolRecord) -> Expansion:
    """Return the expansion of a record, as `router.trust.trusted` leaves it."""
    name = words(record.name)
    provider = _provider_words(record.provider)
    name = [word for word in name if word not in provider] or name
    verb, nouns = _operation(name)
    thing = " ".join(nouns)
    sentence = _first_sentence(record.description)
    everyday = _lexicon()["verbs"].get(verb, [verb] if verb else [])
    others = [other for other in (_swap(nouns, noun) for noun in nouns) if other != thing]
    place = f" in {' '.join(provider)}" if provider else ""
    phrases = [sentence] if sentence else []
    phrases += [f"{said} {thing}".strip() for said in everyday[:4]]
    phrases += [f"{said} {other}" for said, other in zip(everyday, others, strict=False)][:4]
    if everyday:
        phrases.append(f"{everyday[0]} {thing}{place}")
    phrases += [f"{thing}{place}", " ".join(name) or record.name]
    synonyms = everyday[1:] + [said for noun in nouns for said in _lexicon()["nouns"].get(_singular(noun), [])]
    concepts = [parameter.path.replace("_", " ") for parameter in record.parameters if "." not in parameter.path][:8]
    return Expansion.from_json(
        {
            "when_to_use": sentence or f"{verb} {thing}{place}".strip(),
            "user_phrases": [phrase for phrase in phrases if phrase.strip()],
            "synonyms": synonyms,
            "related_concepts": concepts,
            "task_categories": [*record.categories[:3], *([f"{verb} {thing}"] if verb and thing else [])],
        }
    )


def _operation(name: list[str]) -> tuple[str, list[str]]:
    """The verb, wherever it stands (`users_list`, `list_users`), and the words of the resource."""
    for position in (0, len(name) - 1, *range(1, len(name) - 1)) if name else ():
        if name[position] in _lexicon()["verbs"]:
            return name[position], name[:position] + name[position + 1 :]
    return "", name


def _swap(nouns: list[str], noun: str) -> str:
    said = _lexicon()["nouns"].get(_singular(noun))
    return " ".join(said[0] if said and word == noun else word for word in nouns)


@cache
def _lexicon() -> dict[str, dict[str, list[str]]]:
    text = resources.files("router.lexicon").joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _provider_words(provider: str | None) -> list[str]:
    """The provider's name as people say it: the last part of a path, without registry boilerplate."""
    label = words((provider or "").rsplit("/", 1)[-1])
    return [word for word in label if word not in ("mcp", "server", "api", "apis", "rest", "sdk", "ts", "py")]


def _first_sentence(description: str) -> str:
    text = description.strip()
    sentence = _SENTENCE.split(text, maxsplit=1)[0].strip(" .#*\n") if text else ""
    sentence = _THIRD_PERSON.sub("", sentence)
    return sentence[:_MAX_SENTENCE]


def _singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("ses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
