"""Results that are too long for a model: a beginning, and a way to the rest."""

import json
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


def result(text: str, structured: Any = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)


def texts_of(answer: Any) -> list[str]:
    return [block.text for block in answer.content if isinstance(block, types.TextContent)]


def call_in(answer: Any) -> Any:
    """The call that an answer's last text gives to read on."""
    return json.loads(texts_of(answer)[-1].partition("Ask for less, or read on with call_tool ")[2])


@pytest.mark.anyio
async def test_a_long_result_of_a_server_is_read_in_parts_that_together_are_the_whole(weather_router: Router) -> None:
    call, parts = {"tool_id": "plain/echo", "arguments": {"text": "é" * 400}}, list[str]()
    async with Client(server(weather_router, [plain()], max_result_characters=1_000)) as client:
        while call:
            part, *more = texts_of(answer := await client.call_tool("call_tool", call))
            parts.append(part)
            call = call_in(answer) if more else {}
        gone = await client.call_tool("call_tool", {"tool_id": "rest-of-result/none"})
    assert [len(part) for part in parts[:2]] == [1_000, 1_000] and len(parts) == 3
    assert json.loads("".join(parts))["arguments"] == {"text": "é" * 400}
    assert gone.is_error and "is no longer kept: call the tool again" in text_of(gone)


def test_of_a_long_result_images_stay_and_the_texts_of_resources_count() -> None:
    resource = types.TextResourceContents(uri="file:///a", text="b" * 30)
    blocks = [*result("a" * 30).content, PICTURE, types.EmbeddedResource(type="resource", resource=resource)]
    whole = types.CallToolResult(content=blocks, structured_content={"a": 1}, is_error=True)
    assert LongResults(60).shortened(whole) == whole
    shown = LongResults(40).shortened(whole)
    assert (shown.content[:2], texts_of(shown)[1], shown.is_error) == (blocks[:2], "b" * 10, True)
    assert "20 characters follow" in texts_of(shown)[-1]


@pytest.mark.parametrize(("text", "begins"), [("short", ["short", '{"rows":["xxxxxxx']), ("y" * 30, ["y" * 22])])
def test_of_long_structured_content_the_text_has_the_beginning(text: str, begins: list[str]) -> None:
    answer = LongResults(22).shortened(result(text, {"rows": ["x" * 100]}))
    assert answer.structured_content is None and texts_of(answer)[:-1] == begins


def test_only_the_latest_rests_are_kept_and_read_from_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_results, "_MAX_KEPT", 150)
    kept = LongResults(40)
    first, *later = (call_in(kept.shortened(result("a" * 100))) for _ in range(3))
    assert [texts_of(kept.read_on(**given))[0] for given in later] == ["a" * 40] * 2
    with pytest.raises(RequestInvalid, match="no longer kept"):
        kept.read_on(**first)
    with pytest.raises(RequestInvalid, match="start is 60, it must be a whole number from 0 to 59"):
        kept.read_on(later[0]["tool_id"], {"start": 60})
