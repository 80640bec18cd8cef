"""Gemini's generateContent on loopback. It keeps the API's rules for functions, as far as they concern tools."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.providers.find_and_call import next_step
from tests.support.providers.loopback import Answer, Posted

_PATH = re.compile(r"/v1beta/models/[\w.-]+:generateContent")
_NAME = re.compile(r"[a-zA-Z_][\w.:-]{0,127}")


def answer(request: Posted) -> Answer:
    """Answer a request. Raises ValueError for one that the API would refuse."""
    if not _PATH.fullmatch(request.path):
        raise ValueError(f"there is no {request.path}")
    check(request.body)
    contents = request.body["contents"]
    asked = next(part["text"] for content in contents if content["role"] == "user" for part in content["parts"])
    step = next_step(asked, [_text(response["response"]) for response in _parts(contents, "functionResponse")])
    part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return Answer(json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "loopback"}))


def check(body: Mapping[str, Any]) -> None:
    """Raise ValueError where a rule is broken: bad names, calls without an answer or of what is not declared."""
    declarations = [_camel(row) for tool in body.get("tools", ()) for row in _camel(tool)["functionDeclarations"]]
    for row in declarations:
        if not _NAME.fullmatch(row["name"]) or not row.get("description"):
            raise ValueError(f"a function needs a name and a description: {row}")
    names = {row["name"] for row in declarations}
    waiting: list[str] = []
    for content in body["contents"]:
        answered = [response["name"] for response in _parts([content], "functionResponse")]
        if answered != waiting:
            raise ValueError(f"the calls of {waiting} are answered by {answered}")
        waiting = [call["name"] for call in _parts([content], "functionCall")]
        if not set(waiting) <= names:
            raise ValueError(f"calls of functions that are not declared: {waiting}")


def _parts(contents: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for content in contents:
        yield from (part[kind] for part in content["parts"] if kind in part)


def _camel(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with its fields in camel case: the API reads both, and the SDK writes both."""
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), field): value for field, value in row.items()}


def _text(response: Any) -> str:
    """Return what a function answered: the text of an MCP result, where it is one."""
    blocks = response.get("content", ()) if isinstance(response, Mapping) else ()
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and "text" in block]
    return "\n".join(texts) or json.dumps(response)
