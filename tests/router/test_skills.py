"""Skills beside tools: one ranking, a filter on kinds, and instructions that are read when a skill is chosen."""

import json
from dataclasses import replace
from typing import Any

import pytest

from router import RequestInvalid, Router, Selection, ToolRecord
from router.record import Kind
from router.retrieval.deduplication import duplicate_groups
from router.tools.implicit_needs import ImplicitNeed, fits_schema

REQUEST = "fill in the fields of a form"
TOOL = ToolRecord("web/submit", "web", "submit_form", "Submit a form whose fields are filled in.")
SKILL = ToolRecord(
    "skills/forms",
    "skills",
    "forms",
    "Fill in the fields of a PDF form.",
    kind=Kind.SKILL,
    instructions="First list the fi\u200belds.\n\nThen fill them.",
)
READ = "First list the fields.\n\nThen fill them."


@pytest.fixture
def router() -> Router:
    return Router.from_tools([TOOL, SKILL], encoder=None)


@pytest.mark.parametrize(
    ("kinds", "ids"),
    [
        ((), {"skills/forms", "web/submit"}),
        (("tool",), {"web/submit"}),
        (("skill", "prompt"), {"skills/forms"}),
        (("prompt",), set()),
    ],
)
def test_skills_and_tools_are_ranked_in_one_list_and_a_selection_filters_by_kind(
    router: Router, kinds: Any, ids: set[str]
) -> None:
    found = router.route(REQUEST, selection=Selection(kinds=kinds))
    assert set(found.ids) == ids
    assert all(tool.record.kind is (Kind.SKILL if tool.tool_id == "skills/forms" else Kind.TOOL) for tool in found)


def test_a_model_is_told_that_a_skill_is_read_by_calling_it(router: Router) -> None:
    (tool,) = router.route(REQUEST, selection=Selection(kinds=(Kind.SKILL,))).render("openai").tools
    assert tool["function"]["name"] == "skills__forms"
    assert tool["function"]["description"] == "Skill, call it to read how: Fill in the fields of a PDF form."
    assert router.call("skills/forms", {}) == router.instructions("skills/forms") == READ


def test_instructions_are_read_by_id_and_are_no_part_of_an_answer(router: Router) -> None:
    assert router.instructions("web/submit") == router.instructions("no/such") == ""
    answer = router.route(REQUEST)
    assert "list the fields" not in json.dumps(answer.to_json()) and not any(t.record.instructions for t in answer)
    with pytest.raises(RequestInvalid, match="no function is behind 'web/submit'"):
        router.call("web/submit", {})
    bare = Router.from_tools([replace(SKILL, description="Make\u200b tea.", instructions="")], encoder=None)
    assert bare.call("skills/forms", {}) == bare.instructions("skills/forms") == "Make tea."


def test_a_skill_may_be_registered_while_the_router_runs_and_registered_anew(router: Router) -> None:
    tea = ToolRecord("own/tea", "own", "tea", "Make tea.", kind=Kind.SKILL, instructions="Boil water.")
    router.register([tea])
    assert router.route("make tea").ids[0] == "own/tea" and router.call("own/tea", {}) == "Boil water."
    assert "own/tea" not in router.route("make tea", selection=Selection(kinds=(Kind.TOOL,))).ids
    router.remove(["own/tea"])

    before = router.complete_record("skills/forms")
    assert before is not None
    router.register([replace(before, instructions="Ask a lawyer.")])
    assert router.instructions("skills/forms") == "Ask a lawyer."
    router.register([before])
    assert router.instructions("skills/forms") == READ


def test_a_skill_is_no_duplicate_of_a_tool_and_meets_no_implicit_need() -> None:
    clock = ToolRecord("a/current_time", "a", "current_time", "Tell the current time.")
    tools = [clock, *(replace(clock, tool_id=f"{name}/current_time", provider=name, kind=Kind.SKILL) for name in "bc")]
    assert duplicate_groups(tools).tolist() == [0, 1, 1]
    assert [fits_schema(ImplicitNeed.CURRENT_TIME, tool) for tool in tools] == [True, False, False]
