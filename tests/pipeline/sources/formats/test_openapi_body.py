"""Request bodies: merged with the parameters, or kept apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats import openapi
from tests.pipeline.sources.reading import api, body, tools

WriteJson = Callable[[str, Any], Path]


def _schema(write_json: WriteJson, operation: dict[str, Any], **more: Any) -> Any:
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a/{id}": {"post": operation}}, **more))))
    return tool.input_schema


ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


def test_an_object_body_is_merged_with_the_parameters(write_json: WriteJson) -> None:
    person = {**PERSON, "required": ["name"]}
    assert _schema(write_json, {"parameters": [ID], "requestBody": body(person, required=True)}) == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["id", "name"],
    }


def test_a_closed_object_body_is_merged_too(write_json: WriteJson) -> None:
    closed = {**PERSON, "additionalProperties": False}
    assert _schema(write_json, {"requestBody": body(closed)}) == {"type": "object", "properties": PERSON["properties"]}


def test_nothing_of_an_optional_body_is_required(write_json: WriteJson) -> None:
    assert "required" not in _schema(write_json, {"requestBody": body({**PERSON, "required": ["name"]})})


@pytest.mark.parametrize("required", [["nobody"], [{"name": 1}, ["name"], 7], "name", True])
def test_only_properties_that_a_body_has_are_required(write_json: WriteJson, required: Any) -> None:
    assert "required" not in _schema(write_json, {"requestBody": body({**PERSON, "required": required}, required=True)})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "format": "binary"},
        {"oneOf": [PERSON, {"type": "string"}]},
        {**PERSON, "allOf": [{"required": ["age"]}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {**PERSON, "additionalProperties": True},
        {**PERSON, "additionalProperties": {"type": "string"}},
        {**PERSON, "patternProperties": {"^n": {"type": "string"}}},
        {"type": "object", "properties": {}},
        {},
    ],
)
def test_a_body_that_is_no_plain_object_stands_under_body(write_json: WriteJson, schema: dict[str, Any]) -> None:
    assert _schema(write_json, {"parameters": [ID], "requestBody": body(schema, required=True)}) == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "body": schema},
        "required": ["id", "body"],
    }


def test_a_body_with_a_name_of_the_parameters_stands_under_body(write_json: WriteJson) -> None:
    clash = {"type": "object", "properties": {"id": {"type": "string"}}}
    properties = _schema(write_json, {"parameters": [ID], "requestBody": body(clash)})["properties"]
    assert properties == {"id": {"type": "integer"}, "body": clash}


def test_a_body_beside_a_parameter_called_body_stands_under_request_body(write_json: WriteJson) -> None:
    parameter = {"name": "body", "in": "query", "schema": {"type": "boolean"}}
    operation = {"parameters": [parameter], "requestBody": body({"type": "array"}, required=True)}
    assert _schema(write_json, operation) == {
        "type": "object",
        "properties": {"body": {"type": "boolean"}, "request_body": {"type": "array"}},
        "required": ["request_body"],
    }


def test_a_bodys_description_is_kept_where_its_schema_has_none(write_json: WriteJson) -> None:
    described = {"description": "The rows.", **body({"type": "array"})}
    assert _schema(write_json, {"requestBody": described})["properties"]["body"]["description"] == "The rows."
    own = {"description": "The rows.", **body({"type": "array", "description": "Its own."})}
    assert _schema(write_json, {"requestBody": own})["properties"]["body"]["description"] == "Its own."


@pytest.mark.parametrize("media", ["application/json", "application/vnd.api+json", "application/json; charset=utf-8"])
def test_json_is_preferred_among_media_types(write_json: WriteJson, media: str) -> None:
    content = {"text/csv": {"schema": {"type": "string"}}, media: {"schema": {"type": "array"}}}
    assert _schema(write_json, {"requestBody": {"content": content}})["properties"] == {"body": {"type": "array"}}


def test_the_first_media_type_stands_in_where_there_is_no_json(write_json: WriteJson) -> None:
    content = {"text/csv": {"schema": {"type": "string"}}, "text/plain": {"schema": {"type": "array"}}}
    assert _schema(write_json, {"requestBody": {"content": content}})["properties"] == {"body": {"type": "string"}}


def test_swaggers_form_fields_are_properties(write_json: WriteJson) -> None:
    fields = [
        {"name": "photo", "in": "formData", "type": "file", "required": True},
        {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    ]
    document = {"swagger": "2.0", "paths": {"/a": {"post": {"parameters": fields}}}}
    (tool,) = tools(openapi.read(write_json("office.json", document)))
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "photo": {"type": "string", "format": "binary"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        },
        "required": ["photo"],
    }
