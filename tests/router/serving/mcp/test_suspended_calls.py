"""Over HTTP, without a session: a client of the 2026 protocol is told and asked, one of 2025 is told alone."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest

from router import Router
from router.errors import RequestInvalid
from router.serving.http import HttpSettings
from router.serving.mcp import Upstream, server
from router.serving.mcp.calling_client import CALLING_CLIENT
from router.serving.mcp.http import http_app
from router.serving.mcp.suspended_calls import SuspendedCalls, _Call
from tests.router.serving.mcp.conftest import served_app, text_of
from tests.router.serving.mcp.desk import MODES, asking, at_desk, clerk

REFUSED = (
    "the client of this call cannot be asked: over HTTP, only clients of the protocol 2026-07-28 can, over stdio all"
)


@asynccontextmanager
async def over_http(router: Router, *upstreams: Upstream) -> AsyncIterator[str]:
    """The address of a server that keeps no sessions."""
    app = http_app(server(router, upstreams), HttpSettings(port=0))
    with served_app(app) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("mode", MODES)
def test_progress_reaches_each_client_and_questions_one_of_2026_while_the_server_of_another_learns_why_not(
    desk_router: Router, mode: str
) -> None:
    async def run() -> Any:
        async with over_http(desk_router, asking(), clerk()) as url, at_desk(url, mode) as desk:
            await desk.text("clerk/steps")
            return json.loads(await desk.text("asking/ask")), len(desk.questions), desk.progress

    answer, questions, progress = asyncio.run(run())
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    assert (answer, questions) == ((accepted, 1) if mode == "auto" else ({"error": REFUSED}, 0))
    assert (progress[0][0], progress[-1][0]) == (1, 4)


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
            assert [question.method for question in (first.input_requests or {}).values()] == ["elicitation/create"]
            answer = _declined(first)
            other = await call("asking/told", **answer)
            answered = await call("asking/ask", **answer)
            again = await call("asking/ask", **answer)
            made_up = await call("asking/ask", request_state="made up")
            return [text_of(result) for result in (other, answered, again, made_up)]

    other, answered, again, made_up = asyncio.run(run())
    gone = "the call failed: the question of this call is no longer open here: call again without it"
    assert (other, again, made_up) == (gone, gone, gone)
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


def _context() -> Any:
    """The request of a client that can be asked."""
    session = SimpleNamespace(client_capabilities=types.ClientCapabilities(elicitation=types.ElicitationCapability()))
    return SimpleNamespace(session=session, meta=None, request_id=1)


async def _ask() -> Any:
    client = CALLING_CLIENT.get()
    assert client is not None
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    return await client.ask(types.ElicitRequest(params=form))


async def _asks() -> types.CallToolResult:
    await _ask()
    return types.CallToolResult(content=[])


def _declined(asked: Any) -> dict[str, Any]:
    """What the client sends again, with each question declined."""
    responses = {key: types.ElicitResult(action="decline") for key in asked.input_requests or {}}
    return {"input_responses": responses, "request_state": asked.request_state}


def test_a_question_that_comes_while_the_client_answers_another_is_asked_next() -> None:
    async def run() -> Any:
        params = types.CallToolRequestParams(name="call_tool", arguments={})
        answers: list[Any] = []
        second = anyio.Event()

        async def asks_twice() -> types.CallToolResult:
            async def ask(wait: anyio.Event | None) -> None:
                if wait is not None:
                    await wait.wait()
                answers.append(await _ask())

            async with anyio.create_task_group() as asking:
                asking.start_soon(ask, None)
                asking.start_soon(ask, second)
            return types.CallToolResult(content=[])

        async with anyio.create_task_group() as tasks:
            suspended = SuspendedCalls(tasks)
            result: Any = await suspended.answer(_context(), ("p", "t"), params, asks_twice)
            second.set()
            await anyio.wait_all_tasks_blocked()
            rounds = 0
            while isinstance(result, types.InputRequiredResult):
                rounds += 1
                again = params.model_copy(update=_declined(result))
                result = await suspended.answer(_context(), ("p", "t"), again, asks_twice)
        return rounds, [answer.action for answer in answers]

    assert asyncio.run(run()) == (2, ["decline", "decline"])


@pytest.mark.parametrize(("owner", "arguments"), [(("p", "other"), {}), (("p", "t"), {"tool_id": "another"})])
def test_an_answer_counts_for_no_other_caller_and_no_other_call(owner: Any, arguments: Any) -> None:
    async def run() -> None:
        params = types.CallToolRequestParams(name="call_tool", arguments={})
        async with anyio.create_task_group() as tasks:
            suspended = SuspendedCalls(tasks)
            asked = await suspended.answer(_context(), ("p", "t"), params, _asks)
            again = params.model_copy(update={**_declined(asked), "arguments": arguments})
            with pytest.raises(RequestInvalid, match="no longer open here"):
                await suspended.answer(_context(), owner, again, _asks)
            tasks.cancel_scope.cancel()

    asyncio.run(run())


def test_hundreds_of_answered_calls_leave_neither_tasks_nor_calls_behind() -> None:
    async def run() -> Any:
        params = types.CallToolRequestParams(name="call_tool", arguments={})
        async with anyio.create_task_group() as tasks:
            suspended = SuspendedCalls(tasks)
            before = len(asyncio.all_tasks())
            for _ in range(200):
                asked = await suspended.answer(_context(), ("p", "t"), params, _asks)
                again = params.model_copy(update=_declined(asked))
                await suspended.answer(_context(), ("p", "t"), again, _asks)
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
