"""Requests of operations: each argument in its place, and no argument outside of it."""

import json
import sys
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.calling.errors import CallRefused
from quartermaster.calling.requests import HttpRequest, Parts, build_request
from quartermaster.calling.settings import CallSettings, ProviderCalls
from router.errors import SettingsInvalid
from router.operation import BodyField, Operation, OperationBody, OperationParameter

BASE = "https://api.test/v1"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def parameter(argument: str, place: Any, **fields: Any) -> OperationParameter:
    """A parameter in the default style of its place."""
    form = place in ("query", "cookie")
    return OperationParameter(argument, place, **{"style": "form" if form else "simple", "explode": form, **fields})


def operation(*parameters: OperationParameter, path: str = "/items", body: OperationBody | None = None) -> Operation:
    """An operation with these parameters."""
    return Operation("POST" if body else "GET", path, parameters=parameters, body=body)


def test_each_argument_goes_where_the_document_says() -> None:
    called = operation(
        parameter("id", "path"),
        parameter("query_id", "query", name="id"),
        parameter("trace", "header", name="X-Trace-Id"),
        parameter("session", "cookie"),
        parameter("filter", "query", media_type="application/json"),
        path="/items/{id}/parts",
        body=OperationBody("application/json", fields=(BodyField("title"), BodyField("done"), BodyField("note"))),
    )
    arguments = {
        "id": "a-b",
        "query_id": 7,
        "trace": "t-1",
        "session": "s 1",
        "filter": {"a": [1, "é"]},
        "title": "Café",
        "done": None,
    }
    request = build_request(called, arguments, BASE)
    assert request.full_url == f"{BASE}/items/a-b/parts?id=7&filter=%7B%22a%22%3A%5B1%2C%22%C3%A9%22%5D%7D"
    assert request.all_headers["X-Trace-Id"] == "t-1" and request.all_headers["Cookie"] == "session=s%201"
    assert json.loads(request.body) == {"title": "Café", "done": None}  # null is a value in JSON; `note` was not given
    assert request.all_headers["Content-Type"] == "application/json"


def test_null_is_not_given_outside_of_a_body_and_an_unknown_argument_is_refused() -> None:
    called = operation(parameter("a", "query"), parameter("b", "header"), parameter("c", "cookie"))
    request = build_request(called, {"a": None, "b": None, "c": None}, BASE)
    assert request.full_url == f"{BASE}/items" and not {"b", "Cookie"} & request.all_headers.keys()
    with pytest.raises(CallRefused, match="no argument limit; it has a, b, c"):
        build_request(called, {"limit": 1}, BASE)
    with pytest.raises(CallRefused, match="needs id, which is not given"):
        build_request(operation(path="/items/{id}"), {}, BASE)


@pytest.mark.parametrize(
    "value",
    [*"../admin a/b a\\b .. . %2e%2e %252e%252e %25252e%25252e %2Fadmin a%252Fb ..%5c".split(), "a\x00b", "a\nb", ""],
)
def test_a_path_argument_that_may_be_read_as_another_path_is_refused(value: str) -> None:
    with pytest.raises(CallRefused):
        build_request(operation(parameter("id", "path"), path="/items/{id}"), {"id": value}, BASE)


def test_slashes_are_sent_encoded_where_the_settings_say_so_but_never_dot_segments() -> None:
    called = operation(parameter("project", "path"), path="/projects/{project}")
    assert build_request(called, {"project": "group/name"}, BASE, encoded_slashes=True).url == (
        f"{BASE}/projects/group%2Fname"
    )
    with pytest.raises(CallRefused, match="slash"):
        build_request(called, {"project": "group/../../admin"}, BASE, encoded_slashes=True)


