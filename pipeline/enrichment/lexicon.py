"""Expansions from a lexicon: deterministic, free, offline, and weaker than a model's.

It knows the verbs and nouns of APIs and the words people use for them (`lexicon.toml`), and nothing of what a tool is
for beyond its name, provider and first sentence. It cannot invent an outcome ("my card was declined") that shares no
word with the tool.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

from pipeline.enrichment.expansion import Expansion
from pipeline.enrichment.generator import Answer, Outcome, Question, Usage
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.text import words
from router.trust import trusted

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_THIRD_PERSON = re.compile(
    r"^(?:used to|use to|allows you to|lets you|this (?:tool|endpoint|function|operation))\s+", re.IGNORECASE
)
_MAX_SENTENCE = 160
# In the model's name, and so in every key, as the words are: raise it with any change to how they are put together.
_VERSION = 1


class LexiconGenerator:
    """Phrases from a tool's operation (verb) and resource (nouns), each said in several everyday ways."""

    name = "lexicon"
    contrasts = False
    unclaimed = Usage()

    def __init__(self) -> None:
        self._lexicon = _lexicon()
        self.model = "lexicon-" + fingerprint([_VERSION, self._lexicon])[:8]

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """Nothing beyond the record and the lexicon's own hash."""
        return {}

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """An answer for every record."""
        yield [Answer(q.record.tool_id, self._expand(trusted(q.record)[0])) for q in questions]

    def _expand(self, record: ToolRecord) -> Expansion:
        name = words(record.name)
        provider = _provider_words(record.provider)
        name = [word for word in name if word not in provider] or name
        verb, nouns = self._operation(name)
        thing = " ".join(nouns)
        sentence = _first_sentence(record.description)
        everyday = self._lexicon["verbs"].get(verb, [verb] if verb else [])
        others = [other for other in (self._swap(nouns, noun) for noun in nouns) if other != thing]
        place = f" in {' '.join(provider)}" if provider else ""
        phrases = [sentence] if sentence else []
        phrases += [f"{said} {thing}".strip() for said in everyday[:4]]
        phrases += [f"{said} {other}" for said, other in zip(everyday, others, strict=False)][:4]
        if everyday:
            phrases.append(f"{everyday[0]} {thing}{place}")
        phrases += [f"{thing}{place}", " ".join(name) or record.name]
        synonyms = everyday[1:] + [said for noun in nouns for said in self._lexicon["nouns"].get(_singular(noun), [])]
        concepts = [parameter.path.replace("_", " ") for parameter in record.parameters if "." not in parameter.path][
            :8
        ]
        return Expansion.from_json(
            {
                "when_to_use": sentence or f"{verb} {thing}{place}".strip(),
                "user_phrases": [phrase for phrase in phrases if phrase.strip()],
                "synonyms": synonyms,
                "related_concepts": concepts,
                "task_categories": [*record.categories[:3], *([f"{verb} {thing}"] if verb and thing else [])],
            }
        )

    def _operation(self, name: list[str]) -> tuple[str, list[str]]:
        """The verb, wherever it stands (`users_list`, `list_users`), and the words of the resource."""
        for position in (0, len(name) - 1, *range(1, len(name) - 1)) if name else ():
            if name[position] in self._lexicon["verbs"]:
                return name[position], name[:position] + name[position + 1 :]
        return "", name

    def _swap(self, nouns: list[str], noun: str) -> str:
        said = self._lexicon["nouns"].get(_singular(noun))
        return " ".join(said[0] if said and word == noun else word for word in nouns)


@cache
def _lexicon() -> dict[str, dict[str, list[str]]]:
    text = resources.files("pipeline.enrichment").joinpath("lexicon.toml").read_text(encoding="utf-8")
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
