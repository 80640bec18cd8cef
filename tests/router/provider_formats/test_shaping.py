"""Tools said in less."""

from typing import Any

import pytest
from hypothesis import given

from router.provider_formats.shaping import first_sentence, short_schema, signature
from tests.router.provider_formats.test_schemas import HOSTILE, META, rooted
from tests.support.factories import make_record


def refund(**properties: Any) -> Any:
    schema = {"type": "object", "properties": properties, "required": ["charge"]}
    return make_record("refund", description="Give money back. In full, or in part.", input_schema=schema)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"enum": ["a", "b", 3, None]}, '"a"|"b"|3|null'),
        ({"enum": list("abcdefghij")}, '"a"|"b"|"c"|"d"|"e"|"f"|"g"|"h"|…'),
        ({"type": ["string", "null"]}, "string|null"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}, "(string|integer)[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, "{a: string}"),
        ({"type": "object"}, "object"),
        ({"$ref": "#/properties/charge"}, "string"),
        ({}, "any"),
    ],
)
def test_the_types_of_a_signature(schema: Any, said: str) -> None:
    assert signature(refund(charge={"type": "string"}, x=schema)).startswith(f"refund(charge: string, x?: {said}) —")


def test_a_signature_of_many_parameters_leaves_out_none_that_is_required_first() -> None:
    many = {f"p{number}": {"type": "string"} for number in range(40)}
    said = signature(refund(**many, charge={"type": "string"}))
    assert said.startswith("refund(charge: string, p0?: string") and said.count(": string") == 24 and ", …)" in said


def test_a_schema_that_refers_to_itself_has_a_signature_that_ends_and_no_name_breaks_the_line() -> None:
    branches = [{"$ref": "#"}] * 40
    node = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"anyOf": branches}}, "anyOf": branches}
    assert len(signature(make_record(input_schema=node))) < 4_000
    record = make_record("a\nb", description="One\nline.", input_schema={"properties": {"x\ny": {"type": "string"}}})
    assert signature(record) == "a b(x y?: string) — One"


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        ("Give money back. In full.", 99, "Give money back."),
        ("Sends it, e.g. To Bob. Now.", 99, "Sends it, e.g. To Bob."),
        ("Version 2.5 of it is good", 99, "Version 2.5 of it is good"),
        ("\n# Title\nText.", 99, "# Title"),
        ("顧客を探す。早い。", 99, "顧客を探す。"),
        ("Give the money back now", 16, "Give the money…"),
        ("", 9, ""),
    ],
)
def test_the_first_sentence(text: str, most: int, said: str) -> None:
    assert first_sentence(text, most) == said


def test_a_short_schema_keeps_what_a_call_needs() -> None:
    schema = {
        "type": "object",
        "title": "Refund",
        "description": "All about it.",
        "properties": {
            "description": {"type": "string", "description": "Why it is given. Shown to the customer."},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": "integer", "description": "How many."}}},
                "examples": [[]],
            },
            "kind": {"enum": ["full", "part"], "default": "full", "title": "Kind"},
        },
        "required": ["description"],
        "additionalProperties": False,
    }
    assert short_schema(schema) == {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "Why it is given."},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "kind": {"enum": ["full", "part"]},
        },
        "required": ["description"],
    }


@given(HOSTILE)
def test_whatever_a_vendor_wrote_can_be_said_in_less(schema: Any) -> None:
    short = short_schema(rooted(schema))
    META.validate(short)
    assert short["properties"].keys() == rooted(schema)["properties"].keys()
    assert "\n" not in signature(make_record(input_schema=schema))
