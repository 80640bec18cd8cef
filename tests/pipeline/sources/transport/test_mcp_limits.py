"""A live MCP server that sends without end is cut off at a limit, over stdio and over HTTP."""

import gzip
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import Unavailable
from pipeline.sources.transport import http
from tests.pipeline.sources.reading import stop_one
from tests.pipeline.sources.web import Web

LIMITS = {"message_bytes": 50_000, "document_bytes": 200_000}
PLAIN = (str(Path(__file__).parents[1] / "plain_mcp.py"), "pages")


@pytest.mark.parametrize(
    ("program", "limits", "told"),
    [
        (PLAIN, {"tools": 2}, "lists more than the 2 tools of limits.tools"),
        (PLAIN, {"pages": 2}, "answered 2 pages and more, the limit of limits.pages"),
    ],
    ids=["tools", "pages"],
)
def test_a_server_without_end_is_cut_off_over_stdio(
    program: tuple[str, str], limits: dict[str, int], told: str
) -> None:
    started = time.monotonic()
    stopped = stop_one(limits={**LIMITS, **limits}, command=(sys.executable, *program))
    assert told in str(stopped) and not isinstance(stopped, Unavailable)
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        (b"x" * 60_000, {"content-type": "application/json"}, "limits.message_bytes"),
        (
            b'data: {"jsonrpc": "2.0", "method": "notifications/x"}\n\n' * 5_000,
            {"content-type": "text/event-stream"},
            "limits.document_bytes",
        ),
        (
            gzip.compress(b"x" * 10_000_000, 1),
            {"content-type": "application/json", "content-encoding": "gzip"},
            "answered in the encoding 'gzip', which it was not asked for",
        ),
    ],
    ids=["json", "events", "a-bomb"],
)
def test_a_server_without_end_is_cut_off_over_http(web: Web, body: bytes, headers: dict[str, str], told: str) -> None:
    stopped = stop_one(limits=LIMITS, url=web.page(body, headers=headers))
    assert told in str(stopped) and not isinstance(stopped, Unavailable)
    assert web.asked[-1][1]["accept-encoding"] == "identity"


def test_a_server_leads_its_authorization_to_no_private_address(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the internet, which a name of this test stands for, names the cloud's metadata service."""
    monkeypatch.setattr(http, "looked_up", lambda *_: ["127.0.0.1"])
    monkeypatch.setattr(http, "is_public", lambda address: str(address) == "127.0.0.1")
    port = web.root.rpartition(":")[2]
    metadata = "http://169.254.169.254/latest/meta-data"
    web.page("", path="/guarded", status=401, headers={"www-authenticate": f'Bearer resource_metadata="{metadata}"'})
    monkeypatch.setenv("SECRET", "s3cret-word")
    oauth = {"client_id": "me", "client_secret": "${SECRET}", "issuer": "https://login.example"}
    stopped = stop_one(url=f"http://tools.example.com:{port}/guarded", oauth=oauth)
    assert "leads to '169.254.169.254': an address of this machine or a private network" in str(stopped)
    assert web.asked[-1][0] == "/guarded"
