"""OpenAI's chat completions: a script that refuses what the API refuses, for `ModelServer`.

A request is held against the types of the package `openai`, without extra keys, and against the rules that the types do
not show, from the API's error messages.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import ConfigDict, TypeAdapter

from tests.pipeline.enrichment.model_server import Reply, Script, error
from tests.support.providers.checking import type_errors

_PARAMS: TypeAdapter[Any] = TypeAdapter(CompletionCreateParams, config=ConfigDict(extra="forbid", strict=True))
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_MOST_TOOLS = 128


def strict(script: Script) -> Script:
    """Return a script that answers 400 to a request that the API refuses, and by `script` otherwise."""

    def checked(body: dict[str, Any], count: int) -> Reply:
        refused = refusal(body)
        return error(400, refused) if refused else script(body, count)

    return checked


def refusal(body: Mapping[str, Any]) -> str:
    """Return why the API refuses a request; "" for one that it takes."""
    if errors := type_errors(_PARAMS, body):
        return f"Invalid value: {errors[0]}"
    tools = [tool["function"] for tool in body.get("tools", [])]
    names = [tool["name"] for tool in tools]
    if "tools" in body and not 0 < len(tools) <= _MOST_TOOLS:
        return f"Invalid 'tools': array of length 1 to {_MOST_TOOLS} expected, got {len(tools)}."
    if illegal := [name for name in names if not _NAME.match(name)]:
        return f"Invalid name {illegal[0]!r}: string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
    if len(set(names)) < len(names):
        return "Tool names must be unique."
    if no_objects := [tool["name"] for tool in tools if tool.get("parameters", {}).get("type") != "object"]:
        return f"Invalid schema for function {no_objects[0]!r}: schema must be of type 'object'."
    return _dialogue_refusal(body["messages"])


def _dialogue_refusal(messages: Sequence[Mapping[str, Any]]) -> str:
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            waiting.remove(message["tool_call_id"])
        elif waiting:
            break
        if message["role"] == "assistant":
            waiting = {tool_call["id"] for tool_call in message.get("tool_calls", ())}
    return f"tool_call_ids did not have response messages: {', '.join(waiting)}" if waiting else ""