def test_a_document_s_path_cannot_change_the_host_or_end_in_a_query() -> None:
    assert build_request(operation(path="@evil.test/x?a#b"), {}, BASE).full_url == f"{BASE}/@evil.test/x%3Fa%23b"
    assert urlsplit(build_request(operation(path="//evil.test"), {}, BASE).full_url).hostname == "api.test"


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\x00", "é", " a", "a "])
def test_a_header_argument_adds_no_header(value: str) -> None:
    with pytest.raises(CallRefused, match=r"cannot be sent in a header: a header('s value)? cannot"):
        build_request(operation(parameter("trace", "header", name="X-Trace-Id")), {"trace": value}, BASE)


@pytest.mark.parametrize(
    "name", ["Host", "Cookie", "content-length", "Transfer-Encoding", "Proxy-Authorization", "a b"]
)
def test_a_document_cannot_have_a_model_set_the_client_s_own_headers(name: str) -> None:
    with pytest.raises(CallRefused):
        build_request(operation(parameter(name, "header")), {name: "x"}, BASE)
    ignored = operation(parameter("Authorization", "header"), parameter("accept", "header"))  # by OpenAPI
    request = build_request(ignored, {"Authorization": "Bearer mine", "accept": "text/csv"}, BASE)
    assert not {"Bearer mine", "text/csv"} & {*request.all_headers.values()}


@pytest.mark.parametrize("name", ["Remote-User", "X-Remote-User", "X-Host", "X_Api_Version", "version."])
def test_an_argument_fills_a_header_that_a_gateway_may_believe_only_where_the_settings_name_it(name: str) -> None:
    called = operation(parameter("value", "header", name=name))
    with pytest.raises(CallRefused, match=f'set argument_headers = ."{name}".'):
        build_request(called, {"value": "x"}, BASE)
    assert build_request(called, {"value": "x"}, BASE, argument_headers=[name.upper()]).all_headers[name] == "x"


@pytest.mark.parametrize("name", ["X_HTTP_Method_Override", "x-forwarded_for", "Content_Length", "Accept-Encoding"])
def test_a_header_s_other_spelling_is_the_client_s_own_too_whatever_the_settings_say(name: str) -> None:
    with pytest.raises(CallRefused, match="this header is the client's own"):
        build_request(operation(parameter("value", "header", name=name)), {"value": "x"}, BASE, argument_headers=[name])
    with pytest.raises(SettingsInvalid, match=f"argument_headers.{name}: this header is the client's own"):
        CallSettings({"a": ProviderCalls(base_url=BASE, argument_headers=[name])})


@pytest.mark.parametrize(
    "name", ["X-GitHub-Api-Version", "version", "If-Match", "Range", "Idempotency-Key", "X-Request-Id"]
)
def test_an_argument_fills_a_header_that_claims_nothing(name: str) -> None:
    called = operation(parameter("value", "header", name=name))
    assert build_request(called, {"value": "x"}, BASE).all_headers[name] == "x"


@pytest.mark.parametrize("place", ["query", "path"])
def test_arguments_that_are_nested_too_deeply_are_refused(place: Any) -> None:
    value: Any = "x"
    for _ in range(sys.getrecursionlimit() - 150):
        value = {"a": value}
    style = "deepObject" if place == "query" else "simple"
    with pytest.raises(CallRefused):
        build_request(operation(parameter("q", place, style=style), path="/{q}"), {"q": value}, BASE)


def test_a_form_writes_lists_item_by_item_and_objects_as_json() -> None:
    fields = (BodyField("name"), BodyField("tags"), BodyField("extra"), BodyField("ids", style="pipeDelimited"))
    body = OperationBody("application/x-www-form-urlencoded", fields=fields)
    arguments = {"name": "a&b=c", "tags": ["x", "y"], "extra": {"k": 1}, "ids": [1, 2]}
    request = build_request(operation(body=body), arguments, BASE)
    assert parse_qsl(request.body.decode()) == [
        ("name", "a&b=c"), ("tags", "x"), ("tags", "y"), ("extra", '{"k": 1}'), ("ids", "1|2")
    ]  # fmt: skip


