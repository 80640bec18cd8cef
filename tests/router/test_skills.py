"""Skills beside tools: one ranking, a filter on kinds, and instructions that are read when a skill is chosen."""

import json
from dataclasses import replace

import pytest

from pipeline.build import build
from pipeline.settings import load
from router import RequestInvalid, Router, Selection, ToolRecord
from router.record import Kind
from router.retrieval.deduplication import duplicate_groups
from router.snapshot.record_store import RecordStore, ToolEntry
from router.tools.implicit_needs import ImplicitNeed, fits_schema
from router.tools.lexicon import expand

FORMS = "fill in the fields of a form"


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Router:
    folder = tmp_path_factory.mktemp("mixed") / "office"
    (folder / "skills" / "pdf").mkdir(parents=True)
    (folder / "skills" / "pdf" / "SKILL.md").write_text(
        "---\nname: forms\ndescription: Fill in the fields of a PDF form.\n---\n"
        "First list the fi\u200belds.\n\nThen fill them.\n",
        encoding="utf-8",
    )
    tool = {"name": "submit_form", "description": "Submit a form whose fields are filled in."}
    (folder / "tools.jsonl").write_text(json.dumps({**tool, "provider": "web"}) + "\n", encoding="utf-8")
    (folder / "catalog.toml").write_text('[[source]]\npath = "tools.jsonl"\n[[source]]\npath = "skills"\n')
    settings = load(folder, {"vectors": {"encoder": "none"}}, environment={})
    return Router.open(build(settings, workspace=folder / "ws").snapshot)


def test_skills_and_tools_are_ranked_in_one_list(router: Router) -> None:
    routed = router.route(FORMS)
    assert set(routed.ids) == {"skills/forms", "web/submit_form"}
    kinds = {tool.tool_id: tool.record.kind for tool in routed.tools}
    assert kinds == {"skills/forms": Kind.SKILL, "web/submit_form": Kind.TOOL}


@pytest.mark.parametrize(
    ("kinds", "ids"),
    [
        ((), {"skills/forms", "web/submit_form"}),
        (("tool",), {"web/submit_form"}),
        (("skill",), {"skills/forms"}),
        (("skill", "prompt"), {"skills/forms"}),
        (("prompt",), set()),
    ],
)
def test_a_selection_filters_by_kind(router: Router, kinds: tuple[str, ...], ids: set[str]) -> None:
    assert set(router.route(FORMS, selection=Selection(kinds=kinds)).ids) == ids


def test_a_model_is_told_that_a_skill_is_read_by_calling_it(router: Router) -> None:
    (tool,) = router.route(FORMS, selection=Selection(kinds=("skill",))).render("openai").tools
    assert tool["function"]["name"] == "skills__forms"
    assert tool["function"]["description"] == "Skill, call it to read how: Fill in the fields of a PDF form."
    assert router.call("skills/forms", {}) == "First list the fields.\n\nThen fill them."


def test_instructions_are_read_by_id_and_are_no_part_of_an_answer(router: Router) -> None:
    assert router.instructions("skills/forms") == "First list the fields.\n\nThen fill them."
    assert router.instructions("web/submit_form") == router.instructions("no/such") == ""
    assert "list the fields" not in json.dumps(router.route(FORMS).to_json())
    with pytest.raises(RequestInvalid, match="no function is behind 'web/submit_form'"):
        router.call("web/submit_form", {})


def test_a_skill_that_is_registered_while_the_router_runs_has_its_instructions() -> None:
    skill = ToolRecord("own/tea", "own", "tea", "Make tea.", kind=Kind.SKILL, instructions="Boil water.")
    router = Router.from_tools([ToolRecord("own/cup", "own", "cup", "Fetch a cup.")], encoder=None)
    router.register([skill])
    assert router.route("make tea").ids[0] == "own/tea"
    assert router.call("own/tea", {}) == "Boil water."
    assert router.route("make tea", selection=Selection(kinds=("tool",))).ids == ()


def test_a_skill_whose_instructions_alone_are_registered_anew_serves_the_new_ones(router: Router) -> None:
    before = router.complete_record("skills/forms")
    assert before is not None
    router.register([replace(before, instructions="Ask a lawyer.")])
    try:
        assert router.instructions("skills/forms") == "Ask a lawyer."
        assert router.route(FORMS, selection=Selection(kinds=("skill",))).ids == ("skills/forms",)
        router.register([before])
        assert not router._live.snapshot.overlay  # as the snapshot has it, so there is no layer
    finally:
        router.register([before])


def test_a_skill_without_instructions_is_answered_with_its_description() -> None:
    router = Router.from_tools([ToolRecord("own/tea", "own", "tea", "Make\u200b tea.", kind=Kind.SKILL)], encoder=None)
    assert router.call("own/tea", {}) == router.instructions("own/tea") == "Make tea."


def test_a_skill_is_no_duplicate_of_a_tool_and_meets_no_implicit_need() -> None:
    clock = ToolRecord("a/current_time", "a", "current_time", "Tell the current time.")
    tools = [clock, *(replace(clock, tool_id=f"{name}/current_time", provider=name, kind=Kind.SKILL) for name in "bc")]
    assert duplicate_groups(tools).tolist() == [0, 1, 1]
    assert [fits_schema(ImplicitNeed.CURRENT_TIME, tool) for tool in tools] == [True, False, False]


def test_the_lexicon_has_nobody_ask_to_be_shown_a_skill() -> None:
    notes = ToolRecord("s/release-notes", "s", "release-notes", "Write release notes.")
    assert "show me the release notes" in expand(notes).user_phrases
    assert expand(replace(notes, kind=Kind.SKILL)).user_phrases == ("Write release notes", "release notes")


def test_a_line_of_a_snapshot_keeps_the_instructions_beside_the_record() -> None:
    skill = ToolRecord("a/b", "a", "b", "Makes tea.", kind=Kind.SKILL, instructions="Boil water.")
    store = RecordStore.of([ToolEntry(skill, ())])
    assert store.entry(0).record.instructions == ""
    assert store.entry(0).record.kind is Kind.SKILL
    assert store.complete_record(0) == skill
    assert ToolRecord.from_json(skill.to_json()) == skill


def test_a_tools_json_is_as_it_was_before_there_were_skills() -> None:
    row = ToolRecord("a/b", "a", "b", "Makes tea.").to_json()
    assert "kind" not in row and "instructions" not in row
