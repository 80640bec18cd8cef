"""Any vendor's schema made valid."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.roots import merge_combinations, object_root, with_plain_parameters
from router.provider_formats.schemas import valid_schema
from router.provider_formats.shaping import ToolShaper
from router.tools.definitions.json_values import value_at_pointer
from tests.support.factories import make_record

NAMED = {"properties", "patternProperties", "$defs", "dependentSchemas"}
WITHIN = set(
    "items additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties "
    "contentSchema allOf anyOf oneOf prefixItems".split()
)
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


def test_what_a_reference_finds_under_a_keyword_of_the_vendors_own_is_repaired_too() -> None:
    own = {"x-shapes": [{"properties": {"city": {"type": "str", "$ref": None}}}], "$ref": "#/x-shapes/0"}
    assert object_root(valid_schema(own))["properties"] == {"city": {"type": "string"}}
    assert rooted({"x-shapes": [{"anyOf": "0"}], "$ref": "#/x-shapes/0"})["properties"] == {}


@given(HOSTILE)
def test_whatever_a_vendor_wrote_gives_a_valid_schema_of_an_object(schema: Any) -> None:
    for made in (object_root(valid_schema(schema)), rooted(schema), with_plain_parameters(rooted(schema))[0]):
        META.validate(made)
        assert made["type"] == "object" and isinstance(made["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "enum", "not", "const"} & set(rooted(schema))


def references(part: Any) -> Iterator[str]:
    """Every reference in a schema, by the places where JSON Schema has one."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for keyword in NAMED & part.keys():
            yield from references(list(part[keyword].values()))
        for keyword in WITHIN & part.keys():
            yield from references(part[keyword])
    elif isinstance(part, list):
        for item in part:
            yield from references(item)


ADDRESS: dict[str, Any] = {"type": "object", "properties": {"street": {"type": "string"}}}
TO_ADDRESS = {"$ref": "#/anyOf/0/properties/home"}
SPACED = {"$ref": "#/properties/home%20address"}


@given(HOSTILE.filter(lambda schema: isinstance(schema, dict)))
@example({"anyOf": [{"type": "object", "properties": {"home": ADDRESS}}, {"properties": {"work": TO_ADDRESS}}]})
@example({"properties": {"home address": ADDRESS, "work address": SPACED}})
@example({"properties": {"a": {"$ref": "#/then/properties/b"}}, "if": {}, "then": {"properties": {"b": ADDRESS}}})
@example({"properties": {"a": {"$ref": "#/properties/b/not"}, "b": {"not": {"$ref": "#/properties/b/not"}}}})
@example({"properties": {"a": {"$ref": "#/$defs/b/not/items"}}, "$defs": {"b": {"not": {"items": ADDRESS}}}})
def test_every_reference_of_every_rendered_schema_leads_to_a_schema(schema: dict[str, Any]) -> None:
    shaper = ToolShaper(make_record(input_schema=schema))
    for form in ProviderFormat:
        for detail in Detail:
            made = shaper.schema(form, detail)[0]
            for reference in references(made):
                assert isinstance(value_at_pointer(made, reference), dict), (form, detail, made)
            if not form.spec.openapi_subset:
                META.validate(made)


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
    assert list(made["properties"]) == ["_top_2", "_top", "filter_id_", "ok"] and made["required"] == ["_top_2", "ok"]
    assert old == {"_top_2": "$top", "filter_id_": "filter[id]"}


def test_names_in_other_scripts_are_readable_and_the_description_has_the_vendors_own() -> None:
    properties: dict[str, Any] = {
        "客户编号": {"type": "string"},
        "数量": {"type": "integer", "description": "How many."},
        "größe": {},
        "café crème": {},
        "город": True,
        "🙂": {},
        "parameter_1": {},
    }
    made, old = with_plain_parameters({"type": "object", "properties": properties, "required": ["数量"]})
    assert list(made["properties"]) == [
        *("parameter_1_2", "parameter_2", "groe", "cafe_creme", "parameter_5", "parameter_6", "parameter_1")
    ]
    assert [old.get(name, name) for name in made["properties"]] == list(properties)
    assert made["required"] == ["parameter_2"]
    assert made["properties"]["parameter_1_2"]["description"] == "客户编号"
    assert made["properties"]["parameter_2"]["description"] == "数量: How many."
    assert properties["客户编号"] == {"type": "string"}, "the record's own schema stays"
