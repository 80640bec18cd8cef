"""Gemini's generateContent on loopback, for an agent whose SDK writes the requests."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.api_server import Reply
from tests.support.providers.find_and_call import next_step
from tests.support.providers.loopback import Posted

_PATH = re.compile(r"/v1beta/models/[\w.-]+:generateContent")


def answer(request: Posted) -> Reply:
    """Answer a request. Raises ValueError for another path."""
    if not _PATH.fullmatch(request.path):
        raise ValueError(f"there is no {request.path}")
    contents = request.body["contents"]
    asked = next(part["text"] for content in contents if content["role"] == "user" for part in content["parts"])
    step = next_step(asked, [_text(response["response"]) for response in _parts(contents, "functionResponse")])
    part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return Reply.of({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "loopback"})


def _parts(contents: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for content in contents:
        yield from (part[kind] for part in content["parts"] if kind in part)


def _text(response: Any) -> str:
    """Return what a function answered: the text of an MCP result, where it is one."""
    blocks = response.get("content", ()) if isinstance(response, Mapping) else ()
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and "text" in block]
    return "\n".join(texts) or json.dumps(response)
