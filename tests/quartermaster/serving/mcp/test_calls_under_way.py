"""What one call may tell and ask is bounded, and a question that names no call reaches nobody else."""

import json
from itertools import count
from typing import Any

import anyio
import mcp_types as types
import pytest

from quartermaster.serving.mcp import UpstreamFailed, connected, server
from quartermaster.serving.mcp.calling_client import CALLING_CLIENT, InputAnswer, InputRequest
from quartermaster.serving.mcp.calls_under_way import CallUnderWay
from router import Router
from tests.quartermaster.serving.mcp.conftest import record, text_of
from tests.quartermaster.serving.mcp.desk import MODES, Desk, Noted, asking, at_desk, clerk, run_out, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", MODES)
async def test_questions_name_their_server_hide_nothing_and_bring_no_context_of_others(
    desk_router: Router, mode: str
) -> None:
    async with at_desk(server(desk_router, [asking()]), mode) as desk:
        asked, answer = [await desk.json(f"asking/{name}") for name in ("ask", "sample")]
    ((question,), (sampled,)) = desk.questions, desk.sampled
    assert asked == {"action": "accept", "content": {"name": "Ada"}}
    assert question.message == "The MCP server 'asking' asks: Who are you?"
    assert question.requested_schema["properties"]["name"]["title"] == "Name"
    assert answer["content"] == {"type": "text", "text": "four"}
    assert sampled.system_prompt == "The MCP server 'asking' asks for this."
    assert (sampled.messages[0].content.text, sampled.include_context) == ("What is 2+2?", None)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_be_asked_is_not_and_the_server_learns_why(desk_router: Router, mode: str) -> None:
    async with at_desk(server(desk_router, [asking()]), mode, answers=False) as desk:
        answers = [(await desk.json(f"asking/{name}"))["error"] for name in ("ask", "sample", "roots")]
    unable = [f"the client of this call does not support {what}" for what in ("elicitation", "sampling")]
    assert answers == [*unable, "List roots not supported"]


@pytest.mark.parametrize("may_ask", [True, False])
async def test_a_server_learns_whether_it_may_ask_at_all_and_never_of_roots(desk_router: Router, may_ask: bool) -> None:
    async with at_desk(server(desk_router, [asking(may_ask=may_ask)])) as desk:
        assert await desk.json("asking/told") == [{"capabilities": ["elicitation", "sampling"] if may_ask else []}]


async def told(desk: Desk, what: str) -> None:
    """Wait until the server was told something. In between, no call is under way."""

    async def asked() -> bool:
        return what in str(await desk.json("asking/told"))

    await until(asked)


async def test_a_question_that_names_no_call_is_passed_to_nobody_while_two_or_none_are_under_way(
    desk_router: Router,
) -> None:
    async with at_desk(server(desk_router, [asking()]), "legacy") as desk, anyio.create_task_group() as tasks:
        tasks.start_soon(desk.call, "asking/hold")
        await told(desk, "held")
        refused = await desk.json("asking/ask")
        assert refused["error"].startswith("nobody can be asked: 2 calls are under way, and this message names none.")
        assert desk.questions == []
        await desk.json("asking/release")
        pauses = count(1)

        async def asked_late() -> bool:
            await desk.json("asking/late")
            # The question comes after the answer: meanwhile no call may be under way, or it belongs to that.
            await anyio.sleep(0.02 * next(pauses))
            return "no call is under way" in str(await desk.json("asking/told"))

        await until(asked_late)


async def test_what_a_client_of_2025_cancels_is_cancelled_at_a_server_of_2025(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "asking/hold")
            await told(desk, "held")
            tasks.cancel_scope.cancel()
        await told(desk, "cancelled")


