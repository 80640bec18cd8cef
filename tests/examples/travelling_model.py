"""A chat model, by script, that plans a journey: it calls what it is offered, and searches for what it is not."""

import json
from collections.abc import Mapping
from typing import Any

from tests.pipeline.enrichment.model_server import Reply, completion
from tests.quartermaster.adapters.agent_model import calling

REQUESTS = ("what will the weather be on Texel", "when do the ferries of Den Helder leave, and take us two along")
_TIMES: tuple[str, dict[str, Any]] = ("ferry_times", {"harbour": "Den Helder"})
_BOOK: tuple[str, dict[str, Any]] = ("book_ferry", {"departure": "Den Helder 09:30", "people": 2})


def travel(body: Mapping[str, Any], _: int = 0) -> Reply:
    """The script: the weather by its tool, then the ferries' times, a search for the booking, and the booking."""
    messages = [message for message in body["messages"] if message["role"] != "system"]
    last_said = max(place for place, message in enumerate(messages) if message["role"] == "user")
    outputs = [_text(message["content"]) for message in messages[last_said:] if message["role"] == "tool"]
    if messages[last_said]["content"] == REQUESTS[0]:
        return Reply(completion("No rain, 14 knots.")) if outputs else calling("forecast", {"place": "Texel"})
    names = {tool["function"]["name"] for tool in body["tools"]}
    search = next(name for name in names if name in ("find_tools", "search_tools"))
    steps: list[tuple[str, dict[str, Any]]] = [_TIMES, (search, {"request": "book places on a ferry"}), _BOOK]
    if len(outputs) == len(steps):
        return Reply(completion(f"Booked: {outputs[-1]}."))
    return calling(*steps[len(outputs)])


def _text(content: Any) -> str:
    text = content if isinstance(content, str) else content[0]["text"]
    return str(json.loads(text)) if text.startswith('"') else text
