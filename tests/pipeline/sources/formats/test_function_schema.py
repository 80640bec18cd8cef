"""Function schemas in every form that vendors take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources import RawTool
from pipeline.sources.formats import tool_lists
from router.record import Origin
from tests.pipeline.sources.reading import apart, tools

WriteJson = Callable[[str, Any], Path]

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
NAMED = {"name": "send_mail", "description": "Sends a mail."}
BARE = {**NAMED, "parameters": SCHEMA}
WRAPPED = {"type": "function", "function": BARE}
ANTHROPIC = {**NAMED, "input_schema": SCHEMA}
FORMS = [BARE, WRAPPED, {"type": "function", **BARE}, ANTHROPIC, {**NAMED, "inputSchema": SCHEMA}]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["/0", "/tools/0", "/functions/0", ""])
def test_a_list_an_object_with_a_list_or_a_schema_alone_is_read_in_any_form(
    write_json: WriteJson, form: dict[str, Any], place: str
) -> None:
    key = place.removesuffix("/0").strip("/")
    value = {"model": "x", key: [form]} if key else [form] if place else form
    expected = RawTool("send_mail", Origin("mail.json", place or "/0"), "Sends a mail.", SCHEMA)
    assert tools(tool_lists.read_functions(write_json("mail.json", value))) == [expected]


def test_jsonl_holds_a_schema_a_line_and_yaml_a_list(tmp_path: Path, write_lines: Any) -> None:
    names, rejected = apart(tool_lists.read_functions(write_lines("mail.jsonl", [*FORMS, "{"])))
    assert names == ["send_mail"] * 5
    assert len(rejected) == 1 and rejected[0].startswith("mail.jsonl line 6: not JSON")
    (tmp_path / "mail.yaml").write_text("tools:\n- name: send_mail\n  parameters: {type: object}\n", encoding="utf-8")
    (tool,) = tools(tool_lists.read_functions(tmp_path / "mail.yaml"))
    assert (tool.name, tool.input_schema) == ("send_mail", {"type": "object"})


def test_examples_and_strictness_are_kept_and_an_empty_schema_gives_way_to_another_spelling(
    write_json: WriteJson,
) -> None:
    form = {**ANTHROPIC, "input_examples": [{"to": "ada@example.org"}], "examples": ["write to Ada"], "strict": True}
    rows = [form, {**form, "parameters": None}, {**form, "parameters": {}}]
    for tool in tools(tool_lists.read_functions(write_json("mail.json", rows))):
        assert tool.examples == ('{"to":"ada@example.org"}', "write to Ada")
        assert (tool.annotations, tool.input_schema) == ({"strict": True}, SCHEMA)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (7, "a tool is a JSON object, this is a number"),
        ({"type": "function", "function": None}, "a tool is a JSON object, this is null"),
        ({"name": "a", "input_schema": [1]}, "input_schema is a list, not an object or a list of named ones"),
    ],
)
def test_a_wrong_schema_is_rejected_with_its_pointer_and_the_rest_go_on(
    write_json: WriteJson, row: Any, reason: str
) -> None:
    names, rejected = apart(tool_lists.read_functions(write_json("mail.json", {"tools": [row, BARE]})))
    assert (names, rejected) == (["send_mail"], [f"mail.json /tools/0: {reason}"])


@pytest.mark.parametrize("value", [{}, {"tools": {"a": 1}}, "tools", 7, None])
def test_a_file_without_function_schemas_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("mail.json", value)
    with pytest.raises(RunAborted, match=f"{path} holds no function schemas: expected a list, or an object with"):
        list(tool_lists.read_functions(path))
