"""The format of a file that does not say it, by its content."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources.formats.detect import detect

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]

FUNCTION = {"name": "a", "parameters": {}}
TOOL = {"name": "a", "inputSchema": {}}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"openapi": "3.1.0"}, "openapi"),
        ({"swagger": "2.0", "tools": [TOOL]}, "openapi"),
        ([FUNCTION], "function"),
        ([{"type": "function", "function": FUNCTION}], "function"),
        ([{"name": "a", "input_schema": {}}], "function"),
        ({"tools": [FUNCTION]}, "function"),
        ({"functions": [FUNCTION]}, "function"),
        ({"name": "set of tools", "tools": [FUNCTION]}, "function"),
        (FUNCTION, "function"),
        ({"type": "function", "function": FUNCTION}, "function"),
        (TOOL, "function"),
        ([], "function"),
        ([TOOL], "mcp"),
        ([{"name": "no schema"}, TOOL], "mcp"),
        ({"tools": [TOOL]}, "mcp"),
        ({"name": "server", "tools": [TOOL]}, "mcp"),
        ({"result": {"tools": [TOOL]}}, "mcp"),
        ({"result": {"tools": []}}, "mcp"),
        ([{"tools": [TOOL], "nextCursor": "2"}, {"tools": []}], "mcp"),
        ([{"tools": []}], "mcp"),
        ([{"id": 1, "result": {"tools": [TOOL]}}, {"id": 2, "result": {"tools": []}}], "mcp"),
    ],
)
def test_a_json_files_format_is_told_by_its_content(write_json: WriteJson, value: Any, kind: str) -> None:
    assert detect(write_json("tools.json", value)) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [("openapi: 3.0.0", "openapi"), ("tools: [{name: a}]", "function"), ("tools: [{name: a, inputSchema: {}}]", "mcp")],
)
def test_a_yaml_files_format_is_told_by_its_content(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text, encoding="utf-8")
    assert detect(path) == kind


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([FUNCTION], "jsonl"),
        ([{"description": "x"}], "jsonl"),
        ([[1]], "jsonl"),
        ([], "jsonl"),
        (["{broken", FUNCTION], "jsonl"),
        ([{"type": "function", "name": "a"}], "function"),
        ([{"function": FUNCTION}], "function"),
        ([{"name": "a", "input_schema": {}}], "function"),
        ([TOOL], "function"),
        (["{broken", {"function": FUNCTION}], "function"),
    ],
)
def test_a_jsonl_files_format_is_told_by_its_first_readable_line(
    write_lines: WriteLines, rows: list[Any], kind: str
) -> None:
    assert detect(write_lines("tools.JSONL", rows)) == kind


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"tools": "x"}, {"tools": {}}, "text", 7, None, {"result": []}])
def test_an_unknown_format_stops_the_run_with_the_known_ones(write_json: WriteJson, value: Any) -> None:
    path = write_json("notes.json", value)
    with pytest.raises(RunAborted, match=f"{path} is no known format: an OpenAPI or Swagger document, function"):
        detect(path)
