"""Saved answers of MCP servers, in each shape that recorders leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources.formats import detect, tool_lists
from router.record import Kind
from tests.pipeline.sources.reading import apart, tools

WriteJson = Callable[[str, Any], Path]


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


A, B = _tool("a"), _tool("b")
NONE: list[Any] = []
EMPTY: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({"tools": [A, B], "nextCursor": "2"}, ["/tools/0", "/tools/1"]),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [A, B]}}, ["/result/tools/0", "/result/tools/1"]),
        ([{"tools": [A], "nextCursor": "2"}, {"tools": [B]}], ["/0/tools/0", "/1/tools/0"]),
        ([{"result": {"tools": [A]}}, {"id": 2, "result": {"tools": [B]}}], ["/0/result/tools/0", "/1/result/tools/0"]),
        ([A, B], ["/0", "/1"]),
        *((value, []) for value in ({"tools": NONE}, {"result": {"tools": NONE}}, [{"tools": NONE}], NONE)),
    ],
)
def test_each_shape_of_an_answer_is_read_with_its_pointers(
    write_json: WriteJson, value: Any, pointers: list[str]
) -> None:
    found = [(tool.name, tool.origin.file, tool.origin.pointer, tool.input_schema) for tool in
             tools(tool_lists.read_mcp(write_json("chat.json", value)))]  # fmt: skip
    assert found == [(name, "chat.json", p, {"type": "object"}) for name, p in zip("ab", pointers, strict=False)]


def test_annotations_are_kept_with_the_title_which_stands_in_for_a_description(write_json: WriteJson) -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False, "vendor": {"x": 1}}
    rows = [
        _tool("a", annotations=hints),
        {"name": "b", "annotations": hints, "title": "B"},
        {"name": "c", "annotations": {"title": "C"}},
    ]
    found = tools(tool_lists.read_mcp(write_json("chat.json", rows)))
    assert [tool.annotations for tool in found] == [hints, {**hints, "title": "B"}, {"title": "C"}]
    assert [tool.description for tool in found] == ["Does a.", "B", "C"]


@pytest.mark.parametrize(
    ("info", "provider"),
    [({"name": "slack", "version": "1"}, "slack"), *((info, None) for info in (None, "slack", EMPTY))],
)
def test_a_recorded_server_name_is_the_provider(write_json: WriteJson, info: Any, provider: str | None) -> None:
    assert (
        tools(tool_lists.read_mcp(write_json("chat.json", {"serverInfo": info, "tools": [A]})))[0].provider == provider
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a", "a tool is a JSON object, this is a text"),
        (_tool("c", inputSchema="x"), "inputSchema is a text, not an object"),
    ],
)
def test_a_wrong_tool_is_rejected_with_its_pointer_and_the_rest_go_on(
    write_json: WriteJson, row: Any, reason: str
) -> None:
    found = apart(tool_lists.read_mcp(write_json("chat.json", {"tools": [A, row, B]})))
    assert found == (["a", "b"], [f"chat.json /tools/1: {reason}"])


@pytest.mark.parametrize(
    "value", [{}, {"result": {}}, {"result": None}, {"tools": {"a": 1}}, "tools", 7, [{"tools": [A]}, {"tools": None}]]
)
def test_what_is_no_answer_stops_the_run(write_json: WriteJson, value: Any) -> None:
    path = write_json("chat.json", value)
    with pytest.raises(RunAborted, match=f"{path} is not a saved tools/list answer: it has no list of tools"):
        list(tool_lists.read_mcp(path))


def test_prompts_are_records_of_their_own_kind_and_a_row_that_is_none_is_rejected_alone(write_json: WriteJson) -> None:
    arguments = [{"name": "repo", "description": "Which one.", "required": True}, {"name": "tone"}]
    review = {"name": "review", "title": "Review", "description": "Review a change.", "arguments": arguments}
    pages = [{"result": {"tools": [A]}}, {"result": {"prompts": [review]}}]
    tool, prompt = tools(tool_lists.read_mcp(write_json("chat.json", pages)))
    assert (tool.kind, prompt.name, prompt.kind) == (Kind.TOOL, "review", Kind.PROMPT)
    assert (prompt.description, prompt.origin.pointer) == ("Review a change.", "/1/result/prompts/0")
    assert prompt.input_schema == {
        "type": "object",
        "properties": {"repo": {"type": "string", "description": "Which one."}, "tone": {"type": "string"}},
        "required": ["repo"],
        "additionalProperties": False,
    }
    rows = [{"name": ""}, 7, {"name": "a", "arguments": {}}, {"name": "b", "arguments": [{}]}, {"name": "c"}]
    for value in ({"prompts": rows}, [{"prompts": rows}]):
        path = write_json("prompts.json", value)
        names, rejected = apart(tool_lists.read_mcp(path))
        assert detect(path) == "mcp" and names == ["c"]
        wrong = ["/prompts/0", "/prompts/1", "/prompts/2", "/prompts/3/arguments/0"]
        assert [reason.split()[1].rstrip(":").removeprefix("/0/").lstrip("/") for reason in rejected] == [
            place.lstrip("/") for place in wrong
        ]
