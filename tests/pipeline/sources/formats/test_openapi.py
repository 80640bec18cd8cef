"""OpenAPI and Swagger: one tool an operation, its name, its words, its parameters and its body; and what is wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted
from pipeline.sources import RawTool
from pipeline.sources.formats import openapi
from quartermaster.calling.requests import build_request
from router.record import Origin
from tests.pipeline.sources.reading import apart, api, body, tools

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
        - {name: person, in: body, required: true, schema: {$ref: "#/definitions/Person"}}
definitions:
  Person: {required: [email], properties: {email: {type: string}, photo: {type: file}}}
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
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Person"}}}}
components:
  schemas:
    Person: {required: [email], properties: {email: {type: string}, photo: {type: string, format: binary}}}
"""
Read = Callable[..., RawTool]


@pytest.fixture
def read(write_json: Callable[[str, Any], Path]) -> Read:
    """Read the one operation of a document."""

    def read(operation: Any, method: str = "get", path: str = "/a", **item: Any) -> RawTool:
        return tools(openapi.read(write_json("office.json", api({path: {**item, method: operation}}))))[0]

    return read


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


def test_each_operation_of_a_path_is_a_tool_and_only_those_that_change_nothing_are_read_only(write_json: Any) -> None:
    changes = {"get": True, "put": False, "post": False, "delete": False, "options": True, "head": True, "patch": False}
    item = {"summary": "s", "servers": [], "x-note": {}, **{method: {} for method in changes}}
    found = tools(openapi.read(write_json("office.json", api({"/a": item, "x-internal": "yes"}))))
    assert {tool.annotations["method"].lower(): tool.annotations["readOnlyHint"] for tool in found} == changes


def test_names_of_words_stay_when_operations_come_and_only_a_clash_names_every_parameter(write_json: Any) -> None:
    def names(*paths: str, **ids: Any) -> dict[str, str]:
        document = api({path: {"get": {"operationId": ids.get(path, " ")}} for path in paths})
        found = tools(openapi.read(write_json("office.json", document)))
        return {tool.annotations["path"]: tool.name for tool in found}

    first = {
        "/emp/{emp_id}/mgr": "get_emp_mgr", "/emp": "get_emp", "/emp/{emp_id}": "get_emp_by_emp_id", "/": "get_root",
        "/v1/{name=jobs/*}:stop": "get_v1_stop", "/x.json": "get_x_json", "/a-b/{c}/{d}": "get_a_b_by_c_by_d",
    }  # fmt: skip
    assert names(*first) == first
    assert names("/emp/{emp_id}/salary", *first) == {"/emp/{emp_id}/salary": "get_emp_salary", **first}
    clash = {"/emp/mgr": "get_emp_mgr", "/emp/{emp_id}/mgr": "get_emp_by_emp_id_mgr"}
    assert names(*clash) == names(*reversed(clash)) == clash
    clash = {"/m": "get_emp_mgr", "/emp/{emp_id}/mgr": "get_emp_by_emp_id_mgr"}
    assert names(*clash, **{"/m": "get_emp_mgr"}) == clash


def test_methods_beyond_the_fixed_ones_are_tools_and_are_sent_as_they_are(write_json: Any) -> None:
    more = {"COPY": {"operationId": "copyIt"}, "A B": {}}
    paths = {"/a": {"query": {}, "additionalOperations": more}, "/b": {"x-oai-additionalOperations": {"QUERY": {}}}}
    found = list(openapi.read(write_json("office.json", api(paths))))
    kept = {one.name: one for one in found if isinstance(one, RawTool)}
    methods = {"query_a": ("QUERY", True), "copyIt": ("COPY", False), "query_b": ("QUERY", True)}
    assert {name: (one.annotations["method"], one.annotations["readOnlyHint"]) for name, one in kept.items()} == methods
    for one in kept.values():
        assert one.operation is not None
        assert build_request(one.operation, {}, "https://a.example").method == one.annotations["method"]
    assert kept["copyIt"].origin.pointer == "/paths/~1a/additionalOperations/COPY"
    assert apart(found)[1] == ["office.json /paths/~1a/additionalOperations/A B: 'A B' is no method of HTTP"]


@pytest.mark.parametrize(("value", "deprecated"), [(True, True), (False, False), (None, False), ("true", False)])
def test_a_deprecated_operation_is_kept_and_marked(read: Read, value: Any, deprecated: bool) -> None:
    assert read({"deprecated": value}).deprecated is deprecated


@pytest.mark.parametrize(
    ("summary", "description", "said"),
    [
        ("Create an issue", "Any user can.", "Create an issue.\n\nAny user can."),
        ("課題を作成する", "誰でもできます。", "課題を作成する。\n\n誰でもできます。"),
        ("Create an issue", "", "Create an issue"),
        ("", "Any user can.", "Any user can."),
        (None, None, ""),
        ("List issues", "List issues of a repository.", "List issues of a repository."),
        ("List issues.", "list issues", "list issues"),
        ("List issue", "List issues.", "List issue.\n\nList issues."),
    ],
)
def test_summary_and_description_are_sentences_apart_and_a_paths_serve_operations_without(
    read: Read, summary: Any, description: Any, said: str
) -> None:
    words = {"summary": summary, "description": description}
    assert read(words).description == read({}, **words).description == said
    assert read({"summary": "", "description": None}, **words).description == said
    assert read({"summary": "Own."}, **words).description == "Own."


