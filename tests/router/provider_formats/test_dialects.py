"""Schemas as providers take them that refuse a whole request for one keyword: OpenAI's patterns, Gemini's subset."""

import time
from typing import Any

import pytest
from hypothesis import given

from router.provider_formats.dialects import gemini_schema, without_unportable_patterns
from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.rendering import render
from router.provider_formats.shaping import ToolShaper
from tests.router.provider_formats.test_schemas import HOSTILE, rooted
from tests.support.factories import make_record

EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"


@pytest.mark.parametrize(
    ("pattern", "stays"),
    [
        ("^[a-z]+$", True),
        (r"^\d{4}-\d{2}$", True),
        ("(?:a|b)", True),
        (EMAIL, False),
        ("(?=x)", False),
        ("(?<=x)y", False),
        ("(?<!x)y", False),
        (r"^[\p{L} ]+$", False),
        (r"^\p{Lu}", False),
        ("[a-", False),
        ("^[[:alpha:]]+\\Z(?!", False),
        ("(" * 5_000, False),
    ],
)
def test_a_pattern_that_only_some_engines_compile_is_said_and_not_sent(pattern: str, stays: bool) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern, "description": "A text."}}}
    shaper = ToolShaper(make_record(input_schema=schema))
    for form in ProviderFormat:
        sent = shaper.schema(form, Detail.FULL)[0]["properties"]["x"]
        assert ("pattern" in sent) is (not form.spec.openapi_subset and (stays or not form.spec.portable_patterns))
        if not stays and form.spec.portable_patterns:
            said = f"A text.\nMust match the regular expression {pattern}"
            assert sent["description"] == (said if len(pattern) <= 100 else "A text.")


def test_a_property_may_be_called_pattern_and_names_by_pattern_go_with_theirs() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}, "patternProperties": {"^x": {}}}
    assert without_unportable_patterns(schema) is schema
    named = {"patternProperties": {r"^\p{L}": {}, "^a": {}}, "additionalProperties": False}
    assert without_unportable_patterns(named) == {"patternProperties": {"^a": {}}}


ADDRESS: dict[str, Any] = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
TAKEN: dict[str, Any] = {"type": "OBJECT", "properties": {"street": {"type": "STRING"}}, "required": ["street"]}


@pytest.mark.parametrize(
    ("schema", "taken"),
    [
        ({"type": "string", "minLength": 2, "pattern": "a", "format": "uri"}, {"type": "STRING"}),
        ({"type": "integer", "format": "int64", "minimum": 1}, {"type": "INTEGER", "format": "int64", "minimum": 1}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "INTEGER", "nullable": True}),
        ({"oneOf": [{"type": "integer"}, ADDRESS]}, {"anyOf": [{"type": "INTEGER"}, TAKEN]}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
        ({"const": "now"}, {"type": "STRING", "enum": ["now"]}),
        ({"enum": ["a", None, ""], "type": ["string", "null"]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
        ({"enum": [1, 2], "type": "integer"}, {"type": "INTEGER", "description": "One of 1, 2"}),
        ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        ({"$ref": "#/$defs/address"}, TAKEN),
        (
            {"allOf": [ADDRESS, {"properties": {"no": {"type": "integer"}}}]},
            {**TAKEN, "properties": {**TAKEN["properties"], "no": {"type": "INTEGER"}}},
        ),
        ({"allOf": [{"$ref": "#/$defs/address"}], "description": "Where."}, {**TAKEN, "description": "Where."}),
        ({"allOf": [{"allOf": [ADDRESS, {}]}, {"type": "object"}]}, TAKEN),
        ({"type": "object", "anyOf": [{"$ref": "#/$defs/address"}, {"required": ["street"]}]}, TAKEN),
        ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
        ({"enum": ["a", 1]}, {"type": "STRING", "description": 'One of "a", 1'}),
        ({}, {"type": "STRING"}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "OBJECT"}),
    ],
)
def test_gemini_gets_what_its_subset_can_say(schema: dict[str, Any], taken: Any) -> None:
    root = rooted({"type": "object", "properties": {"x": schema}, "$defs": {"address": ADDRESS}})
    assert gemini_schema(root)["properties"] == {"x": taken}


def test_definitions_that_are_each_deep_end_for_gemini_before_the_stack_does() -> None:
    definitions: dict[str, Any] = {}
    for number in range(12):
        part: dict[str, Any] = {"$ref": f"#/$defs/d{number + 1}"}
        for _ in range(40):
            part = {"type": "object", "properties": {"x": part}}
        definitions[f"d{number}"] = part
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {**definitions, "d12": {}}}
    assert gemini_schema(rooted(schema))["properties"]["x"]["type"] == "OBJECT"


def test_an_object_of_many_alternatives_that_are_itself_ends_in_time() -> None:
    itself = {"$ref": "#/$defs/s"}
    part = {"type": "object", "properties": dict.fromkeys("abcde", itself), "anyOf": [itself] * 30}
    root = rooted({"type": "object", "properties": {"x": itself}, "$defs": {"s": part}})
    began = time.process_time()
    assert gemini_schema(root)["properties"]["x"]["properties"].keys() == set("abcde")
    assert time.process_time() - began < 5


FIELDS = {"type", "format", "description", "nullable", "enum", "items", "properties", "required", "anyOf"}
BOUNDS = {"minItems", "maxItems", "minimum", "maximum"}
KINDS = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}


def check(part: dict[str, Any]) -> None:
    """Refuse what the parser of Gemini's `Schema` refuses."""
    assert part.keys() <= FIELDS | BOUNDS, part
    assert "anyOf" in part or part["type"] in KINDS, part
    assert part.get("type") != "ARRAY" or "items" in part
    assert all(isinstance(value, str) and value for value in part.get("enum", ())) and part.get("enum") != []
    assert set(part.get("required", ())) <= set(part.get("properties", {})) and part.get("properties") != {}
    for child in (*part.get("properties", {}).values(), *part.get("anyOf", ()), *filter(None, [part.get("items")])):
        check(child)


@given(HOSTILE.filter(lambda schema: isinstance(schema, dict)))
def test_gemini_gets_nothing_that_its_parser_does_not_know(schema: dict[str, Any]) -> None:
    for detail in (Detail.FULL, Detail.SHORT):
        check({**ToolShaper(make_record(input_schema=schema)).schema(ProviderFormat.GEMINI, detail)[0]})


def test_gemini_takes_no_empty_object_and_bedrock_wraps_the_schema() -> None:
    rendered = render([make_record(input_schema=ADDRESS)], ProviderFormat.BEDROCK)
    assert rendered.tools[0]["toolSpec"]["inputSchema"] == {"json": ADDRESS}
    named = render([make_record(input_schema=rooted({"properties": {"a b": {}}}))], ProviderFormat.BEDROCK)
    assert named.arguments(next(iter(named.names)), {"a_b": 1}) == {"a b": 1}  # Claude refuses such a name
    (bare,) = render([make_record(input_schema={})], ProviderFormat.GEMINI).tools
    assert "parameters" not in bare
