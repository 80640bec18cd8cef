"""Over HTTP, without a session: a client of the 2026 protocol is told and asked, one of 2025 is told alone."""

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
import uvicorn

from router import Router
from router.errors import RequestInvalid
from router.serving.http import HttpSettings
from router.serving.mcp import Upstream, server
from router.serving.mcp.calling_client import CALLING_CLIENT
from router.serving.mcp.http import http_app
from router.serving.mcp.suspended_calls import SuspendedCalls, _Call
from tests.router.serving.mcp.conftest import text_of
from tests.router.serving.mcp.desk import MODES, asking, at_desk, clerk

REFUSED = (
    "the client of this call cannot be asked: over HTTP, only clients of the protocol 2026-07-28 can, over stdio all"
)


@asynccontextmanager
async def over_http(router: Router, *upstreams: Upstream) -> AsyncIterator[str]:
    """The address of a server that keeps no sessions."""
    app = http_app(server(router, upstreams), HttpSettings(port=0))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # so that a client who comes first waits, and is not refused
        program = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.serve, [listening])
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            program.should_exit = True


@pytest.mark.parametrize("mode", MODES)
def test_progress_comes_over_http(desk_router: Router, mode: str) -> None:
    async def run() -> list[float]:
        async with over_http(desk_router, clerk()) as url, at_desk(url, mode) as desk:
            await desk.text("clerk/steps")
            return [step for step, _, _ in desk.progress]

    progress = asyncio.run(run())
    assert (progress[0], progress[-1]) == (1, 4)


@pytest.mark.parametrize("mode", MODES)
def test_questions_reach_a_2026_client_over_http_and_the_server_of_a_2025_client_learns_why_not(
    desk_router: Router, mode: str
) -> None:
    async def run() -> Any:
        async with over_http(desk_router, asking()) as url, at_desk(url, mode) as desk:
            return json.loads(await desk.text("asking/ask")), len(desk.questions)

    accepted = {"action": "accept", "content": {"name": "Ada"}}
    assert asyncio.run(run()) == ((accepted, 1) if mode == "auto" else ({"error": REFUSED}, 0))


def test_clients_that_ask_in_turn_get_their_own_questions(desk_router: Router) -> None:
    """Their calls at the one upstream lie apart in time, as the answers of a user may."""

    async def run() -> Any:
        async with over_http(desk_router, clerk()) as url, at_desk(url) as one, at_desk(url) as other:
            answers = dict[str, str]()

            async def order(desk: Any, item: str) -> None:
                answers[item] = await desk.text("clerk/order", item=item)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(order, one, "tea")
                tasks.start_soon(order, other, "milk")
            return answers, [[question.message for question in desk.questions] for desk in (one, other)]

    answers, questions = asyncio.run(run())
    assert answers == {"tea": "tea: ordered", "milk": "milk: ordered"}
    assert questions == [[f"The MCP server 'clerk' asks: Order {item}?"] for item in ("tea", "milk")]


def test_an_answer_counts_once_and_for_its_own_call_alone(desk_router: Router) -> None:
    async def run() -> Any:
        async with over_http(desk_router, asking()) as url, at_desk(url) as desk:

            async def call(tool_id: str, **more: Any) -> Any:
                arguments = {"tool_id": tool_id, "arguments": {}}
                return await desk.client.session.call_tool("call_tool", arguments, allow_input_required=True, **more)

            first = await call("asking/ask")
            assert isinstance(first, types.InputRequiredResult)
            ((key, question),) = (first.input_requests or {}).items()
            assert question.method == "elicitation/create"
            declined: Any = {key: types.ElicitResult(action="decline")}
            answer = {"input_responses": declined, "request_state": first.request_state}
            other = await call("asking/told", **answer)
            answered = await call("asking/ask", **answer)
            again = await call("asking/ask", **answer)
            return [text_of(result) for result in (other, answered, again)]

    other, answered, again = asyncio.run(run())
    gone = "the call failed: the question of this call is no longer open here: call again without it"
    assert (other, again) == (gone, gone)
    assert json.loads(answered) == {"action": "decline"}


