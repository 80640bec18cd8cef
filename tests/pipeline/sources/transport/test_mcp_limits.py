"""A live MCP server that sends without end is cut off at a limit, over stdio and over HTTP."""

import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import CatalogSettings
from pipeline.sources import read
from tests.pipeline.sources.web import Web

LIMITS = {"message_bytes": 50_000, "document_bytes": 200_000, "tools": 20, "pages": 5}
_ENDLESS_LINE = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
_ENDLESS_LINES = 'import sys\nwhile True: print(\'{"jsonrpc": "2.0", "method": "notifications/x"}\')'
_SERVER = """
import json, sys
result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    if asked["method"] == "tools/list":
        cursor = int((asked.get("params") or {}).get("cursor") or 0)
        row = {"name": f"t{cursor}", "inputSchema": {"type": "object"}}
        answer = {"result": {"tools": [row] * COUNT, "nextCursor": str(cursor + 1)}}
    elif asked["method"] == "initialize": answer = {"result": result}
    else: answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def _stop(source: dict[str, Any]) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        read(CatalogSettings(name="x", folder=Path(), source=({"timeout_s": 30, **source},), limits=LIMITS))
    return stopped.value


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (_ENDLESS_LINE, "sent a message of more than the 50,000 bytes of limits.message_bytes"),
        (_ENDLESS_LINES, "sent more than the 200,000 bytes of limits.document_bytes"),
        (_SERVER.replace("COUNT", "21"), "lists more than the 20 tools of limits.tools"),
        (_SERVER.replace("COUNT", "1"), "answered 5 pages and more, the limit of limits.pages"),
    ],
    ids=["a-line", "lines", "tools", "pages"],
)
def test_a_server_without_end_is_cut_off_over_stdio(program: str, told: str) -> None:
    started = time.monotonic()
    stopped = _stop({"command": [sys.executable, "-c", program]})
    assert told in str(stopped) and not isinstance(stopped, Unavailable)
    assert time.monotonic() - started < 25


@pytest.mark.parametrize(
    ("body", "headers", "told"),
    [
        pytest.param(b"x" * 60_000, {"content-type": "application/json"}, "limits.message_bytes", id="json"),
        pytest.param(
            b'data: {"jsonrpc": "2.0", "method": "notifications/x"}\n\n' * 5_000,
            {"content-type": "text/event-stream"},
            "limits.document_bytes",
            id="events",
        ),
        pytest.param(
            gzip.compress(b"x" * 100_000_000, 1),
            {"content-type": "application/json", "content-encoding": "gzip"},
            "answered in the encoding 'gzip', which it was not asked for",
            id="a-bomb",
        ),
    ],
)
def test_a_server_without_end_is_cut_off_over_http(web: Web, body: bytes, headers: dict[str, str], told: str) -> None:
    stopped = _stop({"url": web.page(body, headers=headers)})
    assert told in str(stopped) and not isinstance(stopped, Unavailable)
    assert web.asked[-1][1]["accept-encoding"] == "identity"


def test_a_server_leads_its_authorization_to_no_private_address(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the internet, which a name of this test stands for, names the cloud's metadata service."""
    from pipeline.sources.transport import addresses

    asked: list[str] = []
    monkeypatch.setattr(addresses, "_lookup", lambda host, *_: ["127.0.0.1"])

    def is_public(address: object) -> bool:
        asked.append(str(address))
        return str(address) == "127.0.0.1"

    monkeypatch.setattr(addresses, "is_public", is_public)
    port = web.root.rpartition(":")[2]
    metadata = "http://169.254.169.254/latest/meta-data"
    web.page("", path="/guarded", status=401, headers={"www-authenticate": f'Bearer resource_metadata="{metadata}"'})
    monkeypatch.setenv("SECRET", "s3cret-word")
    stopped = _stop(
        {
            "url": f"http://tools.example.com:{port}/guarded",
            "oauth": {"client_id": "me", "client_secret": "${SECRET}", "issuer": "https://login.example"},
        }
    )
    assert "leads to '169.254.169.254': an address of this machine or a private network" in str(stopped)
    assert "127.0.0.1" in asked


def test_a_reference_to_another_document_is_never_fetched(web: Web, tmp_path: Path) -> None:
    asked = len(web.asked)
    url = web.page("{}")
    document = {
        "openapi": "3.0.0",
        "paths": {"/a": {"post": {"operationId": "a", "parameters": [{"name": "q", "schema": {"$ref": url}}]}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
    reading = read(CatalogSettings(name="x", folder=tmp_path, source=({"path": "api.json"},)))
    assert reading.tools[0].notices == (f"{url} is in another document: left open",)
    assert len(web.asked) == asked
