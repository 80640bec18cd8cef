"""Keys that stand twice in one object: read together where that is possible, and told by name in any case."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats.document import read_document
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from tests.pipeline.sources.reading import read_one

TOGETHER, LAST = "all of them are read together: ", "only the last of each is read: "


@pytest.mark.parametrize(
    ("suffix", "text", "value", "told"),
    [
        (".json", '{"a": [1], "a": [2], "b": 1}', {"a": [1, 2], "b": 1}, [f"{TOGETHER}a"]),
        (".json", '{"a": {"x": 1}, "a": {"y": 2}, "a": {"z": 3}}', {"a": {"x": 1, "y": 2, "z": 3}}, [f"{TOGETHER}a"]),
        (".json", '{"a": 1, "a": 2}', {"a": 2}, [f"{LAST}a"]),
        (".json", '{"a": [1], "a": {"x": 1}}', {"a": {"x": 1}}, [f"{LAST}a"]),
        # Two definitions of one thing are not mixed.
        (".json", '{"a": {"type": "x", "max": 1}, "a": {"type": "y"}}', {"a": {"type": "y"}}, [f"{LAST}a"]),
        (".json", '{"required": ["a"], "required": ["a", "b"]}', {"required": ["a", "b"]}, [f"{TOGETHER}required"]),
        (
            ".json",
            '{"p": {"/a": {"get": {"id": 1}}}, "p": {"/a": {"get": {"id": 2}, "put": {}}, "/b": {}}}',
            {"p": {"/a": {"get": {"id": 2}, "put": {}}, "/b": {}}},
            [f"{TOGETHER}p, p › /a", f"{LAST}p › /a › get"],
        ),
        (".json", '[[{"deep": {"k": 1, "k": 2}}]]', [[{"deep": {"k": 2}}]], [f"{LAST}k"]),
        (".yaml", "/a: {get: {}}\n/a: {put: {}}\n", {"/a": {"get": {}, "put": {}}}, [f"{TOGETHER}/a"]),
        (".yaml", "a: 1\n'a': 2\n", {"a": 2}, [f"{LAST}a"]),
        # A merge is no repeat, nor is what a mapping says in its place.
        (".yaml", "x: &x {a: 1}\ny: {<<: *x, a: 2}\n", {"x": {"a": 1}, "y": {"a": 2}}, []),
        (
            ".yaml",
            "x: &x {a: {b: 1}}\ny: *x\ny: {a: {c: 2}}\n",
            {"x": {"a": {"b": 1}}, "y": {"a": {"b": 1, "c": 2}}},
            [f"{TOGETHER}y, y › a"],
        ),
    ],
)
def test_a_repeated_key_is_read_together_or_the_last_counts(
    tmp_path: Path, suffix: str, text: str, value: Any, told: list[str]
) -> None:
    (path := tmp_path / f"a{suffix}").write_text(text, encoding="utf-8")
    repeats = RepeatedKeys()
    assert read_document(path, repeats=repeats) == value
    assert [*repeats.notices()] == [f"keys that stand more than once in one object, {one}" for one in told]


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("a.json", '{"tools": [{"name": "one"}], "tools": [{"name": "two"}]}', ["one", "two"]),
        ("a.jsonl", '{"name": "one", "name": "two"}\n{"name": "three"}\n', ["two", "three"]),
        ("a.yaml", "openapi: 3.0.0\npaths:\n  /a: {get: {}}\npaths:\n  /b: {get: {}}\n", ["get_-a", "get_-b"]),
    ],
)
def test_a_build_tells_the_repeated_keys_of_a_source(tmp_path: Path, file: str, text: str, names: list[str]) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    reading = read_one(tmp_path, {"tools": len(names)}, path=file)
    assert len({tool.name for tool in reading.tools}) == len(names)
    (problem,) = reading.coverage[0].problems
    assert problem.startswith("keys that stand more than once in one object, ")


def test_many_repeats_in_one_another_take_no_more_time_than_they_are_long() -> None:
    nested: Any = {"x": 1}
    repeats = RepeatedKeys()
    for _ in range(190):
        nested = repeats.object_of([("a", nested), ("a", {f"k{n}": n for n in range(500)})])
    wide = repeats.object_of([("a", [n]) for n in range(100_000)])
    assert len(wide["a"]) == 100_000 and nested
