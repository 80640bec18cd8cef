"""A FastMCP server whose search uses a snapshot that was built of it: phrases count, whatever else it serves."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastmcp", reason="the extra fastmcp is not installed")

from pipeline.build import build
from pipeline.settings import load
from quartermaster.adapters.fastmcp import RouterSearch
from router import Router, SettingsInvalid
from tests.quartermaster.adapters.fastmcp.desk_server import desk
from tests.quartermaster.adapters.fastmcp.test_search import names, searched

PHRASES = ["they want their cash again", "make good for the double payment"]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the desk, as it lists its tools, with phrases for one of them."""
    folder = tmp_path_factory.mktemp("catalogs") / "desk"
    folder.mkdir()
    listed = [tool.to_mcp_tool().model_dump(mode="json", by_alias=True) for tool in asyncio.run(desk().list_tools())]
    (folder / "tools.json").write_text(json.dumps({"tools": listed}), encoding="utf-8")
    text = '[[source]]\npath = "tools.json"\nprovider = "desk"\n[enrichment]\nexpansions = "expansions.jsonl"\n'
    (folder / "catalog.toml").write_text(text, encoding="utf-8")
    row = {"id": "desk/refund_charge", "when_to_use": "Somebody gets money back.", "user_phrases": PHRASES}
    row |= {"synonyms": [], "related_concepts": [], "task_categories": []}
    (folder / "expansions.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    settings = load(folder, {"vectors": {"encoder": "none"}}, environment={})
    return build(settings, workspace=tmp_path_factory.mktemp("desk")).snapshot


@pytest.fixture
def router(snapshot: Path) -> Iterator[Router]:
    with Router.open(snapshot) as router:
        yield router


def test_the_phrases_of_the_build_find_a_tool(router: Router) -> None:
    plain, with_phrases = desk(), desk()
    plain.add_transform(RouterSearch(encoder=None))
    with_phrases.add_transform(RouterSearch(router))
    assert "refund_charge" not in names(searched(plain, "make good for the double one"))
    assert names(searched(with_phrases, "make good for the double one"))[0] == "refund_charge"
    # The server lists its tools as the build read them, so none is registered anew.
    assert not router.overlay


def test_a_tool_that_the_snapshot_lacks_is_found_and_one_that_the_server_lacks_is_not(router: Router) -> None:
    server = desk()

    @server.tool
    def book_ferry(harbour: str) -> str:
        """Book a ferry."""
        return harbour

    server.local_provider.remove_tool("refund_charge")
    server.add_transform(RouterSearch(router))
    assert names(searched(server, "book a ferry"))[0] == "book_ferry"
    assert "refund_charge" not in names(searched(server, PHRASES[0]))


def test_a_changed_tool_keeps_its_phrases(router: Router) -> None:
    server = desk()
    server.local_provider.remove_tool("refund_charge")

    @server.tool
    def refund_charge(charge: str, reason: str) -> str:
        """Undo a charge."""
        return charge + reason

    server.add_transform(RouterSearch(router))
    (row, *_) = searched(server, PHRASES[1])["tools"]
    assert row["signature"] == "refund_charge(charge: string, reason: string) — Undo a charge."


def test_a_router_of_several_providers_needs_the_name_of_the_servers() -> None:
    tools = {name: [{"name": "ping", "description": f"Ping {name}."}] for name in ("desk", "shop")}
    with Router.from_tools(tools, encoder=None) as router:
        with pytest.raises(SettingsInvalid, match="name this server's among the router's, 'desk', 'shop'"):
            RouterSearch(router)
        with pytest.raises(SettingsInvalid, match="provider is 'crm'"):
            RouterSearch(router, provider="crm")
        RouterSearch(router, provider="desk")
