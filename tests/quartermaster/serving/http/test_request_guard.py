"""Who is let in, how often and with how much: before anything of a request is read."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from quartermaster.serving.http.request_guard import RequestGuard
from quartermaster.serving.http.settings import HttpSettings
from tests.quartermaster.serving.conftest import TOKEN, Ask, basic, bearer

ROUTE = {"request": "undo a payment", "k": 1}


@pytest.fixture(scope="module")
def guarded(client_of: Ask) -> TestClient:
    return client_of(token=TOKEN)


@pytest.mark.parametrize("path", ["/v1/tools", "/v1/snapshot", "/v1/unheard-of"])
def test_the_api_asks_for_the_token_and_takes_no_other(guarded: TestClient, path: str) -> None:
    for headers in (
        {},
        bearer("wrong"),
        bearer(TOKEN + "x"),
        bearer(TOKEN[:-1]),
        {"Authorization": TOKEN},
        basic(TOKEN),
    ):
        response = guarded.get(path, headers=headers)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert TOKEN not in response.text
    assert guarded.get(path, headers=bearer(TOKEN)).status_code in (200, 404)


def test_two_tokens_in_one_request_are_refused_whichever_is_right(guarded: TestClient) -> None:
    for tokens in (("wrong", TOKEN), (TOKEN, "wrong"), (TOKEN, TOKEN)):
        headers = [("Authorization", f"Bearer {token}") for token in tokens]
        assert guarded.get("/v1/tools", headers=headers).status_code == 401


def test_a_browser_gives_the_token_as_its_password_and_probes_give_none(guarded: TestClient) -> None:
    assert [guarded.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    refused = guarded.get("/")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Basic realm=")
    assert guarded.get("/", headers=basic("wrong")).status_code == 401
    for nonsense in (b"Basic %%%", b"Basic \xe9\xe9", b"Basic /w=="):
        assert guarded.get("/", headers={b"Authorization": nonsense}).status_code == 401
    assert guarded.get("/", headers=basic(TOKEN)).status_code == 200
    assert guarded.get("/tools", headers=bearer(TOKEN)).status_code == 200
    for path in ("/metrics", "/openapi.json"):
        assert guarded.get(path).status_code == 401
        assert guarded.get(path, headers=basic(TOKEN)).status_code == 200
        assert guarded.get(path, headers=bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example:8080", "localhost.evil.example", "localhost@evil.example", "x@localhost", "[::1", ""]
)
def test_a_name_that_was_made_to_lead_here_is_not_served(client: TestClient, host: str) -> None:
    response = client.get("/v1/snapshot", headers={"Host": host})
    assert (response.status_code, response.json()["error"]["type"]) == (421, "unknown_host")


@pytest.mark.parametrize("host", ["localhost:9999", "127.0.0.1", "[::1]:8080", "LOCALHOST"])
def test_the_names_of_this_machine_are_served(client: TestClient, host: str) -> None:
    assert client.get("/v1/snapshot", headers={"Host": host}).status_code == 200


def test_a_body_is_refused_by_the_length_it_says_or_has(client_of: Ask) -> None:
    client = client_of(max_request_bytes=2_000)

    def chunks() -> Iterator[bytes]:
        yield b'{"request": "'
        for _ in range(100):
            yield b"x" * 100
        yield b'"}'

    for body in ({"content": b"x" * 2_001}, {"content": chunks()}):
        response = client.post("/v1/route", headers={"Content-Type": "application/json"}, **body)
        assert (response.status_code, response.json()["error"]["type"]) == (413, "too_large")
    assert client.post("/v1/route", json=ROUTE).status_code == 200


def test_a_client_in_a_hurry_is_told_how_long_to_wait_and_wrong_tokens_count(client_of: Ask) -> None:
    client = client_of(token=TOKEN, requests_per_minute=20)  # two at once, and then one every three seconds
    assert [client.get("/v1/snapshot", headers=bearer("guess")).status_code for _ in range(3)] == [401, 401, 429]
    refused = client.post("/v1/route", json=ROUTE, headers=bearer(TOKEN))
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "too_many_requests")
    assert 1 <= int(refused.headers["Retry-After"]) <= 3  # less by what the requests took
    assert client.get("/healthz").status_code == 200


async def answered(gate: RequestGuard, *messages: Message, wait: float = 0.0, **scope: Any) -> list[Message]:
    """What a gate sends to a client that sends these messages, and waits before each."""
    coming, sent = iter(messages), []

    async def receive() -> Message:
        await asyncio.sleep(wait)
        return next(coming)

    async def send(message: Message) -> None:
        sent.append(message)

    request = {"type": "http", "method": "POST", "path": "/v1/route", "headers": [(b"host", b"localhost")], **scope}
    await gate(request, receive, send)
    return sent


async def hold(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that takes a while."""
    message = await receive()
    await asyncio.sleep(0.05)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_that_drips_is_given_up_and_one_in_parts_reaches_the_app_whole() -> None:
    gate = RequestGuard(hold, HttpSettings(body_timeout_s=0.1))
    begin, _ = asyncio.run(answered(gate, *[part(b"x", more=True)] * 10, wait=0.04))
    assert begin["status"] == 408
    gate = RequestGuard(hold, HttpSettings())
    begin, body = asyncio.run(answered(gate, part(b"one ", more=True), part(b"two")))
    assert (begin["status"], body["body"]) == (200, b"one two")


def test_a_body_is_as_long_as_its_parts_together() -> None:
    gate = RequestGuard(hold, HttpSettings(max_request_bytes=2_000))
    parts = [part(b"x" * 1_000, more=True), part(b"x" * 1_000)]
    assert asyncio.run(answered(gate, *parts))[0]["status"] == 200
    assert asyncio.run(answered(gate, parts[0], parts[0], part(b"x")))[0]["status"] == 413


@pytest.mark.parametrize("query", [b"\xed\xa0\x80", b"request=\xff", "q=é".encode()])
def test_a_query_of_raw_bytes_is_refused_before_a_redirect_would_decode_it(query: bytes) -> None:
    tools = Starlette(routes=[Route("/tools", lambda _: Response())])
    gate = RequestGuard(tools, HttpSettings())
    begin, body = asyncio.run(answered(gate, part(b""), method="GET", path="/tools/", query_string=query))
    assert begin["status"] == 400 and b"percent-encode" in body["body"]


def test_more_than_are_answered_at_a_time_are_sent_away_at_once() -> None:
    gate = RequestGuard(hold, HttpSettings(max_concurrent=2))

    async def rush() -> list[int]:
        sent = await asyncio.gather(*(answered(gate, part(b"x")) for _ in range(4)))
        again = await answered(gate, part(b"x"))
        return [messages[0]["status"] for messages in (*sent, again)]

    assert asyncio.run(rush()) == [200, 200, 503, 503, 200]


def test_every_answer_forbids_scripts_frames_and_keeping(guarded: TestClient) -> None:
    for response in (guarded.get("/", headers=basic(TOKEN)), guarded.get("/"), guarded.get("/healthz")):
        assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
        assert "script-src" not in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "same-origin"
        assert response.headers["Cache-Control"] == "no-store"
