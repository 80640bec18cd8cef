"""Calls passed on to servers, of which some fail in each way that a server can."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import httpx2
import pytest

from router import Router, ToolRecord
from router.record import Origin
from router.serving.mcp import Upstream, UpstreamFailed, connected
from router.serving.mcp.server import _may_claim, _serve_listed
from router.serving.mcp.transports import _BoundedEvents
from tests.router.serving.mcp import plain_sse
from tests.router.serving.mcp.conftest import plain, text_of, weather
from tests.router.serving.mcp.desk import until
from tests.router.serving.mcp.plain_http import serving
from tests.router.serving.mcp.processes import MemoryProcess

T = TypeVar("T")
MISSING = Upstream("missing", command=("no-such-mcp-server", "--key", "sk-secret"), provider="plain")


def calling(router: Router, upstreams: Sequence[Upstream], talk: Callable[[Any], Awaitable[T]], **how: Any) -> T:
    """What `talk` makes of a function that calls a tool by its id and gives its text."""

    async def run() -> T:
        async with connected(upstreams, **how) as servers:

            async def call(tool_id: str, **arguments: Any) -> str:
                answer = await servers.call(record(router, tool_id), arguments)
                assert not answer.is_error
                return text_of(answer)

            return await talk(call)

    return asyncio.run(run())


def refused(router: Router, upstream: Upstream, tool_id: str, **arguments: Any) -> str:
    """Why a call has no answer."""

    async def talk(call: Any) -> str:
        with pytest.raises(UpstreamFailed) as failed:
            await call(tool_id, **arguments)
        return str(failed.value)

    return calling(router, [upstream], talk)


def record(router: Router, tool_id: str) -> ToolRecord:
    found = router.record(tool_id)
    assert found is not None
    return found


def running(pid: int) -> bool:
    """Whether a process is there, be it as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_tool_is_called_under_its_own_name_and_its_own_error_is_its_answer(weather_router: Router) -> None:
    async def run() -> list[tuple[bool, str]]:
        async with connected([weather()]) as servers:
            answers = [
                await servers.call(record(weather_router, tool_id), arguments)
                for tool_id, arguments in (
                    ("weather/sea-level", {"harbour": "Oslo"}),
                    ("weather/storm", {"city": "Rome"}),
                )
            ]
            return [(answer.is_error or False, text_of(answer)) for answer in answers]

    storm = "Error executing tool storm: no radar over Rome"
    assert asyncio.run(run()) == [(False, "Oslo: 3 m"), (True, storm)]


def test_a_process_is_kept_from_call_to_call_started_anew_after_its_death_and_ended_at_the_end(
    weather_router: Router, real_processes: None
) -> None:
    async def talk(call: Any) -> list[int]:
        answers = await asyncio.gather(*(call("plain/echo") for _ in range(5)))
        (first,) = {json.loads(answer)["pid"] for answer in answers}
        with pytest.raises(UpstreamFailed, match="ended during the call, which it may have carried out or not"):
            await call("plain/die")
        second = json.loads(await call("plain/echo"))["pid"]
        os.kill(second, 9)  # between calls: the next one finds out, and nobody is told
        await until(lambda: not running(second))
        await asyncio.sleep(0.05)
        return [first, second, json.loads(await call("plain/echo"))["pid"]]

    pids = calling(weather_router, [plain()], talk)
    assert len({*pids}) == 3
    assert not any(map(running, pids))


def test_a_call_that_a_server_may_have_carried_out_is_not_sent_again(weather_router: Router) -> None:
    async def talk(call: Any) -> None:
        with pytest.raises(UpstreamFailed, match="ended during the call"):
            await call("plain/die")
        assert [process.returncode for process in MemoryProcess.started] == [3]
        await call("plain/echo")

    calling(weather_router, [plain()], talk)
    assert len(MemoryProcess.started) == 2


