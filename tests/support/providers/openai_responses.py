"""OpenAI's Responses API on loopback: it refuses what the real one refuses, and lets a script be the model.

A request is held against the types of the package `openai`, without extra keys, and against the rules that the types
do not show (`refusal`). `usage.cached_tokens` follows the documented prefix cache; a token is four characters here.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai.types.responses import Response, response_create_params
from pydantic import ConfigDict, TypeAdapter, ValidationError

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
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.provider = self
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request. Raises Refused."""
        self.bodies.append(body)
        try:
            _exhaust(_PARAMS.validate_python(body))
            check(body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise Refused(f"Invalid value: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        prompt = json.dumps([body.get("tools", []), body["input"]], separators=(",", ":"))[:-2]
        tokens, cached = (
            len(prompt) // _CHARACTERS,
            max((_cached(before, prompt) for before in self._prompts), default=0),
        )
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


def _exhaust(value: Any) -> None:
    """Look at all of a validated value: pydantic validates the items of an Iterable only then."""
    if isinstance(value, Mapping):
        for child in value.values():
            _exhaust(child)
    elif isinstance(value, Iterator | Sequence) and not isinstance(value, str | bytes):
        for child in value:
            _exhaust(child)


def _cached(before: str, prompt: str) -> int:
    """Return how many tokens of a prompt a cache has that read another: 1,024 or more, in steps of 128."""
    same = next((at for at, pair in enumerate(zip(before, prompt, strict=False)) if pair[0] != pair[1]), None)
    tokens = (min(len(before), len(prompt)) if same is None else same) // _CHARACTERS
    return 0 if tokens < _CACHE_LEAST else tokens // _CACHE_STEP * _CACHE_STEP


def events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a response that is streamed, each item in one piece."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    pieces: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        pieces += [
            {"type": f"response.output_item.{now}", "output_index": index, "item": item} for now in ("added", "done")
        ]
    pieces.append({"type": "response.completed", "response": response})
    yield from ({**piece, "sequence_number": number} for number, piece in enumerate(pieces))


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    provider: ResponsesServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            if self.path != "/v1/responses":
                raise Refused(f"Invalid URL (POST {self.path})")
            response = self.server.provider.respond(body)
        except Refused as refused:
            self.server.provider.refused.append(str(refused))
            error = {"message": str(refused), "type": "invalid_request_error", "param": None, "code": None}
            return self._send(400, "application/json", json.dumps({"error": error}))
        if not body.get("stream"):
            return self._send(200, "application/json", json.dumps(response))
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(response))
        return self._send(200, "text/event-stream", "".join(lines))

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
