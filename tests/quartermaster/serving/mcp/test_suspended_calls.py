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

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import Upstream, server
from quartermaster.serving.mcp.calling_client import CALLING_CLIENT
from quartermaster.serving.mcp.http import http_app
from quartermaster.serving.mcp.suspended_calls import SuspendedCalls, _Call
from router import Router
from router.errors import RequestInvalid
from tests.quartermaster.serving.mcp.conftest import served_app, text_of
from tests.quartermaster.serving.mcp.desk import MODES, asking, at_desk, clerk, until

pytestmark = pytest.mark.anyio
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
async def test_progress_reaches_each_client_and_questions_one_of_2026_while_the_server_of_another_learns_why_not(
    desk_router: Router, mode: str
) -> None:
    async with over_http(desk_router, asking(), clerk()) as url, at_desk(url, mode) as desk:
        await desk.text("clerk/steps")
        answer = await desk.json("asking/ask")
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    assert (answer, len(desk.questions)) == ((accepted, 1) if mode == "auto" else ({"error": REFUSED}, 0))
    assert (desk.progress[0][0], desk.progress[-1][0]) == (1, 4)


async def test_clients_that_ask_in_turn_get_their_own_questions(desk_router: Router) -> None:
    """Their calls at the one upstream lie apart in time, as the answers of a user may."""
    answers = dict[str, str]()

    async def order(desk: Any, item: str) -> None:
        answers[item] = await desk.text("clerk/order", item=item)

    async with (
        over_http(desk_router, clerk()) as url,
        at_desk(url) as one,
        at_desk(url) as other,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(order, one, "tea")
        tasks.start_soon(order, other, "milk")
    assert answers == {"tea": "tea: ordered", "milk": "milk: ordered"}
    for desk, item in ((one, "tea"), (other, "milk")):
        assert [question.message for question in desk.questions] == [f"The MCP server 'clerk' asks: Order {item}?"]


async def test_an_answer_counts_once_and_for_its_own_call_alone(desk_router: Router) -> None:
    async with over_http(desk_router, asking()) as url, at_desk(url) as desk:

        async def call(tool_id: str, **more: Any) -> Any:
            arguments = {"tool_id": tool_id, "arguments": {}}
            return await desk.client.session.call_tool("call_tool", arguments, allow_input_required=True, **more)

        first = await call("asking/ask")
        assert [question.method for question in first.input_requests.values()] == ["elicitation/create"]
        answer = _declined(first)
        other = await call("asking/told", **answer)
        answered = await call("asking/ask", **answer)
        again = await call("asking/ask", **answer)
        made_up = await call("asking/ask", request_state="made up")
    gone = "the call failed: the question of this call is no longer open here: call again without it"
    assert [text_of(result) for result in (other, again, made_up)] == [gone] * 3
    assert json.loads(text_of(answered)) == {"action": "decline"}


async def test_a_client_that_leaves_cancels_its_call_at_the_server(desk_router: Router) -> None:
    async with over_http(desk_router, clerk()) as url, at_desk(url) as desk:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "clerk/linger")
            await until(lambda: desk.progress)
            tasks.cancel_scope.cancel()
        await until(lambda: desk.told("cancelled"))


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


PARAMS = types.CallToolRequestParams(name="call_tool", arguments={})


@asynccontextmanager
async def suspending(**limits: int) -> AsyncIterator[Any]:
    """A function that answers a request of an owner: the first, or with what is added another."""
    async with anyio.create_task_group() as tasks:
        suspended = SuspendedCalls(tasks, **limits)

        async def answer(owner: Any = ("p", "t"), run: Any = _asks, **more: Any) -> Any:
            return await suspended.answer(_context(), owner, PARAMS.model_copy(update=more), run)

        yield answer
        tasks.cancel_scope.cancel()


async def test_a_question_that_comes_while_the_client_answers_another_is_asked_next() -> None:
    answers: list[Any] = []
    second = anyio.Event()

    async def asks_twice() -> types.CallToolResult:
        async def ask_later() -> None:
            await second.wait()
            answers.append(await _ask())

        async with anyio.create_task_group() as asking:
            asking.start_soon(ask_later)
            answers.append(await _ask())
        return types.CallToolResult(content=[])

    async with suspending() as answer:
        result, rounds = await answer(run=asks_twice), 0
        second.set()
        await anyio.wait_all_tasks_blocked()
        while isinstance(result, types.InputRequiredResult):
            rounds += 1
            result = await answer(run=asks_twice, **_declined(result))
    assert (rounds, [one.action for one in answers]) == (2, ["decline", "decline"])


@pytest.mark.parametrize(("owner", "arguments"), [(("p", "other"), {}), (("p", "t"), {"tool_id": "another"})])
async def test_an_answer_counts_for_no_other_caller_and_no_other_call(owner: Any, arguments: Any) -> None:
    async with suspending() as answer:
        asked = await answer()
        with pytest.raises(RequestInvalid, match="no longer open here"):
            await answer(owner, arguments=arguments, **_declined(asked))


async def test_hundreds_of_answered_calls_leave_neither_tasks_nor_calls_behind() -> None:
    async with suspending() as answer:
        before = len(asyncio.all_tasks())
        for _ in range(200):
            await answer(**_declined(await answer()))
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        # Not isinstance: it asks each object for its class, and some of torch warn.
        left = sum(type(thing) is _Call for thing in gc.get_objects())
        assert (len(asyncio.all_tasks()) - before, left) == (0, 0)


async def test_a_token_whose_calls_all_wait_leaves_places_for_the_others() -> None:
    async with suspending(limit=8) as answer:
        for token in ("loud", "loud", "quiet"):
            await answer(("p", token))
        with pytest.raises(RequestInvalid, match="2 calls wait for answers of their clients, which is the most"):
            await answer(("p", "loud"))