def test_a_server_that_hangs_holds_no_other_and_is_started_anew(
    weather_router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.serving.mcp.connection._PING_TIMEOUT_S", 0.1)

    async def talk(call: Any) -> None:
        await call("weather/sea-level", harbour="Oslo")
        await call("plain/echo")
        hanging = asyncio.create_task(call("plain/hang"))
        await asyncio.sleep(0.05)
        assert await call("weather/sea-level", harbour="Oslo") == "Oslo: 3 m"
        assert not hanging.done()
        with pytest.raises(
            UpstreamFailed, match=r"did not answer within 0\.5 s \(timeout_s\), and gives no sign of life"
        ):
            await hanging
        await call("plain/echo")

    calling(weather_router, [weather(), plain(timeout_s=0.5)], talk)
    assert [process.returncode is None for process in MemoryProcess.started] == [False] * 3


@pytest.mark.parametrize(
    ("upstream", "reason"),
    [
        (plain("silent", timeout_s=0.2), "did not start and list its tools within 0.2 s"),
        (plain("endless"), "list of tools has no end"),
        (plain("pages", max_pages=20), "20 pages with 0 tools so far (max_pages is 20)"),
        (plain("large", max_list_bytes=1_000_000), "more than 1,000,000 bytes (max_list_bytes)"),
        (plain("many", max_list_bytes=10_000), "more than 10,000 bytes (max_list_bytes)"),
        (MISSING, "there is no such program"),
    ],
    ids=["silent", "the same pages again", "pages without end", "a large tool", "many small tools", "no program"],
)
def test_a_server_whose_list_cannot_be_had_says_why(weather_router: Router, upstream: Upstream, reason: str) -> None:
    told = refused(weather_router, upstream, "plain/echo")
    assert reason in told
    assert "sk-secret" not in told


def test_of_a_long_list_the_first_tools_serve_and_the_rest_is_told_of(
    weather_router: Router, caplog: pytest.LogCaptureFixture
) -> None:
    async def talk(call: Any) -> None:
        await call("plain/echo")
        await call("plain/unsaid")  # not among the first, so its server decides

    calling(weather_router, [plain("many", max_tools=5)], talk)
    assert "lists more than 5 tools (max_tools): the first 5 serve" in caplog.text


def test_a_message_that_is_too_long_ends_its_server_and_no_other(weather_router: Router) -> None:
    flooding = plain("flood", max_message_bytes=1_000_000)

    async def talk(call: Any) -> None:
        with pytest.raises(UpstreamFailed, match=r"sent a message of more than 1,000,000 bytes \(max_message_bytes\)"):
            await call("plain/echo")
        with pytest.raises(UpstreamFailed, match="no longer offers"):  # it answers
            await call("bank/refund")

    calling(weather_router, [flooding, plain(name="bank")], talk)


class _Parts(httpx2.AsyncByteStream):
    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def __aiter__(self):  # type: ignore[no-untyped-def]
        for part in self._parts:
            yield part


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_over_sse_many_short_events_pass_and_one_long_event_fails(end: bytes) -> None:
    async def read(*parts: bytes) -> int:
        response = httpx2.Response(200, stream=_Parts(*parts))
        return sum([len(part) async for part in _BoundedEvents(response, 100)])

    event = b"data: " + b"x" * 50 + end
    assert asyncio.run(read(*[event] * 50)) == 50 * len(event)
    with pytest.raises(httpx2.StreamError, match="more than 100 bytes"):
        asyncio.run(read(event, *[b"y" * 60] * 2))


def test_a_server_of_2025_that_has_sse_alone_is_called_within_its_bound(weather_router: Router) -> None:
    async def talk(call: Any) -> str:
        return str(await call("plain/echo", text="für"))

    with plain_sse.serving() as server:
        upstream = plain(command=(), url=server.url, sse=True, timeout_s=10)
        assert json.loads(calling(weather_router, [upstream], talk))["arguments"] == {"text": "für"}
        assert server.called[-4:] == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    with plain_sse.serving() as server:
        bounded = plain(command=(), url=server.url, sse=True, timeout_s=3, max_message_bytes=300)
        told = refused(weather_router, bounded, "plain/echo")
    assert "the MCP server 'plain' cannot be reached: Connection closed" in told


def test_an_answer_over_http_is_bounded_and_never_compressed(weather_router: Router) -> None:
    async def talk(call: Any) -> None:
        assert "short" in await call("plain/echo", text="short")
        with pytest.raises(UpstreamFailed, match=r"more than 100,000 bytes \(max_message_bytes\)"):
            await call("plain/echo", text="x" * 90_000 + "é" * 10_000)
        server.compresses = True
        with pytest.raises(UpstreamFailed, match="a compressed message, which nobody asked for"):
            await call("plain/echo", text="short")

    with serving() as server:
        calling(weather_router, [plain(command=(), url=server.url, max_message_bytes=100_000)], talk)
    assert {headers["Accept-Encoding"] for headers in server.seen} == {"identity"}


def test_what_a_server_says_beside_the_protocol_is_passed_over(weather_router: Router) -> None:
    async def talk(call: Any) -> str:
        return str(await call("plain/talk", text="hello"))

    answer = json.loads(calling(weather_router, [plain(environment={"SECRET": "s3"})], talk))
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
def test_a_call_that_cannot_be_made_says_why(
    weather_router: Router, upstream: Upstream, tool_id: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in refused(weather_router, upstream, tool_id, **arguments)
    assert len(MemoryProcess.started) == (tool_id == "weather/gone")


def test_a_tool_that_a_server_added_without_a_word_is_called(weather_router: Router) -> None:
    async def talk(call: Any) -> str:
        with pytest.raises(UpstreamFailed, match="no longer offers the tool 'unsaid'"):
            await call("plain/unsaid")
        await call("plain/sprout")
        return str(await call("plain/unsaid", text="here"))

    assert json.loads(calling(weather_router, [plain()], talk))["arguments"] == {"text": "here"}


def test_of_two_servers_of_one_label_the_one_that_has_the_tool_is_called(weather_router: Router) -> None:
    async def talk(call: Any) -> str:
        return str(await call("plain/echo"))

    other = replace(weather(), provider="plain")
    assert json.loads(calling(weather_router, [other, plain()], talk))["arguments"] == {}


@pytest.mark.parametrize(("name", "added"), [("plain", "late"), ("weather", "eclipse")])
def test_a_server_whose_tools_change_is_listed_anew(
    weather_router: Router, monkeypatch: pytest.MonkeyPatch, name: str, added: str
) -> None:
    """Before 2026 a server says so unasked; since then to who listens."""
    monkeypatch.setattr("router.serving.mcp.change_reports._BETWEEN_LISTS_S", 0.05)
    server = plain() if name == "plain" else weather()
    told: list[tuple[str, list[str]]] = []

    async def heard(label: str, tools: Any) -> None:
        told.append((label, [tool["name"] for tool in tools]))

    async def talk(call: Any) -> None:
        await call(f"{name}/grow")
        await until(lambda: told)

    calling(weather_router, [server], talk, on_tools=heard)
    label, names = told[-1]
    assert label == name
    assert added in names and len(names) > 4


def test_servers_that_are_started_at_once_tell_what_they_list(weather_router: Router) -> None:
    told: dict[str, int] = {}

    async def run() -> None:
        done = asyncio.Event()

        async def heard(label: str, tools: Any) -> None:
            told[label] = len(tools)
            done.set()

        async with connected([replace(MISSING, provider="missing"), plain()], heard, at_once=True):
            await asyncio.wait_for(done.wait(), 10)

    asyncio.run(run())
    assert told == {"plain": 6}


def test_of_a_servers_list_a_tool_that_cannot_be_used_is_left_out_and_told(
    weather_router: Router, caplog: pytest.LogCaptureFixture
) -> None:
    good, odd = {"name": "tides", "inputSchema": {}}, {"name": "odd", "inputSchema": {"maximum": 10**400}}
    asyncio.run(_serve_listed(weather_router, "harbour", [odd, good]))
    try:
        assert weather_router.record("harbour/tides") and not weather_router.record("harbour/odd")
    finally:
        weather_router.replace("harbour", [])
    assert "a tool of 'harbour' is not served: the tool 'odd' cannot be used: it is not JSON" in caplog.text


def test_an_upstream_without_a_label_is_known_by_where_the_build_read_it(weather_router: Router) -> None:
    forecast = record(weather_router, "weather/forecast")
    assert Upstream("one", url="http://127.0.0.1:1/mcp", place=forecast.origin.file).serves(forecast)
    assert not Upstream("one", url="http://127.0.0.1:1/mcp", place="elsewhere").serves(forecast)


@pytest.mark.parametrize("first", ["own", "other"])
def test_of_two_servers_that_one_program_runs_the_one_of_the_tools_provider_is_called(
    weather_router: Router, first: str
) -> None:
    """They are known by their program alone until they are open: `npx`, `uvx`, `python`."""
    echo = record(weather_router, "plain/echo")
    own, other = (
        plain(environment={"SECRET": name, "NAME": name}, provider=None, place="npx") for name in ("plain", "other")
    )
    gone = replace(own, command=("no-such-mcp-server",))

    async def run(*servers: Upstream) -> str:
        async with connected(servers) as upstreams:
            try:
                answer = await upstreams.call(replace(echo, origin=Origin("npx", "/tools/0")), {})
            except UpstreamFailed as error:
                return str(error)
            return str(json.loads(text_of(answer))["secret"])

    assert asyncio.run(run(*((own, other) if first == "own" else (other, own)))) == "plain"
    assert "there is no such program" in asyncio.run(run(*((gone, other) if first == "own" else (other, gone))))


def test_a_tool_that_a_server_without_a_label_listed_since_is_called_there(weather_router: Router) -> None:
    echo = replace(record(weather_router, "plain/echo"), origin=Origin("registered", ""))
    server = plain(provider=None, place="npx")

    async def run() -> bool:
        async with connected([server]) as upstreams:
            await upstreams.start()
            with pytest.raises(UpstreamFailed, match="no MCP server is connected for the provider 'bank'"):
                await upstreams.call(replace(echo, provider="bank"), {})
            return (await upstreams.call(echo, {})).is_error or False

    assert not asyncio.run(run())


def test_a_server_over_http_that_forgot_the_session_is_called_in_a_new_one(weather_router: Router) -> None:
    with serving() as server:
        shop = plain(command=(), url=server.url, headers={"X-Key": "s3"})

        async def talk(call: Any) -> str:
            await call("plain/echo")
            server.sessions.clear()
            return str(await call("plain/echo", text="again"))

        assert json.loads(calling(weather_router, [shop], talk))["arguments"] == {"text": "again"}
    assert [seen["X-Key"] for seen in server.seen] == ["s3", "s3"]


def test_a_server_over_http_that_is_down_is_said_to_be_and_called_once_it_is_up(weather_router: Router) -> None:
    with serving() as server:
        port = server.server_port
    shop = plain(command=(), name="shop", url=f"http://127.0.0.1:{port}/mcp?key=sk-secret", provider="plain")

    async def talk(call: Any) -> str:
        for _ in range(2):
            with serving(port):
                await call("plain/echo")
            with pytest.raises(UpstreamFailed, match="the MCP server 'shop' cannot be reached") as down:
                await call("plain/echo")
        return str(down.value)

    assert "sk-secret" not in calling(weather_router, [shop], talk)


@pytest.mark.parametrize("taken", ["in the catalog", "by another server"])
def test_a_server_does_not_take_the_place_of_a_provider_by_calling_itself_so(
    weather_router: Router, caplog: pytest.LogCaptureFixture, taken: str
) -> None:
    impostor = plain(name="impostor", provider=None, place="npx")
    others = (
        [Upstream("bank", command=("no-such-mcp-server",), provider="Plain")] if taken == "by another server" else []
    )
    told: list[str] = []

    async def heard(label: str, _: Any) -> None:
        told.append(label)

    async def run() -> None:
        may_claim = partial(_may_claim, router, [impostor, *others])
        async with connected([impostor], heard, at_once=True, may_claim=may_claim) as upstreams:
            await upstreams.start()
            registered = replace(record(weather_router, "plain/echo"), origin=Origin("registered", ""))
            with pytest.raises(UpstreamFailed, match="no MCP server is connected for the provider 'plain'"):
                await upstreams.call(registered, {})

    names = ["plain/echo"] if taken == "in the catalog" else ["weather/sea-level"]
    with Router.from_tools([record(weather_router, name) for name in names], encoder=None) as router:
        asyncio.run(run())
    assert told == []
    assert "calls itself 'plain', and there are tools of that provider from elsewhere" in caplog.text


def test_names_that_give_the_same_ids_are_one_name(weather_router: Router) -> None:
    server = Upstream("new", command=("npx",), place="npx")
    theirs = replace(record(weather_router, "plain/echo"), tool_id="aws-s3/put", provider="aws-s3", name="put")
    with Router.from_tools([theirs], encoder=None) as router:
        assert not any(_may_claim(router, [server], server, name) for name in ("aws-s3", "aws s3", " AWS-S3\n"))
        assert _may_claim(router, [server], server, "aws")
        assert _may_claim(router, [server], replace(server, place=theirs.origin.file), "aws-s3")
