"""All sources of a catalog together: their order, their formats, and whose word on the provider counts."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from tests.pipeline.sources.reading import api

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]

FUNCTIONS = [{"name": "from_function"}]
ANSWER = {"tools": [{"name": "from_mcp", "inputSchema": {}}]}
API = api({"/a": {"get": {"operationId": "from_openapi"}}})


def _read(folder: Path, *sources: dict[str, Any]) -> Reading:
    return read(CatalogSettings(name="office", folder=folder, source=sources))


def test_sources_are_merged_in_the_catalogs_order_a_live_server_among_them(
    tmp_path: Path, write_json: WriteJson, write_lines: WriteLines
) -> None:
    write_json("a.json", FUNCTIONS)
    write_json("b.json", API)
    write_json("c.json", ANSWER)
    write_lines("d.jsonl", [{"name": "from_jsonl"}])
    write_lines("e.jsonl", [{"name": "from_line", "input_schema": {"type": "object"}}])
    live = {"command": (sys.executable, str(Path(__file__).with_name("plain_mcp.py")), "pages"), "timeout_s": 60}
    reading = _read(tmp_path, *({"path": f"{name}.json"} for name in "ca"), live, {"path": "d.jsonl"},
                    {"path": "e.jsonl"}, {"path": "b.json"})  # fmt: skip
    assert [(tool.name, tool.provider) for tool in reading.tools] == [
        *(("from_mcp", "c"), ("from_function", "a")),
        *((f"tool_{page}", "plain") for page in (1, 2, 3)),
        *(("from_jsonl", None), ("from_line", "e"), ("from_openapi", "office")),
    ]
    assert reading.rejected == ()


def test_what_is_rejected_is_kept_apart_in_source_order(
    tmp_path: Path, write_json: WriteJson, write_lines: WriteLines
) -> None:
    write_lines("a.jsonl", ["x", {"name": "kept"}])
    write_json("b.json", [{"parameters": {}}, {"name": "also kept"}])
    reading = _read(tmp_path, {"path": "b.json"}, {"path": "a.jsonl"})
    assert [tool.name for tool in reading.tools] == ["also kept", "kept"]
    assert [(r.origin.file, r.origin.pointer) for r in reading.rejected] == [("b.json", "/0"), ("a.jsonl", "line 1")]


@pytest.mark.parametrize(
    ("name", "value", "vendors_word"),
    [
        ("mail.json", FUNCTIONS, None),
        ("mail.json", ANSWER, None),
        ("mail.json", {**ANSWER, "serverInfo": {"name": "slack"}}, "slack"),
        ("mail.json", API, "office"),
        ("mail.json", {**API, "info": {}}, None),
    ],
)
@pytest.mark.parametrize("label", [None, "ours"])
def test_the_catalogs_label_wins_then_the_vendors_then_the_file_name(
    tmp_path: Path, write_json: WriteJson, name: str, value: Any, vendors_word: str | None, label: str | None
) -> None:
    write_json(name, value)
    (tool,) = _read(tmp_path, {"path": name, "provider": label}).tools
    assert tool.provider == (label or vendors_word or "mail")


@pytest.mark.parametrize(("provider", "label", "found"), [(None, None, None), ("v", None, "v"), ("v", "ours", "ours")])
def test_only_jsonl_may_leave_a_tool_without_provider(
    tmp_path: Path, write_lines: WriteLines, provider: str | None, label: str | None, found: str | None
) -> None:
    write_lines("tools.jsonl", [{"name": "a", "provider": provider}])
    assert [tool.provider for tool in _read(tmp_path, {"path": "tools.jsonl", "provider": label}).tools] == [found]


def test_a_stated_format_is_not_second_guessed(tmp_path: Path, write_json: WriteJson) -> None:
    write_json("mail.json", FUNCTIONS)
    assert [tool.name for tool in _read(tmp_path, {"path": "mail.json", "format": "mcp"}).tools] == ["from_function"]
    with pytest.raises(RunAborted, match="is not an OpenAPI 3"):
        _read(tmp_path, {"path": "mail.json", "format": "openapi"})


def test_an_absolute_path_is_not_taken_from_the_folder(tmp_path: Path, write_json: WriteJson) -> None:
    path = write_json("elsewhere/mail.json", FUNCTIONS)
    assert len(_read(tmp_path / "folder", {"path": path}).tools) == 1
