"""Anthropic's Messages API on loopback: strict about requests, a model by script, answers whole.

`Seen.prompt` is what the model reads. Tokens are counted as four characters each, and the prompt cache holds the
longest beginning that an earlier request had, where the request asks for a cache by `cache_control`.
"""

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.quartermaster.adapters.agent_model import required_of
from tests.support.api_server import Reply
from tests.support.providers.anthropic_rules import Refused, check, prompt_of, references_of
from tests.support.providers.loopback import Loopback, Posted

_CHARACTERS = 4  # of a token


@dataclass(frozen=True)
class Seen:
    """One request: its body, what the model reads of it, and the tools that it can call."""

    body: dict[str, Any]
    prompt: str
    tools: Mapping[str, dict[str, Any]]

    @property
    def last(self) -> Any:
        """The content of the last message."""
        return self.body["messages"][-1]["content"]


Script = Callable[[Seen], Sequence[Mapping[str, Any]]]


def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_NUMBERS):04}", "name": name, "input": dict(arguments)}


def say(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def search_call_answer(seen: Seen) -> list[dict[str, Any]]:
    """The script of most models: search in the user's words, call the first tool found, and tell what it gave.

    Where the request has Anthropic's own search by BM25, the tool found is the deferred one with most of the words.
    """
    if isinstance(seen.last, str):
        if "tool_search_tool_bm25" not in seen.tools:
            return [call("search_tools", {"request": seen.last})]
        deferred = [tool for tool in seen.body["tools"] if tool.get("defer_loading")]
        tool = max(deferred, key=lambda tool: sum(word in json.dumps(tool) for word in set(seen.last.split())))
        return [*_searched(seen.last, tool["name"]), call(tool["name"], required_of(tool["input_schema"]))]
    content = seen.last[-1].get("content", "")
    if isinstance(content, str):
        return [say(f"It says: {content}")]
    name = content[0]["tool_name"]
    return [call(name, required_of(seen.tools[name]["input_schema"]))]


def _searched(query: str, name: str) -> list[dict[str, Any]]:
    """Return the blocks of a search that Anthropic ran itself."""
    use_id = f"srvtoolu_{next(_NUMBERS):04}"
    search = {"type": "server_tool_use", "id": use_id, "name": "tool_search_tool_bm25", "input": {"query": query}}
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": name}],
    }
    return [search, {"type": "tool_search_tool_result", "tool_use_id": use_id, "content": found}]


_NUMBERS = itertools.count(1)  # a call's id is its own


@dataclass
class MessagesServer:
    """Serves POST /v1/messages for the length of a `with`. `script` gives the content of each answer.

    `seen` holds the accepted requests, `refused` the sentences of the others.
    """

    script: Script = search_call_answer
    seen: list[Seen] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __enter__(self) -> "MessagesServer":
        self._lock = threading.Lock()
        self._http = Loopback(self._answer).__enter__()
        self.base_url = self._http.url
        return self

    def __exit__(self, *_: object) -> None:
        self._http.__exit__()

    def _answer(self, request: Posted) -> Reply:
        try:
            _check_headers(request)
            return Reply.of(self._message(request.body))
        except Refused as refused:
            self.refused.append(str(refused))
            error = {"type": "error", "error": {"type": refused.kind, "message": str(refused)}, "request_id": "req_1"}
            return Reply.of(error, refused.status)

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        """Check a request, and return the model's message."""
        check(body)
        referenced = set(references_of(body["messages"]))
        callable_now = {
            tool["name"]: tool
            for tool in body.get("tools", [])
            if not tool.get("defer_loading") or tool["name"] in referenced
        }
        seen = Seen(body, prompt_of(body), callable_now)
        content = list(self.script(seen))
        with self._lock:
            cached = max((_common(seen.prompt, before.prompt) for before in self.seen), default=0)
            self.seen.append(seen)
            number = len(self.seen)
        caches = "cache_control" in body
        read = cached // _CHARACTERS if caches else 0
        rest = len(seen.prompt) // _CHARACTERS - read
        return {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 0 if caches else rest,
                "cache_creation_input_tokens": rest if caches else 0,
                "cache_read_input_tokens": read,
                "output_tokens": len(json.dumps(content)) // _CHARACTERS,
            },
        }


def _check_headers(request: Posted) -> None:
    headers = request.headers
    if request.path != "/v1/messages":
        raise Refused(f"Not found: {request.path}", "not_found_error", 404)
    if not (headers.get("x-api-key") or headers.get("authorization", "").startswith("Bearer ")):
        raise Refused("x-api-key or authorization header is required", "authentication_error", 401)
    if not headers.get("anthropic-version"):
        raise Refused("anthropic-version: header is required")


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))
