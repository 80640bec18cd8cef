"""Tools of HTTP APIs through call_tool, asked by a real MCP client."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import CallToolResult

from quartermaster.calling import ApiCalls, Bearer, CallSettings, ProviderCalls
from router import Router
from router.operation import Operation, OperationParameter
from router.selection.settings import Selection
from tests.quartermaster.serving.mcp.conftest import asked, text_of
from tests.support.api_server import ApiServer, Reply, api_server
from tests.support.factories import make_record

pytestmark = pytest.mark.anyio
SECRET = "shop-s3cret"
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
PARAMETERS = (OperationParameter("id", "path"),)
RECORDS = [
    make_record("read", "shop", input_schema=SCHEMA, operation=Operation("GET", "/{id}", parameters=PARAMETERS)),
    make_record("drop", "shop", input_schema=SCHEMA, operation=Operation("DELETE", "/{id}", parameters=PARAMETERS)),
    make_record("other", "elsewhere", operation=Operation("GET", "/")),
]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as running:
        yield running


async def called(api: ApiServer, tool_id: str, arguments: dict[str, Any], **how: Any) -> CallToolResult:
    """What call_tool answers."""
    calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=api.url, auth=Bearer(SECRET))}))
    router = Router.from_tools(RECORDS, encoder=None)
    result: CallToolResult = await asked(
        router, "call_tool", {"tool_id": tool_id, "arguments": arguments}, calls=calls, **how
    )
    return result


async def test_a_model_calls_an_api_and_reads_its_answer_without_hidden_characters(api: ApiServer) -> None:
    api.answer = lambda received: Reply.of({"name": "la\u200bmp", "you": received.headers["authorization"]})
    result = await called(api, "shop/read", {"id": 3})
    assert not result.is_error and api.last.target == "/3"
    assert "lamp" in text_of(result) or "la\\u200bmp" in text_of(result)
    assert SECRET not in result.model_dump_json() and api.last.headers["authorization"] == f"Bearer {SECRET}"
    api.answer = lambda _: Reply.of({"detail": "no such item"}, 404)
    result = await called(api, "shop/read", {"id": 3})
    assert result.is_error and text_of(result) == 'HTTP 404 Not Found: {"detail": "no such item"}'


@pytest.mark.parametrize(
    ("tool_id", "arguments", "message", "block"),
    [
        ("shop/drop", {"id": 1}, "it is a DELETE, and only reading", ()),
        ("shop/read", {"id": "x"}, "'x' is not of type 'integer'", ()),
        ("shop/read", {"id": 1}, "may not be used here", ("shop/read",)),
        ("elsewhere/other", {}, "--calls for the HTTP APIs", ()),
    ],
)
async def test_what_is_not_called_says_why(
    api: ApiServer, tool_id: str, arguments: dict[str, Any], message: str, block: tuple[str, ...]
) -> None:
    result = await called(api, tool_id, arguments, selection=Selection(block=block))
    assert result.is_error and message in text_of(result) and api.received == []


async def test_of_a_long_answer_the_rest_is_kept_to_be_read_without_hidden_characters(api: ApiServer) -> None:
    api.answer = lambda _: Reply(
        f"{'x' * 60_000}\u200b".encode(), headers={"Content-Type": "text/plain; charset=utf-8"}
    )
    content: Any = (await called(api, "shop/read", {"id": "3"})).content
    begin, told, note = [block.text for block in content]
    assert "mended" in note and "mended" not in begin
    assert f"cut here: {60_000 - len(begin.partition(chr(10))[2]):,} characters follow" in told
