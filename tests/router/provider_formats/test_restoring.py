"""A strict tool's arguments, restored, fit the tool's own schema: added nulls are gone at any depth."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import render
from router.provider_formats.restoring import without_added_nulls
from tests.support.factories import make_record

MAIL = {"type": "object", "properties": {"kind": {"const": "mail"}, "cc": {"type": "string"}}, "required": ["kind"]}
TEXT = {"type": "object", "properties": {"kind": {"const": "text"}, "from": {"type": "string"}}, "required": ["kind"]}
TREE = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "size": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "given_", "restored"),
    [
        ({"anyOf": [MAIL, TEXT]}, {"kind": "mail", "cc": None}, {"kind": "mail"}),
        ({"oneOf": [MAIL, TEXT]}, {"kind": "text", "from": None}, {"kind": "text"}),
        ({"anyOf": [MAIL, {"type": "null"}]}, {"kind": "mail", "cc": None}, {"kind": "mail"}),
        ({"type": ["object", "null"], "properties": MAIL["properties"]}, {"cc": None}, {}),
        ({"type": "array", "items": {"anyOf": [MAIL, TEXT]}}, [{"kind": "text", "from": None}], [{"kind": "text"}]),
        ({"allOf": [MAIL]}, {"kind": "mail", "cc": None}, {"kind": "mail"}),
        ({"allOf": [{"$ref": "#/$defs/tree"}], "title": "T"}, {"size": None}, {}),
        ({"properties": {"x": {"type": "string", "enum": ["a", None]}}}, {"x": None}, {}),
        ({"anyOf": [{"type": "string", "pattern": "^(a+)+$"}, MAIL]}, "a" * 40 + "!", "a" * 40 + "!"),
        ({"anyOf": [{"type": "integer", "multipleOf": 2}, MAIL]}, 10**400, 10**400),
        ({"$ref": "#/$defs/tree"}, {"left": {"left": None, "size": 1}, "size": None}, {"left": {"size": 1}}),
        ({"type": "object", "properties": {"x": {"type": ["string", "null"]}}}, {"x": None}, {"x": None}),
        ({"anyOf": [{"$ref": "#/$defs/circle"}]}, {"x": None}, {"x": None}),
    ],
)
def test_added_nulls_are_taken_back_in_the_alternative_that_was_meant(
    schema: dict[str, Any], given_: Any, restored: Any
) -> None:
    circle = {"anyOf": [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/circle"}]}
    whole = {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "$defs": {"tree": TREE, "circle": circle},
    }
    assert without_added_nulls({"x": given_}, whole) == {"x": restored}


NAMES = st.sampled_from("abc")
PLAIN: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        *({"type": kind} for kind in ("string", "integer", "boolean", "null")),
        {"type": ["string", "null"]},
        {"enum": ["x", 1]},
        {"const": "y"},
        {"type": "integer", "minimum": 2, "maximum": 5},
        {"type": "string", "pattern": "^b"},
    ]
)


def object_of(properties: Mapping[str, Any], required: set[str]) -> dict[str, Any]:
    needed = [name for name in properties if name in required]
    return {"type": "object", "properties": dict(properties), "required": needed, "additionalProperties": False}


SCHEMAS = st.recursive(
    PLAIN,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, inner)
        | st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner)
        | st.builds(object_of, st.dictionaries(NAMES, inner, min_size=1, max_size=3), st.sets(NAMES))
    ),
    max_leaves=6,
)


@st.composite
def values(draw: st.DrawFn, schema: Mapping[str, Any]) -> Any:
    """What a model may write under a strict schema."""
    if "anyOf" in schema:
        return draw(values(draw(st.sampled_from(schema["anyOf"]))))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    match draw(st.sampled_from(kinds)):
        case "object":
            return {name: draw(values(child)) for name, child in schema["properties"].items()}
        case "array":
            return [draw(values(schema["items"])) for _ in range(draw(st.integers(0, schema.get("maxItems", 2))))]
        case "integer":
            return draw(st.integers(schema.get("minimum", -3), schema.get("maximum", 7)))
        case "string":
            return draw(st.sampled_from(["b", "bx"] if "pattern" in schema else ["", "a", "x", "y"]))
        case "boolean":
            return draw(st.booleans())
        case _:
            return None


@given(st.data(), st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=3), st.sets(NAMES))
def test_arguments_of_a_strict_schema_fit_the_tools_own_once_restored(
    data: st.DataObject, properties: dict[str, Any], required: set[str]
) -> None:
    record = make_record(input_schema=object_of(properties, required))
    rendered = render([record], ProviderFormat.OPENAI, strict=True)
    assume(rendered.strict)  # nothing was dropped, and it is strict
    (function,) = (tool["function"] for tool in rendered.tools)
    arguments = data.draw(values(function["parameters"]))
    jsonschema.validate(arguments, function["parameters"])
    jsonschema.validate(rendered.arguments(function["name"], arguments), record.input_schema)
