"""References of an API document: to parameters, bodies and paths, to schemas in a circle, and to nowhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.formats import openapi
from tests.pipeline.sources.reading import apart, api, body, search, tools
from tests.pipeline.sources.web import Web

WriteJson = Callable[[str, Any], Path]


def _ref(name: str, kind: str = "schemas") -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _schemas(**schemas: Any) -> dict[str, Any]:
    return {"components": {"schemas": schemas}}


def _schema(write_json: WriteJson, document: dict[str, Any]) -> Any:
    (tool,) = tools(openapi.read(write_json("office.json", document)))
    return tool.input_schema


def test_parameters_bodies_and_their_schemas_may_be_references_to_references(write_json: WriteJson) -> None:
    components = {
        "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}},
        "requestBodies": {"Outer": _ref("Inner", "requestBodies"), "Inner": body(_ref("Alias"), required=True)},
        "schemas": {"Alias": _ref("Real"), "Real": {"properties": {"a": {}}, "required": ["a"]}},
    }
    operation = {"parameters": [_ref("Limit", "parameters")], "requestBody": _ref("Outer", "requestBodies")}
    schema = _schema(write_json, api({"/a": {"post": operation}}, components=components))
    assert schema == {"type": "object", "properties": {"limit": {"type": "integer"}, "a": {}}, "required": ["a"]}


def test_a_path_item_may_be_a_reference(write_json: WriteJson) -> None:
    components = {"pathItems": {"Shared": {"get": {"operationId": "shared"}}}}
    document = api({"/a": _ref("Shared", "pathItems"), "/b": {"$ref": "#/paths/~1a"}}, components=components)
    found = tools(openapi.read(write_json("office.json", document)))
    assert [(tool.name, tool.annotations["path"]) for tool in found] == [("shared", "/a"), ("shared", "/b")]


def test_schemas_move_to_defs_and_only_those_in_use(write_json: WriteJson) -> None:
    document = search(_ref("Filter"), **_schemas(Filter={"properties": {"by": _ref("By")}}, By={}, Unused={}))
    assert _schema(write_json, document) == {
        "type": "object",
        "properties": {"q": {"$ref": "#/$defs/Filter"}},
        "$defs": {"Filter": {"properties": {"by": {"$ref": "#/$defs/By"}}}, "By": {}},
    }


def test_two_schemas_of_one_last_name_are_told_apart(write_json: WriteJson) -> None:
    document = search({"anyOf": [{"$ref": "#/x/Item"}, {"$ref": "#/y/Item"}, {"$ref": "#/x/Item"}]})
    schema = _schema(write_json, {**document, "x": {"Item": {"type": "string"}}, "y": {"Item": {"type": "integer"}}})
    references = [branch["$ref"].removeprefix("#/$defs/") for branch in schema["properties"]["q"]["anyOf"]]
    assert [schema["$defs"][name]["type"] for name in references] == ["string", "integer", "string"]


def test_escapes_in_a_pointer_are_read(write_json: WriteJson) -> None:
    document = search({"$ref": "#/components/schemas/a~1b~0c%20d"}, **_schemas(**{"a/b~c d": {"type": "string"}}))
    schema = _schema(write_json, document)
    assert list(schema["$defs"].values()) == [{"type": "string"}]


def test_a_schema_inside_itself_ends_and_stays_a_reference(write_json: WriteJson) -> None:
    node = {"type": "object", "properties": {"next": _ref("Node"), "all": {"type": "array", "items": _ref("Node")}}}
    again = {"$ref": "#/$defs/Node"}
    assert _schema(write_json, search(_ref("Node"), **_schemas(Node=node))) == {
        "type": "object",
        "properties": {"q": again},
        "$defs": {"Node": {"type": "object", "properties": {"next": again, "all": {"type": "array", "items": again}}}},
    }


def test_a_long_chain_of_schemas_is_no_deep_nesting(write_json: WriteJson) -> None:
    chain = {f"S{i}": {"properties": {"next": _ref(f"S{i + 1}")}} for i in range(1_500)}
    assert len(_schema(write_json, search(_ref("S0"), **_schemas(**chain, S1500={})))["$defs"]) == 1_501


def test_a_schema_nested_past_any_use_rejects_its_operation(write_json: WriteJson) -> None:
    nested: dict[str, Any] = {}
    for _ in range(51):
        nested = {"items": {"not": nested}}
    names, rejected = apart(openapi.read(write_json("office.json", search(nested))))
    assert names == []
    assert rejected == ["office.json /paths/~1search/get: a schema is nested more than 100 levels deep"]


LOOPS = _schemas(Self=_ref("Self"), A=_ref("B"), B=_ref("A"), Dangling=_ref("Nothing"))
BROKEN = [
    ("#/components/schemas/Self", "the reference #/components/schemas/Self leads back to itself"),
    ("#/components/schemas/A", "the reference #/components/schemas/A leads back to itself"),
    ("#/components/schemas/Dangling", "the reference #/components/schemas/Nothing points to nothing"),
    ("#/components/schemas/Nothing", "the reference #/components/schemas/Nothing points to nothing"),
    ("#/paths/~1b/get/tags/²", "the reference #/paths/~1b/get/tags/² points to nothing"),
    ("#/paths/~1b/get/tags/1", "the reference #/paths/~1b/get/tags/1 points to nothing"),
    ("#/paths/~1b/get/tags/" + "9" * 5_000, f"the reference #/paths/~1b/get/tags/{'9' * 179} points to nothing"),
    ("#anchor", "the reference #anchor is no JSON pointer"),
]


@pytest.mark.parametrize(("reference", "reason"), BROKEN, ids=[reference[-9:] for reference, _ in BROKEN])
@pytest.mark.parametrize("place", ["parameter schema", "inner schema", "body schema", "parameter", "body"])
def test_a_reference_without_end_rejects_its_operation_alone(
    write_json: WriteJson, reference: str, reason: str, place: str
) -> None:
    ref = {"$ref": reference}
    operation = {
        "parameter schema": {"parameters": [{"name": "q", "in": "query", "schema": ref}]},
        "inner schema": {"parameters": [{"name": "q", "in": "query", "schema": {"items": {"anyOf": [{}, ref]}}}]},
        "body schema": {"requestBody": body(ref)},
        "parameter": {"parameters": [ref]},
        "body": {"requestBody": ref},
    }[place]
    paths = {"/a": {"post": operation, "put": {"operationId": "kept"}}, "/b": {"get": {"tags": ["also kept"]}}}
    names, rejected = apart(openapi.read(write_json("office.json", api(paths, **LOOPS))))
    assert names == ["kept", "get_/b"]
    assert rejected == [f"office.json /paths/~1a/post: {reason}"]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("#/paths/~1a", "the reference #/paths/~1a leads back to itself"),
        ("#/paths/~1c", "the reference #/paths/~1c points to nothing"),
        ("paths.yaml#/a", "the reference paths.yaml#/a leads to another document"),
    ],
)
def test_a_path_reference_without_end_rejects_the_path(write_json: WriteJson, reference: str, reason: str) -> None:
    document = api({"/a": {"$ref": reference}, "/b": {"get": {"operationId": "kept"}}})
    names, rejected = apart(openapi.read(write_json("office.json", document)))
    assert names == ["kept"]
    assert rejected == [f"office.json /paths/~1a: {reason}"]


def test_references_to_other_documents_are_left_open_with_a_notice_and_never_fetched(
    write_json: WriteJson, web: Web
) -> None:
    page, asked = web.page("{}"), len(web.asked)
    operation = {
        "parameters": [
            {"name": "q", "in": "query", "schema": {"$ref": "types.yaml#/Q", "description": "What to find."}},
            {"$ref": page},
        ],
        "requestBody": {"$ref": "bodies.yaml"},
    }
    (tool,) = tools(openapi.read(write_json("office.json", api({"/a": {"post": operation}}))))
    assert tool.input_schema == {"type": "object", "properties": {"q": {"description": "What to find."}}}
    assert sorted(tool.notices) == [
        "bodies.yaml is in another document: left open",
        f"{page} is in another document: left open",
        "types.yaml#/Q is in another document: left open",
    ]
    assert len(web.asked) == asked
