"""Documents of a few lines that stand for billions of values: each is refused before it is built."""

import time
import tracemalloc
from pathlib import Path

import pytest

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import read_document

_WIDE = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
_TEN = ", ".join(["*a{0}"] * 10)


def _levels(first: str, level: str, count: int) -> str:
    """A document whose anchor `a<i>` is ten times `a<i-1>`."""
    return first + "".join(f"a{i}: &a{i} {level.format(_TEN.format(i - 1))}\n" for i in range(1, count))


def _stop(path: Path, text: str, limits: LimitsSettings | None = None) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunAborted) as stopped:
        read_document(path, limits or LimitsSettings())
    return str(stopped.value).removeprefix(f"the source {path} ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(_levels(_WIDE, "[{}]", 10), "values of limits.document_values", id="lists"),
        pytest.param(_levels("a0: &a0 {k: 1}\n", "{{<<: [{}]}}", 9), "values of limits.document_values", id="merges"),
        pytest.param(
            _levels("a0: &a0 {k: 1}\n", "{{x: {{<<: [{}]}}}}", 9), "limits.document_values", id="merges-inside"
        ),
        pytest.param("a: &a [*a]", "the alias 'a' stands within its own anchor", id="a-list-in-itself"),
        pytest.param("a: &a {b: *a}", "the alias 'a' stands within its own anchor", id="a-mapping-in-itself"),
        pytest.param("a: &a {<<: *a}", "the alias 'a' stands within its own anchor", id="a-merge-of-itself"),
        pytest.param(
            "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300)),
            "nested more than 200 levels deep",
            id="deep",
        ),
        pytest.param(
            f"a: &a {'x' * 100_000}\n" + "b: [" + "*a, " * 1_000 + "]",
            "characters of limits.document_bytes",
            id="texts",
        ),
    ],
)
def test_aliases_that_stand_for_too_much_are_refused_at_once(tmp_path: Path, text: str, reason: str) -> None:
    tracemalloc.start()
    started = time.process_time()
    assert reason in _stop(tmp_path / "bomb.yaml", text)
    assert time.process_time() - started < 2  # the merges took 40 s, the lists would take hours
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_key_may_be_an_alias_of_a_text_and_of_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text("a: {x: &k true, *k : 1}\n", encoding="utf-8")
    assert read_document(path) == {"a": {"x": True, "true": 1}}
    assert "a key is a text" in _stop(path, "? &k [a]\n: 1\n")
    assert "a key is a text" in _stop(path, "a: &k [b]\n*k : 1\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<<: {a: 1}\na: 2", {"a": 2}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("a: 2\n<<: {a: 1, b: 1}", {"a": 2, "b": 1}),
        ('"<<": 1', {"<<": 1}),
        ("{&key <<: {a: 1}, b: *key, c: [*key]}", {"a": 1, "b": "<<", "c": ["<<"]}),
    ],
)
def test_merged_keys_count_after_a_mappings_own(tmp_path: Path, text: str, value: object) -> None:
    path = tmp_path / "merge.yaml"
    path.write_text(text, encoding="utf-8")
    assert read_document(path) == value


@pytest.mark.parametrize("text", ["<<: 1", "<<: [a]", "a: !!bool maybe", "a: !!int x", "!!set {a}", "a: *b"])
def test_what_json_lacks_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    told = _stop(tmp_path / "a.yaml", text)
    assert told.startswith("is not readable YAML: ")
    assert "line 1, column" in told


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_document_of_more_values_than_the_limit_is_refused(tmp_path: Path, name: str) -> None:
    limits = LimitsSettings(document_values=1_000)
    path = tmp_path / name
    told = _stop(path, "[" + ",".join(["{}"] * 1_000) + "]", limits)
    assert "more than the 1,000 values of limits.document_values" in told
    path.write_text("[" + ",".join(["{}"] * 400) + "]", encoding="utf-8")
    assert len(read_document(path, limits)) == 400


@pytest.mark.parametrize("text", ['["' + "a,b[{" * 1_000 + '"]', '["' + '\\",' * 2_000 + '"]'])
def test_commas_and_brackets_within_texts_are_no_values(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert len(read_document(path, LimitsSettings(document_values=100))) == 1


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"' * 200_001, '"' + "\\" * 400_001])
def test_values_are_counted_in_linear_time_where_a_text_has_no_end(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    assert "is not readable JSON" in _stop(tmp_path / "a.json", "[" * 150 + text, LimitsSettings(document_values=100))
    assert time.process_time() - started < 2


def test_a_file_of_more_bytes_than_the_limit_is_not_read_to_its_end(tmp_path: Path) -> None:
    endless = tmp_path / "endless.json"
    endless.symlink_to("/dev/zero")
    with pytest.raises(RunAborted, match=r"has more than the 1,000,000 bytes of limits.document_bytes: split it"):
        read_document(endless, LimitsSettings(document_bytes=1_000_000))
