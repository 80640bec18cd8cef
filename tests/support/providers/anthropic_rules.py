"""What Anthropic's Messages API refuses: by the types of its SDK, and by rules that the types do not show."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import jsonschema
from pydantic import ConfigDict, TypeAdapter

from tests.support.providers.checking import type_errors

MOST_TOOLS, MOST_STRICT = 10_000, 20
_NAME = re.compile("[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile("[a-zA-Z0-9_.-]{1,64}")


class Refused(Exception):
    """A request is refused, with the API's kind of error and its sentence."""

    def __init__(self, message: str, kind: str = "invalid_request_error", status: int = 400) -> None:
        super().__init__(message)
        self.kind, self.status = kind, status


def check(body: Mapping[str, Any]) -> None:
    """Raise Refused where the API would refuse a request."""
    _check_type("envelope", {**body, "messages": [], **({"tools": []} if "tools" in body else {})}, "")
    tools, messages = body.get("tools", []), body["messages"]
    _check_tools(tools)
    for place, message in enumerate(messages):
        _check_message(message, f"messages.{place}")
    _check_pairs(messages)
    deferred = {tool["name"]: bool(tool.get("defer_loading")) for tool in tools}
    for name in references_of(messages):
        if name not in deferred:
            raise Refused(f"Tool reference '{name}' not found in available tools")
        if not deferred[name]:
            raise Refused(f"Tool reference '{name}' must be of a tool with defer_loading=true")


def references_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of every `tool_reference` of a dialogue, in order."""
    for message in messages:
        for block in blocks_of(message["content"]):
            found = block.get("content")
            if block["type"] == "tool_search_tool_result":
                found = block["content"].get("tool_references", [])
            for inner in found if isinstance(found, list) else ():
                if inner["type"] == "tool_reference":
                    yield inner["tool_name"]


def blocks_of(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks of a content."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    from anthropic import types  # takes seconds, which no worker pays that checks no request
    from anthropic.types import message_create_params as bodies

    # The SDK's unions also hold its response classes, which take any key.
    blocks = types.TextBlockParam | types.ThinkingBlockParam | types.RedactedThinkingBlockParam
    blocks |= types.ToolUseBlockParam | types.ToolResultBlockParam
    blocks |= types.ServerToolUseBlockParam | types.ToolSearchToolResultBlockParam
    # Lists, because a type with fields of its own takes no configuration from outside.
    held: dict[str, Any] = {
        "envelope": list[bodies.MessageCreateParamsNonStreaming | bodies.MessageCreateParamsStreaming],
        "tool": list[types.ToolUnionParam],
        "block": list[blocks],
        "reference": list[types.ToolReferenceBlockParam],
    }
    return TypeAdapter(held[kind], config=ConfigDict(extra="forbid"))


def _check_type(kind: str, value: Any, place: str) -> None:
    if errors := type_errors(_adapter(kind), [value]):
        raise Refused(f"{place}: {'; '.join(error.partition('.')[2] or error for error in errors[:5])}")


def _check_tools(tools: list[dict[str, Any]]) -> None:
    if len(tools) > MOST_TOOLS:
        raise Refused(f"tools: List should have at most {MOST_TOOLS} items, not {len(tools)}")
    for place, tool in enumerate(tools):
        where = f"tools.{place}"
        _check_type("tool", tool, where)
        if not _NAME.fullmatch(tool["name"]):
            raise Refused(f"{where}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool.get("defer_loading") and tool.get("cache_control"):
            raise Refused(
                f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set. "
                "Tools with defer_loading cannot use prompt caching."
            )
        if "input_schema" in tool:
            _check_schema(tool["input_schema"], f"{where}.custom.input_schema")
    if [name for name, count in Counter(tool["name"] for tool in tools).items() if count > 1]:
        raise Refused("tools: Tool names must be unique.")
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise Refused("At least one tool must have defer_loading=false. All tools cannot be deferred.")
    if sum(bool(tool.get("strict")) for tool in tools) > MOST_STRICT:
        raise Refused(f"Too many strict tools: {MOST_STRICT} at most.")


def _check_schema(schema: dict[str, Any], where: str) -> None:
    if schema.get("type") != "object":
        raise Refused(f"{where}.type: Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & schema.keys():
        raise Refused(f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    if not all(_PROPERTY.fullmatch(name) for name in schema.get("properties", {})):
        raise Refused(f"{where}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise Refused(f"{where}: JSON schema is invalid. It must match JSON Schema draft 2020-12") from error


def _check_message(message: dict[str, Any], where: str) -> None:
    for place, block in enumerate(blocks_of(message["content"])):
        inside = f"{where}.content.{place}"
        _check_type("block", block, inside)
        if block["type"] == "tool_result" and not isinstance(block.get("content", ""), str):
            _check_result(block, inside)


def _check_result(block: dict[str, Any], where: str) -> None:
    kinds = {inner["type"] for inner in block["content"]}
    for inner in block["content"]:
        if inner["type"] == "tool_reference":
            _check_type("reference", inner, where)
    if "tool_reference" in kinds and len(kinds) > 1:
        raise Refused("Tool definitions/code execution functions cannot be mixed with other content")
    if block.get("is_error") and kinds - {"text"}:
        raise Refused(f"{where}.tool_result: all content must be type text if is_error is true")


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    """Every call is answered at the very beginning of the next message, and nothing else is."""
    called: set[str] = set()
    for place, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        leading: list[str] = []
        for block in blocks:
            if block["type"] != "tool_result":
                break
            leading.append(block["tool_use_id"])
        if missing := called - set(leading):
            raise Refused(
                f"messages.{place - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(sorted(missing))}. Each `tool_use` block must have a corresponding `tool_result` block in "
                "the next message."
            )
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if set(answered) - called or len(answered) != len(set(answered)):
            raise Refused(f"messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}")
        called = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if called:
        raise Refused(f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks")


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return what the model reads: tools that are not deferred, the system prompt, and the messages.

    Each reference stands for its tool's definition, at its place.
    """
    tools = {tool["name"]: tool for tool in body.get("tools", [])}
    parts: list[Any] = [tool for tool in tools.values() if not tool.get("defer_loading")]
    parts.append(body.get("system", ""))
    for message in body["messages"]:
        for block in blocks_of(message["content"]):
            parts.append([message["role"], block])
            parts += [tools[name] for name in references_of([{"content": [block]}])]
    return "\n".join(json.dumps(part, sort_keys=True) for part in parts)
