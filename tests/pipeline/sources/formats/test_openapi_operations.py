"""How an operation of a document is called: places, styles, bodies, servers, security, and bounds on all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.formats import openapi
from router.operation import BodyField, Operation, OperationBody, OperationParameter, SecurityScheme
from router.record import ToolRecord
from router.tools.definitions.raw_tool import normalize
from tests.pipeline.sources.reading import tools
from tests.support.factories import make_record

WriteJson = Callable[[str, Any], Path]


@pytest.fixture
def operation_of(write_json: WriteJson) -> Callable[..., Operation]:
    """Read the operation of a document with one path: an OpenAPI one, or whatever `document` adds."""

    def read(row: dict[str, Any], method: str = "get", path: str = "/a", **document: Any) -> Operation:
        version = {} if "swagger" in document else {"openapi": "3.1.0"}
        item = document.pop("item", {})
        (tool,) = tools(
            openapi.read(write_json("a.json", {**version, "paths": {path: {**item, method: row}}, **document}))
        )
        assert tool.operation is not None
        return tool.operation

    return read


Read = Callable[..., Operation]


def test_every_place_has_its_default_style(operation_of: Read) -> None:
    parameters = [{"name": name, "in": place, "schema": {}} for name, place in
                  [("a", "path"), ("b", "query"), ("c", "header"), ("d", "cookie")]]  # fmt: skip
    assert operation_of({"parameters": parameters}, path="/x/{a}") == Operation(
        "GET",
        "/x/{a}",
        parameters=(
            OperationParameter("a", "path", style="simple"),
            OperationParameter("b", "query", style="form", explode=True),
            OperationParameter("c", "header", style="simple"),
            OperationParameter("d", "cookie", style="form", explode=True),
        ),
    )


def test_styles_that_the_place_has_are_kept_and_others_fall_back(operation_of: Read) -> None:
    rows = [
        {"name": "a", "in": "query", "style": "deepObject"},
        {"name": "b", "in": "query", "style": "pipeDelimited", "allowReserved": True},
        {"name": "c", "in": "query", "style": "form", "explode": False},
        {"name": "d", "in": "query", "style": "matrix"},
        {"name": "e", "in": "query", "style": ["form"], "explode": "yes"},
        {"name": "f", "in": "query", "content": {"application/json": {"schema": {}}}},
        {"name": "g", "in": "nowhere"},
    ]
    assert operation_of({"parameters": rows}).parameters == (
        OperationParameter("a", "query", style="deepObject", explode=True),
        OperationParameter("b", "query", style="pipeDelimited", allow_reserved=True),
        OperationParameter("c", "query", style="form"),
        OperationParameter("d", "query", style="form", explode=True),
        OperationParameter("e", "query", style="form", explode=True),
        OperationParameter("f", "query", style="form", explode=True, media_type="application/json"),
    )


def test_a_merged_body_names_its_fields_and_any_other_is_one_argument(operation_of: Read) -> None:
    def body(schema: Any, media: str = "application/json", **more: Any) -> OperationBody | None:
        content = (
            {"text/plain": {}, media: {"schema": schema, **more}}
            if "json" in media
            else {media: {"schema": schema, **more}}
        )
        return operation_of({"requestBody": {"required": True, "content": content}}, "post").body

    two = {"type": "object", "properties": {"a": {}, "b": {}}}
    fields = (BodyField("a"), BodyField("b"))
    assert body(two) == OperationBody("application/json", fields=fields, required=True)
    assert body({"type": "array"}) == OperationBody("application/json", "body", required=True)
    assert body({**two, "additionalProperties": True}) == OperationBody("application/json", "body", required=True)
    photo = {"type": "object", "properties": {"a": {}, "photo": {"type": "string", "format": "binary"}}}
    encoding = {"photo": {"contentType": "image/png, image/jpeg"}, "a": {"style": "pipeDelimited"}}
    assert body(photo, "multipart/form-data", encoding=encoding) == OperationBody(
        "multipart/form-data",
        fields=(BodyField("a", style="pipeDelimited"), BodyField("photo", media_type="image/png", is_file=True)),
        required=True,
    )


def test_swagger_s_parameters_say_the_same_in_their_own_words(operation_of: Read) -> None:
    rows = [
        {"name": "a", "in": "query", "type": "array"},
        {"name": "b", "in": "query", "type": "array", "collectionFormat": "multi"},
        {"name": "c", "in": "query", "type": "array", "collectionFormat": "tsv"},
        {"name": "d", "in": "path", "type": "array", "collectionFormat": "ssv"},
        {"name": "e", "in": "header", "type": "array", "collectionFormat": "multi"},
        {"name": "f", "in": "formData", "type": "array", "collectionFormat": "pipes"},
        {"name": "b", "in": "formData", "type": "string", "required": True},
    ]
    found = operation_of({"parameters": rows}, "post", "/x/{d}", swagger="2.0")
    assert found.parameters == (
        OperationParameter("a", "query", style="form"),
        OperationParameter("b", "query", style="form", explode=True),
        OperationParameter("c", "query", style="tabDelimited"),
        OperationParameter("d", "path", style="spaceDelimited"),
        OperationParameter("e", "header", style="simple"),
    )
    assert found.body == OperationBody(
        "application/x-www-form-urlencoded",
        fields=(BodyField("f", style="pipeDelimited"), BodyField("formData_b", "b", style="form")),
        required=True,
    )


def test_a_swagger_form_with_a_file_is_multipart_and_a_body_has_what_is_consumed(operation_of: Read) -> None:
    file = [{"name": "photo", "in": "formData", "type": "file"}]
    assert operation_of({"parameters": file}, "post", swagger="2.0").body == OperationBody(
        "multipart/form-data", fields=(BodyField("photo", is_file=True),)
    )
    body = [{"name": "it", "in": "body", "required": True, "schema": {"type": "string"}}]
    for consumes, media in [([], "application/json"), (["text/csv"], "text/csv"),
                            (["application/xml", "application/vnd.a+json"], "application/vnd.a+json")]:  # fmt: skip
        found = operation_of({"parameters": body, "consumes": consumes}, "post", swagger="2.0")
        assert found.body == OperationBody(media, "body", required=True)


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


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["url", "variables", "type", "in", "name", "flows", "a", "$ref"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(servers=JUNK, security=JUNK, schemes=JUNK, flags=JUNK)
def test_no_document_s_word_on_calls_rejects_its_tools(
    servers: Any, security: Any, schemes: Any, flags: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import json

    path = tmp_path_factory.getbasetemp() / "junk.json"
    parameter = {"name": "q", "in": "query", "style": flags, "explode": flags, "collectionFormat": flags}
    row = {"operationId": "a", "parameters": [parameter], "servers": servers, "security": security, "consumes": flags}
    swagger = {"swagger": "2.0", "host": servers, "schemes": servers, "securityDefinitions": schemes}
    for document in ({"openapi": "3.0.0", "components": {"securitySchemes": schemes}}, swagger):
        path.write_text(json.dumps({**document, "servers": servers, "paths": {"/a": {"get": row}}}), encoding="utf-8")
        (tool,) = tools(openapi.read(path))
        assert tool.operation is not None
        assert Operation.from_json(json.loads(json.dumps(tool.operation.to_json()))) == tool.operation


def test_a_record_has_the_operation_of_its_raw_tool(write_json: WriteJson) -> None:
    path = write_json("a.json", {"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "a"}}}})
    (tool,) = tools(openapi.read(path))
    assert normalize(tool).operation == Operation("GET", "/a")


def test_the_operation_is_kept_by_the_record_s_json_and_is_no_part_of_its_content(operation_of: Read) -> None:
    operation = operation_of({"parameters": [{"name": "q", "in": "query"}]}, servers=[{"url": "https://a.test"}])
    record = make_record(operation=operation)
    assert ToolRecord.from_json(record.to_json()) == record
    assert record.content() == make_record().content() and record.without_outputs() == make_record()
