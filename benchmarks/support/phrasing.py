"""How people might ask for a tool, from the tool's own words by a seeded generator: for scale, not for quality.

Nothing here is a model's output. Verbs change places with everyday ones, identifiers are split, clauses of the
description and names of parameters come in, words drop out, and ends are put on. Figures of retrieval quality on such
requests say little, and speed is rather understated: phrases have 9.5 words and 5.2 terms on average, where a model's
for Azure's MCP tools have 5.7 and 4.0, and some six terms are each in half of the tools, where a model's three are.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from router.text import identifier_words
from router.tools.text_overlap import term_set

PHRASES = 8

_VERBS = {
    "get": ("show me", "look up", "fetch", "pull up", "what is"),
    "list": ("show all", "which are the", "give me every", "browse"),
    "search": ("find", "look for", "hunt down", "locate"),
    "create": ("add", "make", "set up", "start"),
    "update": ("change", "edit", "correct", "adjust"),
    "delete": ("remove", "get rid of", "clear out"),
    "send": ("deliver", "pass on", "submit"),
    "add": ("put in", "insert", "attach"),
    "run": ("execute", "start", "kick off"),
    "set": ("choose", "define", "configure"),
    "read": ("open", "show the content of", "view"),
    "generate": ("produce", "draw up", "prepare"),
    "analyze": ("examine", "go through", "assess"),
    "check": ("verify", "make sure of", "test"),
}
_SAME_VERB = {"fetch": "get", "retrieve": "get", "find": "search", "query": "search", "remove": "delete",
              "edit": "update", "make": "create", "new": "create", "execute": "run", "view": "read"}  # fmt: skip
_OPENINGS = ("", "", "", "please", "can you", "I need to", "I want to", "help me", "could you", "let's", "how do I")
# Many ends, each rare, as names and occasions are; their frames are not.
_ENDS = {
    "for {}": "Anna Bilal Chen Dolores Emeka Fatima Georg Hana Ivan Jorge Katya Lars Mona Nikhil Olga Priya Rosa",
    "in the {} office": "Berlin Lagos Lima Oslo Osaka Prague Quito Riga Sofia Tampa Turin Utrecht Vienna Warsaw York",
    "before the {}": "audit workshop deadline release standup retreat handover interview webinar lunch migration",
    "from {}": "yesterday monday january february april june october november autumn 2019 2021 2023",
    "as part of the {}": "pilot rollout onboarding cleanup relaunch experiment review budget roadmap inventory",
    "and {}": "summarise translate compare double-check print archive annotate forward colour round",
}
_CLAUSE = re.compile(r"[.!?;:\n()]+|,\s|\s[-–]\s|\b(?:such as|for example|including)\b")
_THIRD_PERSON = re.compile(
    r"^(get|list|search|create|update|delete|send|add|return|retrieve|fetch)e?s\b", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\S*(?:[_/{}<>\[\]\"`=|*#@]|[a-z][A-Z])\S*")
_LONGEST = 160  # characters of a phrase
_TRIES = 200


def phrases(tool: Mapping[str, Any], seed: str, count: int = PHRASES, besides: Iterable[str] = ()) -> list[str]:
    """`count` phrases of one tool, no two of nearly the same words, nor of those of `besides`. Same seed, same phrases.

    A tool of very few words may give fewer.
    """
    draw = random.Random(seed)
    material = _Material(tool)
    taken = [_content(phrase) for phrase in besides]
    found: list[str] = []
    for _ in range(_TRIES):
        if len(found) == count:
            break
        phrase = _one(material, draw)
        content = _content(phrase)
        if len(content) > 1 and all(len(content & other) < 0.75 * len(content | other) for other in taken):
            taken.append(content)
            found.append(phrase)
    return found


def expansion(tool: Mapping[str, Any], seed: str) -> dict[str, Any]:
    """A line of `expansions.jsonl`: eight phrases, and the short lists that a model would write."""
    material = _Material(tool)
    thing = " ".join(material.nouns)
    return {
        "id": tool["id"],
        "when_to_use": f"Use it to {material.clauses[0]}."[:_LONGEST] if material.clauses else f"Use it for {thing}.",
        "user_phrases": phrases(tool, seed) or [thing],
        "synonyms": [f"{verb} {thing}" for verb in _VERBS.get(material.verb, ())[:3]],
        "related_concepts": material.parameters[:4],
        "task_categories": [thing] if thing else [],
    }


class _Material:
    """The words of a tool: verb and nouns of its name, clauses of its description, names of its parameters."""

    def __init__(self, tool: Mapping[str, Any]) -> None:
        name = identifier_words(tool["name"]) or [tool["name"]]
        verb = next((word for word in name if word in _VERBS or word in _SAME_VERB), "")
        self.verb = _SAME_VERB.get(verb, verb)
        self.nouns = [word for word in name if word != verb] or name
        provider = identifier_words((tool.get("provider") or "").rsplit("/", 1)[-1])
        self.place = " ".join(word for word in provider if word not in ("mcp", "server", "api"))
        self.clauses = list(_clauses(tool.get("description") or ""))
        properties = (tool.get("parameters") or {}).get("properties") or {}
        self.parameters = [" ".join(identifier_words(name)) for name in properties][:12]


def _clauses(description: str) -> Iterator[str]:
    for clause in _CLAUSE.split(description[:2_000]):
        text = " ".join(_IDENTIFIER.sub(" ", clause).split())
        text = _THIRD_PERSON.sub(lambda found: found.group(1).lower(), text)
        if 3 <= len(text.split()) <= 18:
            yield text[:1].lower() + text[1:] if text[1:2].islower() else text


def _one(material: _Material, draw: random.Random) -> str:
    said = draw.choice((*_VERBS.get(material.verb, ("show me", "use", "do")), material.verb or "handle"))
    thing = " ".join(material.nouns)
    kind = draw.random()
    if material.clauses and kind < 0.5:
        body = _dropped(draw.choice(material.clauses), draw)
        if draw.random() < 0.3:
            body = f"{body}, the {draw.choice(material.nouns)}"
    elif material.parameters and kind < 0.75:
        body = (
            f"{said} {thing} {draw.choice(('by', 'with', 'given the', 'for this'))} {draw.choice(material.parameters)}"
        )
    elif material.place and kind < 0.85:
        body = f"{said} {thing} {draw.choice(('in', 'from', 'with', 'using'))} {material.place}"
    else:
        body = f"{said} {draw.choice(('the', 'my', 'our', 'a', 'that'))} {thing}"
    return " ".join(f"{draw.choice(_OPENINGS)} {body} {_end(draw)}".split())[:_LONGEST].rstrip()


def _end(draw: random.Random) -> str:
    if draw.random() < 0.5:
        return ""
    frame = draw.choice(list(_ENDS))
    return frame.format(draw.choice(_ENDS[frame].split()))


def _dropped(clause: str, draw: random.Random) -> str:
    """The clause without some of its words, three at least."""
    kept = [word for word in clause.split() if draw.random() > 0.15]
    return " ".join(kept) if len(kept) >= 3 else clause


def _content(phrase: str) -> frozenset[str]:
    """What an index reads of a phrase: "please" and the like make no other phrase of it."""
    return term_set(phrase)
