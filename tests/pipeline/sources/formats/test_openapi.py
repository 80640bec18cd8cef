"""OpenAPI and Swagger: one tool an operation, its name, its words and its parameters."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources import RawTool
from pipeline.sources.formats import openapi
from router.record import Origin
from tests.pipeline.sources.reading import api, tools

WriteJson = Callable[[str, Any], Path]

SWAGGER = """
swagger: "2.0"
info: {title: Office, version: "1"}
paths:
  /people/{id}:
    put:
      operationId: changePerson
      summary: Changes a person.
      tags: [people]
      parameters:
        - {name: id, in: path, type: integer, required: true, description: Whose., minimum: 1}
        - {name: notify, in: query, type: boolean, default: no}
        - name: person
          in: body
          required: true
          schema: {$ref: "#/definitions/Person"}
definitions:
  Person:
    required: [email]
    properties:
      email: {type: string}
      photo: {type: file}
"""

MODERN = """
openapi: %s
info: {title: Office, version: "1"}
paths:
  /people/{id}:
    put:
      operationId: changePerson
      summary: Changes a person.
      tags: [people]
      parameters:
        - {name: id, in: path, required: true, description: Whose., schema: {type: integer, minimum: 1}}
        - {name: notify, in: query, schema: {type: boolean, default: no}}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Person"}
components:
  schemas:
    Person:
      required: [email]
      properties:
        email: {type: string}
        photo: {type: string, format: binary}
