"""The HTTP server: bytes on a socket, and requests to every path of the app."""

import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from quartermaster.serving.http import HttpSettings, app, listen
from router import Router
from simulations.fuzz.asgi import Answer, asked
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import NoInput, Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from tests.support.factories import TOOLS

_TOKEN = "a-token-of-twenty-letters"
_HEADERS = [["host", "localhost"], ["content-type", "application/json"], ["authorization", f"Bearer {_TOKEN}"]]
_WAIT_S = 0.03  # for the first byte of an answer: bytes that are no whole request get none
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _requests(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot))
    overlay = resources.folder("served") / "overlay.json"
    settings = HttpSettings(token=_TOKEN, overlay=overlay, requests_per_minute=None)
    served = resources.stack.enter_context(asked(app(router, settings)))

    def run(data: bytes) -> None:
        row = read_object(data)
        body = row.get("body")
        content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else json.dumps(body).encode()
        path, query = _bytes(row.get("path")), _bytes(row.get("query"))
        answer = served.ask(str(row.get("method")), path, query, _headers(row), content)
        _check(answer, json_only=path.startswith(b"/v1/"))
        if answer.status == 200 and path == b"/v1/route" and isinstance(body, dict):
            assert len(json.loads(answer.body)["tools"]) <= body.get("k", 10), "there are more tools than k"

    return run


def _check(answer: Answer, json_only: bool) -> None:
    assert 200 <= answer.status < 500, f"the status is {answer.status}: {answer.body[:200]!r}"
    if json_only and answer.headers.get(b"content-type", b"").startswith(b"application/json"):
        told = json.loads(answer.body)
        assert answer.status < 400 or told["error"]["message"], "a failure gives no reason"


def _headers(row: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    headers = row.get("headers", _HEADERS)
    if not isinstance(headers, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in headers):
        raise NoInput
    return [(_bytes(name).lower(), _bytes(value)) for name, value in headers]


def _bytes(value: object) -> bytes:
    return ("" if value is None else str(value)).encode("utf-8", "surrogatepass")


def _socket(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot))
    failures: list[str] = []
    address = resources.stack.enter_context(_serving(router, failures))

    def run(data: bytes) -> None:
        failures.clear()
        answer = _exchange(address, data, _WAIT_S)
        assert not answer or answer.startswith(b"HTTP/1.1 "), f"the answer is no HTTP: {answer[:80]!r}"
        assert not answer.startswith(b"HTTP/1.1 5"), f"a request of bytes had the answer {answer[:200]!r}"
        assert _exchange(address, _HEALTH, 30).startswith(b"HTTP/1.1 200 "), "the server answers nobody else"
        assert not failures, f"the server logged an error: {failures[0][:300]}"

    return run


def _exchange(address: tuple[str, int], data: bytes, wait_s: float) -> bytes:
    """Send bytes and return what comes back until there is a pause, or the end."""
    answer = b""
    with socket.create_connection(address, timeout=30) as client, suppress(TimeoutError, ConnectionError):
        client.sendall(data)
        client.settimeout(wait_s)
        while part := client.recv(65_536):
            answer += part
    return answer


@contextmanager
def _serving(router: Router, failures: list[str]) -> Iterator[tuple[str, int]]:
    """Serve a router as `serve` does, in a thread. What it logs as an error goes to `failures`."""
    settings = HttpSettings(port=0, requests_per_minute=None, body_timeout_s=0.5)
    listening = listen(settings)
    config = uvicorn.Config(
        app(router, settings), log_config=None, access_log=False, ws="none", http="h11", lifespan="on"
    )
    server = uvicorn.Server(config)
    handler = _Collect(failures)
    logging.getLogger("uvicorn.error").addHandler(handler)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[:2]
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        logging.getLogger("uvicorn.error").removeHandler(handler)


class _Collect(logging.Handler):
    def __init__(self, failures: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        self._failures.append(
            record.getMessage() if record.exc_info is None else f"{record.getMessage()}: {record.exc_info[1]!r}"
        )


def _plan(method: str, path: str, body: Any = None, query: str = "") -> bytes:
    return seeds.document({"method": method, "path": path, "query": query, "headers": _HEADERS, "body": body})


_ROUTE = {"request": "undo a payment", "k": 3, "explain": True, "form": "openai", "strict": True, "token_budget": 500}
_SELECTION = {"allow": ["stripe/*"], "annotations": {"readOnlyHint": True}, "weights": {"embed": 0.5}, "always": ["a"]}
_PLANS = (
    _plan("POST", "/v1/route", {**_ROUTE, "selection": _SELECTION, "category": "sky", "category_confidence": 0.5}),
    _plan("POST", "/v1/route", {"request": ["a", {"role": "user", "content": "b"}], "detail": "short"}),
    _plan("POST", "/v1/route-many", {"requests": ["undo a payment", "will it rain"], "k": 2}),
    _plan("PUT", "/v1/sources/files", {"tools": seeds.MCP["result"]["tools"]}),
    _plan("PUT", "/v1/sources/office", {"tools": seeds.FUNCTIONS}),
    _plan("DELETE", f"/v1/tools/{TOOLS[7]['id']}"),
    _plan("GET", f"/v1/tools/{TOOLS[0]['id']}"),
    _plan("GET", "/v1/tools", query="after=linear&limit=2"),
    _plan("GET", "/", query="request=undo+a+payment&k=3&explain=on"),
    *(_plan("GET", path) for path in ("/v1/snapshot", "/metrics", "/openapi.json", "/tools")),
)
_BODY = seeds.document({"request": "undo a payment", "k": 1})
_POST = b"POST /v1/route HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_RAW = (
    _HEALTH,
    _POST + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY,
    _POST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(_BODY) + _BODY + b"\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n0\r\n\r\n",
    b"GET /v1/tools/a%2Fb?x=%00%ff#f HTTP/1.1\r\nHost: localhost:80\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
)
TARGETS = (
    Target("http_requests", Form.JSON, _PLANS, _requests, (), gate=40),
    Target("http_bytes", Form.RAW, _RAW, _socket, (), gate=5),
)
