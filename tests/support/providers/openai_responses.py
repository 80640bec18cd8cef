"""OpenAI's Responses API on loopback: it refuses what the real one refuses, and lets a script be the model.

A request is held against the types of the package `openai`, without extra keys, and against the rules that the types
do not show (`refusal`). `usage.cached_tokens` follows the documented prefix cache; a token is four characters here.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openai.types.responses import Response, response_create_params
from pydantic import ConfigDict, TypeAdapter

from tests.support.api_server import Reply
from tests.support.providers.checking import type_errors
from tests.support.providers.loopback import Loopback, Posted
from tests.support.providers.openai_responses_rules import Refused, check

Items = list[dict[str, Any]]
Script = Callable[[dict[str, Any]], Items]  # the body of a request → the items that the model gives out

_PARAMS: TypeAdapter[Any] = TypeAdapter(
    response_create_params.ResponseCreateParams, config=ConfigDict(extra="forbid", strict=True)
)
_CACHE_LEAST, _CACHE_STEP, _CHARACTERS = 1_024, 128, 4


@dataclass
class ResponsesServer:
    """Serves POST /v1/responses for the length of a `with`; `bodies` are the requests, `refused` the refusals."""

    script: Script
    bodies: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    usage: list[tuple[int, int]] = field(default_factory=list)  # input tokens, and those of them from the cache

    def __enter__(self) -> "ResponsesServer":
        self._prompts: list[str] = []
        self._http = Loopback(self._answer).__enter__()
        self.base_url = f"{self._http.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._http.__exit__()

    def _answer(self, request: Posted) -> Reply:
        try:
            if request.path != "/v1/responses":
                raise Refused(f"Invalid URL (POST {request.path})")
            response = self.respond(request.body)
        except Refused as refused:
            self.refused.append(str(refused))
            error = {"message": str(refused), "type": "invalid_request_error", "param": None, "code": None}
            return Reply.of({"error": error}, 400)
        return Reply.of(response)

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request. Raises Refused."""
        self.bodies.append(body)
        if errors := type_errors(_PARAMS, body):
            raise Refused(f"Invalid value: {errors[0]}")
        check(body)
        prompt = json.dumps([body.get("tools", []), body["input"]], separators=(",", ":"))[:-2]
        tokens = len(prompt) // _CHARACTERS
        cached = max((_cached(before, prompt) for before in self._prompts), default=0)
        self._prompts.append(prompt)
        self.usage.append((tokens, cached))
        response = {
            "id": f"resp_{len(self.bodies)}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": "completed",
            "model": body["model"],
            "output": self.script(body),
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "usage": {
                "input_tokens": tokens,
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens + 20,
            },
        }
        Response.model_validate(response)  # a script's items are held against the types too
        return response


def _cached(before: str, prompt: str) -> int:
    """Return how many tokens of a prompt a cache has that read another: 1,024 or more, in steps of 128."""
    same = next((at for at, pair in enumerate(zip(before, prompt, strict=False)) if pair[0] != pair[1]), None)
    tokens = (min(len(before), len(prompt)) if same is None else same) // _CHARACTERS
    return 0 if tokens < _CACHE_LEAST else tokens // _CACHE_STEP * _CACHE_STEP
