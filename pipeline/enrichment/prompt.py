"""The prompt. Raise PROMPT_VERSION with any change: it is in the key of every answer."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

from router.fingerprint import canonical_json
from router.record import Kind, ToolRecord
from router.tools.trust.characters import strip_hidden

PROMPT_VERSION = 3

_MAX_DESCRIPTION = 4_000
_MAX_PARAMETERS = 40
_MAX_CATEGORIES = 20
_MAX_SHORT = 160  # of every text but the description
_MAX_SIBLING = 300  # of a sibling's description

# The instructions come first and never vary, so that a provider's prompt cache can hold them. Providers cache from
# 1,024 tokens on: with the two examples they exceed that, and cost a tenth from the second question on.
INSTRUCTIONS = resources.files(__package__).joinpath("instructions.txt").read_text("utf-8").removesuffix("\n")

# Only in messages about skills and prompts: instructions and questions about tools must not change by a word, since
# their answers are paid for.
NOTES = {
    Kind.SKILL: (
        "An object of kind skill is no tool but a written guide, which an agent reads and follows to do a task. "
        "user_phrases are requests to do that task, never requests to read or show the guide; requires and provides "
        "are empty."
    ),
    Kind.PROMPT: (
        "An object of kind prompt is no tool but a template of a text that asks a model to do a task. user_phrases are "
        "requests to do that task, never requests to show the template; requires and provides are empty."
    ),
}

# Only in messages about an answer that the ledger has in other languages.
REST_KNOWN = (
    "All fields but translations are written already. Answer with tool and translations alone, in these languages."
)

PLAIN_TEXT = "\n\nAnswer with one JSON object that has exactly the keys described above, and nothing else."


def message(record: ToolRecord, siblings: Sequence[ToolRecord] = (), languages: Sequence[str] = ()) -> str:
    """Return the user message about one tool: a JSON object of bounded size, since long texts are cut.

    `siblings` are tools to tell apart from it, `languages` codes beside English.
    """
    parts: dict[str, Any] = {"tool": _tool(record)}
    if siblings:
        parts["siblings"] = [_sibling(sibling) for sibling in siblings]
    if languages:
        parts["languages"] = list(languages)
    if record.kind in NOTES:
        parts["note"] = NOTES[record.kind]
    return canonical_json(parts)


def echo(record: ToolRecord) -> str:
    """Return the name by which an answer refers to the tool."""
    return strip_hidden(record.name[:_MAX_SHORT])


def _tool(record: ToolRecord) -> dict[str, Any]:
    parameters = [
        {
            "name": _short(parameter.path),
            "description": _short(parameter.description),
            "values": [_short(value) for value in parameter.enum[:12]],
        }
        for parameter in record.parameters[:_MAX_PARAMETERS]
    ]
    tool = {
        "kind": "" if record.kind is Kind.TOOL else str(record.kind),
        "provider": _short(record.provider or ""),
        "name": echo(record),
        "description": strip_hidden(record.description[:_MAX_DESCRIPTION]),
        "categories": [_short(category) for category in record.categories[:_MAX_CATEGORIES]],
        "parameters": [_filled(parameter) for parameter in parameters],
        "examples": [_short(example) for example in record.examples[:5]],
    }
    return _filled(tool)


def _sibling(record: ToolRecord) -> dict[str, Any]:
    description = strip_hidden(record.description[:_MAX_SIBLING])
    return _filled({"provider": _short(record.provider or ""), "name": echo(record), "description": description})


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _short(text: str) -> str:
    return strip_hidden(text[:_MAX_SHORT])
