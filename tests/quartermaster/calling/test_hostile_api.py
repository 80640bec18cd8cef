"""APIs, documents and programs that do what none should: every call ends in a result or a plain refusal."""

import asyncio
import html
import json
import time
from datetime import date
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from rich.pretty import pretty_repr

from quartermaster.calling import (
    ApiCalls,
    ApiKey,
    Auth,
    Basic,
    Bearer,
    CallRefused,
    CallResult,
    CallSettings,
    ClientCredentials,
    HttpCaller,
    ProviderCalls,
)
from quartermaster.calling.auth import masked
from router import Router
from router.operation import Operation, OperationBody, OperationParameter
from router.provider_formats.formats import VendorText
from tests.support.api_server import Reply, api_server
from tests.support.factories import make_record

SECRET = "s3cret/välue+&1 <>"
READING = make_record("read", "shop", description="Read all items.", operation=Operation("GET", "/items"))


def answer_to(reply: Reply, **settings: Any) -> CallResult:
    """What a model gets of an API that answers so."""
    with api_server(lambda _: reply) as api:
        calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=api.url, timeout_s=5.0, **settings)}))
        return asyncio.run(calls.call(READING, {}))


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "hex", "no-such-charset", "utf8"])
def test_an_answer_in_no_charset_of_the_web_is_read_as_utf8_at_once(charset: str) -> None:
    """Python's codec "punycode" takes minutes for a megabyte."""
    began = time.process_time()
    result = answer_to(
        Reply(b"a" * 100_000 + b"-" + b"b" * 100_000, 200, {"Content-Type": f"text/plain; charset={charset}"})
    )
    assert result.text.endswith("aaaa")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("location", ["http://[bad", "//[::1", "http://h:99999/"])
def test_a_redirect_to_no_address_is_told_and_not_followed(location: str) -> None:
    result = answer_to(Reply(b"", 302, {"Location": location}), follow_redirects=True)
    assert (result.is_error, result.status) == (True, 302)


@pytest.mark.parametrize(
    "server",
    [
        *("http://[::1/x", "https://shop.example:99999", "https://shop.example:x", "https://:80", "https://a@b.test"),
        *("/v1", "", "https://a.test/?x", "https://a.test\\@b.test"),
    ],
)
def test_a_document_whose_server_is_no_address_is_refused(server: str) -> None:
    record = make_record("read", "shop", operation=Operation("GET", "/items", (server,)))
    calls = ApiCalls(CallSettings({"*": ProviderCalls(document_server=True)}))
    with pytest.raises(CallRefused, match="write a base_url"):
        asyncio.run(calls.call(record, {}))


@pytest.mark.parametrize("value", [date(2026, 1, 2), b"x", {1, 2}, float("nan")])
def test_a_value_that_is_no_json_is_refused(value: Any) -> None:
    record = make_record(
        "read", "shop", operation=Operation("GET", "/", parameters=(OperationParameter("a", "query"),))
    )
    calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url="http://127.0.0.1:1")}))
    with pytest.raises(CallRefused, match="cannot be written as JSON"):
        calls.preview(record, {"a": value})


@pytest.mark.parametrize("arguments", [{"body": {}}, {"body": {"a": None}}])
def test_an_empty_multipart_form_is_sent_as_one(arguments: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"body": {"type": "object"}}}
    body = OperationBody("multipart/form-data", argument="body", required=True)
    record = make_record("add", "shop", input_schema=schema, operation=Operation("POST", "/", body=body))
    with api_server() as api:
        calls = ApiCalls(CallSettings({"shop": ProviderCalls(base_url=api.url, write=True)}))
        assert not asyncio.run(calls.call(record, arguments)).is_error
        boundary = api.last.headers["content-type"].partition("boundary=")[2]
        assert api.last.body == f"--{boundary}--\r\n".encode()


def test_hidden_characters_and_terminal_sequences_of_an_answer_reach_no_model_unless_verbatim() -> None:
    def caller(vendor_text: VendorText) -> HttpCaller:
        router = Router.from_tools([READING], encoder=None, vendor_text=vendor_text)
        return HttpCaller(router, CallSettings({"shop": ProviderCalls(base_url=api.url)}))

    hostile = Reply.of({"name": "la\u200bmp\x1b[2J"})
    with api_server(lambda _: hostile) as api:
        trusted = asyncio.run(caller(VendorText.TRUSTED).call("shop/read", {}))
        verbatim = asyncio.run(caller(VendorText.VERBATIM).call("shop/read", {}))
        api.answer = lambda _: Reply("la\u200bmp \x1b[2Jnew".encode(), 200, {"Content-Type": "text/plain"})
        text = asyncio.run(caller(VendorText.TRUSTED)("shop/read", {}))
    assert trusted.value == {"name": "lamp"}
    assert verbatim.value == {"name": "la\u200bmp\x1b[2J"}
    assert text == "lamp new"


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps(SECRET).replace("/", r"\/"),  # PHP
        "".join(f"\\u{ord(character):04X}" for character in SECRET),  # .NET, of `+` and `<`
        html.escape(SECRET),
        "".join(f"&#{ord(character)};" for character in SECRET),
    ],
)
def test_a_secret_is_masked_however_an_encoder_writes_it(written: str) -> None:
    assert masked(f"<{written}>", [SECRET]).strip('<>"') == "***"
    assert masked("another text", [SECRET]) == "another text"


@pytest.mark.parametrize(
    "auth",
    [Bearer("hidden"), Basic("me", "hidden"), ApiKey("k", "hidden"), ClientCredentials("https://t", "me", "hidden")],
)
def test_settings_never_show_a_secret(auth: Auth) -> None:
    """The command line's tracebacks are rich's, which asks objects for more than their repr."""
    provider = ProviderCalls(base_url="https://a.test", auth=auth, headers={"X-Key": "hidden"})
    settings = CallSettings({"shop": provider})
    assert "hidden" not in pretty_repr(settings) + pretty_repr(auth) + repr(settings) + str(settings) + repr(auth)
