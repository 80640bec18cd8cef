"""All sources of a catalog together: their order, formats and providers; gaps; the limits on records."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.sources import Reading
from tests.pipeline.sources.reading import api, body, read_all
from tests.pipeline.sources.web import Web

WriteJson = Callable[[str, Any], Path]
WriteLines = Callable[[str, list[Any]], Path]

FUNCTIONS = [{"name": "from_function"}]
ANSWER = {"tools": [{"name": "from_mcp", "inputSchema": {}}]}
API = api({"/a": {"get": {"operationId": "from_openapi"}}})
GOOD = json.dumps([{"name": "send_mail", "description": "Sends a mail."}]).encode()
# By file: its content, and why it cannot be read.
BAD: dict[str, tuple[bytes | None, str]] = {
    "broken.json": (b"{bad", "is not readable JSON"),
    "package.json": (b'{"x": 1}', "is in no known format"),
    "empty.yaml": (b"", "is empty"),
    "latin.json": (b'{"name": "caf\xe9"}', "is not UTF-8 text: byte 13 is 0xe9"),
    "missing.json": (None, "does not exist"),
}


def _stop(folder: Path, *sources: dict[str, Any], **more: Any) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        read_all(folder, *sources, **more)
    return stopped.value


def test_sources_are_merged_in_the_catalogs_order_a_live_server_among_them(
    tmp_path: Path, write_json: WriteJson, write_lines: WriteLines
) -> None:
    write_json("a.json", FUNCTIONS)
    write_json("b.json", API)
    write_json("c.json", ANSWER)
    write_lines("d.jsonl", [{"name": "from_jsonl"}])
    write_lines("e.jsonl", [{"name": "from_line", "input_schema": {"type": "object"}}])
    live = {"command": (sys.executable, str(Path(__file__).with_name("plain_mcp.py")), "pages"), "timeout_s": 60}
    reading = read_all(tmp_path, *({"path": f"{name}.json"} for name in "ca"), live, {"path": "d.jsonl"},
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
    reading = read_all(tmp_path, {"path": "b.json"}, {"path": "a.jsonl"})
    assert [tool.name for tool in reading.tools] == ["also kept", "kept"]
    assert [(r.origin.file, r.origin.pointer) for r in reading.rejected] == [("b.json", "/0"), ("a.jsonl", "line 1")]


@pytest.mark.parametrize(
    ("name", "value", "vendors_word", "fallback"),
    [
        ("mail.json", FUNCTIONS, None, "mail"),
        ("mail.json", ANSWER, None, "mail"),
        ("mail.json", {**ANSWER, "serverInfo": {"name": "slack"}}, "slack", None),
        ("mail.json", API, "office", None),
        ("mail.json", {**API, "info": {}}, None, "mail"),
        ("mail.jsonl", {"name": "a"}, None, None),  # only JSONL may leave a tool without provider
        ("mail.jsonl", {"name": "a", "provider": "v"}, "v", None),
    ],
)
@pytest.mark.parametrize("label", [None, "ours"])
def test_the_catalogs_label_wins_then_the_vendors_then_the_file_name(
    tmp_path: Path, write_json: WriteJson, name: str, value: Any, vendors_word: str, fallback: str, label: str | None
) -> None:
    write_json(name, value)
    (tool,) = read_all(tmp_path, {"path": name, "provider": label}).tools
    assert tool.provider == (label or vendors_word or fallback)


def test_a_stated_format_is_not_second_guessed_and_an_absolute_path_not_taken_from_the_folder(
    tmp_path: Path, write_json: WriteJson
) -> None:
    path = write_json("mail.json", FUNCTIONS)
    assert len(read_all(tmp_path / "folder", {"path": path, "format": "mcp"}).tools) == 1
    assert "is not an OpenAPI 3" in str(_stop(tmp_path, {"path": "mail.json", "format": "openapi"}))


def _files(folder: Path, *names: str) -> list[dict[str, str]]:
    for name in names:
        content = BAD[name][0] if name in BAD else GOOD
        if content is not None:
            (folder / name).write_bytes(content)
    return [{"path": name} for name in names]


def test_every_source_that_cannot_be_read_is_told_in_one_error_or_skipped_where_the_settings_say_so(
    tmp_path: Path,
) -> None:
    sources = _files(tmp_path, "good.json", *BAD)
    message = str(_stop(tmp_path, *sources))
    assert message.startswith("5 of 6 sources cannot be read:\n  the source ")
    for name, (_, reason) in BAD.items():
        assert any(str(tmp_path / name) in line and reason in line for line in message.splitlines())
    assert message.endswith("or build without them: --skip-unreadable (sources.skip_unreadable)")
    reading = read_all(tmp_path, *sources, sources={"skip_unreadable": True})
    assert [tool.name for tool in reading.tools] == ["send_mail"] and reading.sources == 6
    skipped = {gap.source: gap.reason for gap in reading.gaps if gap.skipped}
    assert skipped.keys() == BAD.keys() and all(reason in skipped[name] for name, (_, reason) in BAD.items())


def test_one_of_several_is_told_with_the_way_out(tmp_path: Path) -> None:
    told, way_out = str(_stop(tmp_path, *_files(tmp_path, "good.json", "broken.json"))).splitlines()
    assert told.startswith(f"the source {tmp_path / 'broken.json'} is not readable JSON: ")
    assert way_out == "mend this, or build without it: --skip-unreadable (sources.skip_unreadable)"


@pytest.mark.parametrize("skip", [True, False])
def test_where_nothing_can_be_read_there_is_nothing_to_go_on_with(tmp_path: Path, skip: bool) -> None:
    message = str(_stop(tmp_path, *_files(tmp_path, *BAD), sources={"skip_unreadable": skip}))
    assert "5 of 5 sources cannot be read" in message and "--skip-unreadable" not in message


def test_a_source_without_a_tool_is_empty_and_one_whose_records_were_all_rejected_is_not(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"tools": []}', encoding="utf-8")
    (tmp_path / "blank.jsonl").write_text("\n", encoding="utf-8")
    (tmp_path / "nameless.json").write_text('[{"name": 7}]', encoding="utf-8")
    empty = [{"path": name} for name in ("none.json", "blank.jsonl", "nameless.json")]
    reading = read_all(tmp_path, *_files(tmp_path, "good.json"), *empty)
    assert [gap.source for gap in reading.gaps] == ["none.json", "blank.jsonl"]
    assert len(reading.rejected) == 1 and not any(gap.skipped for gap in reading.gaps)


def test_servers_that_may_answer_later_make_an_error_that_may_pass(web: Web, tmp_path: Path) -> None:
    busy = {"url": web.page("", status=503), "format": "openapi"}
    gone = {"url": web.page("", status=404), "format": "openapi"}
    assert type(_stop(tmp_path, busy, busy)) is Unavailable
    assert type(_stop(tmp_path, busy, gone)) is RunAborted


def _within(write_lines: WriteLines, rows: list[Any], **limits: int) -> Reading:
    path = write_lines("tools.jsonl", rows)
    return read_all(path.parent, {"path": path.name}, limits=limits)


def test_a_name_a_record_or_a_line_that_is_too_large_is_rejected_alone(write_lines: WriteLines) -> None:
    schema = {"type": "object", "properties": {"q": {"enum": ["x" * 100] * 20}}}
    rows = [{"name": "large", "parameters": schema}, {"name": "long", "examples": ["y" * 2_000]}]
    reading = _within(write_lines, [{"name": "a" * 501}, *rows, {"name": "good"}], record_characters=1_500)
    assert [tool.name for tool in reading.tools] == ["good"]
    name, *others = [rejected.reason for rejected in reading.rejected]
    assert name == "name has 501 characters, more than the 500 of limits.name_characters"
    assert [reason.partition("more than")[2] for reason in others] == [" the 1,500 of limits.record_characters"] * 2


def test_a_text_that_is_too_long_is_shortened_with_a_notice(write_lines: WriteLines) -> None:
    row = {"name": "a", "description": "d" * 101, "examples": ["e", "f", "g" * 101]}
    fits = {"name": "b", "description": "d" * 100, "examples": ["e", "f"]}
    tool, whole = _within(write_lines, [row, fits], text_characters=100, listed_texts=2, tools=2).tools
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
def test_a_source_of_too_much_stops_with_the_limit(write_lines: WriteLines, limits: dict[str, int], told: str) -> None:
    rows = [{"name": f"t{number}", "description": "d" * 400} for number in range(3)]
    with pytest.raises(RunAborted, match=told):
        _within(write_lines, rows, **limits)


def test_dense_schemas_of_an_api_are_left_open_beyond_the_limit_and_told(tmp_path: Path, write_json: WriteJson) -> None:
    def ref(number: int) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/S{number % 60}"}

    schemas = {
        f"S{number}": {"type": "object", "properties": {f"p{step}": ref(7 * number + step) for step in range(20)}}
        for number in range(60)
    }
    paths = {f"/o{n}": {"post": {"operationId": f"op{n}", "requestBody": body(ref(n))}} for n in range(40)}
    write_json("api.json", api(paths, components={"schemas": schemas}))
    source = {"path": "api.json"}
    tools = read_all(tmp_path, source, limits={"schema_characters": 5_000}).tools
    assert len(tools) == 40
    for tool in tools:
        assert len(json.dumps(tool.input_schema)) < 10_000
        assert tool.notices[-1].startswith("its schemas exceed the 5,000 characters of limits.schema_characters")
    whole = read_all(tmp_path, source).tools
    assert min(len(json.dumps(tool.input_schema)) for tool in whole) > 40_000
    assert all(tool.notices == () for tool in whole)
    tools = read_all(tmp_path, source, limits={"document_bytes": 500_000}).tools
    assert tools[0].notices == () and sum(len(json.dumps(tool.input_schema)) for tool in tools) < 1_000_000
    assert "500,000 characters of limits.document_bytes, for all operations together" in tools[-1].notices[-1]