def test_a_multipart_form_sends_fields_and_files() -> None:
    fields = (BodyField("title"), BodyField("tags"), BodyField("photo", is_file=True, media_type="image/png"))
    arguments = {"title": 'a"\r\nX: 1', "tags": ["x", "y"], "photo": "bytes"}
    request = build_request(operation(body=OperationBody("multipart/form-data", fields=fields)), arguments, BASE)
    content_type = f"Content-Type: {request.all_headers['Content-Type']}\r\n\r\n".encode()
    parts: Any = BytesParser().parsebytes(content_type + request.body).get_payload()
    found = [(part.get_param("name", header="content-disposition"), part.get_filename()) for part in parts]
    assert found == [("title", None), ("tags", None), ("tags", None), ("photo", "photo")]
    assert [part.get_payload() for part in parts] == ['a"\r\nX: 1', "x", "y", "bytes"]
    assert parts[3].get_content_type() == "image/png"


def test_a_body_as_a_whole_is_sent_as_it_is() -> None:
    def body(media_type: str, value: Any) -> tuple[str, bytes]:
        whole = OperationBody(media_type, argument="body")
        request = build_request(operation(body=whole), {"body": value}, BASE)
        return request.all_headers["Content-Type"], request.body

    assert body("application/json", [1, "é"]) == ("application/json", '[1, "é"]'.encode())
    assert body("application/merge-patch+json; charset=utf-8", {"a": None}) == (
        "application/merge-patch+json", b'{"a": null}'
    )  # fmt: skip
    assert body("text/plain", "é") == ("text/plain; charset=utf-8", "é".encode())
    assert body("application/xml", "<a/>") == ("application/xml", b"<a/>")
    assert body("*/*", {"a": 1}) == ("application/json", b'{"a": 1}')
    with pytest.raises(CallRefused, match="image/png"):
        body("image/png", {"a": 1})


def test_no_body_is_sent_where_none_is_given_and_an_empty_object_where_one_is_required() -> None:
    fields = (BodyField("a"),)
    assert build_request(operation(body=OperationBody("application/json", fields=fields)), {}, BASE).body == b""
    required = OperationBody("application/json", fields=fields, required=True)
    assert build_request(operation(body=required), {}, BASE).body == b"{}"


@given(identifier=TEXTS, name=TEXTS, values=st.lists(TEXTS, max_size=3), cookie=TEXTS)
def test_no_argument_leaves_its_place(identifier: str, name: str, values: list[str], cookie: str) -> None:
    """Whatever the texts are, a request decodes to them, or is refused."""
    called = operation(
        parameter("id", "path"),
        parameter("name", "query"),
        parameter("values", "query"),
        parameter("session", "cookie"),
        path="/items/{id}/parts",
    )
    arguments = {"id": identifier, "name": name, "values": values, "session": cookie}
    try:
        request = build_request(called, arguments, BASE)
    except CallRefused:
        return
    parts = urlsplit(request.full_url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.test", "")
    *before, segment, after = parts.path.split("/")
    assert (before, unquote(segment), after) == (["", "v1", "items"], identifier, "parts")
    assert parse_qsl(parts.query, keep_blank_values=True) == [("name", name), *(("values", one) for one in values)]
    assert request.all_headers["Cookie"].isascii() and request.all_headers["Cookie"].isprintable()
    assert unquote(request.all_headers["Cookie"]) == f"session={cookie}" and ";" not in request.all_headers["Cookie"]


def test_a_request_s_text_shows_no_header_query_or_body_and_a_part_of_the_settings_replaces_one_of_its_name() -> None:
    request = HttpRequest("GET", BASE, Parts({"X": "secret"}, (("key", "secret"),), (("c", "secret"),)), b"secret")
    assert "secret" not in repr(request)
    settled = request.with_parts(Parts({"x": "own"}, (("key", "own"),), (("c", "own"),)))
    assert (settled.full_url, settled.all_headers) == (f"{BASE}?key=own", {"x": "own", "Cookie": "c=own"})
