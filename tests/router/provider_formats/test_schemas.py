"""Any vendor's schema made valid."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from router.provider_formats.schemas import merge_combinations, object_root, valid_schema, with_plain_parameters

META = Draft202012Validator(Draft202012Validator.META_SCHEMA)

KEYWORDS = st.sampled_from(
    "type properties required items anyOf oneOf allOf enum const $ref $defs definitions additionalProperties not if "
    "description default minLength minimum exclusiveMinimum pattern format prefixItems dependentRequired nullable "
    "patternProperties uniqueItems multipleOf examples dependencies dependentSchemas $recursiveRef $schema $id x-own "
    "title".split()
)
REFERENCES = st.sampled_from(
    ["#", "#/$defs/a", "#/definitions/a", "#/properties/a", "#/nowhere", "other.json#/a", "#/a/0"]
)
TYPES = st.sampled_from(["object", "string", "array", "int", "OBJECT", "any", "null", ["string", "null"], ["x"], []])
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=3) | REFERENCES | TYPES
# JSON of any shape in the words of JSON Schema: mostly wrong, sometimes right.
HOSTILE: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYWORDS, inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "$ref", "properties"]), inner, max_size=2)
    ),
    max_leaves=14,
)


def rooted(schema: Any) -> dict[str, Any]:
    """As OpenAI takes it."""
    return merge_combinations(object_root(valid_schema(schema)))


@given(HOSTILE)
def test_whatever_a_vendor_wrote_gives_a_valid_schema_of_an_object(schema: Any) -> None:
    for made in (object_root(valid_schema(schema)), rooted(schema), with_plain_parameters(rooted(schema))[0]):
        META.validate(made)
        assert made["type"] == "object" and isinstance(made["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "enum", "not", "const"} & set(rooted(schema))


def test_what_is_right_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "charge": {"type": "string", "minLength": 3, "description": "Which."},
            "amount": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        },
        "required": ["charge"],
        "additionalProperties": False,
        "$defs": {"line": {"type": "object", "properties": {"lines": {"$ref": "#/properties/lines"}}}},
    }
    assert valid_schema(schema) == rooted(schema) == schema


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({}, {}),
        (None, {}),
        ({"properties": {"city": "the city's name"}}, {"properties": {"city": {"description": "the city's name"}}}),
        ({"properties": {"n": {"type": "int"}}}, {"properties": {"n": {"type": "integer"}}}),
        ({"properties": {"n": {"type": "any"}}}, {"properties": {"n": {}}}),
        ({"properties": {"n": None, "m": True}}, {"properties": {"n": {}, "m": {}}}),
        (
            {"properties": {"n": {"type": "STRING", "required": True}}},
            {"properties": {"n": {"type": "string"}}, "required": ["n"]},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"items": [{"type": "string"}]}, {"items": {"anyOf": [{"type": "string"}]}}),
        ({"enum": [], "minLength": -1, "pattern": 5, "anyOf": []}, {}),
        ({"$ref": "#/definitions/a", "definitions": {"a": {}}}, {"$ref": "#/$defs/a", "$defs": {"a": {}}}),
        ({"$ref": "#/nowhere", "description": "x"}, {"description": "x"}),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x"}, {}),
        ({1: 2}, {"1": 2}),
    ],
)
def test_what_is_wrong_is_mended_or_left_out(written: Any, made: dict[str, Any]) -> None:
    assert valid_schema(written) == made


def test_a_schema_of_endless_depth_ends() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    META.validate(valid_schema(schema))


def test_branches_at_the_root_are_joined_and_what_all_need_is_required() -> None:
    schema = {
        "anyOf": [
            {"properties": {"id": {"type": "string"}, "at": {"type": "string"}}, "required": ["id", "at"]},
            {"$ref": "#/$defs/byName"},
        ],
        "$defs": {
            "byName": {"properties": {"name": {}, "at": {"type": "integer"}}, "required": ["name", "at"]},
        },
    }
    assert rooted(schema) == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "at": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "name": {},
        },
        "required": ["at"],
        "$defs": schema["$defs"],
    }


INSIDE = {"in": {"type": "object", "properties": {"a": {}}}}
ALL = [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]


@pytest.mark.parametrize(
    ("schema", "root"),
    [
        ({"allOf": ALL}, {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
        ({"$ref": "#/$defs/in", "$defs": INSIDE}, {"properties": {"a": {}}, "$defs": INSIDE}),
        ({"$ref": "#"}, {"properties": {}}),
        # No object: the arguments stay open.
        ({"type": "string"}, {"properties": {}}),
        ({"type": "array", "items": {}}, {"properties": {}}),
        ({}, {"properties": {}}),
    ],
)
def test_a_root_is_an_object_of_what_its_parts_say(schema: dict[str, Any], root: dict[str, Any]) -> None:
    assert rooted(schema) == {"type": "object", **root}


def test_parameters_that_anthropic_refuses_are_named_anew_and_found_again() -> None:
    properties: dict[str, Any] = {"$top": {}, "_top": {}, "filter[id]": {}, "ok": {}}
    made, old = with_plain_parameters({"type": "object", "properties": properties, "required": ["$top", "ok"]})
    top, plain, filtered, ok = made["properties"]
    assert (plain, filtered, ok) == ("_top", "filter_id_", "ok") and top not in properties
    assert old == {top: "$top", "filter_id_": "filter[id]"} and made["required"] == [top, "ok"]
