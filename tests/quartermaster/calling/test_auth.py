"""OAuth client credentials: where the secret goes, how long a token is kept, and what is told of a refusal."""

import asyncio
from typing import Any
from urllib.parse import parse_qs

import pytest

from quartermaster.calling import ApiCalls, CallFailed, CallResult, CallSettings, ClientCredentials, ProviderCalls
from quartermaster.calling.auth import TokenCache
from router.operation import Operation, SecurityScheme
from tests.support.api_server import ApiServer, Received, Reply, api_server
from tests.support.factories import make_record

SECRET = "client s3cret"


def credentials(server: ApiServer, **fields: Any) -> ClientCredentials:
    """The credentials of a client of a server on loopback."""
    return ClientCredentials(f"{server.url}/token", "client", SECRET, **fields)


def granting(*tokens: str, expires_in: float | str | None = 3600) -> Any:
    """Answer requests for tokens with one after the other, and others with the token that they bring."""
    left = list(tokens)

    def answer(received: Received) -> Reply:
        if received.path != "/token":
            valid = received.headers["authorization"] == f"Bearer {tokens[-1]}"
            return Reply.of("ok") if valid else Reply.of("no", 401)
        return Reply.of({"access_token": left.pop(0), "token_type": "bearer", "expires_in": expires_in})

    return answer


def call(calls: ApiCalls) -> CallResult:
    """Call a tool whose document names another authorization server."""
    scheme = SecurityScheme("oauth", "oauth2", token_url="https://evil.test/token")
    operation = Operation("GET", "/me", security=(("oauth",),), schemes=(scheme,))
    return asyncio.run(calls.call(make_record("me", "shop", operation=operation), {}))


def test_a_token_is_asked_for_once_at_the_settings_address_and_used_again() -> None:
    with api_server(granting("t-1")) as server:
        auth = credentials(server, scope="read", audience="shop")
        calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=server.url, auth=auth)}))
        assert [call(calls).value, call(calls).value] == ["ok", "ok"]
        asked, *uses = server.received
        assert [asked.method, asked.target, *(use.target for use in uses)] == ["POST", "/token", "/me", "/me"]
        assert parse_qs(asked.body.decode()) == {
            "grant_type": ["client_credentials"], "scope": ["read"], "audience": ["shop"]
        }  # fmt: skip
        # RFC 6749, section 2.3.1: "client:client+s3cret" in base64
        assert asked.headers["authorization"] == "Basic Y2xpZW50OmNsaWVudCtzM2NyZXQ="


def test_a_client_may_name_itself_in_the_form() -> None:
    with api_server(granting("t-1")) as server:
        asyncio.run(TokenCache().token(credentials(server, client_auth="post"), 5))
        assert parse_qs(server.last.body.decode())["client_secret"] == [SECRET]
        assert "authorization" not in server.last.headers


@pytest.mark.parametrize(("expires_in", "kept_s"), [(100, 70), ("100", 70), (None, 270), (10, 0)])
def test_a_token_is_kept_until_30_seconds_before_its_end(expires_in: float | str | None, kept_s: int) -> None:
    now = [0.0]
    cache = TokenCache(clock=lambda: now[0])
    with api_server(granting("t-1", "t-2", expires_in=expires_in)) as server:

        def token_at(time: float) -> str:
            now[0] = time
            return asyncio.run(cache.token(credentials(server), 5))

        assert token_at(0.0) == "t-1"
        assert not kept_s or token_at(kept_s - 1.0) == "t-1"
        assert token_at(float(kept_s)) == "t-2"


def test_a_token_that_was_withdrawn_is_renewed_once() -> None:
    with api_server(granting("t-old", "t-new")) as server:
        calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=server.url, auth=credentials(server))}))
        assert call(calls).value == "ok"
        assert [received.target for received in server.received] == ["/token", "/me", "/token", "/me"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply.of({"error": "invalid_client", "error_description": SECRET}, 401),
            r"gave no token: HTTP 401 \(invalid_client\)$",
        ),
        (Reply(SECRET.encode(), 500), "gave no token: HTTP 500$"),
        (Reply.of({"error": f"x {SECRET}"}, 400), "gave no token: HTTP 400$"),
        (Reply.of({"token": "t"}), "answered with no token"),
        (Reply(b'{"access_token": "\xff"}'), "answered with no token"),
        (Reply.of({"access_token": "t", "token_type": "mac"}), "not a bearer token"),
        (Reply.of({"access_token": "t\r\nX: 1"}), "not a bearer token"),
        (Reply(b"x" * 70_000), "no token: .* more than 65,536 bytes"),
    ],
)
def test_a_refusal_is_told_without_the_secret(reply: Reply, message: str) -> None:
    with api_server(lambda _: reply) as server, pytest.raises(CallFailed, match=message) as error:
        asyncio.run(TokenCache().token(credentials(server), 5))
    assert SECRET not in str(error.value) and SECRET not in repr(error.value)
