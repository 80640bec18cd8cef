"""A plan holds the ledger for a moment only: a build that begins meanwhile goes on."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.settings import load

_OFFLINE = {"vectors": {"encoder": "none"}, "enrichment": {"generator": "lexicon"}}
_TOOLS = json.dumps([{"name": "mail", "description": "Sends mail."}]).encode()


class SlowSource(ThreadingHTTPServer):
    """A source that answers once it `may_answer`; `asked` is set when a request has come."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked, self.may_answer = threading.Event(), threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: SlowSource

    def do_GET(self) -> None:
        self.server.asked.set()
        self.server.may_answer.wait(30)
        self.send_response(200)
        self.send_header("Content-Length", str(len(_TOOLS)))
        self.end_headers()
        self.wfile.write(_TOOLS)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def source() -> Iterator[SlowSource]:
    """A running source."""
    with SlowSource() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_build_goes_on_while_a_plan_waits_for_a_source(source: SlowSource, tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    url = f"http://127.0.0.1:{source.server_port}/tools.json"
    (tmp_path / "slow" / "catalog.toml").write_text(f'[[source]]\nurl = "{url}"\nformat = "function"\n', "utf-8")
    (tmp_path / "other.jsonl").write_text('{"name": "chat", "description": "Chats."}\n', "utf-8")
    slow, other = (load(tmp_path / name, _OFFLINE, environment={}) for name in ("slow", "other.jsonl"))
    plans: list[int] = []
    planning = threading.Thread(target=lambda: plans.append(plan(slow, workspace=tmp_path / "ws").new))
    planning.start()
    try:
        assert source.asked.wait(30)
        assert build(other, workspace=tmp_path / "ws").outcome == "published"
    finally:
        source.may_answer.set()
        planning.join()
    assert plans == [1]
