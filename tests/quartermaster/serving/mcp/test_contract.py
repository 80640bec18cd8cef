"""One contract of upstreams by each of their transports and protocols, to clients of each protocol."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest
from mcp.client.subscriptions import ResourcesListChanged
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quartermaster.serving.mcp import Upstream, connected, list_changes, server
from quartermaster.serving.mcp.calling_client import CALLING_CLIENT
from router import Router
from tests.quartermaster.serving.mcp.clerk import clerk_server
from tests.quartermaster.serving.mcp.conftest import record, served_app, text_of
from tests.quartermaster.serving.mcp.desk import MODES, Noted, at_desk, clerk, until

pytestmark = pytest.mark.anyio

PAIRS = ("stdio-2026", "stdio-2025", "http-2026", "http-2025", "sse-2026")
# Clients of 2025 at each upstream are for the night: how a client is asked hangs on its own protocol alone.
GATED = {(pair, "auto") for pair in PAIRS} | {("stdio-2025", "legacy"), ("http-2026", "legacy")}
BOTH = [
    pytest.param(pair, mode, marks=[] if (pair, mode) in GATED else pytest.mark.nightly)
    for pair in PAIRS
    for mode in MODES
]


def _only_2025(app: ASGIApp) -> ASGIApp:
    """An app that refuses the protocol of 2026."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"").startswith(b"2026"):
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "not that protocol"}}
            await JSONResponse(error, status_code=400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer


@pytest.fixture(scope="module")
def over_http() -> Iterator[dict[str, Upstream]]:
    """The clerk behind each transport that has an address."""
    apps: dict[str, Any] = {
        "http-2026": clerk_server().streamable_http_app(),
        "http-2025": _only_2025(clerk_server().streamable_http_app()),
        "sse-2026": clerk_server().sse_app(),
    }
    with ExitStack() as stack:
        found = {}
        for pair, app in apps.items():
            sse = pair.startswith("sse")
            url = f"http://127.0.0.1:{stack.enter_context(served_app(app))}/{'sse' if sse else 'mcp'}"
            found[pair] = Upstream("clerk", url=url, provider="clerk", sse=sse, timeout_s=20)
        yield found


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> str:
    """A transport and a protocol of the upstream."""
    return str(request.param)


@pytest.fixture
def upstream(pair: str, request: pytest.FixtureRequest) -> Upstream:
    """The clerk by that transport and protocol."""
    if pair.startswith("stdio"):
        return clerk(protocol="2025" if pair.endswith("2025") else "stdio")
    found: Upstream = request.getfixturevalue("over_http")[pair]
    return found


@pytest.mark.parametrize(("pair", "mode"), BOTH)
async def test_a_call_tells_of_progress_and_its_questions_are_answered_by_the_client(
    desk_router: Router, upstream: Upstream, mode: str
) -> None:
    async with at_desk(server(desk_router, [upstream]), mode) as desk:
        assert await desk.text("clerk/steps") == "done"
        assert await desk.text("clerk/order", item="tea") == "tea: ordered"
        assert await desk.text("clerk/describe", item="tea") == "four"
    # What comes within a twentieth of a second is told of together: the first, and the last.
    assert (desk.progress[0], desk.progress[-1]) == ((1, 4, "step 1"), (4, 4, "step 4"))
    assert [question.message for question in desk.questions] == ["The MCP server 'clerk' asks: Order tea?"]
    assert [sampled.system_prompt for sampled in desk.sampled] == ["The MCP server 'clerk' asks for this."]


@pytest.mark.parametrize(("pair", "mode"), BOTH)
async def test_resources_and_prompts_are_listed_by_server_and_read_without_hidden_or_steering_text(
    desk_router: Router, upstream: Upstream, mode: str
) -> None:
    dead = Upstream("dead", command=("no-such-program",), provider="dead")
    async with at_desk(server(desk_router, [dead, upstream], resources=True, prompts=True), mode) as desk:
        resource = (await desk.client.list_resources()).resources[0]
        (template,) = (await desk.client.list_resource_templates()).resource_templates
        own = template.uri_template.replace("{name}", "first")
        first, by_name = [(await desk.client.read_resource(uri)).contents[0] for uri in (resource.uri, own)]
        (prompt,) = (await desk.client.list_prompts()).prompts
        got = await desk.client.get_prompt("clerk/review", {"file": "a.py"})
    assert (resource.uri, resource.description) == ("quartermaster:clerk/note://all/first", "The first note.")
    assert template.uri_template == "quartermaster:clerk/note://by-name/{name}"
    assert (first.text, first.uri, by_name.text) == ("Buy milk.", resource.uri, "first: Buy milk.")
    assert (prompt.name, prompt.description) == ("clerk/review", "Review a file.")
    assert [argument.name for argument in prompt.arguments] == ["file"]
    assert got.messages[0].content.text == "Please review a.py."


async def test_what_a_client_cancels_is_cancelled_at_the_server(desk_router: Router, upstream: Upstream) -> None:
    async with at_desk(server(desk_router, [upstream])) as desk:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "clerk/linger")
            await until(lambda: desk.progress)
            tasks.cancel_scope.cancel()
        await until(lambda: desk.told("cancelled"))


# By 2025 over stdio, a question names no call: test_calls_under_way.py
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair != "stdio-2025"])
async def test_each_of_two_clients_is_asked_for_its_own_call_at_the_same_time(
    desk_router: Router, pair: str, upstream: Upstream
) -> None:
    clients, results = {name: Noted(name) for name in "ab"}, dict[str, str]()
    async with connected([upstream]) as upstreams, anyio.create_task_group() as tasks:

        async def call(name: str) -> None:
            CALLING_CLIENT.set(clients[name])
            results[name] = text_of(await upstreams.call(record(desk_router, "clerk/order"), {"item": name}))

        await upstreams.call(record(desk_router, "clerk/told"), {})
        session = upstreams.connections["clerk"]._session
        assert session is not None
        assert session.client.protocol_version.startswith(pair[-4:])
        for name in "ab":
            tasks.start_soon(call, name)
    assert results == {"a": "a: ordered", "b": "b: left"}
    for name, client in clients.items():
        assert client.asked == [f"The MCP server 'clerk' asks: Order {name}?"]


# The SDK's server of 2025 tells of no changes: test_list_changes.py has one that does.
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.endswith("2026")])
async def test_resources_that_change_are_told_of_and_read_anew(
    desk_router: Router, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_changes, "_BETWEEN_S", 0.02)
    async with at_desk(server(desk_router, [upstream], resources=True)) as desk:
        await desk.client.list_resources()  # opens the session with the upstream
        async with desk.client.listen(resources_list_changed=True, prompts_list_changed=True) as events:
            assert (events.honored.resources_list_changed, events.honored.prompts_list_changed) == (True, None)
            told: list[Any] = []

            async def wrote() -> bool:
                """Until the gateway has a subscription at the upstream, nobody is told."""
                await desk.text("clerk/write", name="second", text="Buy tea.")
                return bool(told)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(until, wrote, 0.05)
                told.append(await anext(aiter(events)))
            assert told == [ResourcesListChanged()]
        uris = [resource.uri for resource in (await desk.client.list_resources()).resources]
    assert uris == [f"quartermaster:clerk/note://all/{name}" for name in ("first", "second")]
