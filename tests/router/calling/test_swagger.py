"""A Swagger 2.0 document, built into a catalog and called: what its server understands is what was given."""

import asyncio
import json
from collections.abc import Iterator
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest

from pipeline.build import build
from pipeline.settings import load
from router import Router
from router.calling import ApiKey, CallResult, CallSettings, HttpCaller, ProviderCalls
from tests.support.api_server import ApiServer, Received, Reply, api_server
from tests.support.quick import QUICK

SECRET = "dock-s3cret"
DOCUMENT = """
swagger: "2.0"
info: {title: Harbour, version: "1"}
host: harbour.test
basePath: /v2
schemes: [https]
consumes: [application/json]
securityDefinitions:
  key: {type: apiKey, in: header, name: X-Key}
security: [{key: []}]
parameters:
  tide: {name: X-Tide, in: header, type: array, items: {type: number}}
paths:
  /ships/{name}/berths:
    get:
      operationId: listBerths
      summary: Lists the berths of a ship.
      parameters:
        - {name: name, in: path, required: true, type: string}
        - {name: state, in: query, type: array, items: {type: string}, collectionFormat: csv}
        - {name: sort, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: span, in: query, type: array, items: {type: integer}, collectionFormat: pipes}
        - {$ref: "#/parameters/tide"}
    put:
      operationId: bookBerth
      summary: Books a berth for a ship.
      parameters:
        - {name: name, in: path, required: true, type: string}
        - name: booking
          in: body
          required: true
          schema: {$ref: "#/definitions/Booking"}
  /ships/{name}/papers:
    post:
      operationId: sendPapers
      summary: Sends the papers of a ship.
      consumes: [multipart/form-data]
      parameters:
        - {name: name, in: path, required: true, type: string}
        - {name: kind, in: formData, type: string, required: true}
        - {name: pages, in: formData, type: array, items: {type: integer}, collectionFormat: multi}
        - {name: scan, in: formData, type: file}
  /fees:
    post:
      operationId: payFee
      summary: Pays a fee of the harbour.
      consumes: [application/x-www-form-urlencoded]
      parameters:
        - {name: amount, in: formData, type: number, required: true}
        - {name: ships, in: formData, type: array, items: {type: string}, collectionFormat: csv}
definitions:
  Booking:
    required: [berth]
    properties:
      berth: {type: integer}
      from: {type: string, format: date}
"""


def harbour(received: Received) -> Reply:
    """Answer with what a server of this document understands: it reads each place by Swagger's own rules."""
    if received.headers.get("x-key") != SECRET:
        return Reply.of({"error": "who are you?"}, 401)
    *_, ship, thing = ["", *(unquote(part) for part in received.path.split("/"))]
    query = dict(received.query)
    content_type = received.headers.get("content-type", "")
    understood: dict[str, Any] = {"path": [ship, thing], "method": received.method}
    if received.method == "GET":
        understood |= {
            "state": query.get("state", "").split(","),
            "sort": [value for key, value in received.query if key == "sort"],
            "span": [int(one) for one in query.get("span", "0").split("|")],
            "tide": [float(one) for one in received.headers.get("x-tide", "0").split(",")],
        }
    elif content_type == "application/json":
        understood["booking"] = json.loads(received.body)
    elif content_type == "application/x-www-form-urlencoded":
        understood["form"] = parse_qsl(received.body.decode())
    else:
        parts: Any = BytesParser().parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + received.body)
        understood["form"] = [
            [part.get_param("name", header="content-disposition"), part.get_filename(), part.get_payload()]
            for part in parts.get_payload()
        ]
    return Reply.of(understood)


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    folder = tmp_path_factory.mktemp("harbour")
    (folder / "harbour.yaml").write_text(DOCUMENT, encoding="utf-8")
    report = build(load(folder / "harbour.yaml", QUICK, environment={}), workspace=folder / "ws")
    with Router.open(report.snapshot) as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server(harbour) as running:
        yield running


def call(router: Router, server: ApiServer, name: str, arguments: dict[str, Any], **more: Any) -> CallResult:
    """Call a tool of the harbour."""
    settings = ProviderCalls(base_url=f"{server.url}/v2", auth=ApiKey("X-Key", SECRET), write=True, **more)
    return asyncio.run(HttpCaller(router, CallSettings({"harbour": settings})).call(f"harbour/{name}", arguments))


def test_lists_are_read_as_their_collection_formats_say(router: Router, server: ApiServer) -> None:
    arguments = {"name": "Mary & Ann?", "state": ["open", "half open"], "sort": ["-size", "a,b"], "span": [1, 20],
                 "X-Tide": [1.5, -2]}  # fmt: skip
    assert call(router, server, "listBerths", arguments).value == {
        "path": ["Mary & Ann?", "berths"],
        "method": "GET",
        "state": ["open", "half open"],
        "sort": ["-size", "a,b"],
        "span": [1, 20],
        "tide": [1.5, -2.0],
    }
    assert server.last.path == "/v2/ships/Mary%20%26%20Ann%3F/berths"


def test_a_body_is_json_without_the_path_s_argument(router: Router, server: ApiServer) -> None:
    arguments = {"name": "Ann", "berth": 4, "from": "2026-01-02"}
    understood = call(router, server, "bookBerth", arguments).value
    assert understood == {
        "path": ["Ann", "berths"], "method": "PUT", "booking": {"berth": 4, "from": "2026-01-02"}
    }  # fmt: skip


def test_forms_are_sent_in_the_media_type_that_is_consumed(router: Router, server: ApiServer) -> None:
    papers = {"name": "Ann", "kind": "crew", "pages": [1, 2], "scan": "%PDF"}
    assert call(router, server, "sendPapers", papers).value["form"] == [
        ["kind", None, "crew"], ["pages", None, "1"], ["pages", None, "2"], ["scan", "scan", "%PDF"]
    ]  # fmt: skip
    fee = call(router, server, "payFee", {"amount": 2.5, "ships": ["Ann", "Mary, too"]})
    assert fee.value["form"] == [["amount", "2.5"], ["ships", "Ann,Mary, too"]]


def test_the_snapshot_holds_where_things_go_and_no_secret(router: Router) -> None:
    record = router.complete_record("harbour/listBerths")
    assert record is not None and record.operation is not None
    assert record.operation.servers == ("https://harbour.test/v2",)
    assert [(scheme.type, scheme.name, scheme.place) for scheme in record.operation.schemes] == [
        ("apiKey", "X-Key", "header")
    ]
    plain = router.record("harbour/listBerths")
    assert plain is not None and plain.operation is None  # routes do not decode it
    assert SECRET not in json.dumps(record.to_json())
