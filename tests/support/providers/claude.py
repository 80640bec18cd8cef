"""Anthropic's Messages API on loopback, as a stream of events, for an agent whose SDK writes the requests."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.api_server import Reply
from tests.support.providers.find_and_call import next_step
from tests.support.providers.loopback import Posted, events

_NUMBERS = itertools.count(1)
PREFIX = "mcp__quartermaster__"


def answer(request: Posted) -> Reply:
    """Answer a request to /v1/messages. Raises ValueError for another."""
    if request.path.endswith("/count_tokens"):
        return Reply.of({"input_tokens": 1})
    if request.path != "/v1/messages":
        raise ValueError(f"there is no {request.path}")
    step: Any = "ok"
    if any(tool["name"].startswith(PREFIX) for tool in request.body.get("tools", ())):
        step = next_step(_request(request.body), list(_results(request.body)))
    return events(_events(step, request.body["model"]))


def _request(body: Mapping[str, Any]) -> str:
    """Return the last text that the user wrote, without the reminders that the client adds."""
    texts = [text for message in body["messages"] if message["role"] == "user" for text in _texts(message["content"])]
    return next(text for text in reversed(texts) if not text.startswith("<system-reminder>")).strip()


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


def _results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                yield "\n".join(_texts(block.get("content", "")))


def _events(step: tuple[str, dict[str, Any]] | str, model: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": f"msg_{next(_NUMBERS)}", "type": "message", "role": "assistant", "model": model, "content": []}
    if isinstance(step, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step}
    else:
        name, arguments = step
        block = {"type": "tool_use", "id": f"toolu_{next(_NUMBERS)}", "name": PREFIX + name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    return [
        {"type": "message_start", "message": {**start, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]
