"""Schemas of an API document: dialects evened out; references to parameters, in a circle, to nowhere and elsewhere."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats import openapi
from pipeline.sources.formats.json_schema import SchemaScope
from router.record import Origin
from tests.pipeline.sources.reading import apart, api, body, search, tools
from tests.pipeline.sources.web import Web

WriteJson = Callable[[str, Any], Path]

_DATA = [{"nullable": True, "type": "file", "x-a": 1, "$ref": "#/nowhere"}]
_NAMES = {name: {"type": "string"} for name in ("example", "xml", "x-order", "nullable", "$ref", "type", "enum")}


@pytest.mark.parametrize(
    ("schema", "modern"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"nullable": True}, {}),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"minimum": 0, "exclusiveMinimum": False}, {"minimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
        # What a model does not need.
        (dict.fromkeys(("xml", "externalDocs", "discriminator", "example", "x-o"), 1), {}),
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
    rewritten = SchemaScope({}, Origin("office.json", "")).rewrite(whole)
    assert rewritten == {"properties": {"x": modern}, "items": modern, "anyOf": [modern]}
    assert whole == before


def _ref(name: str, kind: str = "schemas") -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _schema(write_json: WriteJson, document: dict[str, Any]) -> Any:
    (tool,) = tools(openapi.read(write_json("office.json", document)))
    return tool.input_schema


def test_parameters_bodies_paths_and_their_schemas_may_be_references_to_references(write_json: WriteJson) -> None:
    operation = {"parameters": [_ref("Limit", "parameters")], "requestBody": _ref("Outer", "requestBodies")}
    components = {
        "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}},
        "requestBodies": {"Outer": _ref("Inner", "requestBodies"), "Inner": body(_ref("Alias"), required=True)},
        "schemas": {"Alias": _ref("Real"), "Real": {"properties": {"a": {}}, "required": ["a"]}},
        "pathItems": {"Shared": {"post": operation}},
    }
    document = api({"/a": _ref("Shared", "pathItems"), "/b": {"$ref": "#/paths/~1a"}}, components=components)
    found = tools(openapi.read(write_json("office.json", document)))
    assert [tool.annotations["path"] for tool in found] == ["/a", "/b"]
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}, "a": {}}, "required": ["a"]}
    assert [tool.input_schema for tool in found] == [schema] * 2


_NODE = {"type": "object", "properties": {"next": _ref("Node"), "all": {"type": "array", "items": _ref("Node")}}}
_AGAIN = {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    ("schema", "schemas", "definitions"),
    [
        # Only those in use.
        (
            _ref("Filter"),
            {"Filter": {"properties": {"by": _ref("By")}}, "By": {}, "Unused": {}},
            {"Filter": {"properties": {"by": {"$ref": "#/$defs/By"}}}, "By": {}},
        ),
        # One inside itself ends, and stays a reference.
        (
            _ref("Node"),
            {"Node": _NODE},
            {"Node": {**_NODE, "properties": {"next": _AGAIN, "all": {"type": "array", "items": _AGAIN}}}},
        ),
        (_ref("a~1b~0c%20d"), {"a/b~c d": {"type": "string"}}, {"a_b~0c d": {"type": "string"}}),  # escapes
    ],
    ids=["in-use", "in-itself", "escaped"],
)
def test_schemas_move_to_defs(write_json: WriteJson, schema: Any, schemas: Any, definitions: Any) -> None:
    found = _schema(write_json, search(schema, components={"schemas": schemas}))
    name = next(iter(definitions))
    assert found == {
        "type": "object",
        "properties": {"q": {"$ref": f"#/$defs/{name.replace('~', '~0')}"}},
        "$defs": definitions,
    }


def test_two_schemas_of_one_last_name_are_told_apart(write_json: WriteJson) -> None:
    document = search({"anyOf": [{"$ref": "#/x/Item"}, {"$ref": "#/y/Item"}, {"$ref": "#/x/Item"}]})
    schema = _schema(write_json, {**document, "x": {"Item": {"type": "string"}}, "y": {"Item": {"type": "integer"}}})
    references = [branch["$ref"].removeprefix("#/$defs/") for branch in schema["properties"]["q"]["anyOf"]]
    assert [schema["$defs"][name]["type"] for name in references] == ["string", "integer", "string"]


def test_a_long_chain_of_schemas_is_no_deep_nesting_and_what_is_rejects_its_operation(write_json: WriteJson) -> None:
    chain: dict[str, Any] = {f"S{i}": {"properties": {"next": _ref(f"S{i + 1}")}} for i in range(1_500)}
    document = search(_ref("S0"), components={"schemas": {**chain, "S1500": {}}})
    assert len(_schema(write_json, document)["$defs"]) == 1_501
    nested: dict[str, Any] = {}
    for _ in range(51):
        nested = {"items": {"not": nested}}
    found = apart(openapi.read(write_json("office.json", search(nested))))
    assert found == ([], ["office.json /paths/~1search/get: a schema is nested more than 100 levels deep"])


LOOPS = {"schemas": {"Self": _ref("Self"), "A": _ref("B"), "B": _ref("A"), "Dangling": _ref("Nothing")}}
BROKEN = {
    "#/components/schemas/Self": "the reference #/components/schemas/Self leads back to itself",
    "#/components/schemas/A": "the reference #/components/schemas/A leads back to itself",
    "#/components/schemas/Dangling": "the reference #/components/schemas/Nothing points to nothing",
    "#/components/schemas/Nothing": "the reference #/components/schemas/Nothing points to nothing",
    "#/paths/~1b/get/tags/²": "the reference #/paths/~1b/get/tags/² points to nothing",
    "#/paths/~1b/get/tags/" + "9" * 5_000: f"the reference #/paths/~1b/get/tags/{'9' * 179} points to nothing",
    "#anchor": "the reference #anchor is no JSON pointer",
}
PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "parameter schema": lambda ref: {"parameters": [{"name": "q", "in": "query", "schema": ref}]},
    "inner schema": lambda ref: {
        "parameters": [{"name": "q", "in": "query", "schema": {"items": {"anyOf": [{}, ref]}}}]
    },
    "body schema": lambda ref: {"requestBody": body(ref)},
    "parameter": lambda ref: {"parameters": [ref]},
    "body": lambda ref: {"requestBody": ref},
}


@pytest.mark.parametrize("reference", BROKEN, ids=[reference[-9:] for reference in BROKEN])
@pytest.mark.parametrize("place", PLACES)
def test_a_reference_without_end_rejects_its_operation_alone(write_json: WriteJson, reference: str, place: str) -> None:
    operation = PLACES[place]({"$ref": reference})
    paths = {"/a": {"post": operation, "put": {"operationId": "kept"}}, "/b": {"get": {"tags": ["also kept"]}}}
    names, rejected = apart(openapi.read(write_json("office.json", api(paths, components=LOOPS))))
    assert names == ["kept", "get_b"]
    assert rejected == [f"office.json /paths/~1a/post: {BROKEN[reference]}"]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("#/paths/~1a", "the reference #/paths/~1a leads back to itself"),
        ("#/paths/~1c", "the reference #/paths/~1c points to nothing"),
        ("paths.yaml#/a", "the reference paths.yaml#/a is in another document, which is no file"),
    ],
)
def test_a_path_reference_without_end_rejects_the_path(write_json: WriteJson, reference: str, reason: str) -> None:
    document = api({"/a": {"$ref": reference}, "/b": {"get": {"operationId": "kept"}}})
    found = apart(openapi.read(write_json("office.json", document)))
    assert found == (["kept"], [f"office.json /paths/~1a: {reason}"])


def test_references_to_other_documents_are_left_open_with_a_notice_and_never_fetched(
    write_json: WriteJson, web: Web
) -> None:
    page, asked = web.page("{}"), len(web.asked)
    schema = {"$ref": "types.yaml#/Q", "description": "What to find."}
    operation = {
        "parameters": [{"name": "q", "in": "query", "schema": schema}, {"$ref": page}],
        "requestBody": {"$ref": "bodies.yaml"},
    }
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"post": operation}}))))
    assert tool.input_schema == {"type": "object", "properties": {"q": {"description": "What to find."}}}
    away = {"bodies.yaml": "is no file", page: "is at an address, and a file refers to files alone"}
    away["types.yaml#/Q"] = "is no file"
    said = [f"{name} is in another document, which {why}: left open" for name, why in away.items()]
    assert sorted(tool.notices) == said
    assert len(web.asked) == asked


_ID, _TEXT = {"type": "string", "readOnly": True}, {"type": "string"}
_ONE, _N, _NO = ({"properties": names} for names in ({"id": _ID}, {"n": _TEXT}, {}))


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        ({"properties": {"id": _ID, "n": _TEXT}, "required": ["id", "n"]}, {**_N, "required": ["n"]}),
        ({**_ONE, "required": ["id"]}, _NO),
        ({"properties": {"readOnly": _TEXT}}, {"properties": {"readOnly": _TEXT}}),
        # By a reference, beside one, and by a branch.
        ({"properties": {"a": _ref("Id"), "b": {**_ref("Any"), "readOnly": True}}}, _NO),
        ({"properties": {"a": {"allOf": [_ref("Id")]}}}, _NO),
        # Required by another branch than the one that declares it.
        ({"allOf": [_ONE, {"required": ["id", "n"]}]}, {"allOf": [_NO, {"required": ["n"]}]}),
        ({"allOf": [_ref("Needs"), _ONE]}, {"allOf": [_N, _NO]}),
        ({"oneOf": [_ONE], "required": ["id"]}, {"oneOf": [_NO]}),
        ({"items": {"not": {**_ONE, "required": ["id"]}}}, {"items": {"not": _NO}}),
    ],
)
def test_what_only_answers_have_is_not_asked_for_at_any_depth(write_json: WriteJson, schema: Any, asked: Any) -> None:
    needs = {"properties": {"id": _TEXT, "n": _TEXT}, "required": ["id"]}
    document = search(schema, components={"schemas": {"Id": _ID, "Any": {}, "Needs": needs}})
    assert _schema(write_json, document) == {"type": "object", "properties": {"q": asked}}


def test_an_answer_has_what_is_only_read_and_a_request_what_is_only_written(write_json: WriteJson) -> None:
    secret, user = {"type": "string", "writeOnly": True}, {"id": _ID, "key": _ref("Secret"), "pin": {"writeOnly": True}}
    schema = {"type": "object", "properties": user, "required": ["id", "key"]}
    operation = {"requestBody": body(schema, required=True), "responses": {"200": body(schema)}}
    document = api({"/a": {"post": operation}}, components={"schemas": {"Secret": secret}})
    (tool,) = tools(openapi.read(write_json("office.json", document)))
    assert [output.path for output in tool.outputs] == ["id"]
    assert ([*tool.input_schema["properties"]], tool.input_schema["required"]) == (["key", "pin"], ["key"])
    assert tool.operation is not None
    assert tool.operation.body is not None
    assert [field.argument for field in tool.operation.body.fields] == ["key", "pin"]


def test_schemas_that_hide_each_other_in_a_circle_are_read_in_bounded_time(write_json: WriteJson) -> None:
    chain = {f"S{i}": {"allOf": [_ref(f"S{i + 1}")] * 2, "required": ["id"]} for i in range(40)}
    schemas = {**chain, "S40": {"allOf": [_ref("S0")], "required": ["id", "n"]}}
    document = search({"allOf": [_ref("S0"), {"properties": {"id": _ID}}]}, components={"schemas": schemas})
    assert _schema(write_json, document)["properties"]["q"]["allOf"][1] == {"properties": {}}
