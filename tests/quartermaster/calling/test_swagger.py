"""A Swagger 2.0 document, built into a catalog and called: what its server understands is what was given."""

import asyncio
from collections.abc import Iterator
from email.parser import BytesParser
from typing import Any
from urllib.parse import unquote

import pytest

from pipeline.build import build
from pipeline.settings import load
from quartermaster.calling import ApiKey, CallSettings, HttpCaller, ProviderCalls
from router import Router
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
"""


def harbour(received: Received) -> Reply:
    """Answer with what a server of this document understands: it reads each place by Swagger's own rules."""
    if received.headers.get("x-key") != SECRET:
        return Reply.of({"error": "who are you?"}, 401)
    *_, ship, thing = (unquote(part) for part in received.path.split("/"))
    query = dict(received.query)
    if received.method == "GET":
        return Reply.of(
            {
                "path": [ship, thing],
                "state": query["state"].split(","),
                "sort": [value for key, value in received.query if key == "sort"],
                "span": [int(one) for one in query["span"].split("|")],
                "tide": [float(one) for one in received.headers["x-tide"].split(",")],
            }
        )
    head = f"Content-Type: {received.headers['content-type']}\r\n\r\n".encode()
    parts: Any = BytesParser().parsebytes(head + received.body).get_payload()
    names = [part.get_param("name", header="content-disposition") for part in parts]
    return Reply.of([[name, part.get_filename(), part.get_payload()] for name, part in zip(names, parts, strict=True)])


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


def call(router: Router, server: ApiServer, name: str, arguments: dict[str, Any]) -> Any:
    auth = ApiKey("X-Key", SECRET)
    settings = ProviderCalls(base_url=f"{server.url}/v2", auth=auth, write=True, argument_headers=["x-tide"])
    return asyncio.run(HttpCaller(router, CallSettings({"harbour": settings})).call(f"harbour/{name}", arguments)).value


def test_lists_are_read_as_their_collection_formats_say(router: Router, server: ApiServer) -> None:
    lists = {"state": ["open", "half open"], "sort": ["-size", "a,b"], "span": [1, 20]}
    arguments = {"name": "Mary & Ann?", **lists, "X-Tide": [1.5, -2]}
    understood = {"path": ["Mary & Ann?", "berths"], **lists, "tide": [1.5, -2.0]}
    assert call(router, server, "listBerths", arguments) == understood
    assert server.last.path == "/v2/ships/Mary%20%26%20Ann%3F/berths"


def test_a_form_is_sent_in_the_media_type_that_is_consumed(router: Router, server: ApiServer) -> None:
    papers = {"name": "Ann", "kind": "crew", "pages": [1, 2], "scan": "%PDF"}
    assert call(router, server, "sendPapers", papers) == [
        ["kind", None, "crew"],
        ["pages", None, "1"],
        ["pages", None, "2"],
        ["scan", "scan", "%PDF"],
    ]


def test_the_snapshot_holds_where_things_go_which_routes_do_not_decode(router: Router) -> None:
    record, plain = router.complete_record("harbour/listBerths"), router.record("harbour/listBerths")
    assert record is not None and record.operation is not None
    assert record.operation.servers == ("https://harbour.test/v2",)
    (scheme,) = record.operation.schemes
    assert (scheme.type, scheme.name, scheme.place) == ("apiKey", "X-Key", "header")
    assert plain is not None and plain.operation is None
