"""What one call may tell and ask is bounded, and a question that names no call reaches nobody else."""

import asyncio
import json
from typing import Any

import anyio
import pytest

from router import Router
from router.serving.mcp import connected, server
from router.serving.mcp.calling_client import CALLING_CLIENT
from router.serving.mcp.calls_under_way import CallUnderWay
from tests.router.serving.mcp.conftest import text_of
from tests.router.serving.mcp.desk import MODES, Noted, asking, at_desk, clerk, until


@pytest.mark.parametrize("mode", MODES)
def test_a_question_and_sampling_are_named_shown_without_hidden_characters_and_bring_no_context_of_others(
    desk_router: Router, mode: str
) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), mode) as desk:
            return [json.loads(await desk.text(f"asking/{name}")) for name in ("ask", "sample")], desk

    (asked, answer), desk = asyncio.run(run())
    ((question,), (sampled,)) = desk.questions, desk.sampled
    assert asked == {"action": "accept", "content": {"name": "Ada"}}
    assert question.message == "The MCP server 'asking' asks: Who are you?"
    assert question.requested_schema["properties"]["name"]["title"] == "Name"
    assert answer["content"] == {"type": "text", "text": "four"}
    assert sampled.system_prompt == "The MCP server 'asking' asks for this."
    assert (sampled.messages[0].content.text, sampled.include_context) == ("What is 2+2?", None)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_cannot_be_asked_is_not_and_the_server_learns_why(desk_router: Router, mode: str) -> None:
    async def run() -> list[Any]:
        async with at_desk(server(desk_router, [asking()]), mode, answers=False) as desk:
            return [json.loads(await desk.text(f"asking/{name}")) for name in ("ask", "sample", "roots")]

    assert asyncio.run(run()) == [
        {"error": "the client of this call does not support elicitation"},
        {"error": "the client of this call does not support sampling"},
        {"error": "List roots not supported"},
    ]


@pytest.mark.parametrize("may_ask", [True, False])
def test_a_server_learns_whether_it_may_ask_at_all_and_never_of_roots(desk_router: Router, may_ask: bool) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking(may_ask=may_ask)])) as desk:
            return json.loads(await desk.text("asking/told"))

    (declared,) = asyncio.run(run())
    assert declared == {"capabilities": ["elicitation", "sampling"] if may_ask else []}


async def held(desk: Any) -> None:
    """Wait until the server holds a call."""
    with anyio.fail_after(10):
        while "held" not in json.loads(await desk.text("asking/told")):
            await anyio.sleep(0.01)


def test_a_question_that_names_no_call_is_passed_to_nobody_while_two_or_none_are_under_way(desk_router: Router) -> None:
    async def run() -> Any:
        served = server(desk_router, [asking()])
        async with at_desk(served, "legacy") as desk, anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "asking/hold")
            await held(desk)
            refused = json.loads(await desk.text("asking/ask"))
            await desk.text("asking/release")
            questions, pause = list(desk.questions), 0.02
            answered: Any = []
            while not any("no call" in str(row) for row in answered):
                await desk.text("asking/late")
                # The question comes after the answer: meanwhile no call may be under way, or it belongs to that.
                await anyio.sleep(pause)
                answered, pause = json.loads(await desk.text("asking/told")), 2 * pause
            return refused, questions

    refused, questions = asyncio.run(run())
    assert refused["error"].startswith("nobody can be asked: 2 calls are under way, and this message names none.")
    assert questions == []


def test_what_a_client_of_2025_cancels_is_cancelled_at_a_server_of_2025(desk_router: Router) -> None:
    async def run() -> None:
        async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.call, "asking/hold")
                await held(desk)
                tasks.cancel_scope.cancel()
            told: Any = []
            with anyio.fail_after(10):
                while not any(isinstance(row, dict) and "cancelled" in row for row in told):
                    told = json.loads(await desk.text("asking/told"))

    asyncio.run(run())


def test_a_flood_of_progress_and_of_questions_does_not_reach_the_client(desk_router: Router) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
            await desk.text("asking/storm")
            told = len(desk.progress)
            answers = [json.loads(await desk.text(f"asking/{name}")) for name in ("pester", "nag")]
            return told, answers, len(desk.questions)

    progress, (at_once, in_turn), questions = asyncio.run(run())
    assert 1 <= progress < 200  # of 2,000
    refused = [[answer["error"] for answer in answers if "error" in answer] for answers in (at_once, in_turn)]
    assert {*refused[0], *refused[1]} == {"one call may ask 20 questions, 5 at a time, and has done so"}
    assert len(refused[0]) >= 10  # of 30 at once
    assert len(refused[1]) == 10  # of 30, one after the other
    assert questions == 60 - len(refused[0]) - len(refused[1])


def test_a_call_is_told_of_a_thousand_times_at_most_and_only_of_what_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.serving.mcp.calls_under_way._PROGRESS_INTERVAL_S", 0.0)
    told: list[float] = []

    class Client(Noted):
        async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

    async def run() -> None:
        call = CallUnderWay(Client("a"), "s", 10.0)
        for step in (1, 3, 2, 3, *range(4, 2_000)):
            await call.on_progress(step, None, "m" * 1_000)

    asyncio.run(run())
    assert told == [1, *range(3, 1_002)]


@pytest.mark.parametrize("answers_after", [0.6, None])
def test_the_time_that_a_user_takes_does_not_count_for_the_server(
    desk_router: Router, answers_after: float | None
) -> None:
    """A server that does not answer by itself is given up after the same time."""

    async def run() -> Any:
        async with at_desk(server(desk_router, [asking(timeout_s=0.4)]), "legacy") as desk:
            if answers_after is None:
                return (await desk.call("asking/hold")).is_error
            elicited = desk.elicited

            async def slowly(context: Any, params: Any) -> Any:
                await anyio.sleep(answers_after)
                return await elicited(context, params)

            desk.client.session._elicitation_callback = slowly
            return json.loads(await desk.text("asking/ask"))["action"]

    assert asyncio.run(run()) == ("accept" if answers_after else True)


@pytest.mark.parametrize("same", [True, False])
def test_a_call_that_was_given_up_asks_no_other_client(desk_router: Router, same: bool) -> None:
    """Over stdio its late question names no call: it would reach the client whose call alone is under way."""

    async def run() -> Any:
        stubborn, told = (desk_router.record(f"asking/{name}") for name in ("stubborn", "told"))
        assert stubborn and told
        first, second = Noted("a"), Noted("a" if same else "b")
        async with connected([asking()]) as upstreams:

            async def give_up() -> None:
                CALLING_CLIENT.set(first)
                await upstreams.call(stubborn, {})

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(give_up)
                with anyio.fail_after(10):
                    while "held" not in text_of(await upstreams.call(told, {})):
                        await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
            CALLING_CLIENT.set(second)
            return json.loads(text_of(await upstreams.call(stubborn, {}))), second.asked

    answer, asked = asyncio.run(run())
    if same:
        assert len(asked) == 1
    else:
        assert asked == []
        assert answer["error"].startswith("nobody can be asked: a call of another client was given up")


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
def test_log_messages_reach_a_2026_client_that_names_a_level(
    desk_router: Router, mode: str, level: Any, heard: list[str]
) -> None:
    async def run() -> list[tuple[str | None, Any]]:
        async with at_desk(server(desk_router, [clerk()]), mode, log_level=level) as desk:
            await desk.text("clerk/mutter")
            if heard:
                await until(lambda: len(desk.logs) >= len(heard))
            return [(log.logger, log.data) for log in desk.logs]

    assert asyncio.run(run()) == [("clerk: shelf", text) for text in heard]
