"""Where the servers that tools are called at are named: a file as MCP clients have it, a catalog's own sources."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quartermaster.cli.commands.sources import catalog_upstreams

Write = Callable[[str, Any], Path]


def test_a_catalogs_live_servers_are_those_that_its_build_asks_with_their_headers_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "sk-secret")
    (tmp_path / "catalog.toml").write_text(
        """
        [[source]]
        path = "tools.jsonl"
        [[source]]
        command = ["mcp-server-git", "--repository", "."]
        env = {TOKEN = "${SHOP_KEY}"}
        provider = "git"
        [[source]]
        url = "https://shop.example/mcp?key=${SHOP_KEY}"
        headers = {Authorization = "Bearer ${SHOP_KEY}"}
        timeout_s = 5
        [[source]]
        command = ["print-openapi"]
        format = "openapi"
        """,
        encoding="utf-8",
    )
    git, shop = catalog_upstreams(tmp_path, allow_commands=True)
    assert (git.command, git.provider, git.folder) == (("mcp-server-git", "--repository", "."), "git", tmp_path)
    assert git.environment == {"TOKEN": "sk-secret"}
    assert (shop.provider, shop.place, shop.timeout_s) == (None, "https://shop.example/mcp", 5)
    assert shop.headers == {"Authorization": "Bearer sk-secret"}
    assert shop.url == "https://shop.example/mcp?key=sk-secret"
    assert "sk-secret" not in f"{shop.name} {shop.headers.keys()}"
