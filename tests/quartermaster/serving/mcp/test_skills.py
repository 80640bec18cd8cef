"""Skills over MCP: found beside tools, told by their kind, read by describe_tool and by call_tool."""

import pytest

from router import Router, Selection, ToolRecord
from router.record import Kind
from tests.quartermaster.serving.mcp.conftest import asked, text_of

pytestmark = pytest.mark.anyio
TEA = ToolRecord("own/tea", "own", "tea", "Make tea for a guest.", kind=Kind.SKILL, instructions="Boil water.")
CUP = ToolRecord("own/cup", "own", "cup", "Fetch a cup for tea.")


@pytest.fixture
def router() -> Router:
    return Router.from_tools([TEA, CUP], encoder=None)


async def test_find_tools_tells_which_lines_are_skills_and_filters_by_kind(router: Router) -> None:
    both = text_of(await asked(router, "find_tools", {"request": "make tea"}))
    skill, tool = "[skill] own/tea() — Make tea for a guest.", "own/cup() — Fetch a cup for tea."
    assert sorted(both.splitlines()) == [skill, tool]
    for kind, line in (("skill", skill), ("tool", tool)):
        assert text_of(await asked(router, "find_tools", {"request": "make tea", "kind": kind})) == line


@pytest.mark.parametrize("name", ["describe_tool", "call_tool"])
async def test_a_skill_is_read(router: Router, name: str) -> None:
    result = await asked(router, name, {"tool_id": "own/tea"})
    assert not result.is_error
    assert "Boil water." in text_of(result)


async def test_a_kind_that_the_server_does_not_offer_is_refused(router: Router) -> None:
    only = {"selection": Selection(kinds=(Kind.TOOL,))}
    found = await asked(router, "find_tools", {"request": "make tea", "kind": "skill"}, **only)
    assert "kind is 'skill': this server offers tool" in text_of(found)
    read = await asked(router, "call_tool", {"tool_id": "own/tea"}, **only)
    assert "own/tea may not be used here: its kind is none of: tool" in text_of(read)
