"""The strict subset of a schema."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from router.provider_formats.formats import ANTHROPIC_STRICT as ANTHROPIC
from router.provider_formats.formats import OPENAI_STRICT as OPENAI
from router.provider_formats.strict import NotStrict, strict_schema
from tests.router.provider_formats.test_schemas import HOSTILE, META, rooted

ALLOWED = frozenset(
    "type properties required additionalProperties items anyOf enum $ref $defs description pattern format multipleOf "
    "minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems".split()
)


def of(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_every_property_is_required_and_an_optional_one_may_be_null() -> None:
    made = strict_schema(of("charge", charge={"type": "string"}, amount={"type": "integer", "minimum": 1}), OPENAI)
    properties = {"charge": {"type": "string"}, "amount": {"type": ["integer", "null"], "minimum": 1}}
    assert made == {**of("charge", "amount", **properties), "additionalProperties": False}
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert strict_schema({"type": "object", "properties": {}}, OPENAI) == closed


@pytest.mark.parametrize(
    ("optional", "made"),
    [
        ({"enum": ["a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"allOf": [{"type": "string"}], "description": "D."}, {"type": ["string", "null"], "description": "D."}),
        (
            {"$ref": "#/$defs/a", "description": "D."},
            {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "description": "D."},
        ),
        (
            {"type": "string", "format": "date", "minLength": 3, "default": "x"},
            {"type": ["string", "null"], "format": "date"},
        ),
        ({"type": "string", "format": "color"}, {"type": ["string", "null"]}),
        (
            {**of("b", b={"type": "string"}), "description": "D."},
            {
                "anyOf": [{**of("b", b={"type": "string"}), "additionalProperties": False}, {"type": "null"}],
                "description": "D.",
            },
        ),
    ],
)
def test_an_optional_property(optional: dict[str, Any], made: dict[str, Any]) -> None:
    root = {**of(x=optional), "$defs": {"a": {"type": "string"}, "unused": {}}}
    assert strict_schema(root, OPENAI)["properties"]["x"] == made


def test_anthropic_keeps_what_is_optional_and_takes_no_bounds() -> None:
    made = strict_schema(
        of("a", a={"type": "integer", "minimum": 1}, b={"type": "array", "items": {"type": "string"}, "minItems": 2}),
        ANTHROPIC,
    )
    assert made["required"] == ["a"]
    assert made["properties"] == {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}}


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}


def test_a_recursive_schema_is_strict_at_openai_alone() -> None:
    root = {**of(list={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}}
    assert strict_schema(root, OPENAI)["$defs"]["node"]["required"] == ["next"]
    with pytest.raises(NotStrict, match="refers to itself"):
        strict_schema(root, ANTHROPIC)


def test_a_definition_without_a_name_is_no_recursion_by_itself() -> None:
    root = {**of(list={"$ref": "#/$defs/"}), "$defs": {"": {"type": "string"}}}
    assert strict_schema(root, ANTHROPIC)["$defs"] == root["$defs"]


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"a": {}}, "a accepts any value"),
        ({"a": {"type": "array", "items": {}}}, r"a\[\] accepts any value"),
        ({"a": {"type": "object"}}, "a is an object that lists no properties"),
        ({"a": {"type": "object", "patternProperties": {"x": {}}}}, "a accepts properties that it does not list"),
        ({"a": {"allOf": [{"type": "string"}, {"type": "string"}]}}, "a has an allOf"),
        ({"a": {"type": "object", "properties": {"b": {}}, "anyOf": [{"required": ["b"]}]}}, "a has properties beside"),
        ({"a": {"type": "array", "prefixItems": [{}], "items": {"type": "string"}}}, "a is a tuple"),
        ({"a": {"enum": [{}]}}, "a has an enum of objects"),
        ({"a": {"enum": list(range(1_001))}}, "more than 1,000 enum values"),
        ({"a": {"enum": [f"{n:0100}" for n in range(300)]}}, "more than 15,000 characters"),
        ({"x" * 120_001: {"type": "string"}}, "more than 120,000 characters"),
        ({f"p{n}": {"type": "string"} for n in range(5_001)}, "more than 5,000 properties"),
        ({"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}, "not a definition"),
    ],
)
def test_what_has_no_strict_form_says_why(properties: dict[str, Any], why: str) -> None:
    with pytest.raises(NotStrict, match=why):
        strict_schema(of(**properties), OPENAI)


def test_eleven_levels_are_too_many_for_openai() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(10):
        schema = of("a", a=schema)
    strict_schema(schema, OPENAI)
    with pytest.raises(NotStrict, match="more than 10 levels"):
        strict_schema(of("a", a=schema), OPENAI)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a strict schema."""
    yield schema
    for children in (schema.get("properties", {}), schema.get("$defs", {})):
        for child in children.values():
            yield from parts(child)
    for child in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from parts(child)


@given(HOSTILE)
def test_a_strict_schema_has_only_what_openai_takes(schema: Any) -> None:
    try:
        made = strict_schema(rooted(schema), OPENAI)
    except NotStrict:
        return
    META.validate(made)
    for part in parts(made):
        assert set(part) <= ALLOWED and (set(part) == {"$ref"} or "$ref" not in part)
        if part.get("type") == "object":
            assert part["additionalProperties"] is False and part["required"] == list(part["properties"])
