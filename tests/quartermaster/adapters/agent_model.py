"""A chat model that calls tools, by script: the first tool that it is offered, then an answer of what that gave."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion

_NUMBERS = itertools.count(1)  # a call's id is its own
_VALUES = {"string": "some", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def call_the_first_tool(body: Mapping[str, Any], _: int = 0) -> Reply:
    """The script: one call of the first tool for each message of the user, with what its schema requires."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply(completion(f"It says: {last['content']}"))
    if not body.get("tools"):
        return Reply(completion("I have no tool for that."))
    tool = body["tools"][0]["function"]
    return calling(tool["name"], required_of(tool["parameters"]))


def calling(name: str, arguments: Mapping[str, Any] | str) -> Reply:
    """An answer that calls a tool, with arguments or with any text in their place."""
    function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    message = {"tool_calls": [{"id": f"call_{next(_NUMBERS)}", "type": "function", "function": function}]}
    return Reply(completion(None, message=message, finish_reason="tool_calls"))


def offered(model: ModelServer) -> list[list[str]]:
    """The names of the tools that each request to the model offered."""
    return [[tool["function"]["name"] for tool in request.body.get("tools", ())] for request in model.requests]


def required_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each required property."""
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {})) for name in schema.get("required", ())}


def _value(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    return _VALUES.get(kind[0] if isinstance(kind, list) else kind, "some")
