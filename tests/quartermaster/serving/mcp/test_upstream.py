"""Where the servers that tools are called at are named: a file as MCP clients have it, a catalog's own sources."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quartermaster.cli.commands.sources import catalog_upstreams
from quartermaster.serving.mcp import Upstream, read_upstreams
from router.errors import SettingsInvalid

Write = Callable[[str, Any], Path]


def test_servers_are_read_as_clients_have_them(write_json: Write) -> None:
    git = {"command": "uvx", "args": ["mcp-server-git"], "env": {"KEY": "a${KEY}b"}, "cwd": "work"}
    shop = {"type": "http", "url": "https://shop.example/mcp", "headers": {"X-Key": "Bearer ${KEY}"}}
    path = write_json("servers.json", {"mcpServers": {"git": git, "shop": shop}})
    command, address = read_upstreams(path, {"KEY": "s3"})
    assert command == Upstream(
        "git",
        command=("uvx", "mcp-server-git"),
        provider="git",
        folder=path.parent / "work",
        environment={"KEY": "as3b"},
    )
    assert (address.url, address.headers) == ("https://shop.example/mcp", {"X-Key": "Bearer s3"})
    assert "s3" not in repr((command, address, command.__rich_repr__(), address.__rich_repr__()))


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({}, "mcpServers.one: a server has either a command or a url"),
        ({"command": "a", "url": "http://b"}, "mcpServers.one: a server has either a command or a url"),
        ({"command": 5}, "mcpServers.one: command must be a text, or left out"),
        ({"url": "http://b", "type": "sse"}, "mcpServers.one: tools cannot be called over HTTP+SSE (sse). Give the"),
        ({"command": "a", "timeout_s": 0}, "mcpServers.one: timeout_s must be a number"),
        ({"command": "a", "env": {"K": "${NOT_SET}"}}, "mcpServers.one.env.K: the environment has no NOT_SET"),
        (
            {"url": "http://b", "headers": {"K": "Bearer ${EMPTY}"}},
            "headers.K: the environment has no EMPTY, or it is empty",
        ),
    ],
)
def test_a_wrong_server_is_refused_by_its_place(write_json: Write, server: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        read_upstreams(write_json("servers.json", {"mcpServers": {"one": server}}), {"EMPTY": " "})
    assert message in str(refused.value)


def test_a_file_that_is_none_is_refused(tmp_path: Path, write_json: Write) -> None:
    for path in (tmp_path / "missing.json", write_json("list.json", [])):
        with pytest.raises(SettingsInvalid, match=str(path)):
            read_upstreams(path)


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
