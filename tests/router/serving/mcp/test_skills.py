"""Skills over MCP: found beside tools, told by their kind, read by describe_tool and by call_tool."""

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from router import Router, Selection, ToolRecord
from router.record import Kind
from router.serving.mcp import server

TEA = ToolRecord("own/tea", "own", "tea", "Make tea for a guest.", kind=Kind.SKILL, instructions="Boil water.")
CUP = ToolRecord("own/cup", "own", "cup", "Fetch a cup for tea.")


def answers(*calls: tuple[str, dict[str, object]], selection: Selection | None = None) -> list[CallToolResult]:
    async def ask() -> list[CallToolResult]:
        async with Client(server(Router.from_tools([TEA, CUP], encoder=None), selection=selection)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(ask)


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def test_find_tools_tells_which_lines_are_skills_and_filters_by_kind() -> None:
    both, skills, tools = answers(
        ("find_tools", {"request": "make tea"}),
        ("find_tools", {"request": "make tea", "kind": "skill"}),
        ("find_tools", {"request": "make tea", "kind": "tool"}),
    )
    assert sorted(text(both).splitlines()) == [
        "[skill] own/tea() — Make tea for a guest.",
        "own/cup() — Fetch a cup for tea.",
    ]
    assert [row["tool_id"] for row in skills.structured_content["tools"]] == ["own/tea"]
    assert skills.structured_content["tools"][0]["kind"] == "skill"
    assert [row["tool_id"] for row in tools.structured_content["tools"]] == ["own/cup"]


@pytest.mark.parametrize("name", ["describe_tool", "call_tool"])
def test_a_skill_is_read(name: str) -> None:
    (result,) = answers((name, {"tool_id": "own/tea"}))
    assert not result.is_error
    assert "Boil water." in text(result)


def test_a_kind_that_the_server_does_not_offer_is_refused() -> None:
    found, read = answers(
        ("find_tools", {"request": "make tea", "kind": "skill"}),
        ("call_tool", {"tool_id": "own/tea"}),
        selection=Selection(kinds=("tool",)),
    )
    assert "kind is 'skill': this server offers tool" in text(found)
    assert "own/tea may not be used here: its kind is none of: tool" in text(read)
