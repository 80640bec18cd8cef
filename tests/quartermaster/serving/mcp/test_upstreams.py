"""Calls passed on to servers, of which some fail in each way that a server can."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import structs

from quartermaster.calling import CallRefused
from quartermaster.serving.mcp import Upstream, UpstreamFailed, connected
from quartermaster.serving.mcp.server import serve_listed
from quartermaster.serving.mcp.upstreams import Upstreams
from router import Router
from router.record import Origin
from tests.quartermaster.serving.mcp.conftest import TOOLS, asked, plain, record, router_of, running, text_of, weather
from tests.quartermaster.serving.mcp.desk import run_out, until
from tests.quartermaster.serving.mcp.plain_http import serving
from tests.support.ports import kept_port

pytestmark = pytest.mark.anyio
MISSING = Upstream("missing", command=("no-such-mcp-server", "--key", "sk-secret"), provider="plain")


@dataclass
class Call:
    """Calls a tool by its id and gives its text."""

    router: Router
    servers: Upstreams

    async def __call__(self, tool_id: str, **arguments: Any) -> str:
        answer = await self.servers.call(record(self.router, tool_id), arguments)
        assert not answer.is_error
        return text_of(answer)

    @property
    def plain(self) -> Any:
        """The connection to the plain server."""
        return next(one for one in self.servers.connections if one.upstream.name == "plain")


@asynccontextmanager
async def calls(router: Router, *upstreams: Upstream, **how: Any) -> AsyncIterator[Call]:
    async with connected(upstreams, **how) as servers:
        yield Call(router, servers)


async def refused(call: Call, tool_id: str, **arguments: Any) -> str:
    """Why a call has no answer."""
    with pytest.raises((UpstreamFailed, CallRefused)) as failed:
        await call(tool_id, **arguments)
    return str(failed.value)


async def test_a_tool_is_called_under_its_own_name_and_its_own_error_is_its_answer(weather_router: Router) -> None:
    async with connected([weather()]) as servers:
        level = await servers.call(record(weather_router, "weather/sea-level"), {"harbour": "Oslo"})
        storm = await servers.call(record(weather_router, "weather/storm"), {"city": "Rome"})
    assert (level.is_error, json.loads(text_of(level))["arguments"]) == (False, {"harbour": "Oslo"})
    assert (storm.is_error, text_of(storm)) == (True, '"no radar"')


async def test_a_process_is_kept_from_call_to_call_started_anew_after_its_death_and_ended_at_the_end(
    weather_router: Router,
) -> None:
    async with calls(weather_router, plain()) as call:
        answers = await asyncio.gather(*(call("plain/echo") for _ in range(5)))
        (first,) = {json.loads(answer)["pid"] for answer in answers}
        told = await refused(call, "plain/die")  # sent once: the server could have carried it out
        assert call.plain._calls._scopes == set()
        assert "ended during the call, which it may have carried out or not" in told
        second = json.loads(await call("plain/echo"))["pid"]
        os.kill(second, 9)  # between calls: the next one finds out, and nobody is told
        await until(call.plain._session.ended.is_set)
        pids = [first, second, json.loads(await call("plain/echo"))["pid"]]
    assert len({*pids}) == 3
    assert not any(map(running, pids))


async def test_a_server_that_hangs_holds_no_other_and_is_started_anew(
    weather_router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartermaster.serving.mcp.connection._PING_TIMEOUT_S", 0.1)
    async with calls(weather_router, weather(), plain(timeout_s=60)) as call:
        await call("plain/echo")
        hanging = asyncio.create_task(refused(call, "plain/hang"))
        await until(lambda: call.plain._calls._scopes)
        assert "Oslo" in await call("weather/sea-level", harbour="Oslo")
        assert not hanging.done()
        run_out(call.plain)
        assert "did not answer within 60 s (timeout_s), and gives no sign of life" in await hanging
        await call("plain/echo")


@pytest.mark.parametrize(
    ("upstream", "reason"),
    [
        (plain("silent", timeout_s=0.2), "did not start and list its tools within 0.2 s"),
        (plain("endless"), "list of tools has no end"),
        (plain("pages", max_pages=20), "20 pages (max_pages is 20)"),
        (plain("large", max_list_bytes=1_000_000), "more than 1,000,000 bytes (max_list_bytes)"),
        (plain("many", max_list_bytes=10_000), "more than 10,000 bytes (max_list_bytes)"),
        (MISSING, "there is no such program"),
    ],
    ids=["silent", "the same pages again", "pages without end", "a large tool", "many small tools", "no program"],
)
async def test_a_server_whose_list_cannot_be_had_says_why(
    weather_router: Router, upstream: Upstream, reason: str
) -> None:
    async with calls(weather_router, upstream) as call:
        told = await refused(call, "plain/echo")
    assert reason in told
    assert "sk-secret" not in told


async def test_of_a_long_list_the_first_tools_serve_and_the_rest_is_told_of(
    weather_router: Router, caplog: pytest.LogCaptureFixture
) -> None:
    async with calls(weather_router, plain("many", max_tools=5)) as call:
        await call("plain/echo")
        await call("plain/unsaid")  # not among the first, so its server decides
    assert "lists more than 5 tools (max_tools): the others are left out" in caplog.text


async def test_an_invalid_tool_loses_no_other(weather_router: Router, caplog: pytest.LogCaptureFixture) -> None:
    async with calls(weather_router, plain("odd")) as call:
        assert "here" in await call("plain/echo", text="here")
        assert len(call.plain._session.tools) == 6
    assert r"'plain' 4 tools are not as MCP has them, and left out: None, 5, 'bare\u200b', 'empty'" in caplog.text


async def test_a_message_that_is_too_long_ends_its_server_and_no_other(weather_router: Router) -> None:
    async with calls(weather_router, plain("flood", max_message_bytes=1_000_000), plain(name="bank")) as call:
        told = await refused(call, "plain/echo")
        assert "sent a message of more than 1,000,000 bytes (max_message_bytes)" in told
        assert "no longer offers" in await refused(call, "bank/refund")  # it answers


async def test_an_answer_over_http_is_bounded_and_never_compressed(weather_router: Router) -> None:
    with serving() as server:
        async with calls(weather_router, plain(command=(), url=server.url, max_message_bytes=100_000)) as call:
            assert "short" in await call("plain/echo", text="short")
            told = await refused(call, "plain/echo", text="x" * 90_000 + "é" * 10_000)
            assert "more than 100,000 bytes (max_message_bytes)" in told
            server.compresses = True
            assert "a compressed message, which nobody asked for" in await refused(call, "plain/echo", text="short")
    assert {headers["Accept-Encoding"] for headers in server.seen} == {"identity"}


async def test_a_server_over_http_that_forgot_the_session_is_called_in_a_new_one(weather_router: Router) -> None:
    with serving() as server:
        async with calls(weather_router, plain(command=(), url=server.url, headers={"X-Key": "s3"})) as call:
            await call("plain/echo")
            server.sessions.clear()
            assert json.loads(await call("plain/echo", text="again"))["arguments"] == {"text": "again"}
    assert [seen["X-Key"] for seen in server.seen] == ["s3", "s3"]


async def test_a_server_over_http_that_is_down_is_said_to_be_and_called_once_it_is_up(weather_router: Router) -> None:
    with kept_port() as port:
        shop = plain(command=(), url=f"http://127.0.0.1:{port}/mcp?key=sk-secret")
        async with calls(weather_router, shop) as call:
            for _ in range(2):
                with serving(port):
                    await call("plain/echo")
                told = await refused(call, "plain/echo")
                assert "the MCP server 'plain' cannot be reached" in told and "sk-secret" not in told


async def test_what_a_server_says_beside_the_protocol_is_passed_over(weather_router: Router) -> None:
    async with calls(weather_router, plain(environment={"SECRET": "s3"})) as call:
        answer = json.loads(await call("plain/talk", text="hello"))
    assert (answer["arguments"], answer["secret"]) == ({"text": "hello"}, "s3")


@pytest.mark.parametrize(
    ("upstream", "tool_id", "arguments", "reason"),
    [
        (plain(), "bank/refund", {}, "provider 'bank' (connected: plain). Call it yourself"),
        (weather(), "weather/gone", {}, "no longer offers the tool 'gone'"),
        (weather(), "weather/forecast", {"city": "Rome", "days": "two"}, "$.days: 'two' is not of type 'integer'"),
        (weather(), "weather/forecast", {}, "are wrong, so nothing was sent: $: 'city' is a required property"),
    ],
)
async def test_a_call_that_cannot_be_made_says_why(
    weather_router: Router, upstream: Upstream, tool_id: str, arguments: dict[str, Any], reason: str
) -> None:
    async with calls(weather_router, upstream) as call:
        assert reason in await refused(call, tool_id, **arguments)


async def test_a_tool_that_a_server_added_without_a_word_is_called(weather_router: Router) -> None:
    async with calls(weather_router, plain()) as call:
        assert "no longer offers the tool 'unsaid'" in await refused(call, "plain/unsaid")
        await call("plain/sprout")
        assert "here" in await call("plain/unsaid", text="here")


async def test_a_server_whose_tools_change_is_listed_anew(
    weather_router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartermaster.serving.mcp.connection._BETWEEN_LISTS_S", 0.05)
    told: list[tuple[str, list[str]]] = []

    async def heard(label: str, tools: Any) -> None:
        told.append((label, [tool["name"] for tool in tools]))

    async with calls(weather_router, plain(), on_tools=heard) as call:
        await call("plain/grow")
        await until(lambda: told)
    label, names = told[-1]
    assert label == "plain"
    assert "late" in names and len(names) > 4


async def test_servers_that_are_started_at_once_tell_what_they_list() -> None:
    told: dict[str, int] = {}

    async def heard(label: str, tools: Any) -> None:
        told[label] = len(tools)

    async with connected([structs.replace(MISSING, provider="missing"), plain()], heard, at_once=True):
        await until(lambda: told)
    assert told == {"plain": 6}


async def test_of_a_servers_list_a_tool_that_cannot_be_used_is_left_out_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    router = router_of(TOOLS[0])
    good, odd = {"name": "tides", "inputSchema": {}}, {"name": "odd", "inputSchema": {"maximum": 10**400}}
    await serve_listed(router, "harbour", [odd, good])
    assert router.record("harbour/tides") and not router.record("harbour/odd")
    assert "a tool of 'harbour' is not served: the tool 'odd' cannot be used: it is not JSON" in caplog.text


def test_an_upstream_without_a_label_is_known_by_where_the_build_read_it(weather_router: Router) -> None:
    forecast = record(weather_router, "weather/forecast")
    assert Upstream("one", url="http://127.0.0.1:1/mcp", place=forecast.origin.file).serves(forecast)
    assert not Upstream("one", url="http://127.0.0.1:1/mcp", place="elsewhere").serves(forecast)


async def test_of_two_servers_of_one_label_the_one_that_has_the_tool_is_called(weather_router: Router) -> None:
    async with calls(weather_router, structs.replace(weather(), provider="plain"), plain()) as call:
        assert json.loads(await call("plain/echo"))["arguments"] == {}


@pytest.mark.parametrize("own_first", [True, False])
async def test_of_two_servers_that_one_program_runs_the_one_of_the_tools_provider_is_called(
    weather_router: Router, own_first: bool
) -> None:
    """They are known by their program alone until they are open: `npx`, `uvx`, `python`."""
    echo = replace(record(weather_router, "plain/echo"), origin=Origin("npx", "/tools/0"))
    own, other = (
        plain(environment={"SECRET": name, "NAME": name}, provider=None, place="npx") for name in ("plain", "other")
    )
    async with connected((own, other) if own_first else (other, own)) as upstreams:
        assert json.loads(text_of(await upstreams.call(echo, {})))["secret"] == "plain"
    gone = structs.replace(own, command=("no-such-mcp-server",))
    async with connected((gone, other) if own_first else (other, gone)) as upstreams:
        with pytest.raises(UpstreamFailed, match="there is no such program"):
            await upstreams.call(echo, {})


async def test_of_two_servers_that_one_program_runs_and_that_report_one_name_neither_is_called(
    weather_router: Router,
) -> None:
    echo = replace(record(weather_router, "plain/echo"), origin=Origin("npx", "/tools/0"))
    own = plain(environment={"SECRET": "own"}, provider=None, place="npx")
    rival = structs.replace(own, name="rival", environment={"SECRET": "rival"})
    async with connected((rival, own)) as upstreams:
        with pytest.raises(UpstreamFailed, match=r"2 MCP servers .* call themselves 'plain' .* write a provider"):
            await upstreams.call(echo, {})
    async with connected((rival, structs.replace(own, provider="plain"))) as upstreams:
        assert json.loads(text_of(await upstreams.call(echo, {})))["secret"] == "own"


async def test_what_a_server_without_a_label_lists_takes_nobodys_place() -> None:
    told: list[str] = []

    async def heard(label: str, _: Any) -> None:
        told.append(label)

    async with connected([plain(provider=None, place="npx"), plain(name="other")], heard, at_once=True):
        await until(lambda: told)
    assert told == ["other"]


MAIL = {
    "type": "object",
    "properties": {
        "body": {"type": "object", "properties": {"to": {"type": "string"}, "size": {"type": "integer", "maximum": 9}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
    },
    "required": ["body"],
}
TO = {"to": "ada"}


@pytest.mark.parametrize(
    ("given", "sent", "told"),
    [
        ({"body": TO, "note": "5", "extra": None}, {"body": TO, "note": "5", "extra": None}, []),
        ('{"body": {"to": "ada"}}', {"body": TO}, ["arguments: its text was read as JSON"]),
        ({"body": TO, "tags": "a"}, {"body": TO, "tags": ["a"]}, ["tags: its value was put into a list"]),
        ('{"body": "{}"}', {"body": {}}, ["body: its text was read as JSON", "arguments: its text was read as JSON"]),
        (
            {"body": {"size": "10"}},
            None,
            ["$.body.size: '10' is not of type 'integer'. Its signature is plain/talk(body:"],
        ),
        ("[1]", None, ["call_tool failed: arguments is '[1]', it must be a table of names and values"]),
    ],
)
async def test_arguments_are_mended_and_a_note_follows_the_result_or_refused_as_they_were_given(
    given: Any, sent: dict[str, Any] | None, told: list[str]
) -> None:
    mail = {"id": "plain/talk", "name": "talk", "provider": "plain", "description": "Send mail.", "parameters": MAIL}
    result = await asked(router_of(mail), "call_tool", {"tool_id": "plain/talk", "arguments": given}, plain())
    answer, *notes = [block.text for block in result.content]
    if result.is_error:
        assert sent is None and told[0] in answer and not notes
    else:
        assert json.loads(answer)["arguments"] == sent
        assert len(notes) == len(told) and all(text in note for text, note in zip(told, notes, strict=True))
