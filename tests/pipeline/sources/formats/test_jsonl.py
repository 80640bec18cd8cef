"""JSONL of tools: every field, and what one wrong line costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.memo import Memo
from pipeline.sources import RawTool
from pipeline.sources.formats import document
from pipeline.sources.formats.document import parse_line
from pipeline.sources.formats.tool_lists import read_jsonl
from pipeline.sources.last_reading import SourceReading
from router.record import Origin
from tests.pipeline.sources.reading import apart, read_one, tools

Write = Callable[[str, list[Any]], Path]
HUGE = "9" * 309


def _file(folder: Path, text: str | bytes) -> Path:
    (folder / "tools.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "tools.jsonl"


def test_every_field_of_a_line_is_read(write_lines: Write) -> None:
    schema = {"type": "object", "properties": {"status": {"type": "string"}}}
    row = {
        "id": "stripe/list_charges",
        "name": " list_charges ",
        "provider": "stripe",
        "description": "Returns charges.",
        "parameters": schema,
        "examples": ["pull failed payments", {"status": "failed"}],
        "category": "payments",
        "categories": ["finance", "cards"],
        "annotations": {"readOnlyHint": True},
        "deprecated": True,
    }
    assert tools(read_jsonl(write_lines("tools.jsonl", [row]))) == [
        RawTool(
            name="list_charges",
            origin=Origin("tools.jsonl", "line 1"),
            description="Returns charges.",
            input_schema=schema,
            id="stripe/list_charges",
            provider="stripe",
            examples=("pull failed payments", '{"status":"failed"}'),
            categories=("payments", "finance", "cards"),
            annotations={"readOnlyHint": True},
            deprecated=True,
        )
    ]


_FIELDS = ("id", "provider", "description", "parameters", "examples", "category", "categories", "annotations")
_EMPTY: list[dict[str, Any]] = [{"parameters": {}}, {"annotations": {}}, {"examples": []}, {"id": ""}]


@pytest.mark.parametrize("row", [*({field: None} for field in _FIELDS), *_EMPTY])
def test_null_and_empty_mean_the_same_as_missing(write_lines: Write, row: dict[str, Any]) -> None:
    path = write_lines("tools.jsonl", [{"name": "a", **row}])
    assert tools(read_jsonl(path)) == [RawTool("a", Origin("tools.jsonl", "line 1"))]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"name": "b"', "not JSON: Expecting ',' delimiter: line 1 column 13 (char 12)"),
        ("[1]", "a tool is a JSON object, this is a list"),
        ('{"name": " "}', "name is missing or empty"),
        ('{"name": 7}', "name is a number, not a text"),
        ('{"name": "b", "parameters": "x"}', "parameters is a text, not an object"),
        ('{"name": "b", "parameters": [1]}', "parameters is a list, not an object or a list of named ones"),
        ('{"name": "b", "x": -Infinity}', "not JSON: it holds a number that is too large, or none"),
        (f'{{"name": "b", "x": -{HUGE}}}', "not JSON: it holds a number that is too large, or none"),
        *(('{"name": "a\\u0000", "x": ' + "[" * depth + "]" * depth + "}", "nested") for depth in (201, 5_000)),
    ],
)
def test_a_wrong_line_is_rejected_with_its_place_and_the_rest_go_on(write_lines: Write, line: str, reason: str) -> None:
    names, rejected = apart(read_jsonl(write_lines("tools.jsonl", [{"name": "a"}, "", line, "  ", {"name": "c"}])))
    assert names == ["a", "c"] and len(rejected) == 1
    assert rejected[0].startswith("tools.jsonl line 3: ") and reason in rejected[0]


@pytest.mark.parametrize("auxiliary", [{"examples": {"to": "Ada"}}, {"category": 1}, {"title": ["A"]}])
def test_what_is_auxiliary_and_unreadable_is_left_out_and_told(write_lines: Write, auxiliary: dict[str, Any]) -> None:
    (tool,) = tools(read_jsonl(write_lines("tools.jsonl", [{"name": "a", **auxiliary}])))
    assert tool == RawTool("a", Origin("tools.jsonl", "line 1"))
    assert set(tool.unread) == set(auxiliary)


_BEGINNINGS = ['{"name": "b", "descr', '{"name": "b"', '{"name": "b", "parameters": {', '{"name": "b", "strict": tru']


@pytest.mark.parametrize("start", [*_BEGINNINGS, '{"name": "b\\u00', '{"name": "b", "limit": -', "{"])
def test_a_file_that_breaks_off_in_its_last_line_is_not_read_as_a_shorter_one(tmp_path: Path, start: str) -> None:
    with pytest.raises(Unavailable, match="breaks off in its last line: it is not whole"):
        list(read_jsonl(_file(tmp_path, '{"name": "a"}\n' + start)))


@pytest.mark.parametrize("last", ["{'name': 'b'}", "# the end", '{"name": "b"}}', '{"name": "b"\n'])
def test_a_last_line_that_is_wrong_but_whole_costs_only_itself(tmp_path: Path, last: str) -> None:
    names, rejected = apart(read_jsonl(_file(tmp_path, '{"name": "a"}\n' + last)))
    assert names == ["a"] and len(rejected) == 1 and rejected[0].startswith("tools.jsonl line 2: not JSON: ")


def test_a_file_of_which_no_line_is_json_is_no_source_and_an_empty_one_holds_no_tools(write_lines: Write) -> None:
    with pytest.raises(RunAborted, match="is not JSON Lines: none of its 2 lines is JSON"):
        list(read_jsonl(write_lines("tools.jsonl", ["Please sign in.", "Your session has ended."])))
    assert apart(read_jsonl(write_lines("tools.jsonl", []))) == ([], [])


def test_a_line_of_one_tool_that_was_read_before_is_not_parsed_again_wherever_it_stands(
    write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def parse(origin: Origin, line: str, *rest: Any) -> document.Line:
        parsed.append(line)
        return parse_line(origin, line, *rest)

    alone = ['{"name": "a", "provider": "p"}', '{"id": "x/b", "name": "b", "parameters": {"type": "object"}}']
    others = [
        '{"name": " "}',
        "no JSON",
        '{"name": "c", "name": "d"}',
        '{"name": "p", "tools": [{"name": "e"}], "nextCursor": "2"}',
        '{"name": "p", "tools": [{"name": "f"}]}',
        '{"server": "q", "tools": [{"name": "g"}, {"name": "h"}], "nextCursor": "3"}',
    ]
    list(read_jsonl(write_lines("tools.jsonl", [*alone, *others]), memo=(memo := Memo())))
    moved = write_lines("moved.jsonl", [*others, *alone])
    expected = [*read_jsonl(moved)]
    monkeypatch.setattr(document, "parse_line", parse)
    assert repr([*read_jsonl(moved, memo=memo)]) == repr(expected)
    assert parsed == others and len([one for one in expected if isinstance(one, str)]) == 2


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0c"])
def test_a_line_ends_at_a_newline_only_and_a_byte_order_mark_is_skipped(tmp_path: Path, separator: str) -> None:
    escaped = json.dumps(separator)[1:-1] if separator == "\x0c" else separator  # JSON allows no bare form feed
    text = '\ufeff{"name": "a", "description": "one' + escaped + 'two"}\r\n{"name": "b"}\r\n'
    first, second = tools(read_jsonl(_file(tmp_path, text)))
    assert first.description == f"one{separator}two"
    assert second.origin.pointer == "line 2"


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"a\ud800b", "a\ufffdb"),
        (r"a\u0000b", "a\ufffdb"),
        (r"a\ud83d\ude00b", "a\U0001f600b"),
        (r"a\\ud800b", r"a\ud800b"),
    ],
)
def test_what_utf_8_cannot_store_is_replaced_in_texts_and_keys(write_lines: Write, escaped: str, text: str) -> None:
    line = f'{{"name": "{escaped}", "parameters": {{"properties": {{"{escaped}": {{"enum": ["{escaped}"]}}}}}}}}'
    (tool,) = tools(read_jsonl(write_lines("tools.jsonl", [line])))
    assert tool.name == text
    assert tool.input_schema == {"properties": {text: {"enum": [text]}}}


def test_a_repeated_key_that_no_encoding_has_can_be_stored_with_its_notice(write_lines: Write, tmp_path: Path) -> None:
    write_lines("tools.jsonl", ['{"name": "a", "\\udc00": 1, "\\udc00": 2}'])
    (reading,) = read_one(tmp_path, path="tools.jsonl").by_source
    assert "\udc00" in reading.notices[0]
    assert SourceReading.from_text(reading.key, reading.source, reading.to_text()) == reading
