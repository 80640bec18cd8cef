"""Anthropic's Messages API on loopback, as a stream of events. Each request must be one by the SDK's own types."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from tests.support.providers.checking import type_errors
from tests.support.providers.find_and_call import next_step
from tests.support.providers.loopback import Answer, Posted

_PARAMS = TypeAdapter(MessageCreateParamsStreaming)
_NUMBERS = itertools.count(1)
PREFIX = "mcp__quartermaster__"


def answer(request: Posted) -> Answer:
    """Answer a request to /v1/messages. Raises ValueError for one that the API would refuse."""
    if request.path.endswith("/count_tokens"):
        return Answer(json.dumps({"input_tokens": 1}))
    if request.path != "/v1/messages":
        raise ValueError(f"there is no {request.path}")
    check(request.body)
    step: Any = "ok"
    if any(tool["name"].startswith(PREFIX) for tool in request.body.get("tools", ())):
        step = next_step(_request(request.body), list(_results(request.body)))
    return Answer.of_events(_events(step, request.body["model"]))


def check(body: Mapping[str, Any]) -> None:
    """Raise ValueError where types or rules of the API are broken: calls without results, calls of unknown tools."""
    if errors := type_errors(_PARAMS, body):
        raise ValueError("; ".join(errors[:5]))
    names = {tool["name"] for tool in body.get("tools", ())}
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if message["role"] == "user" and results != open_calls:
            raise ValueError(f"tool_use without tool_result, or the other way round: {results ^ open_calls}")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if unknown := {call["name"] for call in calls} - names:
            raise ValueError(f"calls of tools that are not in the request: {unknown}")
        open_calls = {call["id"] for call in calls}


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
