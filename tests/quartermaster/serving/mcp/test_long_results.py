"""Results that are too long for a model: a beginning, and a way to the rest."""

import json
import re
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from quartermaster.serving.mcp import long_results, server
from quartermaster.serving.mcp.long_results import LongResults
from router import Router
from router.errors import RequestInvalid
from tests.quartermaster.serving.mcp.conftest import plain, text_of

PICTURE = types.ImageContent(type="image", data="eA==" * 50, mime_type="image/png")


def result(*texts: str, structured: Any = None) -> types.CallToolResult:
    blocks: list[types.ContentBlock] = [types.TextContent(type="text", text=text) for text in texts]
    return types.CallToolResult(content=blocks, structured_content=structured)


def call_in(answer: Any) -> dict[str, Any]:
    """The call that an answer's last text gives to read on."""
    told = re.fullmatch(
        r"The result is cut here: [\d,]+ characters follow. .* with call_tool (.*)", texts_of(answer)[-1]
    )
    assert told
    given: dict[str, Any] = json.loads(told[1])
    return given


def texts_of(answer: Any) -> list[str]:
    return [block.text for block in answer.content if isinstance(block, types.TextContent)]


@pytest.mark.anyio
async def test_a_long_result_of_a_server_is_read_in_parts_that_together_are_the_whole(weather_router: Router) -> None:
    called = {"tool_id": "plain/echo", "arguments": {"text": "é" * 400}}
    async with Client(server(weather_router, [plain()], max_result_characters=1_000)) as client:
        answer = await client.call_tool("call_tool", called)
        parts = [texts_of(answer)[0]]
        while len(texts_of(answer)) > 1:
            answer = await client.call_tool("call_tool", call_in(answer))
            parts.append(texts_of(answer)[0])
        gone = await client.call_tool("call_tool", {"tool_id": "rest-of-result/none"})
    assert [len(part) for part in parts[:2]] == [1_000, 1_000] and len(parts) == 3
    assert json.loads("".join(parts))["arguments"] == {"text": "é" * 400}
    assert gone.is_error and "is no longer kept: call the tool again" in text_of(gone)


def test_of_a_long_result_images_and_the_kinds_of_blocks_stay() -> None:
    resource = types.TextResourceContents(uri="file:///a", text="b" * 30)
    blocks = [*result("a" * 30).content, PICTURE, types.EmbeddedResource(type="resource", resource=resource)]
    shown = LongResults(40).shortened(types.CallToolResult(content=blocks, is_error=True))
    text, picture, embedded, told = shown.content
    assert (text, picture, shown.is_error) == (blocks[0], PICTURE, True)
    assert embedded == blocks[2].model_copy(update={"resource": resource.model_copy(update={"text": "b" * 10})})
    assert isinstance(told, types.TextContent) and "20 characters follow" in told.text


def test_a_result_within_the_limit_is_as_it_was() -> None:
    short = result("a" * 20, "b" * 20, structured={"a": 1})
    assert LongResults(40).shortened(short) == short


@pytest.mark.parametrize(
    ("text", "begins"),
    [("short", ["short", '{"rows":["xxxxxxx']), ('{"rows":["xxxxxxxxxxxxxxxx', ['{"rows":["xxxxxxxxxxxx'])],
)
def test_of_long_structured_content_the_text_has_the_beginning(text: str, begins: list[str]) -> None:
    answer = LongResults(22).shortened(result(text, structured={"rows": ["x" * 100]}))
    assert answer.structured_content is None and texts_of(answer)[:-1] == begins


@pytest.mark.parametrize("start", [-1, 60, "10", None])
def test_a_start_that_is_not_within_the_rest_is_refused(start: Any) -> None:
    kept = LongResults(40)
    given = call_in(kept.shortened(result("a" * 100)))
    with pytest.raises(RequestInvalid, match="it must be a whole number from 0 to 59"):
        kept.read_on(given["tool_id"], {"start": start})


def test_only_the_latest_rests_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_results, "_MAX_KEPT", 150)
    kept = LongResults(40)
    first, *later = (call_in(kept.shortened(result("a" * 100))) for _ in range(3))
    with pytest.raises(RequestInvalid, match="no longer kept"):
        kept.read_on(**first)
    assert [texts_of(kept.read_on(**given))[0] for given in later] == ["a" * 40] * 2
    assert kept.read_on("plain/echo", {}) is None
