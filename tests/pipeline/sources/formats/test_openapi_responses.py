"""What the operations of an OpenAPI document answer, and what their answers link to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.sources import RawTool
from pipeline.sources.formats import openapi, openapi_document
from router.record import Link
from router.record import Parameter as Row
from tests.pipeline.sources.reading import api, tools

WriteJson = Callable[[str, Any], Path]

PERSON = {"type": "object", "properties": {"id": {"type": "string"}, "boss": {"$ref": "#/components/schemas/Person"}}}
ANSWER = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Person"}}}}
ROWS = (Row("id", "string"), Row("boss", "object"))
COMPONENTS = {"schemas": {"Person": PERSON}, "responses": {"Found": ANSWER}}


def _tool(write_json: WriteJson, responses: Any, **more: Any) -> RawTool:
    paths = {"/people": {"get": {"operationId": "findPerson", "responses": responses}}, **more}
    return tools(openapi.read(write_json("api.json", api(paths, components=COMPONENTS))))[0]


@pytest.mark.parametrize(
    "responses",
    [
        {"200": ANSWER},
        {"2XX": ANSWER},
        {"default": ANSWER, "500": {}},
        {"200": {"$ref": "#/components/responses/Found"}},
        {"200": {"content": {"text/csv": {}, "application/vnd.api+json": ANSWER["content"]["application/json"]}}},
        {"200": {"content": {"*/*": ANSWER["content"]["application/json"]}}},
    ],
)
def test_the_first_good_response_in_json_gives_the_outputs(write_json: WriteJson, responses: Any) -> None:
    assert _tool(write_json, responses).outputs == ROWS


@pytest.mark.parametrize(
    "responses",
    [
        {"404": ANSWER},
        {"200": {"content": {"text/html": ANSWER["content"]["application/json"]}}},
        {"200": {"$ref": "#/components/responses/Lost"}},
        {"200": {"$ref": "other.yaml#/Found"}},
        {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Lost"}}}}},
        {"200": "fine"},
        None,
    ],
)
def test_a_response_that_says_nothing_rejects_no_operation(write_json: WriteJson, responses: Any) -> None:
    assert _tool(write_json, responses).outputs == ()


def test_swagger_has_the_schema_in_the_response_and_yaml_numbers_for_statuses(tmp_path: Path) -> None:
    operation = {"operationId": "findPerson", "responses": {200: {"schema": {"$ref": "#/definitions/Person"}}}}
    person = {"properties": {"id": {"type": "string"}}}
    document = {"swagger": "2.0", "paths": {"/people": {"get": operation}}, "definitions": {"Person": person}}
    (tmp_path / "api.yaml").write_text(yaml.safe_dump(document))
    (tool,) = tools(openapi.read(tmp_path / "api.yaml"))
    assert tool.outputs == (Row("id", "string"),)


def _linked(write_json: WriteJson, **links: Any) -> RawTool:
    orders: dict[str, Any] = {"parameters": [], "responses": {}}
    more: dict[str, Any] = {
        "/orders/{customer}": {"get": {"operationId": "listOrders", **orders}, "delete": orders},
        "/~odd/path": {"get": {"operationId": "odd"}},
    }
    return _tool(write_json, {"200": {**ANSWER, "links": links}}, **more)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ({"operationId": "listOrders"}, "listOrders"),
        ({"operationRef": "#/paths/~1orders~1{customer}/get"}, "listOrders"),
        ({"operationRef": "#/paths/~1orders~1%7Bcustomer%7D/delete"}, "delete_/orders/{customer}"),
        ({"operationRef": "#/paths/~1~0odd~1path/get"}, "odd"),
    ],
)
def test_a_link_names_the_tool_whose_parameter_the_answer_gives(write_json: WriteJson, target: Any, name: str) -> None:
    tool = _linked(write_json, orders={**target, "parameters": {"path.customer": "$response.body#/id", "n": 7}})
    assert tool.links == (Link("customer", name, "$response.body#/id"),)
    assert tool.notices == ()


@pytest.mark.parametrize(
    "target",
    [
        {"operationId": "nowhere"},
        {"operationRef": "#/paths/~1nowhere/get"},
        {"operationRef": "https://other.test/api.json#/paths/~1orders/get"},
        {},
    ],
)
def test_a_link_that_leads_to_no_operation_is_told_and_left_out(write_json: WriteJson, target: Any) -> None:
    tool = _linked(write_json, orders={**target, "parameters": {"customer": "$response.body#/id"}})
    assert tool.links == () and tool.outputs == ROWS
    assert tool.notices == ("its link orders leads to no operation of the document",)
    assert len(_linked(write_json, **{f"l{n}": {"operationId": "nowhere"} for n in range(20)}).notices) == 5


def test_constants_and_values_of_no_expression_are_no_links(write_json: WriteJson) -> None:
    parameters = {"a": "fixed", "b": 7, "c": "$url", "d": "{$request.path.id}", "e": None}
    tool = _linked(write_json, orders={"operationId": "listOrders", "parameters": parameters}, odd=7)
    assert tool.links == (Link("d", "listOrders", "{$request.path.id}"),)


def test_all_answers_of_a_document_together_are_read_within_a_limit(
    write_json: WriteJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openapi_document, "_MAX_STEPS", 200)
    inline: dict[str, Any] = {
        "200": {"content": {"application/json": {"schema": {"properties": {"id": {}, "name": {}}}}}}
    }
    paths = {f"/{number}": {"get": {"responses": inline}} for number in range(100)}
    read = [bool(tool.outputs) for tool in tools(openapi.read(write_json("api.json", api(paths))))]
    assert len(read) == 100 and read == sorted(read, reverse=True)
    assert 20 < sum(read) < 80
