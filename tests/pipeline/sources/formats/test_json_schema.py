"""Dialects of schemas, evened out to JSON Schema 2020-12."""

from copy import deepcopy
from typing import Any

import pytest

from pipeline.sources.formats.json_schema import SchemaScope
from router.record import Origin

_DATA = [{"nullable": True, "type": "file", "x-a": 1, "$ref": "#/nowhere"}]
_NAMES = {name: {"type": "string"} for name in ("example", "xml", "x-order", "nullable", "$ref", "type", "enum")}


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
        # What a model does not need.
        (
            {"type": "object", "xml": {}, "externalDocs": {}, "discriminator": {}, "example": {}, "x-o": 1},
            {"type": "object"},
        ),
        # A property may have the name of a keyword; data and what is no object stay as they are.
        ({"properties": _NAMES}, {"properties": _NAMES}),
        *(({keyword: _DATA}, {keyword: _DATA}) for keyword in ("enum", "default", "const", "examples")),
        *((value, value) for value in (True, False, None, "text", 7)),
    ],
)
def test_dialects_are_said_in_the_terms_of_json_schema_and_the_document_stays_as_it_was(
    schema: Any, modern: Any
) -> None:
    whole = {"properties": {"x": schema}, "items": schema, "anyOf": [schema]}
    before = deepcopy(whole)
    assert SchemaScope({}, Origin("office.json", "")).rewrite(whole) == {
        "properties": {"x": modern}, "items": modern, "anyOf": [modern]
    }  # fmt: skip
    assert whole == before
