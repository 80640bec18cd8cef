"""Calls of operations at a server on loopback: what is sent, what is refused, and what a model is told."""

import asyncio
import json
import logging
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quartermaster.addresses import literal_address
from quartermaster.calling import (
    ApiCalls,
    ApiKey,
    Auth,
    Basic,
    Bearer,
    CallFailed,
    CallRefused,
    CallResult,
    CallSettings,
    ProviderCalls,
)
from quartermaster.calling import sending as sending_module
from router.operation import BodyField, Operation, OperationBody, OperationParameter
from router.record import ToolRecord
from tests.support.api_server import ApiServer, Received, Reply
from tests.support.factories import make_record
from tests.support.ports import kept_port

SECRET = "s3cret/value+1"
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def reading(**fields: Any) -> ToolRecord:
    """A tool that reads an item by its id."""
    operation = Operation("GET", "/items/{id}", parameters=(OperationParameter("id", "path"),), **fields)
    return make_record("read_item", "shop", input_schema=SCHEMA, operation=operation)


def writing(method: str = "POST") -> ToolRecord:
    """A tool that adds an item."""
    body = OperationBody("application/json", fields=(BodyField("id"),), required=True)
    return make_record("add_item", "shop", input_schema=SCHEMA, operation=Operation(method, "/items", body=body))


def call(settings: ProviderCalls, record: ToolRecord, arguments: dict[str, Any] | None = None) -> CallResult:
    """Call a tool of the shop."""
    calls = ApiCalls(CallSettings({"shop": settings}))
    return asyncio.run(calls.call(record, {"id": 1} if arguments is None else arguments))


def test_a_tool_is_called_at_the_address_of_the_settings(api: ApiServer) -> None:
    api.answer = lambda _: Reply.of({"name": "lamp"})
    result = call(ProviderCalls(base_url=f"{api.url}/v1/"), reading(servers=("https://elsewhere.test",)), {"id": 7})
    assert (result.value, result.text) == ({"name": "lamp"}, '{"name": "lamp"}')
    assert (result.is_error, result.status) == (False, 200)
    assert (api.last.method, api.last.target, api.last.headers["accept-encoding"]) == ("GET", "/v1/items/7", "identity")


def test_arguments_are_checked_before_anything_is_sent(api: ApiServer) -> None:
    with pytest.raises(CallRefused, match=r"\$\.id: 'x' is not of type 'integer'.*Its signature is shop/read_item"):
        call(ProviderCalls(base_url=api.url), reading(), {"id": "x"})
    assert api.received == []


def test_writing_is_refused_until_the_settings_allow_it(api: ApiServer) -> None:
    with pytest.raises(CallRefused, match=r'it is a POST.*allow = \["POST"\]'):
        call(ProviderCalls(base_url=api.url), writing())
    assert api.received == []
    call(ProviderCalls(base_url=api.url, allow=["POST"]), writing())
    assert (api.last.method, api.last.body) == ("POST", b'{"id": 1}')


@pytest.mark.parametrize(
    ("auth", "header", "value", "query"),
    [
        (Bearer(SECRET), "authorization", f"Bearer {SECRET}", []),
        (Basic("me", SECRET), "authorization", "Basic bWU6czNjcmV0L3ZhbHVlKzE=", []),
        (ApiKey("X-Key", SECRET), "x-key", SECRET, []),
        (ApiKey("key", SECRET, "query"), "host", None, [("key", SECRET)]),
        (ApiKey("key", SECRET, "cookie"), "cookie", "key=s3cret%2Fvalue%2B1", []),
    ],
)
def test_each_way_to_authenticate_is_sent(
    api: ApiServer, auth: Auth, header: str, value: str | None, query: list[tuple[str, str]]
) -> None:
    call(ProviderCalls(base_url=api.url, auth=auth), reading())
    assert value is None or api.last.headers[header] == value
    assert api.last.query == query