"""


@pytest.mark.parametrize("text", [SWAGGER, MODERN % "3.0.3", MODERN % "3.1.0"])
def test_every_version_says_an_operation_as_the_same_tool(tmp_path: Path, text: str) -> None:
    path = tmp_path / "office.yaml"
    path.write_text(text, encoding="utf-8")
    assert [replace(tool, operation=None) for tool in tools(openapi.read(path))] == [
        RawTool(
            name="changePerson",
            origin=Origin("office.yaml", "/paths/~1people~1{id}/put"),
            description="Changes a person.",
            input_schema={
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "minimum": 1, "description": "Whose."},
                    "notify": {"type": "boolean", "default": "no"},
                    "email": {"type": "string"},
                    "photo": {"type": "string", "format": "binary"},
                },
                "required": ["id", "email"],
            },
            provider="office",
            categories=("people",),
            annotations={"method": "PUT", "path": "/people/{id}", "readOnlyHint": False},
        )
    ]


@pytest.mark.parametrize("version", [{"openapi": "3.0.0"}, {"openapi": "3.1.1"}, {"swagger": "2.0"}, {"swagger": 2.0}])
def test_a_json_document_of_each_version_is_read(write_json: WriteJson, version: dict[str, Any]) -> None:
    path = write_json("office.json", {**version, "paths": {"/a": {"get": {"operationId": "a"}}}})
    assert [(tool.name, tool.provider) for tool in tools(openapi.read(path))] == [("a", None)]


def test_each_operation_of_a_path_is_a_tool_and_other_keys_are_not(write_json: WriteJson) -> None:
    methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
    item = {"summary": "s", "servers": [], "x-note": {}, **{method: {} for method in methods}}
    found = tools(openapi.read(write_json("office.json", api({"/a": item, "x-internal": "yes"}))))
    assert [tool.annotations["method"] for tool in found] == [method.upper() for method in methods]


@pytest.mark.parametrize("unnamed", [{}, {"operationId": None}, {"operationId": " "}])
def test_an_operation_without_id_is_named_by_method_and_path(write_json: WriteJson, unnamed: dict[str, Any]) -> None:
    path = write_json("office.json", api({"/people/{id}": {"delete": unnamed}}))
    assert tools(openapi.read(path))[0].name == "delete_/people/{id}"


@pytest.mark.parametrize(
    ("words", "description"),
    [
        ({"summary": "Lists people."}, "Lists people."),
        ({"description": "All of them."}, "All of them."),
        ({"summary": "Lists people.", "description": "All of them."}, "Lists people.\n\nAll of them."),
        ({"summary": "Lists people.", "description": "Lists people. All of them."}, "Lists people. All of them."),
        ({"summary": None}, ""),
    ],
)
def test_summary_and_description_become_one_text(
    write_json: WriteJson, words: dict[str, Any], description: str
) -> None:
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"get": words}}))))
    assert tool.description == description


@pytest.mark.parametrize(("value", "deprecated"), [(True, True), (False, False), (None, False), ("true", False)])
def test_a_deprecated_operation_is_kept_and_marked(write_json: WriteJson, value: Any, deprecated: bool) -> None:
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"get": {"deprecated": value}}}))))
    assert tool.deprecated is deprecated


@pytest.mark.parametrize(("method", "read_only"), [("get", True), ("head", True), ("post", False), ("delete", False)])
def test_only_methods_that_change_nothing_are_read_only(write_json: WriteJson, method: str, read_only: bool) -> None:
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {method: {}}}))))
    assert tool.annotations["readOnlyHint"] is read_only


def test_an_operations_parameter_replaces_the_paths_of_the_same_name_and_place(write_json: WriteJson) -> None:
    item = {
        "parameters": [
            {"name": "limit", "in": "query", "schema": {"type": "string"}},
            {"name": "team", "in": "query", "schema": {"type": "string"}},
        ],
        "get": {"parameters": [{"name": "limit", "in": "query", "required": True, "schema": {"type": "integer"}}]},
        "head": {},
    }
    first, second = tools(openapi.read(write_json("office.json", api({"/a": item}))))
    team = {"team": {"type": "string"}}
    assert first.input_schema["properties"] == {"limit": {"type": "integer"}, **team}
    assert first.input_schema["required"] == ["limit"]
    assert second.input_schema == {"type": "object", "properties": {"limit": {"type": "string"}, **team}}


def test_a_path_parameter_is_required_whatever_it_says(write_json: WriteJson) -> None:
    operation = {"parameters": [{"name": "id", "in": "path", "schema": {}}, {"name": "q", "in": "query", "schema": {}}]}
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a/{id}": {"get": operation}}))))
    assert tool.input_schema["required"] == ["id"]


def test_a_parameters_schema_may_stand_under_a_media_type(write_json: WriteJson) -> None:
    parameter = {"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "array"}}}}
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"get": {"parameters": [parameter]}}}))))
    assert tool.input_schema["properties"] == {"q": {"type": "array"}}


def test_parameters_of_one_name_in_two_places_are_two_properties_with_a_notice(write_json: WriteJson) -> None:
    parameters = [
        {"name": "id", "in": "query", "schema": {"type": "string"}},
        {"name": "id", "in": "path", "schema": {"type": "integer"}},
    ]
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a/{id}": {"get": {"parameters": parameters}}}))))
    assert tool.input_schema == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "path_id": {"type": "integer"}},
        "required": ["path_id"],
    }
    assert tool.notices == ("a second parameter named id became path_id",)


def test_a_new_name_is_none_that_another_parameter_has(write_json: WriteJson) -> None:
    parameters = [
        {"name": name, "in": place} for name, place in (("path_id", "query"), ("id", "query"), ("id", "path"))
    ]
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a/{id}": {"get": {"parameters": parameters}}}))))
    assert tool.operation is not None
    placed = [(one.argument, one.place, one.wire_name) for one in tool.operation.parameters]
    assert placed == [("path_id", "query", "path_id"), ("id", "query", "id"), ("path_id_", "path", "id")]


@pytest.mark.parametrize(
    ("summary", "description", "said"),
    [
        ("Create an issue", "Any user can.", "Create an issue.\n\nAny user can."),
        ("Create an issue.", "Any user can.", "Create an issue.\n\nAny user can."),
        ("Ready?", "Any user can.", "Ready?\n\nAny user can."),
        ("Create `issue`", "Any user can.", "Create `issue`.\n\nAny user can."),
        ("課題を作成する", "誰でもできます。", "課題を作成する。\n\n誰でもできます。"),
        ("Создать задачу", "Может любой.", "Создать задачу.\n\nМожет любой."),
        ("Create an issue", "", "Create an issue"),
        ("", "Any user can.", "Any user can."),
        ("List issues", "List issues of a repository.", "List issues of a repository."),
        ("List issues.", "list issues", "list issues"),
        ("List issue", "List issues.", "List issue.\n\nList issues."),
        ("...", "Any user can.", "...\n\nAny user can."),
    ],
)
def test_summary_and_description_are_sentences_apart(
    write_json: WriteJson, summary: str, description: str, said: str
) -> None:
    operation = {"operationId": "a", "summary": summary, "description": description}
    (tool,) = tools(openapi.read(write_json("api.json", api({"/a": {"get": operation}}))))
    assert tool.description == said
