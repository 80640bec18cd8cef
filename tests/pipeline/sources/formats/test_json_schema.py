"""Dialects of schemas, evened out to JSON Schema 2020-12."""

from typing import Any

import pytest

from pipeline.sources.formats.json_schema import SchemaScope
from router.record import Origin


def _rewrite(schema: Any) -> Any:
    return SchemaScope({}, Origin("office.json", "")).rewrite(schema)


@pytest.mark.parametrize(
    ("schema", "modern"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"nullable": True}, {}),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"minimum": 0, "exclusiveMinimum": False}, {"minimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
    ],
)
def test_older_dialects_are_said_in_the_terms_of_json_schema(schema: Any, modern: Any) -> None:
    assert _rewrite(schema) == modern
    assert _rewrite({"properties": {"x": schema}, "items": schema, "anyOf": [schema]}) == {
        "properties": {"x": modern},
        "items": modern,
        "anyOf": [modern],
    }


def test_what_a_model_does_not_need_is_dropped() -> None:
    schema = {"type": "object", "xml": {}, "externalDocs": {}, "discriminator": {}, "example": {}, "x-order": 1}
    assert _rewrite(schema) == {"type": "object"}


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    names = ["example", "xml", "x-order", "nullable", "$ref", "type", "enum"]
    properties = {name: {"type": "string"} for name in names}
    assert _rewrite({"properties": properties}) == {"properties": properties}


@pytest.mark.parametrize("keyword", ["enum", "default", "const", "examples"])
def test_data_in_a_schema_stays_as_it_is(keyword: str) -> None:
    data = [{"nullable": True, "type": "file", "x-a": 1, "$ref": "#/nowhere"}]
    assert _rewrite({keyword: data}) == {keyword: data}


@pytest.mark.parametrize("schema", [True, False, None, "text", 7])
def test_what_is_no_object_stays_as_it_is(schema: Any) -> None:
    assert _rewrite({"properties": {"x": schema}}) == {"properties": {"x": schema}}


def test_rewriting_leaves_the_document_as_it_was() -> None:
    schema = {"type": "string", "nullable": True, "minimum": 1, "exclusiveMinimum": True}
    before = dict(schema)
    _rewrite(schema)
    assert schema == before
