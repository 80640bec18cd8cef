"""Files to values: what stops a run, and YAML as OpenAPI means it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RecordRejected, RunAborted
from pipeline.sources.formats import function_schema, jsonl, mcp, openapi
from pipeline.sources.formats.document import read_document
from router.tools.definitions.raw_tool import RawTool

Read = Callable[[Path], Any]
READERS: list[Read] = [jsonl.read, function_schema.read, openapi.read, mcp.read]


def _stop(read: Read, path: Path) -> str:
    items: list[RawTool | RecordRejected] = []
    with pytest.raises(RunAborted) as stopped:
        items.extend(read(path))
    assert not items
    return str(stopped.value)


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_stops_the_run_with_its_path(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "nothing.jsonl"
    assert _stop(read, path) == f"the source {path} does not exist"


@pytest.mark.parametrize("read", READERS)
def test_a_folder_stops_the_run_with_its_path(read: Read, tmp_path: Path) -> None:
    assert _stop(read, tmp_path) == f"the source {tmp_path} is a folder: name a file in it"


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_is_not_utf_8_stops_the_run_with_the_place(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes('{"name": "café"}'.encode("latin-1"))
    assert _stop(read, path) == f"the source {path} is not UTF-8 text: byte 13 is 0xe9; save it as UTF-8"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_a_byte_order_mark_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "tools.json"
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + '[{"name": "caf\u00e9"}]\r\n').encode(encoding))
    assert read_document(path) == [{"name": "caf\u00e9"}]


def test_broken_utf_16_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(b"\xff\xfe[\x00]")
    assert "is not UTF-16 text" in _stop(read_document, path)


def test_another_kind_of_file_is_told_what_it_was_read_as(tmp_path: Path) -> None:
    path = tmp_path / "tools.csv"
    path.write_text("name,description\n", encoding="utf-8")
    assert _stop(read_document, path).endswith(".csv files are read as JSON: tools come as .json, .jsonl or .yaml")


def test_several_documents_in_one_yaml_file_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("name: a\n---\nname: b\n", encoding="utf-8")
    assert _stop(read_document, path) == (
        f"the source {path} is not readable YAML: expected a single document in the stream at line 1, column 1 but "
        "found another document at line 2, column 1"
    )


def test_a_path_through_a_file_stops_the_run_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    path = tmp_path / "file" / "tools.json"
    assert _stop(jsonl.read, path) == f"the source {path} cannot be read: Not a directory"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.json", '{"tools": [\n1 2]}', "is not readable JSON: Expecting ',' delimiter: line 2 column 3"),
        ("a.json", "", "is empty"),
        pytest.param("a.json", "[" * 300 + "]" * 300, "JSON: nested more than 200 levels deep", id="deep"),
        pytest.param("a.json", "[" * 100_000, "is not readable JSON: nested too deeply", id="deeper"),
        ("a.yaml", "a: [1\nb: 2", "line 2, column"),
        ("a.yml", "a: !!python/object:os.system x", "could not determine a constructor"),
        ("a.yaml", "a: !!binary aGVsbG8=", "line 1, column 4"),
        ("a.yaml", "a: !!set {b, c}", "line 1, column 4"),
        ("a.yaml", "a: !!timestamp 2024-01-01", "line 1, column 4"),
        ("a.yaml", "? [a, b]\n: c", "line 1, column 3"),
        pytest.param("a.yaml", "[" * 300 + "]" * 300, "YAML: nested more than 200 levels deep", id="deep-yaml"),
        # So deep that the C loader, asked to build it, would take the whole process down.
        pytest.param("a.yaml", "[" * 200_000, "YAML: nested more than 200 levels deep", id="deeper-yaml"),
    ],
)
def test_a_document_that_does_not_parse_stops_the_run_with_the_place(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    message = _stop(read_document, path)
    assert str(path) in message
    assert place in message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("no", "No", "yes", "on", "off", "y", "n")),
        *((date, date) for date in ("2024-01-01", "2024-01-01T10:00:00Z")),
        *((number, number) for number in ("12:30", "1:30:00", "010", "08", "0x1f", "1_000", "3.0.3", ".nan", "-.inf")),
        *((sign, sign) for sign in ("=", "<")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ('"no"', "no"),
        ('"a\\0b"', "a\ufffdb"),
    ],
)
def test_a_yaml_word_is_what_json_has_for_it_or_a_text(tmp_path: Path, text: str, value: object) -> None:
    path = tmp_path / "word.yaml"
    path.write_text(f"word: {text}\n", encoding="utf-8")
    word = read_document(path)["word"]
    assert (word, type(word)) == (value, type(value))


@pytest.mark.parametrize("key", ["200", "+1", "-1", "no", "on", "true", "null", "1.10", "2024-01-01"])
def test_a_yaml_key_is_a_text_as_it_stands(tmp_path: Path, key: str) -> None:
    path = tmp_path / "key.yaml"
    path.write_text(f"{key}: 1\n", encoding="utf-8")
    assert read_document(path) == {key: 1}


def test_yaml_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "merge.yaml"
    path.write_text("base: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\nsame: *base\n", encoding="utf-8")
    assert read_document(path) == {"base": {"a": 1, "b": 2}, "more": {"a": 1, "b": 3}, "same": {"a": 1, "b": 2}}
