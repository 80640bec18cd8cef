"""Arguments against input schemas that a stranger wrote."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.calling.argument_check import argument_problems

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
    "required": ["city"],
    "additionalProperties": False,
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
EVIL, HANGS_IT = "(a+)+$", "a" * 40 + "!"


def doubling(depth: int) -> dict[str, Any]:
    """A schema that takes two to the power of `depth` steps."""
    parts: dict[str, Any] = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(depth)}
    return {"$defs": {**parts, f"d{depth}": {"type": "integer"}}, "$ref": "#/$defs/d0"}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


def test_each_thing_that_is_wrong_is_named_with_its_place() -> None:
    assert argument_problems(CITY, {"city": "Rome", "days": 3}) == []
    assert argument_problems(CITY, {"days": 9, "hours": 1}) == [
        "$.days: 9 is greater than the maximum of 7",
        "$: 'city' is a required property",
        "$: Additional properties are not allowed ('hours' was unexpected)",
    ]


def test_older_dialects_are_read_as_what_they_are() -> None:
    schema = {
        "$schema": DRAFT_7,
        "definitions": {"city": {"type": "string"}},
        "properties": {"city": {"$ref": "#/definitions/city"}},
    }
    assert argument_problems(schema, {"city": 1}) == ["$.city: 1 is not of type 'string'"]
    (said,) = argument_problems(schema, {"city": list(range(5_000))})
    assert len(said) < 250  # no more than a line of a value


LEFT_TO_THE_SERVER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a pattern": ({"properties": {"b": {"pattern": EVIL}}}, {"b": HANGS_IT}),
    "patterns of names": ({"patternProperties": {EVIL: {}}, "additionalProperties": False}, {HANGS_IT: 1}),
    # Checked by that dialect's own rules, it would run.
    "a dialect of its own": ({"properties": {"b": {"$schema": DRAFT_7, "pattern": EVIL}}}, {"b": HANGS_IT}),
    "all with all": ({"properties": {"b": {"uniqueItems": True}}}, {"b": [{"n": n} for n in range(5_000)]}),
    "doubling": (doubling(30), {}),
    "itself": ({"$ref": "#"}, {}),
    "deep": (nested(5_000), {}),
    "elsewhere": ({"$ref": "http://127.0.0.1:9/schema.json"}, {}),
    "no type": ({"type": "strng"}, {}),
    "no properties": ({"properties": 5}, {"a": 1}),
    "large": ({"type": "object", "properties": {"b": {"type": "integer"}}}, {"b": "x" * 200_000}),
}


@pytest.mark.parametrize("kind", LEFT_TO_THE_SERVER)
def test_a_schema_that_is_none_or_would_not_end_is_left_to_its_server(kind: str) -> None:
    begun = time.process_time()
    assert argument_problems(*LEFT_TO_THE_SERVER[kind]) == []
    assert time.process_time() - begun < 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "$ref", "enum", "additionalProperties", "const", "not", "if"]
)


@given(st.dictionaries(KEYWORDS | st.text(max_size=6), JSON, max_size=5), st.dictionaries(st.text(max_size=4), JSON))
def test_whatever_a_schema_says_a_check_ends_in_sentences(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert all(said.startswith("$") for said in argument_problems(schema, arguments))
