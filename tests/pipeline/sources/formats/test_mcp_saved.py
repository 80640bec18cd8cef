"""Saved answers of MCP servers, in each shape that recorders leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources.formats import mcp
from pipeline.sources.formats.detect import detect
from router.record import Kind
from tests.pipeline.sources.reading import apart, tools

WriteJson = Callable[[str, Any], Path]


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


A, B = _tool("a"), _tool("b")


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({"tools": [A, B]}, ["/tools/0", "/tools/1"]),
        ({"tools": [A, B], "nextCursor": "2"}, ["/tools/0", "/tools/1"]),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [A, B]}}, ["/result/tools/0", "/result/tools/1"]),
        ([{"tools": [A], "nextCursor": "2"}, {"tools": [B]}], ["/0/tools/0", "/1/tools/0"]),
        ([{"result": {"tools": [A]}}, {"id": 2, "result": {"tools": [B]}}], ["/0/result/tools/0", "/1/result/tools/0"]),
        ([A, B], ["/0", "/1"]),
    ],
)
def test_each_shape_of_an_answer_is_read_with_its_pointers(
    write_json: WriteJson, value: Any, pointers: list[str]
) -> None:
    found = tools(mcp.read(write_json("chat.json", value)))
    assert [(tool.name, tool.description) for tool in found] == [("a", "Does a."), ("b", "Does b.")]
    assert [(tool.origin.file, tool.origin.pointer) for tool in found] == [("chat.json", p) for p in pointers]
    assert [tool.input_schema for tool in found] == [{"type": "object"}] * 2


@pytest.mark.parametrize("value", [{"tools": []}, {"result": {"tools": []}}, [{"tools": []}], []])
def test_an_answer_without_tools_is_read_as_none(write_json: WriteJson, value: Any) -> None:
    assert tools(mcp.read(write_json("chat.json", value))) == []


def test_annotations_are_kept_with_the_title(write_json: WriteJson) -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False, "vendor": {"x": 1}}
    rows = [
        _tool("a", annotations=hints),
        _tool("b", annotations=hints, title="B"),
        _tool("c", annotations={"title": "C"}),
    ]
    found = tools(mcp.read(write_json("chat.json", rows)))
    assert [tool.annotations for tool in found] == [hints, {**hints, "title": "B"}, {"title": "C"}]


@pytest.mark.parametrize("titled", [{"title": "Sends a mail"}, {"annotations": {"title": "Sends a mail"}}])
def test_a_title_stands_in_for_a_description(write_json: WriteJson, titled: dict[str, Any]) -> None:
    (tool,) = tools(mcp.read(write_json("chat.json", [{"name": "a", **titled}])))
    assert tool.description == "Sends a mail"


def test_a_recorded_server_name_is_the_provider(write_json: WriteJson) -> None:
    path = write_json("chat.json", {"serverInfo": {"name": "slack", "version": "1"}, "tools": [A]})
    assert tools(mcp.read(path))[0].provider == "slack"


@pytest.mark.parametrize("info", [None, "slack", {}, {"name": 7}])
def test_any_other_server_info_names_no_provider(write_json: WriteJson, info: Any) -> None:
    assert tools(mcp.read(write_json("chat.json", {"serverInfo": info, "tools": [A]})))[0].provider is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a", "a tool is a JSON object, this is a text"),
        ({"inputSchema": {}}, "name is missing or empty"),
        (_tool("c", inputSchema="x"), "inputSchema is a text, not an object"),
        (_tool("c", annotations=[1]), "annotations is a list, not an object"),
    ],
)
def test_a_wrong_tool_is_rejected_with_its_pointer_and_the_rest_go_on(
    write_json: WriteJson, row: Any, reason: str
) -> None:
    names, rejected = apart(mcp.read(write_json("chat.json", {"tools": [A, row, B]})))
    assert names == ["a", "b"]
    assert rejected == [f"chat.json /tools/1: {reason}"]


@pytest.mark.parametrize("value", [{}, {"result": {}}, {"result": None}, {"tools": {"a": 1}}, "tools", 7, None])
def test_what_is_no_answer_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("chat.json", value)
    with pytest.raises(RunAborted, match=f"{path} is not a saved tools/list answer: it has no list of tools"):
        list(mcp.read(path))


def test_a_page_without_a_list_of_tools_stops_the_run(write_json: WriteJson) -> None:
    with pytest.raises(RunAborted, match="it has no list of tools"):
        list(mcp.read(write_json("chat.json", [{"tools": [A]}, {"tools": None}])))


def test_the_prompts_of_saved_answers_are_records_of_their_own_kind(write_json: WriteJson) -> None:
    arguments = [{"name": "repo", "description": "Which one.", "required": True}, {"name": "tone"}]
    review = {"name": "review", "title": "Review", "description": "Review a change.", "arguments": arguments}
    pages = [{"result": {"tools": [A]}}, {"result": {"prompts": [review]}}]
    tool, prompt = tools(mcp.read(write_json("chat.json", pages)))
    assert (tool.name, tool.kind) == ("a", Kind.TOOL)
    assert (prompt.name, prompt.kind, prompt.description) == ("review", Kind.PROMPT, "Review a change.")
    assert prompt.origin.pointer == "/1/result/prompts/0"
    assert prompt.input_schema == {
        "type": "object",
        "properties": {"repo": {"type": "string", "description": "Which one."}, "tone": {"type": "string"}},
        "required": ["repo"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("value", [{"prompts": [{"name": "greet"}]}, [{"prompts": [{"name": "greet"}]}]])
def test_prompts_alone_are_a_saved_answer(write_json: WriteJson, value: Any) -> None:
    path = write_json("prompts.json", value)
    assert detect(path) == "mcp"
    assert [prompt.name for prompt in tools(mcp.read(path))] == ["greet"]


def test_a_row_that_is_no_prompt_is_rejected_alone(write_json: WriteJson) -> None:
    rows = [{"name": ""}, 7, {"name": "a", "arguments": {}}, {"name": "b", "arguments": [{}]}, {"name": "c"}]
    names, rejected = apart(mcp.read(write_json("prompts.json", {"prompts": rows})))
    assert names == ["c"]
    assert [reason.split()[1].rstrip(":") for reason in rejected] == [
        "/prompts/0",
        "/prompts/1",
        "/prompts/2",
        "/prompts/3/arguments/0",
    ]
