"""quartermaster call, and serve mcp --calls: an operation from the terminal, and from an MCP client."""

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from pipeline.build import build
from pipeline.settings import load
from tests.support.api_server import ApiServer, Reply, api_server
from tests.support.command_line import Run, called
from tests.support.places import ROOT
from tests.support.quick import QUICK

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop"},
    "paths": {
        "/items": {method: {"operationId": f"{method}_items", "summary": "Items."} for method in ("get", "post")},
        "/item": {
            "parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}],
            "get": {"operationId": "get_item", "summary": "An item."},
        },
    },
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built catalog of a shop, whose document names a server."""
    folder = tmp_path_factory.mktemp("shop")
    document = {**DOCUMENT, "servers": [{"url": "https://shop.example.com/v2"}]}
    (folder / "shop.openapi.json").write_text(json.dumps(document), encoding="utf-8")
    build(load(folder / "shop.openapi.json", QUICK, environment={}), workspace=folder / ".quartermaster")
    return folder


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def call(shop: Path, api: ApiServer) -> Run:
    """Call a tool of the shop, which listens here, with a key of the environment."""
    settings = f'[provider.shop]\nbase_url = "{api.url}"\nauth = {{type = "bearer", token = "${{SHOP_KEY}}"}}\n'
    (shop / "calls.toml").write_text(settings, encoding="utf-8")
    return partial(called, shop, "call", "--calls", "calls.toml", SHOP_KEY="shop-s3cret")


def test_an_answer_is_printed_and_with_json_all_about_it(call: Run, api: ApiServer) -> None:
    api.answer = lambda received: Reply.of([received.method, received.headers["authorization"]])
    done = call("shop/get_items")
    assert (done.returncode, done.stdout) == (0, '["GET", "Bearer ***"]\n')
    assert api.last.headers["authorization"] == "Bearer shop-s3cret"
    assert json.loads(call("shop/get_items", "--json").stdout)["status"] == 200


def test_what_was_mended_of_the_arguments_goes_to_the_error_stream(call: Run, api: ApiServer) -> None:
    api.answer = lambda received: Reply.of(received.query)
    done = call("shop/get_item", "--arguments", '{"n": "5"}')
    assert (done.returncode, done.stdout) == (0, '[["n", "5"]]\n')
    assert "n: its text was read as JSON" in " ".join(done.stderr.split())


def test_a_dry_run_sends_nothing(call: Run, api: ApiServer) -> None:
    done = call("shop/post_items", "--dry-run")
    assert done.returncode == 0 and '"Authorization": "***"' in done.stdout and "shop-s3cret" not in done.stdout
    assert api.received == []


def test_a_dry_run_without_settings_takes_the_documents_server(shop: Path) -> None:
    done = called(shop, "call", "shop/get_items", "--dry-run")
    assert done.returncode == 0 and "https://shop.example.com/v2/items" in done.stdout
    done = called(shop, "call", "shop/get_items")
    assert done.returncode == 2 and "--dry-run needs none" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("shop/post_items",), 3, "it is a POST, and only reading"),
        (("shop/none",), 2, "there is no tool 'shop/none'"),
        (("shop/get_items", "--arguments", "{"), 2, "the arguments are not JSON"),
        (("shop/get_items", "--arguments", '{"x": 1}'), 3, "has no argument x"),
    ],
)
def test_what_is_not_called_says_why(
    call: Run, api: ApiServer, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = call(*arguments)
    assert done.returncode == code and message in " ".join(done.stderr.split()) and api.received == []


def test_an_error_of_the_api_is_printed_and_ends_with_3(call: Run, api: ApiServer) -> None:
    api.answer = lambda _: Reply.of("gone", 410)
    done = call("shop/get_items")
    assert (done.returncode, done.stdout) == (3, 'HTTP 410 Gone: "gone"\n')


@pytest.mark.nightly
def test_an_mcp_client_calls_an_api_through_serve_mcp(
    call: Run, api: ApiServer, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    api.answer = lambda _: Reply.of(["lamp"])
    program = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from quartermaster.cli.main import main; main()", "serve", "mcp", "--calls", "calls.toml"],
        env={"PYTHONPATH": str(ROOT), "SHOP_KEY": "shop-s3cret"},
    )

    async def ask() -> list[CallToolResult]:
        async with Client(program) as client:
            tools = ("shop/get_items", "shop/post_items")
            return [await client.call_tool("call_tool", {"tool_id": tool}) for tool in tools]

    read, wrote = asyncio.run(ask())
    assert not read.is_error and '["lamp"]' in read.model_dump_json().replace("\\", "")
    assert wrote.is_error and "only reading" in wrote.model_dump_json()
    assert [received.headers["authorization"] for received in api.received] == ["Bearer shop-s3cret"]
