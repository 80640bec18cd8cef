"""Function schemas in every form that vendors take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources import RawTool
from pipeline.sources.formats import function_schema
from router.record import Origin
from tests.pipeline.sources.reading import apart, tools

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
BARE = {"name": "send_mail", "description": "Sends a mail.", "parameters": SCHEMA}
WRAPPED = {"type": "function", "function": BARE}
FLAT = {"type": "function", **BARE}
ANTHROPIC = {"name": "send_mail", "description": "Sends a mail.", "input_schema": SCHEMA}
CAMEL = {"name": "send_mail", "description": "Sends a mail.", "inputSchema": SCHEMA}
FORMS = [BARE, WRAPPED, FLAT, ANTHROPIC, CAMEL]


def _expected(pointer: str) -> RawTool:
    return RawTool("send_mail", Origin("mail.json", pointer), "Sends a mail.", SCHEMA)


@pytest.mark.parametrize("form", FORMS)
def test_a_list_holds_a_schema_in_any_form(write_json: WriteJson, form: dict[str, Any]) -> None:
    assert tools(function_schema.read(write_json("mail.json", [form]))) == [_expected("/0")]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_may_hold_a_single_schema(write_json: WriteJson, form: dict[str, Any]) -> None:
    assert tools(function_schema.read(write_json("mail.json", form))) == [_expected("/0")]


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_an_object_holds_schemas_under_tools_or_functions(write_json: WriteJson, key: str) -> None:
    path = write_json("mail.json", {"model": "x", key: [WRAPPED, BARE]})
    assert tools(function_schema.read(path)) == [_expected(f"/{key}/0"), _expected(f"/{key}/1")]


def test_a_jsonl_file_holds_one_schema_a_line(write_lines: WriteLines) -> None:
    names, rejected = apart(function_schema.read(write_lines("mail.jsonl", [*FORMS, "{"])))
    assert names == ["send_mail"] * 5
    assert len(rejected) == 1 and rejected[0].startswith("mail.jsonl line 6: not JSON")


def test_a_yaml_file_holds_schemas_too(tmp_path: Path) -> None:
    path = tmp_path / "mail.yaml"
    path.write_text("tools:\n- name: send_mail\n  parameters: {type: object}\n", encoding="utf-8")
    (tool,) = tools(function_schema.read(path))
    assert (tool.name, tool.input_schema) == ("send_mail", {"type": "object"})


def test_examples_and_strictness_are_kept(write_json: WriteJson) -> None:
    form = {**ANTHROPIC, "input_examples": [{"to": "ada@example.org"}], "examples": ["write to Ada"], "strict": True}
    (tool,) = tools(function_schema.read(write_json("mail.json", [form])))
    assert tool.examples == ('{"to":"ada@example.org"}', "write to Ada")
    assert tool.annotations == {"strict": True}


@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_schema_gives_way_to_the_other_spelling(write_json: WriteJson, empty: Any) -> None:
    (tool,) = tools(function_schema.read(write_json("mail.json", [{**ANTHROPIC, "parameters": empty}])))
    assert tool.input_schema == SCHEMA


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (7, "a tool is a JSON object, this is a number"),
        ({"type": "function", "function": None}, "a tool is a JSON object, this is null"),
        ({"type": "web_search"}, "name is missing or empty"),
        ({"type": "function", "function": {"description": "x"}}, "name is missing or empty"),
        ({"name": "a", "parameters": "x"}, "parameters is a text, not an object"),
        ({"name": "a", "input_schema": [1]}, "input_schema is a list, not an object or a list of named ones"),
        ({"name": "a", "description": 1}, "description is a number, not a text"),
    ],
)
def test_a_wrong_schema_is_rejected_with_its_pointer_and_the_rest_go_on(
    write_json: WriteJson, row: Any, reason: str
) -> None:
    names, rejected = apart(function_schema.read(write_json("mail.json", {"tools": [row, BARE]})))
    assert names == ["send_mail"]
    assert rejected == [f"mail.json /tools/0: {reason}"]


@pytest.mark.parametrize("value", [{}, {"model": "x"}, {"tools": {"a": 1}}, "tools", 7, None])
def test_a_file_without_function_schemas_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("mail.json", value)
    with pytest.raises(RunAborted, match=f"{path} holds no function schemas: expected a list, or an object with"):
        list(function_schema.read(path))