@pytest.mark.parametrize(
    "auth", [Bearer(SECRET), Basic("me", SECRET), ApiKey("X-Key", SECRET), ApiKey("k", SECRET, "query")]
)
@pytest.mark.parametrize("status", [200, 302, 401])
def test_no_secret_comes_back_in_answers_errors_or_logs(
    api: ApiServer, auth: Auth, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that repeats the whole request does not tell the model the key, and nobody logs it."""

    def repeat(received: Received) -> Reply:
        text = json.dumps([received.target, received.headers, SECRET])
        return Reply(text.encode(), status, {"Content-Type": "application/json", "Location": f"/x?k={SECRET}"})

    api.answer = repeat
    with caplog.at_level(logging.INFO):  # at DEBUG the HTTP library logs the headers of answers
        settings = ProviderCalls(base_url=api.url, auth=auth, headers={"X-Extra-Token": "another-secret"})
        result = call(settings, reading())
    for secret in (SECRET, "s3cret%2Fvalue%2B1", "bWU6czNjcmV0L3ZhbHVlKzE=", "another-secret"):
        assert secret not in repr(result) and secret not in caplog.text
    assert "***" in result.text and result.is_error is (status != 200)


def test_a_dry_run_sends_nothing_and_masks_what_the_settings_add(api: ApiServer) -> None:
    settings = ProviderCalls(base_url=api.url, auth=Bearer(SECRET), headers={"X-Team": "blue-team"}, write=True)
    calls = ApiCalls(CallSettings({"shop": settings}), dry_run=True)
    dry = call(msgspec.structs.replace(settings, dry_run=True), writing(), {"id": 5})
    for result in (asyncio.run(calls.call(writing(), {"id": 5})), calls.preview(writing(), {"id": 5}), dry):
        assert result.value["method"] == "POST" and result.value["url"] == f"{api.url}/items"
        assert result.value["body"] == {"id": 5}
        assert (result.value["headers"]["Authorization"], result.value["headers"]["X-Team"]) == ("***", "***")
        assert SECRET not in repr(result) and "blue-team" not in repr(result)
    assert api.received == []


def test_a_key_that_the_settings_send_need_not_be_given_and_cannot_be_replaced(api: ApiServer) -> None:
    properties = {"id": {"type": "integer"}, "X-Key": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["id", "X-Key"]}
    parameters = (OperationParameter("id", "path"), OperationParameter("X-Key", "header"))
    record = make_record(
        "read", "shop", input_schema=schema, operation=Operation("GET", "/{id}", parameters=parameters)
    )
    settings = ProviderCalls(base_url=api.url, auth=ApiKey("x-key", SECRET))
    for arguments in ({"id": 1}, {"id": 1, "X-Key": "mine"}):
        call(settings, record, arguments)
        assert api.last.headers["x-key"] == SECRET


LONG = Reply(b"x" * 5_000, 500, {"Content-Type": "text/plain"})
LATIN = Reply("é".encode("latin-1"), 200, {"Content-Type": "text/plain; charset=ISO-8859-1"})
PICTURE = Reply(b"\x89PNG\x00", 200, {"Content-Type": "image/png"})


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(b'{"detail": "gone"}', 404), 'HTTP 404 Not Found: {"detail": "gone"}'),
        (LONG, f"HTTP 500 Internal Server Error: {'x' * 2_000}…"),
        (Reply(b"", 599, {}), "HTTP 599"),
        (Reply(b"", 302, {"Location": "https://evil.test/"}), "HTTP 302 Found (to https://evil.test/, not followed)"),
        (Reply(b"", 204, {}), "HTTP 204 No Content"),
        (LATIN, "é"),
        (PICTURE, "HTTP 200 OK: 5 bytes of image/png, which are not text"),
        (Reply(b"a\x00b"), "HTTP 200 OK: 3 bytes of application/json, which are not text"),
        (Reply(b"{broken"), "{broken"),
    ],
)
def test_an_answer_that_is_an_error_or_no_json_is_told_as_what_it_is(api: ApiServer, reply: Reply, text: str) -> None:
    api.answer = lambda _: reply
    result = call(ProviderCalls(base_url=api.url), reading())
    assert (result.text, result.is_error, result.status) == (text, reply.status >= 300, reply.status)
    assert result.value is None


def test_of_a_long_answer_a_model_reads_the_beginning(api: ApiServer) -> None:
    api.answer = lambda _: Reply.of(["x" * 100])
    result = call(ProviderCalls(base_url=api.url, max_result_characters=20), reading())
    assert result.text == (
        'The answer has 104 characters; the first 20 follow. Ask for less, such as a smaller page.\n["' + "x" * 18
    )
    assert result.value is None and result.rest == "x" * 82 + '"]'


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(b"x" * 1_001), r"more than 1,000 bytes \(max_response_bytes\)"),
        (Reply(b"\x1f\x8b", 200, {"Content-Encoding": "gzip"}), "compressed answer"),
    ],
)
def test_an_answer_beyond_the_limit_or_one_that_may_grow_is_not_read(api: ApiServer, reply: Reply, said: str) -> None:
    api.answer = lambda _: reply
    with pytest.raises(CallFailed, match=said):
        call(ProviderCalls(base_url=api.url, max_response_bytes=1_000), reading())


def test_a_request_beyond_the_limit_is_not_sent(api: ApiServer) -> None:
    with pytest.raises(CallRefused, match="body has 9 bytes, more than the 8 of max_request_bytes"):
        call(ProviderCalls(base_url=api.url, write=True, max_request_bytes=8), writing())
    assert api.received == []


def test_a_server_that_does_not_answer_is_given_up_and_a_write_is_not_repeated_blindly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = ProviderCalls(base_url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2, write=True)
        with pytest.raises(CallFailed, match=r"did not answer within 0\.2 s\.$"):
            call(settings, reading())
        with pytest.raises(CallFailed, match=r"within 0\.2 s\. It is not known whether the call took effect"):
            call(settings, writing())
    nobody = pytest.raises(CallFailed, match=r"could not be reached.*nothing was sent")
    with kept_port() as port, nobody:
        call(ProviderCalls(base_url=f"http://127.0.0.1:{port}"), reading())


def test_redirects_are_followed_within_the_same_origin_alone(api: ApiServer) -> None:
    def redirect(received: Received) -> Reply:
        if received.path == "/items/1":
            return Reply(b"", 307, {"Location": "/items/2?page=1"})
        return (
            Reply.of("there") if received.path == "/items/2" else Reply(b"", 302, {"Location": "http://127.0.0.1:1/"})
        )

    api.answer = redirect
    follow = ProviderCalls(base_url=api.url, follow_redirects=True, auth=Bearer(SECRET))
    assert call(follow, reading()).value == "there" and api.last.query == [("page", "1")]
    assert "to http://127.0.0.1:1/, not followed" in call(follow, reading(), {"id": 3}).text
    assert call(ProviderCalls(base_url=api.url), reading()).status == 307
    before = len(api.received)
    writes = ProviderCalls(base_url=api.url, follow_redirects=True, write=True)
    api.answer = lambda _: Reply(b"", 302, {"Location": "/again"})
    assert call(writes, writing()).status == 302 and len(api.received) == before + 1  # a write is sent once
    with pytest.raises(CallFailed, match="redirected more than 3 times"):
        call(follow, reading())


def test_nothing_of_earlier_answers_or_of_the_environment_is_sent(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Cookies, proxies, and passwords."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password netrc-secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    api.answer = lambda _: Reply(b"{}", 200, {"Set-Cookie": "session=alice; Path=/"})
    calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=api.url)}))
    for _ in range(2):
        asyncio.run(calls.call(reading(), {"id": 1}))
    assert not {"cookie", "authorization"} & api.last.headers.keys()


@pytest.mark.parametrize(
    "server",
    ["http://127.0.0.1:{port}", "http://localhost:{port}", "http://169.254.169.254", "http://[::1]:{port}", "http://10.0.0.1",
     "http://0x7f000001:{port}", "http://2130706433:{port}", "http://metadata.google.internal"],
)  # fmt: skip
def test_a_document_cannot_have_this_machine_or_its_network_called(api: ApiServer, server: str) -> None:
    address = server.format(port=api.url.rpartition(":")[2])
    with pytest.raises(CallRefused, match="this machine or a private network"):
        call(ProviderCalls(document_server=True), reading(servers=(address,)))
    assert api.received == []


def test_a_name_that_leads_to_a_private_address_is_refused(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending_module, "looked_up", lambda *_: ["93.184.216.34", "127.0.0.1"])
    with pytest.raises(CallRefused, match=r"api\.example\.com, which is of this machine"):
        call(ProviderCalls(document_server=True), reading(servers=("http://api.example.com",)))


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is looked up once: its second answer could be a private address."""
    looked: list[str] = []

    def look_up(host: str, _: int) -> list[str]:
        looked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(sending_module, "looked_up", look_up)
    monkeypatch.setattr(sending_module, "is_public", lambda address: address == literal_address("127.0.0.1"))
    port = api.url.rpartition(":")[2]
    call(ProviderCalls(document_server=True), reading(servers=(f"http://api.example.com:{port}/v1",)))
    assert looked == ["api.example.com"]
    assert (api.last.headers["host"], api.last.target) == (f"api.example.com:{port}", "/v1/items/1")


def test_an_operation_with_a_server_of_its_own_is_called_only_where_the_settings_name_it(api: ApiServer) -> None:
    record = reading(servers=("https://files.shop.test",), has_own_servers=True)
    with pytest.raises(CallRefused, match=r"sends it to https://files\.shop\.test, and not to the API's other server"):
        call(ProviderCalls(base_url="https://shop.test"), record)
    call(ProviderCalls(base_url="https://shop.test", servers={"https://files.shop.test": f"{api.url}/files"}), record)
    assert api.last.target == "/files/items/1"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (make_record("read", "other", operation=Operation("GET", "/")), "no provider 'other' .they have: shop"),
        (make_record("read", "shop"), "no API document"),
    ],
    ids=["another provider", "no operation"],
)
def test_a_tool_that_cannot_be_called_says_why(record: ToolRecord, message: str) -> None:
    calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url="https://shop.test")}))
    assert not calls.serves(record)
    with pytest.raises(CallRefused, match=message):
        asyncio.run(calls.call(record, {}))
