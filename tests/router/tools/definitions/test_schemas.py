"""Parameters of any shape as a JSON Schema; what is right stays as it is."""

import json
import time
from typing import Any

import pytest
from hypothesis import given

from router.tools.definitions.schemas import ParsedParameters, parse_parameters, to_json_schema, with_required
from tests.support.hostile_json import hostile_json

RIGHT: list[dict[str, Any]] = [
    {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    {"type": "object", "properties": {"type": {"type": "string"}, "required": {"type": "boolean"}}},
    {"allOf": [{"properties": {"a": {"items": {"$ref": "#/$defs/X"}}}}], "$defs": {"X": {"enum": ["a", 1]}}},
    {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}, True]}, "b": True}},
    {"type": "object", "properties": {"a": {"x-order": 1}, "b": {}, "c": {"$ref": "#"}, "d": {"example": "one"}}},
]


@pytest.mark.parametrize("schema", RIGHT, ids=range(len(RIGHT)))
def test_a_schema_that_is_right_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert parse_parameters(schema) == ParsedParameters(schema, "JSON Schema")


def test_nothing_declares_nothing_and_what_is_of_no_known_shape_is_none() -> None:
    empty: list[Any] = [None, {}, [], ""]
    assert [parse_parameters(value) for value in empty] == [ParsedParameters()] * 4
    unknown = ("x", "[1, 2", 7, True, [1], [{"a": 1, "b": 2}], ["--city"], [["a"]])
    assert [value for value in unknown if parse_parameters(value) is not None] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # A parameter may be called like a keyword.
        ({"title": "(string) A.", "description": "(string) B."}, {"title", "description"}),
        ({"type": "(string) Which kind."}, {"type"}),
        ({"required": {"type": "boolean"}, "a": {}}, {"required", "a"}),
        ({"a": {"type": "str"}, "required": ["a"]}, {"a"}),
        (["city", "days"], {"city", "days"}),
        ([{"city": "string"}, {"days": {"type": "int"}}], {"city", "days"}),
        ([{"name": "a", "in": "path"}, {"name": "a", "in": "query"}], {"a"}),
    ],
)
def test_names_are_told_from_keywords(value: Any, expected: set[str]) -> None:
    found = parse_parameters(value)
    assert found is not None and set(found.schema["properties"]) == expected


@pytest.mark.parametrize(
    ("value", "schema", "required"),
    [
        ({"type": "str", "desc": "A."}, {"type": "string", "description": "A."}, False),
        ({"type": "str", "required": "true"}, {"type": "string"}, True),
        ({"type": "str", "required": True, "optional": True}, {"type": "string"}, True),
        ({"type": "Station"}, {"description": "Station"}, False),
        ({"type": ["String", "None"]}, {"type": ["string", "null"]}, False),
        ({"a": {"type": "str"}, "b": {}}, {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}, False),
        ({"type": "enum", "values": ["a", "b"]}, {"enum": ["a", "b"]}, False),
        ({"type": "list", "items": "str"}, {"type": "array", "items": {"type": "string"}}, False),
        ({"schema": {"type": "int", "minimum": 1}, "required": True}, {"type": "integer", "minimum": 1}, True),
        # Types in words, and in texts where they are beyond doubt.
        ("List[str], optional", {"type": "array", "items": {"type": "string"}}, False),
        ("Optional[int]", {"type": "integer"}, False),
        ("Union[str, int]", {"type": ["string", "integer"]}, False),
        ({"type": "array of integers"}, {"type": "array", "items": {"type": "integer"}}, False),
        ({"type": "Literal['asc', 'desc']"}, {"type": "string", "enum": ["asc", "desc"]}, False),
        ("float, default: 0.5", {"type": "number", "default": 0.5}, False),
        ("(string, required) the city", {"type": "string", "description": "the city"}, True),
        ("integer - how many", {"type": "integer", "description": "how many"}, False),
        ("the city (optional, string)", {"type": "string", "description": "the city"}, False),
        ("Required. The city.", {"description": "Required. The city."}, True),
        ("file: the path", {"description": "file: the path"}, False),
        ("url", {"type": "string", "description": "url"}, False),
        (["celsius", "kelvin"], {"examples": ["celsius", "kelvin"]}, False),
        (["string", "null"], {"type": ["string", "null"]}, False),
    ],
)
def test_what_stands_under_a_name_is_a_schema(value: Any, schema: dict[str, Any], required: bool) -> None:
    found = parse_parameters({"it": value, "other": {"type": "string"}})
    assert found is not None and found.schema["properties"]["it"] == schema
    assert found.schema.get("required", []) == (["it"] if required else [])


def test_requirements_beside_a_schema_are_added_where_it_has_such_parameters_and_deep_nesting_is_left() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    assert with_required(schema, ["b", "a", "c", 7])["required"] == ["a", "b"]
    assert with_required(schema, "b") is schema and with_required({}, ["a"]) == {}
    deep: Any = {"type": "str"}
    for _ in range(190):
        deep = {"properties": {"a": deep}}
    assert "'type': 'str'" in str(to_json_schema(deep))


def test_a_long_text_takes_no_time() -> None:
    started = time.process_time()
    for text in ("(int) " * 50_000, "(" * 100_000, " " * 100_000 + ":", "List[" * 50_000, "?" * 100_000):
        parse_parameters({"it": text})
    assert time.process_time() - started < 5


KEYWORDS = "type properties items required optional name desc enum schema $ref anyOf x"


@given(hostile_json(KEYWORDS, "string", "int", "(str) x", "Optional[int]", "object"))
def test_whatever_is_declared_is_read_or_refused_and_what_is_read_is_read_the_same_again(value: Any) -> None:
    before = json.dumps(value)
    found = parse_parameters(value)
    assert json.dumps(value) == before  # nothing that was given is changed
    if found is None:
        return
    again = to_json_schema(found.schema)
    assert json.dumps(to_json_schema(again)) == json.dumps(again)
