"""What a model reads of a tool's result, whichever adapter carries it."""

from dataclasses import dataclass
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, TextContent
from pydantic import BaseModel

from quartermaster.adapters import as_text, media_parts
from quartermaster.adapters.anthropic import AnthropicToolSearch
from quartermaster.adapters.openai_responses import ResponsesToolSearch
from router import Router


class Forecast(BaseModel):
    city: str
    days: int


@dataclass
class Place:
    name: str


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("rain", "rain"),
        ({"rain": True}, '{"rain":true}'),
        (Place("Oslo"), '{"name":"Oslo"}'),
        ([Forecast(city="Oslo", days=2)], '[{"city":"Oslo","days":2}]'),
        (Forecast, f'"{Forecast}"'),
        # Half a character, as Python reads such names of files: no provider takes it.
        ("a \ud800", "a ?"),
        ({"a": "\ud800"}, '{"a": "\\ud800"}'),
    ],
)
def test_a_text_stays_and_anything_else_is_json(result: Any, text: str) -> None:
    assert as_text(result) == text


PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
BLOCKS = [TextContent(type="text", text="a chart"), ImageContent.model_validate(PICTURE)]


@pytest.mark.parametrize("result", [BLOCKS, CallToolResult(content=[*BLOCKS]), ["a chart", "", PICTURE]])
def test_images_of_a_result_are_blocks_beside_its_texts(result: Any) -> None:
    assert media_parts(result) == [{"type": "text", "text": "a chart"}, PICTURE]


@pytest.mark.parametrize(
    "result",
    ["image", {"data": "aGk="}, {**PICTURE, "mimeType": "image/svg+xml"}, BLOCKS[:1], {"id": 1, "content": [PICTURE]}],
)
def test_a_result_without_an_image_that_providers_take_has_no_blocks(result: Any) -> None:
    assert media_parts(result) == []


def test_an_image_reaches_claude_and_the_responses_api_as_an_image() -> None:
    def draw(of: str) -> list[Any]:
        return [f"a chart of {of}", PICTURE]

    router = Router.from_tools([draw], encoder=None)
    use = {"type": "tool_use", "id": "toolu_1", "name": "draw", "input": {"of": "sales"}}
    (result,) = AnthropicToolSearch(router).answers([use], router.call)
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    text = "a chart of sales"
    assert result["content"] == [{"type": "text", "text": text}, {"type": "image", "source": source}]
    called = {"type": "function_call", "call_id": "call_1", "name": "draw", "arguments": '{"of": "sales"}'}
    (output,) = ResponsesToolSearch(router).answers([called], router.call)
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}
    assert output["output"] == [{"type": "input_text", "text": text}, image]
