"""The limits on records: what is too large is rejected and told, what is too long is shortened and told."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from tests.pipeline.sources.reading import api, body


def _read(folder: Path, rows: list[Any], **limits: int) -> Reading:
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    source = ({"path": "tools.jsonl"},)
    return read(CatalogSettings(name="x", folder=folder, source=source, limits=limits))


def test_a_name_of_100000_characters_rejects_its_tool(tmp_path: Path) -> None:
    name = "a" * 100_000
    reading = _read(tmp_path, [{"name": name}, {"name": "good"}])
    assert [tool.name for tool in reading.tools] == ["good"]
    assert reading.rejected[0].reason == "name has 100,000 characters, more than the 500 of limits.name_characters"


def test_a_record_or_a_line_that_is_too_large_is_rejected_alone(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"q": {"enum": ["x" * 100] * 20}}}
    rows = [{"name": "large", "parameters": schema}, {"name": "long", "examples": ["y" * 2_000]}, {"name": "good"}]
    reading = _read(tmp_path, rows, record_characters=1_500)
    assert [tool.name for tool in reading.tools] == ["good"]
    assert [rejected.reason.partition("more than")[2] for rejected in reading.rejected] == [
        " the 1,500 of limits.record_characters"
    ] * 2


def test_a_text_that_is_too_long_is_shortened_with_a_notice(tmp_path: Path) -> None:
    row = {"name": "a", "description": "d" * 101, "examples": ["e", "f", "g" * 101]}
    fits = {"name": "b", "description": "d" * 100, "examples": ["e", "f"]}
    tool, whole = _read(tmp_path, [row, fits], text_characters=100, listed_texts=2, tools=2).tools
    assert whole.notices == () and len(whole.description) == 100
    assert (tool.description, tool.examples) == ("d" * 100, ("e", "f"))
    assert tool.notices == (
        "its description has 101 characters: the first 100 count",
        "its examples are shortened: the first 2 count",
    )


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"tools": 2}, "more than the 2 tools of limits.tools"),
        ({"source_bytes": 1_000}, "1,000 bytes of limits.source_"),
    ],
)
def test_a_source_of_too_much_stops_with_the_limit(tmp_path: Path, limits: dict[str, int], told: str) -> None:
    rows = [{"name": f"t{number}", "description": "d" * 400} for number in range(3)]
    with pytest.raises(RunAborted, match=told):
        _read(tmp_path, rows, **limits)


def test_dense_schemas_of_an_api_are_left_open_beyond_the_limit_and_told(tmp_path: Path) -> None:
    def schema(number: int) -> dict[str, Any]:
        names = {f"p{step}": {"$ref": f"#/components/schemas/S{(7 * number + step) % 60}"} for step in range(20)}
        return {"type": "object", "properties": names}

    paths = {
        f"/o{number}": {
            "post": {"operationId": f"op{number}", "requestBody": body({"$ref": f"#/components/schemas/S{number}"})}
        }
        for number in range(40)
    }
    document = api(paths, components={"schemas": {f"S{number}": schema(number) for number in range(60)}})
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
    source, small = ({"path": "api.json"},), {"schema_characters": 5_000}
    tools = read(CatalogSettings(name="x", folder=tmp_path, source=source, limits=small)).tools
    assert len(tools) == 40
    for tool in tools:
        assert len(json.dumps(tool.input_schema)) < 10_000
        assert tool.notices[-1].startswith("its schemas exceed the 5,000 characters of limits.schema_characters")
    whole = read(CatalogSettings(name="x", folder=tmp_path, source=source)).tools
    assert min(len(json.dumps(tool.input_schema)) for tool in whole) > 40_000
    assert all(tool.notices == () for tool in whole)
    together = {"document_bytes": 500_000}
    tools = read(CatalogSettings(name="x", folder=tmp_path, source=source, limits=together)).tools
    assert tools[0].notices == () and sum(len(json.dumps(tool.input_schema)) for tool in tools) < 1_000_000
    assert "500,000 characters of limits.document_bytes, for all operations together" in tools[-1].notices[-1]
