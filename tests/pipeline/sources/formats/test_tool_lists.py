"""Function schemas in every form that vendors take, and saved answers of MCP servers as recorders leave them."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RecordRejected, RunAborted
from pipeline.memo import Memo
from pipeline.sources.formats import detect, tool_lists
from pipeline.sources.formats.tool_lists import read_functions, read_mcp
from router.record import Kind
from router.tools.definitions.nesting import ListedDefinition
from router.tools.definitions.raw_tool import RawTool
from tests.pipeline.sources.reading import apart, tools

WriteJson = Callable[[str, Any], Path]

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
NAMED = {"name": "send_mail", "description": "Sends a mail."}
BARE = {**NAMED, "parameters": SCHEMA}
ANTHROPIC = {**NAMED, "input_schema": SCHEMA}
WRAPPED = {"type": "function", "function": BARE}
A, B = ({"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}} for name in "ab")


def test_jsonl_holds_a_schema_a_line(write_lines: Callable[[str, list[Any]], Path]) -> None:
    names, rejected = apart(read_functions(write_lines("mail.jsonl", [BARE, WRAPPED, "{"])))
    assert names == ["send_mail"] * 2
    assert len(rejected) == 1 and rejected[0].startswith("mail.jsonl line 3: not JSON")


def test_what_an_earlier_build_read_is_read_the_same_in_another_place(write_json: WriteJson) -> None:
    rows, memo = [{**BARE, "reach": "far"}, WRAPPED, {"name": 7}, {**A, "limit": 2**70}], Memo()
    list(read_functions(write_json("mail.json", rows), memo=memo))
    moved = write_json("post.json", [{"mail": rows[:1]}, *rows[::-1]])
    assert repr([*read_functions(moved, memo=memo)]) == repr([*read_functions(moved)])


def test_a_list_is_read_a_part_at_a_time_so_that_a_limit_stops_it(
    write_json: WriteJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, whole = list[str](), tool_lists.listed_tool

    def note_and_read(one: ListedDefinition, file: str, *, own_id: bool = False) -> RawTool | RecordRejected:
        read.append(one.row["name"])
        return whole(one, file, own_id=own_id)

    monkeypatch.setattr(tool_lists, "_AT_ONCE", 2)
    monkeypatch.setattr(tool_lists, "listed_tool", note_and_read)
    items = read_functions(write_json("mail.json", [{**BARE, "name": name} for name in "abcdefg"]))
    assert apart(islice(items, 3)) == (["a", "b", "c"], [])
    assert read == ["a", "b", "c", "d"]


def test_examples_and_strictness_are_kept_and_an_empty_schema_gives_way_to_another_spelling(
    write_json: WriteJson,
) -> None:
    form = {**ANTHROPIC, "input_examples": [{"to": "ada@example.org"}], "examples": ["write to Ada"], "strict": True}
    rows = [form, {**form, "parameters": None}, {**form, "parameters": {}}]
    for tool in tools(read_functions(write_json("mail.json", rows))):
        assert tool.examples == ('{"to":"ada@example.org"}', "write to Ada")
        assert (tool.annotations, tool.input_schema) == ({"strict": True}, SCHEMA)


def test_annotations_are_kept_with_the_title_which_stands_in_for_a_description(write_json: WriteJson) -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False, "vendor": {"x": 1}}
    rows = [{**A, "annotations": hints}, {"name": "b", "annotations": hints, "title": "B"},
            {"name": "c", "annotations": {"title": "C"}}]  # fmt: skip
    found = tools(read_mcp(write_json("chat.json", rows)))
    assert [tool.annotations for tool in found] == [hints, {**hints, "title": "B"}, {"title": "C"}]
    assert [tool.description for tool in found] == ["Does a.", "B", "C"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (7, "a tool is a JSON object, this is a number"),
        ({"type": "function", "function": None}, "a tool is a JSON object, this is null"),
        ({"name": "a", "input_schema": [1]}, "input_schema is a list, not an object or a list of named ones"),
    ],
)
@pytest.mark.parametrize("read", [read_functions, read_mcp])
def test_a_wrong_tool_is_rejected_with_its_pointer_and_the_rest_go_on(
    write_json: WriteJson, row: Any, reason: str, read: Any
) -> None:
    found = apart(read(write_json("mail.json", {"tools": [A, row, BARE]})))
    assert found == (["a", "send_mail"], [f"mail.json /tools/1: {reason}"])


@pytest.mark.parametrize("value", [{}, {"tools": {"a": 1}}, {"result": {}}, {"result": None}, "tools", 7, None])
def test_a_document_without_tools_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("mail.json", value)
    with pytest.raises(RunAborted, match=f"{path} holds no function schemas: expected a list, or an object with"):
        list(read_functions(path))
    for wrong in (value, [{"tools": [A]}, {"tools": None}]):
        path = write_json("chat.json", wrong)
        with pytest.raises(RunAborted, match=f"{path} is not a saved tools/list answer: it has no list of tools"):
            list(read_mcp(path))


def test_prompts_are_records_of_their_own_kind_and_a_row_that_is_none_is_rejected_alone(write_json: WriteJson) -> None:
    arguments = [{"name": "repo", "description": "Which one.", "required": True}, {"name": "tone"}]
    review = {"name": "review", "title": "Review", "description": "Review a change.", "arguments": arguments}
    pages = [{"result": {"tools": [A]}}, {"result": {"prompts": [review]}}]
    tool, prompt = tools(read_mcp(write_json("chat.json", pages)))
    assert (tool.kind, prompt.name, prompt.kind) == (Kind.TOOL, "review", Kind.PROMPT)
    assert (prompt.description, prompt.origin.pointer) == ("Review a change.", "/1/result/prompts/0")
    assert prompt.input_schema == {
        "type": "object",
        "properties": {"repo": {"type": "string", "description": "Which one."}, "tone": {"type": "string"}},
        "required": ["repo"],
        "additionalProperties": False,
    }
    rows = [{"name": ""}, 7, {"name": "a", "arguments": {}}, {"name": "b", "arguments": [{}]}, {"name": "c"}]
    wrong = ["/prompts/0", "/prompts/1", "/prompts/2", "/prompts/3/arguments/0"]
    for value, place in (({"prompts": rows}, ""), ([{"prompts": rows}], "/0")):
        path = write_json("prompts.json", value)
        names, rejected = apart(read_mcp(path))
        assert detect(path) == "mcp" and names == ["c"]
        assert [reason.split()[1] for reason in rejected] == [f"{place}{pointer}:" for pointer in wrong]
