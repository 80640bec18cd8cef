"""The format of a file that does not say it, by its content."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from pipeline.errors import RunAborted
from pipeline.settings.sources import SourceFormat
from pipeline.sources.formats import READERS, detect

FUNCTION: dict[str, Any] = {"name": "a", "parameters": {}}
TOOL: dict[str, Any] = {"name": "a", "inputSchema": {}}
WRAPPED: dict[str, Any] = {"type": "function", "function": FUNCTION}
JSON: dict[str, list[Any]] = {
    "openapi": [{"openapi": "3.1.0"}, {"swagger": "2.0", "tools": [TOOL]}],
    "function": [
        *([FUNCTION], [WRAPPED], [{"name": "a", "input_schema": {}}], FUNCTION, TOOL, WRAPPED, []),
        *({"tools": [FUNCTION]}, {"functions": [FUNCTION]}, {"name": "set of tools", "tools": [FUNCTION]}),
    ],
    "mcp": [
        *([TOOL], [{"name": "no schema"}, TOOL], {"name": "server", "tools": [TOOL]}, [{"tools": []}]),
        *({"result": {"tools": [TOOL]}}, {"result": {"tools": []}}, [{"tools": [TOOL], "nextCursor": "2"}]),
        [{"id": 1, "result": {"tools": [TOOL]}}, {"id": 2, "result": {"tools": []}}],
    ],
}
YAML = {
    "openapi": ["openapi: 3.0.0"],
    "function": ["tools: [{name: a}]"],
    "mcp": ["tools: [{name: a, inputSchema: {}}]"],
}
JSONL: dict[str, list[Any]] = {  # by the first readable line; a text is a line as it stands
    "jsonl": [[FUNCTION], [{"description": "x"}], [[1]], [], ["{broken", FUNCTION]],
    "function": [[{"type": "function", "name": "a"}], [{"function": FUNCTION}], [TOOL], ["{broken", WRAPPED]],
}
CONTENTS = [
    (kind, suffix, value)
    for suffix, table in ((".json", JSON), (".yaml", YAML), (".JSONL", JSONL))
    for kind, values in table.items()
    for value in values
]


@pytest.mark.parametrize(("kind", "suffix", "value"), CONTENTS, ids=str)
def test_a_files_format_is_told_by_its_content(tmp_path: Path, kind: str, suffix: str, value: Any) -> None:
    path = tmp_path / f"tools{suffix}"
    rows = [row if isinstance(row, str) else json.dumps(row) for row in value]
    texts = {".json": json.dumps(value), ".yaml": value, ".JSONL": "\n".join(rows)}
    path.write_text(texts[suffix], encoding="utf-8")
    assert detect(path) == kind


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"tools": "x"}, {"tools": {}}, "text", 7, None, {"result": []}])
def test_an_unknown_format_stops_the_run_with_the_known_ones(
    write_json: Callable[[str, Any], Path], value: Any
) -> None:
    path = write_json("notes.json", value)
    with pytest.raises(RunAborted, match=f"{path} is in no known format: an OpenAPI or Swagger document, function"):
        detect(path)


def test_every_format_of_the_settings_has_a_reader_and_no_other_has() -> None:
    assert set(READERS) == set(get_args(SourceFormat))