def test_a_client_that_leaves_cancels_its_call_at_the_server(desk_router: Router) -> None:
    async def run() -> list[str]:
        async with over_http(desk_router, clerk()) as url, at_desk(url) as desk:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.call, "clerk/linger")
                with anyio.fail_after(10):
                    while not desk.progress:
                        await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
            told = ""
            with anyio.fail_after(10):
                while "cancelled" not in told:
                    told = str((await desk.call("clerk/told")).content)
            return [told]

    assert "waits" in asyncio.run(run())[0]


def test_an_unknown_state_is_refused(desk_router: Router) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()])) as desk:
            arguments = {"tool_id": "asking/ask", "arguments": {}}
            return await desk.client.session.call_tool("call_tool", arguments, request_state="made up")

    assert "no longer open here" in text_of(asyncio.run(run()))


def test_a_question_that_comes_while_the_client_answers_another_is_asked_next(desk_router: Router) -> None:
    async def run() -> Any:
        async with over_http(desk_router, asking()) as url, at_desk(url) as desk:
            arguments = {"tool_id": "asking/two", "arguments": {}}
            call = desk.client.session.call_tool
            first = await call("call_tool", arguments, allow_input_required=True)
            assert isinstance(first, types.InputRequiredResult)
            await anyio.sleep(0.5)  # the second question is there before the first is answered
            rounds, result = 0, cast(Any, first)
            while isinstance(result, types.InputRequiredResult):
                rounds += 1
                declined: Any = {key: types.ElicitResult(action="decline") for key in result.input_requests or {}}
                state = result.request_state
                result = await call(
                    "call_tool", arguments, allow_input_required=True, input_responses=declined, request_state=state
                )
            return rounds, json.loads(text_of(result))

    assert asyncio.run(run()) == (2, [{"action": "decline"}] * 2)


def _context() -> Any:
    """The request of a client that can be asked."""
    session = SimpleNamespace(client_capabilities=types.ClientCapabilities(elicitation=types.ElicitationCapability()))
    return SimpleNamespace(session=session, meta=None, request_id=1)


async def _asks() -> types.CallToolResult:
    client = CALLING_CLIENT.get()
    assert client is not None
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    await client.ask(types.ElicitRequest(params=form))
    return types.CallToolResult(content=[])


def test_a_thousand_answered_calls_leave_neither_tasks_nor_calls_behind() -> None:
    async def run() -> Any:
        params = types.CallToolRequestParams(name="call_tool", arguments={})
        async with anyio.create_task_group() as tasks:
            suspended = SuspendedCalls(tasks)
            before = len(asyncio.all_tasks())
            for _ in range(1_000):
                asked = await suspended.answer(_context(), ("p", "t"), params, _asks)
                assert isinstance(asked, types.InputRequiredResult)
                declined: Any = {key: types.ElicitResult(action="decline") for key in asked.input_requests or {}}
                again = {"input_responses": declined, "request_state": asked.request_state}
                await suspended.answer(_context(), ("p", "t"), params.model_copy(update=again), _asks)
            await anyio.wait_all_tasks_blocked()
            gc.collect()
            # Not isinstance: it asks each object for its class, and some of torch warn.
            left = sum(type(thing) is _Call for thing in gc.get_objects())
            return len(asyncio.all_tasks()) - before, left

    assert asyncio.run(run()) == (0, 0)


def test_a_token_whose_calls_all_wait_leaves_places_for_the_others() -> None:
    async def run() -> list[str]:
        params = types.CallToolRequestParams(name="call_tool", arguments={})
        refused = []
        async with anyio.create_task_group() as tasks:
            suspended = SuspendedCalls(tasks, limit=8)
            for token in ["loud"] * 3 + ["quiet"]:
                try:
                    await suspended.answer(_context(), ("p", token), params, _asks)
                except RequestInvalid as error:
                    refused.append(f"{token}: {error}")
            tasks.cancel_scope.cancel()
        return refused

    assert asyncio.run(run()) == ["loud: 2 calls wait for answers of their clients, which is the most: try again"]
