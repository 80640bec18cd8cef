"""What one call may tell and ask is bounded, and only the client over stdio is asked."""

from itertools import count

import anyio
import mcp_types as types
import pytest

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import Upstream, UpstreamFailed, connected, server
from quartermaster.serving.mcp.client import Answer, CallsUnderWay, Question
from quartermaster.serving.mcp.http import http_app
from router import Router
from tests.quartermaster.serving.mcp.conftest import record, served_app
from tests.quartermaster.serving.mcp.desk import Noted, asking, at_desk, run_out, until

pytestmark = pytest.mark.anyio


async def test_questions_name_their_server_hide_nothing_and_bring_no_context_of_others(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()])) as desk:
        asked, answer = [await desk.json(f"asking/{name}") for name in ("ask", "sample")]
    ((question,), (sampled,)) = desk.questions, desk.sampled
    assert asked == {"action": "accept", "content": {"name": "Ada"}}
    assert question.message == "The MCP server 'asking' asks: Who are you?"
    assert question.requested_schema["properties"]["name"]["title"] == "Name"
    assert answer["content"] == {"type": "text", "text": "four"}
    assert sampled.system_prompt == "The MCP server 'asking' asks for this."
    assert (sampled.messages[0].content.text, sampled.include_context) == ("What is 2+2?", None)


async def test_a_client_that_cannot_be_asked_is_not_and_the_server_learns_why(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()]), answers=False) as desk:
        answers = [(await desk.json(f"asking/{name}"))["error"] for name in ("ask", "sample", "roots")]
    unable = [f"the client of this call does not support {what}" for what in ("elicitation", "sampling")]
    assert answers == [*unable, "List roots not supported"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http_progress_reaches_each_client_and_nobody_is_asked(
    desk_router: Router, clerk: Upstream, mode: str
) -> None:
    app = http_app(server(desk_router, [asking(), clerk]), HttpSettings(port=0))
    with served_app(app) as port:
        async with at_desk(f"http://127.0.0.1:{port}/mcp", mode) as desk:
            await desk.text("clerk/steps")
            answer = await desk.json("asking/ask")
    assert answer["error"].startswith("the client of this call cannot be asked: it is one of many over HTTP")
    assert desk.questions == []
    assert (desk.progress[0][0], desk.progress[-1][0]) == (1, 4)


@pytest.mark.parametrize("may_ask", [True, False])
async def test_a_server_learns_whether_it_may_ask_at_all_and_never_of_roots(desk_router: Router, may_ask: bool) -> None:
    async with at_desk(server(desk_router, [asking(may_ask=may_ask)])) as desk:
        assert await desk.json("asking/told") == [{"capabilities": ["elicitation", "sampling"] if may_ask else []}]


async def test_a_question_while_no_call_is_under_way_is_passed_to_nobody(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()])) as desk:
        pauses = count(1)

        async def asked_late() -> bool:
            await desk.json("asking/late")
            # The question comes after the answer: meanwhile no call may be under way, or it belongs to that.
            await anyio.sleep(0.02 * next(pauses))
            return "no call is under way" in str(await desk.json("asking/told"))

        await until(asked_late)


async def test_a_flood_of_progress_and_of_questions_does_not_reach_the_client(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [asking()])) as desk:
        await desk.json("asking/storm")
        assert 1 <= len(desk.progress) < 200  # of 2,000
        answers = [await desk.json(f"asking/{name}") for name in ("pester", "nag")]
    for row in answers:
        refused = [answer["error"] for answer in row if "error" in answer]
        assert refused == ["one call may ask 20 questions, and has done so"] * 10  # of 30
    assert len(desk.questions) == 40


async def test_the_time_that_a_user_takes_does_not_count_and_progress_starts_the_clock_anew() -> None:
    calls, deadlines = CallsUnderWay(asking(timeout_s=60)), list[float]()

    class Client(Noted):
        async def ask(self, request: Question, server: str) -> Answer:
            deadlines.append(scope.deadline)
            return await super().ask(request, server)

    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
    with calls.begin(Client()) as on_progress:
        (scope,) = calls._scopes
        began = scope.deadline - 60
        await calls.ask(types.ElicitRequest(params=form))
        assert deadlines == [float("inf")] and scope.deadline >= began + 60
        scope.deadline = began
        await on_progress(1, None, None)
        assert scope.deadline >= began + 60


async def test_a_call_that_takes_too_long_is_given_up_while_its_server_lives(desk_router: Router) -> None:
    async with connected([asking()]) as upstreams, anyio.create_task_group() as tasks:

        async def hold() -> None:
            with pytest.raises(UpstreamFailed, match=r"did not answer within 20 s \(timeout_s\); it may still carry"):
                await upstreams.call(record(desk_router, "asking/hold"), {})

        tasks.start_soon(hold)
        (connection,) = upstreams.connections
        await until(lambda: connection._calls._scopes)
        run_out(connection)
