"""A model of the Responses API, by script: it searches for tools, calls the first that it found, and answers."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

from tests.quartermaster.adapters.agent_model import required_of

Items = list[dict[str, Any]]
_NUMBERS = itertools.count(1)


def search_then_call(body: Mapping[str, Any]) -> Items:
    """Search with the user's words; call the first tool that the search loaded; say what that gave."""
    items = [item for item in body["input"] if item.get("role") != "developer"]
    last = items[-1]
    if last.get("role") == "user":
        return [searching({"request": last["content"]})]
    if last["type"] == "tool_search_output":
        found = functions_of(last["tools"])
        return [calling(*found[0])] if found else [saying("I have no tool for that.")]
    return [saying(f"It says: {last['output']}")]


def functions_of(tools: Items) -> list[tuple[dict[str, Any], str]]:
    """Return the functions among tools, each with its namespace, "" for none."""
    found: list[tuple[dict[str, Any], str]] = []
    for tool in tools:
        inside = tool["tools"] if tool["type"] == "namespace" else [tool]
        found += [(function, tool["name"] if tool["type"] == "namespace" else "") for function in inside]
    return found


def searching(arguments: Any) -> dict[str, Any]:
    """An item that searches."""
    number = next(_NUMBERS)
    return {
        "id": f"tsc_{number}",
        "type": "tool_search_call",
        "execution": "client",
        "call_id": f"call_{number}",
        "status": "completed",
        "arguments": arguments,
    }


def calling(function: Mapping[str, Any], namespace: str = "", arguments: str | None = None) -> dict[str, Any]:
    """An item that calls a function, with what its schema requires."""
    number = next(_NUMBERS)
    given = json.dumps(required_of(function["parameters"])) if arguments is None else arguments
    item = {
        "id": f"fc_{number}",
        "type": "function_call",
        "call_id": f"call_{number}",
        "name": function["name"],
        "arguments": given,
        "status": "completed",
    }
    return {**item, "namespace": namespace} if namespace else item


def saying(text: str) -> dict[str, Any]:
    """An item that answers the user."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
