"""What other MCP servers answer: to a running server that calls their tools, and to a build that lists them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pipeline.settings import SourceSettings
from pipeline.sources.transport.mcp_client import read_live
from quartermaster.serving.mcp import Upstream, UpstreamFailed, connected
from quartermaster.serving.mcp.server import serve_listed
from router import Router
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from simulations.fuzz.targets.readers import check_tools

_TIMEOUT_S = 3.0


class _Scripted(ThreadingHTTPServer):
    """Answers each method with `script[method]`, a result; or with `raw[method]`, a text that is the whole body."""

    daemon_threads = True
    script: dict[str, Any]


class _Handler(BaseHTTPRequestHandler):
    server: _Scripted

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method")
        script = self.server.script
        raw = script.get("raw")
        if "id" not in message:
            return self._say(202, b"")
        if isinstance(raw, dict) and isinstance(text := raw.get(method), str):
            return self._say(200, text.encode("utf-8", "replace"))
        told = {"result": script[method]} if method in script else {"error": {"code": -32601, "message": "no method"}}
        return self._say(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}).encode())

    def do_GET(self) -> None:
        self._say(405, b"")

    do_DELETE = do_GET

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _scripted() -> Iterator[tuple[_Scripted, str]]:
    with _Scripted(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


def _calls(resources: Resources) -> Run:
    other, url = resources.stack.enter_context(_scripted())
    router = resources.stack.enter_context(Router.open(resources.snapshot))
    router.register(seeds.MCP["result"]["tools"], provider="files")
    record = next(record for record in router.tools if record.provider == "files")
    upstream = Upstream("files", url=url, provider="files", timeout_s=_TIMEOUT_S)

    async def call() -> UpstreamFailed | None:
        on_tools = partial(serve_listed, router)
        async with connected([upstream], on_tools, at_once=True) as servers:
            try:
                result = await servers.call(record, {"path": "a"})
            except UpstreamFailed as error:
                return error  # outside of the task group, which would wrap it
            json.dumps(result.model_dump(mode="json"))
        return None

    def run(data: bytes) -> None:
        other.script = read_object(data)
        if failed := asyncio.run(call()):
            raise failed

    return run


def _listed(resources: Resources) -> Run:
    other, url = resources.stack.enter_context(_scripted())
    source = SourceSettings(url=url, format="mcp", timeout_s=_TIMEOUT_S)
    folder = resources.folder("catalog")

    def run(data: bytes) -> None:
        other.script = read_object(data)
        check_tools(read_live(source, folder))

    return run


_INFO = {"name": "files", "version": "1", "title": "Files"}
_TOOLS = {"tools": {"listChanged": True}}
_SCRIPT = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": _TOOLS, "serverInfo": _INFO},
    "tools/list": {"tools": seeds.MCP["result"]["tools"]},
    "tools/call": {
        "content": [{"type": "text", "text": "42"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        "structuredContent": {"answer": 42},
        "isError": False,
        "_meta": {"a": 1},
    },
}
_SEEDS = (seeds.document(_SCRIPT), seeds.document({**_SCRIPT, "raw": {"tools/call": '{"jsonrpc": "2.0", "id": 2}'}}))
TARGETS = (
    Target("upstream_calls", Form.JSON, _SEEDS, _calls, (UpstreamFailed,), gate=4),
    Target("upstream_lists", Form.JSON, _SEEDS[:1], _listed, gate=4),
)
