"""A chat model's server on loopback: real HTTP, answers by script, every request kept."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

import pytest
from pydantic import SecretStr

from pipeline.enrichment.generator import Generator, Outcome, Question, TokenUsage
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord

# By the prices of gpt-5-mini: (600 x 0.25 + 400 x 0.025 + 200 x 2) / 1e6 = 0.00056 US dollars.
USAGE: dict[str, Any] = {
    "prompt_tokens": 1_000,
    "completion_tokens": 200,
    "total_tokens": 1_200,
    "prompt_tokens_details": {"cached_tokens": 400},
}
COST = 0.00056


@dataclass(frozen=True)
class Reply:
    """A reply of the server: JSON, or a text as it stands.

    `drop` hangs up without a reply. `reset_after` resets the connection after so many bytes of the body, or before the
    headers where it is negative. `drip_s` seconds lie between one byte of the body and the next.
    """

    body: Any
    status: int = 200
    content_type: str = "application/json"
    delay_s: float = 0.0
    drop: bool = False
    reset_after: int | None = None
    drip_s: float = 0.0
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})


@dataclass(frozen=True)
class Request:
    """A request that the server received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def tool(self) -> dict[str, Any]:
        """The tool that the question is about."""
        return tool_of(self.body)


Script = Callable[[dict[str, Any], int], Reply]


def tool_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool of a request's user message."""
    return dict(json.loads(body["messages"][1]["content"])["tool"])


def row(name: str) -> dict[str, Any]:
    """Return a good expansion that names its tool."""
    return {
        "tool": name,
        "when_to_use": f"When somebody needs {name}.",
        "user_phrases": [f"please do {name}"],
        "synonyms": ["payments"],
        "related_concepts": [],
        "task_categories": [],
    }


def completion(content: Any, **fields: Any) -> dict[str, Any]:
    """Return a chat completion of one choice; `message`, `finish_reason` and top-level fields can be set."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": None, **fields.pop("message", {})},
        "finish_reason": fields.pop("finish_reason", "stop"),
        "logprobs": None,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "gpt-5-mini-2025-08-07",
        "choices": [choice],
        "usage": USAGE,
        **fields,
    }


def error(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error in OpenAI's format."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return Reply(body, status, headers={"retry-after-ms": "1"} if headers is None else headers)


def answer(body: Mapping[str, Any], _: int = 0) -> Reply:
    """Return a good answer: the script of a server that always answers well."""
    return Reply(completion(json.dumps(row(tool_of(body)["name"]))))


def but(name: str, reply: Reply) -> Script:
    """Return the script of a server that answers well, except for one tool."""
    return lambda body, _: reply if tool_of(body)["name"] == name else answer(body)


def spent(prompt_tokens: int, cached_tokens: int, completion_tokens: int, cost_usd: float) -> TokenUsage:
    """The usage to expect, equal to any whose cost differs by rounding alone."""
    return TokenUsage(prompt_tokens, cached_tokens, completion_tokens, cast(float, pytest.approx(cost_usd)))


def replies(generator: Generator, records: Sequence[ToolRecord]) -> Iterator[Outcome]:
    """Yield the outcomes of one question for each record."""
    for group in generator.generate(questions(generator, records)):
        yield from group


def questions(generator: Generator, records: Sequence[ToolRecord]) -> list[Question]:
    """Return a question about each record, under the tool's id."""
    asked = [(record, generator.question(record, "")) for record in records]
    return [replace(question, key=record.tool_id) for record, question in asked if question]


class Loopback:
    """Serves HTTP on loopback for the length of a `with`, each request by `respond`, in threads."""

    def respond(self, method: str, target: str, headers: Mapping[str, str], data: bytes) -> Reply:
        """Return the reply to a request; the names of `headers` are in lower case."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.loopback = self
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()  # joins the threads of the requests


@dataclass
class ModelServer(Loopback):
    """Serves POST /v1/chat/completions; `script` gets the body and the count so far."""

    script: Script = answer
    requests: list[Request] = field(default_factory=list)
    most_at_once: int = 0
    _now: int = 0

    def settings(self, **fields: Any) -> EnrichmentSettings:
        """Return settings that reach this server, one question at a time, without retries."""
        defaults: dict[str, Any] = {
            "api_key": SecretStr("sk-loopback"),
            "concurrency": 1,
            "max_retries": 0,
            "retry_delay_s": 0.01,
            "timeout_s": 20.0,
        }
        return EnrichmentSettings(**{"base_url": self.base_url, **defaults, **fields})

    @property
    def asked(self) -> list[str]:
        """The names of the tools asked about, in order."""
        return [request.tool["name"] for request in self.requests]

    def respond(self, method: str, target: str, headers: Mapping[str, str], data: bytes) -> Reply:
        """Keep a request and answer it by the script."""
        if target != "/v1/chat/completions":
            return error(404, f"Invalid URL ({method} {target})")
        request = Request(target, headers, json.loads(data))
        with self._lock:
            self.requests.append(request)
            count = len(self.requests)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        reply = self.script(request.body, count)
        self._stopping.wait(reply.delay_s)
        with self._lock:
            self._now -= 1
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64
    loopback: Loopback


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        sent = self.rfile.read(length)
        if len(sent) < length:
            return None  # the client has given up before it had asked
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.loopback.respond(self.command, self.path, headers, sent)
        if reply.drop:
            return None
        if reply.reset_after is not None and reply.reset_after < 0:
            return self._reset()
        data = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
        try:
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for byte in data if reply.drip_s else b"":
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip_s)
            if not reply.drip_s:
                self.wfile.write(data[: reply.reset_after])
            if reply.reset_after is not None:
                self._reset()
        except ConnectionError:
            self.close_connection = True  # the client has given up waiting
        return None

    def _reset(self) -> None:
        """End the connection with RST instead of FIN, as a router does that has lost it."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *_: object) -> None:
        """Log nothing."""