async def test_a_flood_of_progress_and_of_questions_does_not_reach_the_client(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
        await desk.json("asking/storm")
        assert 1 <= len(desk.progress) < 200  # of 2,000
        answers = [await desk.json(f"asking/{name}") for name in ("pester", "nag")]
    at_once, in_turn = ([answer["error"] for answer in row if "error" in answer] for row in answers)
    assert {*at_once, *in_turn} == {"one call may ask 20 questions, 5 at a time, and has done so"}
    assert len(at_once) >= 10 and len(in_turn) == 10  # of 30 each
    assert len(desk.questions) == 60 - len(at_once) - len(in_turn)


async def test_a_call_tells_of_a_thousand_steps_at_most_and_only_of_what_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quartermaster.serving.mcp.calls_under_way._PROGRESS_INTERVAL_S", 0.0)
    steps: list[float] = []

    class Client(Noted):
        async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

    call = CallUnderWay(Client("a"), "s", 10.0)
    for step in (1, 3, 2, 3, *range(4, 2_000)):
        await call.on_progress(step, None, "m" * 1_000)
    assert steps == [1, *range(3, 1_002)]


async def test_the_time_that_a_user_takes_does_not_count() -> None:
    deadlines: list[float] = []

    class Client(Noted):
        async def ask(self, request: InputRequest) -> InputAnswer:
            deadlines.append(call.scope.deadline)
            return await super().ask(request)

    began = anyio.current_time()
    call = CallUnderWay(Client("a"), "s", 60.0)
    before = call.scope.deadline
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    await call.ask(types.ElicitRequest(params=form))
    took = anyio.current_time() - began
    assert deadlines == [float("inf")]
    assert 60 <= before - began <= 60 + took and before <= call.scope.deadline <= before + took


async def test_a_call_that_takes_too_long_is_given_up_while_its_server_lives(desk_router: Router) -> None:
    async with connected([asking()]) as upstreams, anyio.create_task_group() as tasks:

        async def hold() -> None:
            with pytest.raises(UpstreamFailed, match=r"did not answer within 20 s \(timeout_s\); it may still carry"):
                await upstreams.call(record(desk_router, "asking/hold"), {})

        tasks.start_soon(hold)
        await until(lambda: (session := upstreams.connections["asking"]._session) and session.calls._calls)
        run_out(upstreams.connections["asking"]._session)


@pytest.mark.parametrize("same", [True, False])
async def test_a_call_that_was_given_up_asks_no_other_client(desk_router: Router, same: bool) -> None:
    """Over stdio its late question names no call: it would reach the client whose call alone is under way."""
    stubborn, was_told = (record(desk_router, f"asking/{name}") for name in ("stubborn", "told"))
    first, second = Noted("a"), Noted("a" if same else "b")
    async with connected([asking()]) as upstreams:

        async def give_up() -> None:
            CALLING_CLIENT.set(first)
            await upstreams.call(stubborn, {})

        async with anyio.create_task_group() as tasks:

            async def held() -> bool:
                return "held" in text_of(await upstreams.call(was_told, {}))

            tasks.start_soon(give_up)
            await until(held)
            tasks.cancel_scope.cancel()
        CALLING_CLIENT.set(second)
        answer = json.loads(text_of(await upstreams.call(stubborn, {})))
    assert len(second.asked) == same
    assert same or answer["error"].startswith("nobody can be asked: a call of another client was given up")


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")  # by the protocol of 2026, at the server
@pytest.mark.parametrize(
    ("mode", "level", "heard"),
    [
        ("auto", "info", ["tea is short"]),
        ("auto", "debug", ["nothing", "tea is short"]),
        ("auto", None, []),
        ("legacy", "debug", []),  # its level would hold for all clients of the shared server
    ],
)
async def test_log_messages_reach_a_2026_client_that_names_a_level(
    desk_router: Router, mode: str, level: Any, heard: list[str]
) -> None:
    async with at_desk(server(desk_router, [clerk()]), mode, log_level=level) as desk:
        await desk.text("clerk/mutter")
        await until(lambda: len(desk.logs) >= len(heard))
    assert [(log.logger, log.data) for log in desk.logs] == [("clerk: shelf", text) for text in heard]
