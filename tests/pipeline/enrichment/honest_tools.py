"""Thirty honest tools of twenty providers, their expansions, and a request for each, in other words.

Their file has two lines for each: provider|name|description|a request, and the phrases that a model wrote.
"""

from typing import Any

from tests.support.places import DATA

_LINES = (DATA / "attacks" / "honest_tools.txt").read_text(encoding="utf-8").splitlines()


def _row(tool: str, phrases: str) -> tuple[str, str, str, str, list[str]]:
    provider, name, text, request = tool.split("|")
    return provider, name, text, request, phrases.strip().split(";")


_ROWS = [_row(tool, phrases) for tool, phrases in zip(_LINES[::2], _LINES[1::2], strict=True)]

REQUESTS: dict[str, str] = {request: f"{provider}/{name}" for provider, name, _, request, _ in _ROWS}


def tools() -> list[dict[str, Any]]:
    """Return the lines of tools.jsonl."""
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": "Which one."}}}
    return [
        {"id": f"{provider}/{name}", "name": name, "provider": provider, "description": text, "parameters": schema}
        for provider, name, text, _, _ in _ROWS
    ]


def answers() -> dict[str, dict[str, Any]]:
    """Return the answers of an honest model, by the tool's name."""
    return {
        name: {
            "tool": name,
            "when_to_use": f"When somebody needs what {provider} does: {text.lower()}",
            "user_phrases": phrases,
            "synonyms": [name.replace("_", " ")],
            "related_concepts": [],
            "task_categories": [],
        }
        for provider, name, text, _, phrases in _ROWS
    }
