"""Prompts and skills of a catalog: found beside tools, got from their own server or read."""

from typing import Any

import mcp_types as types
import pytest

from quartermaster.serving.mcp import Upstream, server
from quartermaster.serving.mcp.results import prompt_result
from router import RequestInvalid, Router, Selection, ToolRecord
from router.record import Kind, Origin
from tests.quartermaster.serving.mcp.conftest import asked, text_of
from tests.quartermaster.serving.mcp.desk import asking, at_desk, until

pytestmark = pytest.mark.anyio
_PROPERTIES = {"properties": {"file": {"type": "string"}}, "required": ["file"], "additionalProperties": False}
_FILE = {"type": "object", **_PROPERTIES}
REVIEW = ToolRecord(
    "clerk/review", "clerk", "review", "Review a file.", input_schema=_FILE, kind=Kind.PROMPT, origin=Origin("s", "")
)
ORDER = ToolRecord("clerk/order", "clerk", "order", "Order an item.", origin=Origin("s", ""))
GONE = ToolRecord("clerk/gone", "clerk", "gone", "Ask for what is no more.", kind=Kind.PROMPT, origin=Origin("s", ""))
TEA = ToolRecord("clerk/tea", "clerk", "tea", "Make tea.", kind=Kind.SKILL, instructions="Boil water.")


@pytest.fixture
def router() -> Router:
    return Router.from_tools([REVIEW, ORDER, GONE, TEA], encoder=None)


async def called(router: Router, upstreams: list[Upstream], tool_id: str, **arguments: Any) -> str:
    async with at_desk(server(router, upstreams)) as desk:
        return text_of(await desk.call(tool_id, **arguments))


async def test_a_prompt_is_got_from_the_server_that_the_build_asked_without_hidden_characters(
    router: Router,
    clerk: Upstream,
) -> None:
    assert await called(router, [clerk], "clerk/review", file="a.py") == "Please review a.py."
    other = asking(provider="clerk")
    assert await called(router, [other, clerk], "clerk/review", file="b.py") == "Please review b.py."


async def test_a_prompt_that_no_connected_server_has_says_what_to_do(router: Router, clerk: Upstream) -> None:
    told = await called(router, [], "clerk/review", file="a.py")
    assert "no MCP server is connected for the provider 'clerk' (connected: none). To read it, name its" in told
    with pytest.raises(RequestInvalid, match="is a prompt of an MCP server: ask the server for it"):
        router.call("clerk/review", {"file": "a.py"})


@pytest.mark.parametrize(
    ("tool_id", "arguments", "reason"),
    [
        ("clerk/review", {}, "'file' is a required property"),
        ("clerk/review", {"file": [7]}, "[7] is not of type 'string'"),
        ("clerk/review", {"file": "a", "tone": "dry"}, "'tone' was unexpected"),
        ("clerk/gone", {}, "the MCP server 'clerk' refused the call: Unknown prompt: gone"),
    ],
)
async def test_a_wrong_call_of_a_prompt_gives_the_reason(
    router: Router, clerk: Upstream, tool_id: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in await called(router, [clerk], tool_id, **arguments)


async def test_prompts_and_skills_stay_when_their_server_lists_its_tools(router: Router, clerk: Upstream) -> None:
    async with at_desk(server(router, [clerk], connect=True)):
        await until(lambda: router.record("clerk/steps"))  # until the server's tools serve
        others = [record.tool_id for record in router.tools if record.kind is not Kind.TOOL]
    assert others == ["clerk/gone", "clerk/review", "clerk/tea"]
    assert router.instructions("clerk/tea") == "Boil water."
    assert router.route("make tea", selection=Selection(kinds=(Kind.SKILL,))).ids == ("clerk/tea",)


def test_a_list_of_skills_replaces_the_skills() -> None:
    router = Router.from_tools([REVIEW, ORDER, TEA], encoder=None)
    router.replace("clerk", [ToolRecord("clerk/soup", "clerk", "soup", "Cook soup.", kind=Kind.SKILL)])
    assert [record.tool_id for record in router.tools] == ["clerk/review", "clerk/soup"]


def test_several_messages_say_whose_they_are_and_other_blocks_stay() -> None:
    image = types.ImageContent(type="image", data="aGk=", mime_type="image/png")
    hello, yes = (types.TextContent(type="text", text=words) for words in ("Hello.", "Yes?"))
    said: Any = (("user", hello), ("user", image), ("assistant", yes))
    messages = [types.PromptMessage(role=role, content=block) for role, block in said]
    shown = prompt_result(types.GetPromptResult(messages=messages)).content
    assert [getattr(block, "text", block) for block in shown] == ["user: Hello.", image, "assistant: Yes?"]
    (nothing,) = prompt_result(types.GetPromptResult(messages=[])).content
    assert nothing == types.TextContent(type="text", text="(the prompt has no messages)")


OWN_TEA = ToolRecord("own/tea", "own", "tea", "Make tea for a guest.", kind=Kind.SKILL, instructions="Boil water.")
CUP = ToolRecord("own/cup", "own", "cup", "Fetch a cup for tea.")


@pytest.fixture
def kitchen() -> Router:
    return Router.from_tools([OWN_TEA, CUP], encoder=None)


async def test_find_tools_tells_which_lines_are_skills_and_filters_by_kind(kitchen: Router) -> None:
    both = text_of(await asked(kitchen, "find_tools", {"request": "make tea"}))
    skill, tool = "[skill] own/tea() — Make tea for a guest.", "own/cup() — Fetch a cup for tea."
    assert sorted(both.splitlines()) == [skill, tool]
    for kind, line in (("skill", skill), ("tool", tool)):
        assert text_of(await asked(kitchen, "find_tools", {"request": "make tea", "kind": kind})) == line


@pytest.mark.parametrize("name", ["describe_tool", "call_tool"])
async def test_a_skill_is_read(kitchen: Router, name: str) -> None:
    result = await asked(kitchen, name, {"tool_id": "own/tea"})
    assert not result.is_error
    assert "Boil water." in text_of(result)


async def test_a_kind_that_the_server_does_not_offer_is_refused(kitchen: Router) -> None:
    only = {"selection": Selection(kinds=(Kind.TOOL,))}
    found = await asked(kitchen, "find_tools", {"request": "make tea", "kind": "skill"}, **only)
    assert "kind is 'skill': this server offers tool" in text_of(found)
    read = await asked(kitchen, "call_tool", {"tool_id": "own/tea"}, **only)
    assert "own/tea may not be used here: its kind is none of: tool" in text_of(read)
