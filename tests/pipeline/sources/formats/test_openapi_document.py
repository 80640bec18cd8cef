"""What a document says of its operations beside their schemas: servers, security, answers and what those link to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.sources import RawTool
from pipeline.sources.formats import openapi, openapi_document
from router.operation import Operation, SecurityScheme
from router.record import Link, ToolRecord
from router.record import Parameter as Row
from tests.pipeline.sources.reading import api, tools
from tests.support.factories import make_record

Read = Callable[..., Operation]
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
        ({"operationRef": "#/paths/~1orders~1%7Bcustomer%7D/delete"}, "delete_orders_by_customer"),
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


def test_servers_are_the_operation_s_the_path_s_or_the_document_s(operation_of: Read) -> None:
    servers = [{"url": "https://{region}.a.test/v1", "variables": {"region": {"default": "eu"}}}, {"url": "/v1"},
               {"url": "https://{open}.a.test"}, {"url": 1}, "x"]  # fmt: skip
    assert operation_of({}, servers=servers).servers == ("https://eu.a.test/v1", "/v1")
    own = operation_of({"servers": [{"url": "https://files.a.test"}]}, servers=servers)
    assert (own.servers, own.has_own_servers) == (("https://files.a.test",), True)
    of_path = operation_of({}, item={"servers": [{"url": "https://b.test"}]}, servers=servers)
    assert (of_path.servers, of_path.has_own_servers) == (("https://b.test",), True)
    assert not operation_of({"servers": servers}, servers=servers).has_own_servers


def test_swagger_s_host_and_base_path_are_a_server(operation_of: Read) -> None:
    document = {"swagger": "2.0", "host": "a.test", "basePath": "/v1", "schemes": ["http", "https", "ws"]}
    assert operation_of({}, **document).servers == ("https://a.test/v1", "http://a.test/v1")
    chosen = operation_of({"schemes": ["http"]}, **document)
    assert (chosen.servers, chosen.has_own_servers) == (("http://a.test/v1",), False)
    assert operation_of({}, swagger="2.0", basePath="/v1").servers == ("/v1",)


def test_security_names_alternatives_and_their_schemes(operation_of: Read) -> None:
    flows = {"clientCredentials": {"tokenUrl": "https://login.test/token", "scopes": {}}}
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "bearer": {"type": "http", "scheme": "Bearer"},
        "oauth": {"$ref": "#/components/securitySchemes/real"},
        "real": {"type": "oauth2", "flows": flows},
    }
    security = [{"key": [], "oauth": ["read"]}, {"bearer": []}, {}, {"unknown": []}]
    found = operation_of({}, security=security, components={"securitySchemes": schemes})
    assert found.security == (("key", "oauth"), ("bearer",), ())
    assert found.schemes == (
        SecurityScheme("key", "apiKey", name="X-Key", place="header"),
        SecurityScheme("oauth", "oauth2", token_url="https://login.test/token"),
        SecurityScheme("bearer", "http", scheme="bearer"),
    )
    assert operation_of({"security": []}, security=security).security == ()
    swagger = operation_of({"security": [{"b": []}]}, swagger="2.0", securityDefinitions={"b": {"type": "basic"}})
    assert swagger.schemes == (SecurityScheme("b", "basic"),)


def test_a_hostile_document_adds_little_to_each_operation(operation_of: Read) -> None:
    long = "x" * 10_000
    servers = [{"url": f"https://{'{a}' * 100}", "variables": {"a": {"default": long}}}, {"url": f"https://{long}"}]
    servers += [{"url": f"https://{number}.test"} for number in range(1_000)]
    schemes = {f"s{number}": {"type": long, "name": long, "in": long} for number in range(1_000)}
    schemes["loop"] = {"$ref": "#/components/securitySchemes/loop"}
    security: list[Any] = [{key: [] for key in schemes}, *({key: []} for key in schemes), {"loop": []}]
    found = operation_of({}, servers=servers, security=security, components={"securitySchemes": schemes})
    assert len(str(found.to_json())) < 3_000


def test_the_operation_is_kept_by_the_record_s_json_and_is_no_part_of_its_content(operation_of: Read) -> None:
    operation = operation_of({"parameters": [{"name": "q", "in": "query"}]}, servers=[{"url": "https://a.test"}])
    record = make_record(operation=operation)
    assert ToolRecord.from_json(record.to_json()) == record
    assert record.content() == make_record().content() and record.without_outputs() == make_record()