def test_an_operations_parameter_replaces_the_paths_of_the_same_name_and_place(write_json: Any) -> None:
    shared = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("limit", "team")]
    own = {"parameters": [{"name": "limit", "in": "query", "required": True, "schema": {"type": "integer"}}]}
    document = api({"/a": {"parameters": shared, "get": own, "head": {}}})
    first, second = tools(openapi.read(write_json("office.json", document)))
    team = {"team": {"type": "string"}}
    assert first.input_schema["properties"] == {"limit": {"type": "integer"}, **team}
    assert first.input_schema["required"] == ["limit"]
    assert second.input_schema == {"type": "object", "properties": {"limit": {"type": "string"}, **team}}


def test_parameters_of_one_name_in_two_places_are_two_properties_with_a_notice(read: Read) -> None:
    def listed(*places: tuple[str, str]) -> dict[str, Any]:
        return {"parameters": [{"name": name, "in": place, "schema": {}} for name, place in places]}

    tool = read(listed(("id", "query"), ("id", "path")), path="/a/{id}")
    assert tool.input_schema["properties"].keys() == {"id", "path_id"}
    assert tool.input_schema["required"] == ["path_id"]  # one of the path is required whatever it says
    assert tool.notices == ("a second parameter named id became path_id",)
    tool = read(listed(("path_id", "query"), ("id", "query"), ("id", "path")), path="/a/{id}")
    assert tool.operation is not None
    placed = [(one.argument, one.place, one.wire_name) for one in tool.operation.parameters]
    assert placed == [("path_id", "query", "path_id"), ("id", "query", "id"), ("path_id_", "path", "id")]


ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


@pytest.mark.parametrize("closed", [{}, {"additionalProperties": False}])
@pytest.mark.parametrize(
    ("required", "listed", "kept"),
    [
        (True, ["name"], ["id", "name"]),
        (False, ["name"], ["id"]),  # nothing of an optional body is required
        *((True, listed, ["id"]) for listed in (["nobody"], [{"name": 1}, ["name"], 7], "name", True)),
    ],
)
def test_an_object_body_is_merged_with_the_parameters(
    read: Read, closed: dict[str, Any], required: bool, listed: Any, kept: list[str]
) -> None:
    operation = {"parameters": [ID], "requestBody": body({**PERSON, **closed, "required": listed}, required)}
    assert read(operation, "post").input_schema == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "age": {"type": "integer"}},
        "required": kept,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"oneOf": [PERSON, {"type": "string"}]},
        {**PERSON, "allOf": [{"required": ["age"]}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {**PERSON, "additionalProperties": True},
        {**PERSON, "patternProperties": {"^n": {"type": "string"}}},
        {"type": "object", "properties": {}},
        {},
        {"type": "object", "properties": {"id": {"type": "string"}}},  # a name of the parameters
    ],
)
def test_a_body_that_is_no_plain_object_or_clashes_stands_under_body(read: Read, schema: dict[str, Any]) -> None:
    assert read({"parameters": [ID], "requestBody": body(schema, required=True)}, "post").input_schema == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "body": schema},
        "required": ["id", "body"],
    }


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("text", "a tool is a JSON object, this is a text"),
        ({"summary": ["x"]}, "summary is a list, not a text"),
        ({"parameters": {}}, "parameters is not a list"),
        ({"parameters": ["q"]}, "a parameter has no name"),
        ({"parameters": [{"in": "query"}]}, "a parameter has no name"),
        ({"requestBody": "text"}, "requestBody is not an object"),
    ],
)
def test_a_wrong_operation_is_rejected_with_its_pointer_and_others_go_on(
    write_json: Any, operation: Any, reason: str
) -> None:
    document = api({"/a": {"get": operation, "post": {"operationId": "kept"}}, "/b": []})
    names, rejected = apart(openapi.read(write_json("office.json", document)))
    assert names == ["kept"]
    assert rejected == [f"office.json /paths/~1a/get: {reason}", "office.json /paths/~1b: a path item is an object"]


@pytest.mark.parametrize("value", [{}, [], "x", {"openapi": "4.0.0"}, {"swagger": "1.2"}, {"openapi": None}])
def test_what_is_no_api_document_stops_the_run(write_json: Any, value: Any) -> None:
    path = write_json("office.json", value)
    with pytest.raises(RunAborted, match=f"{path} is not an OpenAPI 3 or Swagger 2.0 document"):
        list(openapi.read(path))
    path = write_json("paths.json", {"swagger": 2.0, "paths": [1]})
    with pytest.raises(RunAborted, match=f"{path}: paths is not an object"):
        list(openapi.read(path))
