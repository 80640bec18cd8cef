"""Bad evenings of the model: answers in the right format, paid for, that say nothing of their tool, or too much."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulations.month.vendors import THINGS
from tests.pipeline.enrichment.model_server import Reply, completion

_SIBLINGS = {"list": "create", "create": "delete", "delete": "list"}
_APOLOGIES = (
    "I'm sorry, but I can't assist with that.",
    "I apologise, I am not able to help here.",
    "Sorry, this is beyond what I can do.",
)
_SAME = ("please do it for me", "could you handle this today", "i need this done before noon")
_GERMAN = ("bitte {} erledigen", "kannst du heute noch {} für mich", "ich muss vor dem mittag {}")

Evening = Callable[[Mapping[str, Any], str], Reply | None]


def about(tool: Mapping[str, Any], phrases: Sequence[str]) -> Reply:
    """Return the answer about a tool that has these phrases."""
    row = {
        "tool": tool["name"],
        "when_to_use": phrases[0],
        "user_phrases": list(phrases),
        "synonyms": [],
        "related_concepts": [],
        "task_categories": [],
    }
    return Reply(completion(json.dumps(row)))


def words_of(tool: Mapping[str, Any]) -> str:
    """Return what a tool is called, in words."""
    return f"{tool['provider']} {tool['name'].replace('_', ' ')}"


def _for_a_sibling(tool: Mapping[str, Any], _: str) -> Reply:
    verb, _, thing = tool["name"].partition("_")
    things = THINGS[tool["provider"]]
    place = next((place for place, name in enumerate(things) if thing.startswith(name)), 0)
    sibling = f"{tool['provider']} {_SIBLINGS.get(verb, 'list')} {things[(place + 2) % len(things)]}"
    return about(tool, [f"please {sibling}", f"can you {sibling} now", f"it is time to {sibling}"])


def _refuses_a_third(_: Mapping[str, Any], question: str) -> Reply | None:
    refused = int(question[-8:], 16) % 3 == 0
    return Reply(completion(None, message={"refusal": _APOLOGIES[0]})) if refused else None


# By name. Each takes the tool and the question's fingerprint; None is a good answer.
EVENINGS: dict[str, Evening] = {
    "apologises": lambda tool, _: about(tool, _APOLOGIES),
    "repeats itself": lambda tool, _: about(tool, _SAME),
    "answers too long": lambda tool, _: about(tool, [f"please {words_of(tool)} " * 100, f"{words_of(tool)} now " * 90]),
    "another language": lambda tool, _: about(tool, [phrase.format(words_of(tool)) for phrase in _GERMAN]),
    "for a sibling": _for_a_sibling,
    "refuses a third": _refuses_a_third,
}
