"""Files to values: what stops a run, YAML as OpenAPI means it, and a few lines that stand for billions of values."""

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats import openapi, tool_lists
from pipeline.sources.formats.document import read_document
from router.tools.definitions.raw_tool import RawTool

_WIDE = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
_TEN = ", ".join(["*a{0}"] * 10)


def _levels(first: str, level: str, count: int) -> str:
    """A document whose anchor `a<i>` is ten times `a<i-1>`."""
    return first + "".join(f"a{i}: &a{i} {level.format(_TEN.format(i - 1))}\n" for i in range(1, count))


def _stop(path: Path, content: str | bytes | None = None, **limits: int) -> str:
    """Why a file with this content cannot be read."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RunAborted) as stopped:
        read_document(path, LimitsSettings(**limits))
    assert f"the source {path} " in str(stopped.value)
    return str(stopped.value).removeprefix(f"the source {path} ")


def _read(path: Path, text: str, **limits: int) -> Any:
    path.write_text(text, encoding="utf-8")
    return read_document(path, LimitsSettings(**limits))


@pytest.mark.parametrize("read", [tool_lists.read_jsonl, tool_lists.read_functions, openapi.read, tool_lists.read_mcp])
def test_what_is_no_text_file_stops_the_run_with_its_path_whatever_reads_it(
    read: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "latin.json").write_bytes('{"name": "café"}'.encode("latin-1"))
    for path, reason in (
        (tmp_path / "nothing.jsonl", "does not exist"),
        (tmp_path, "is a folder: name a file in it"),
        (tmp_path / "file" / "tools.json", "cannot be read: Not a directory"),
        (tmp_path / "latin.json", "is not UTF-8 text: byte 13 is 0xe9; save it as UTF-8"),
    ):
        items: list[RawTool | RecordRejected] = []
        with pytest.raises(RunAborted) as stopped:
            items.extend(read(path))
        assert not items and str(stopped.value) == f"the source {path} {reason}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_with_a_byte_order_mark_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "tools.json"
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + '[{"name": "caf\u00e9"}]\r\n').encode(encoding))
    assert read_document(path) == [{"name": "caf\u00e9"}]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", '{"tools": [\n1 2]}', "is not readable JSON: Expecting ',' delimiter: line 2 column 3"),
        ("a.json", "", "is empty"),
        ("a.json", b"\xff\xfe[\x00]", "is not UTF-16 text"),
        ("a.csv", "name,description\n", ".csv files are read as JSON: tools come as .json, .jsonl or .yaml"),
        ("a.json", "[" * 300 + "]" * 300, "JSON: nested more than 200 levels deep"),
        ("a.json", "[" * 100_000, "is not readable JSON: nested too deeply"),
        ("a.yaml", "a: [1\nb: 2", "line 2, column"),
        ("a.yml", "a: !!python/object:os.system x", "could not determine a constructor"),
        ("a.yaml", "name: a\n---\nname: b\n", "at line 1, column 1 but found another document at line 2, column 1"),
        ("a.yaml", "[" * 300 + "]" * 300, "YAML: nested more than 200 levels deep"),
        # So deep that the C loader, asked to build it, would take the whole process down.
        ("a.yaml", "[" * 200_000, "YAML: nested more than 200 levels deep"),
        # What JSON lacks.
        *(("a.yaml", f"a: {value}", "line 1, column 4") for value in ("!!binary aGVsbG8=", "!!set {b, c}", "*b")),
        *(("a.yaml", f"a: {value}", "line 1, column 4") for value in ("!!timestamp 2024-01-01", "!!bool maybe")),
        ("a.yaml", "a: !!int x", "line 1, column 4"),
        ("a.yaml", "<<: 1", "for merging at line 1, column"),
        ("a.yaml", "<<: [a]", "for merging at line 1, column"),
        *(("a.yaml", text, "a key is a text") for text in ("? [a]\n: 1", "? &k [a]\n: 1\n", "a: &k [b]\n*k : 1\n")),
    ],
    ids=range(22),
)
def test_a_document_that_does_not_parse_stops_the_run_with_the_place(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    told = _stop(tmp_path / name, content)
    assert reason in told and "\n" not in told


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text) for text in "no No yes on off y n 2024-01-01 2024-01-01T10:00:00Z = <".split()),
        *((text, text) for text in "12:30 1:30:00 010 08 0x1f 1_000 3.0.3 .nan -.inf".split()),
        *(("true", True), ("False", False), ("null", None), ("~", None), ("", None)),
        *(("0", 0), ("-12", -12), ("1.50", 1.5), ("1e3", 1000.0), ("-2.5E-1", -0.25)),
        *(('"no"', "no"), ('"a\\0b"', "a\ufffdb")),
    ],
)
def test_a_yaml_word_is_what_json_has_for_it_or_a_text(tmp_path: Path, text: str, value: object) -> None:
    word = _read(tmp_path / "word.yaml", f"word: {text}\n")["word"]
    assert (word, type(word)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((f"name: {word}", {"name": word}) for word in "404 1.10 1e3 true False 007 no".split()),
        *((f"{{name: {word}}}", {"name": None}) for word in ("null", "~", "")),
        (
            "a: [{operationId: 1, title: 2, required: true}]",
            {"a": [{"operationId": "1", "title": "2", "required": True}]},
        ),
        ("required: [404, 1.0, null]\ntags: [2]", {"required": ["404", "1.0", None], "tags": ["2"]}),
        ("n: &n 1.10\nname: *n", {"n": 1.1, "name": "1.10"}),
        # Somebody's data, and a property of that name.
        ("default: {name: 404, a: [{name: 1}]}", {"default": {"name": 404, "a": [{"name": 1}]}}),
        ("properties: {name: true, required: {title: 1}}", {"properties": {"name": True, "required": {"title": "1"}}}),
    ],
)
def test_names_in_yaml_are_read_as_they_are_written(tmp_path: Path, text: str, value: object) -> None:
    assert _read(tmp_path / "a.yaml", text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((f"{key}: 1", {key: 1}) for key in "200 +1 -1 no on true null 1.10 2024-01-01".split()),
        ("a: {x: &k true, *k : 1}\n", {"a": {"x": True, "true": 1}}),
        ("a: &a {b: 1}\nc: *a", {"a": {"b": 1}, "c": {"b": 1}}),
        ("<<: {a: 1}\na: 2", {"a": 2}),
        ("a: 2\n<<: {a: 1, b: 1}", {"a": 2, "b": 1}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ('"<<": 1', {"<<": 1}),
        ("{&key <<: {a: 1}, b: *key, c: [*key]}", {"a": 1, "b": "<<", "c": ["<<"]}),
    ],
)
def test_yaml_keys_are_texts_and_aliases_and_merges_are_followed(tmp_path: Path, text: str, value: object) -> None:
    assert _read(tmp_path / "a.yaml", text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_levels(_WIDE, "[{}]", 10), "values of limits.document_values"),
        (_levels("a0: &a0 {k: 1}\n", "{{<<: [{}]}}", 9), "values of limits.document_values"),
        (_levels("a0: &a0 {k: 1}\n", "{{x: {{<<: [{}]}}}}", 9), "limits.document_values"),
        ("a: &a [*a]", "the alias 'a' stands within its own anchor"),
        ("a: &a {b: *a}", "the alias 'a' stands within its own anchor"),
        ("a: &a {<<: *a}", "the alias 'a' stands within its own anchor"),
        ("a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300)), "more than 200 levels deep"),
        (f"a: &a {'x' * 100_000}\nb: [" + "*a, " * 1_000 + "]", "characters of limits.document_bytes"),
    ],
    ids="lists merges merges-inside list-in-itself mapping-in-itself merge-of-itself deep texts".split(),
)
def test_aliases_that_stand_for_too_much_are_refused_at_once(tmp_path: Path, text: str, reason: str) -> None:
    tracemalloc.start()
    started = time.process_time()
    assert reason in _stop(tmp_path / "bomb.yaml", text)
    assert time.process_time() - started < 10  # the merges took 40 s, the lists would take hours
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_document_of_more_values_than_the_limit_is_refused(tmp_path: Path, name: str) -> None:
    told = _stop(tmp_path / name, "[" + ",".join(["{}"] * 1_000) + "]", document_values=1_000)
    assert "more than the 1,000 values of limits.document_values" in told
    assert len(_read(tmp_path / name, "[" + ",".join(["{}"] * 400) + "]", document_values=1_000)) == 400


@pytest.mark.parametrize("text", ['["' + "a,b[{" * 1_000 + '"]', '["' + '\\",' * 2_000 + '"]'])
def test_commas_and_brackets_within_texts_are_no_values(tmp_path: Path, text: str) -> None:
    assert len(_read(tmp_path / "a.json", text, document_values=100)) == 1


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"' * 200_001, '"' + "\\" * 400_001], ids=range(3))
def test_values_are_counted_in_linear_time_where_a_text_has_no_end(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    assert "is not readable JSON" in _stop(tmp_path / "a.json", "[" * 150 + text, document_values=100)
    assert time.process_time() - started < 10


def test_a_file_of_more_bytes_than_the_limit_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    told = _stop(tmp_path / "endless.json", document_bytes=1_000_000)
    assert told.startswith("has more than the 1,000,000 bytes of limits.document_bytes: split it")
