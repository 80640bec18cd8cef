"""Questions of strangers' servers: as they may be shown to a user, bounded, and to the client over stdio alone."""

import traceback
from itertools import count
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.mcp import Upstream, UpstreamFailed, connected, server
from quartermaster.serving.mcp.client import Answer, CallingClient, CallsUnderWay, Question, presentable
from quartermaster.serving.mcp.http import http_app
from router import Router
from tests.quartermaster.serving.conftest import served_app
from tests.quartermaster.serving.mcp.conftest import record
from tests.quartermaster.serving.mcp.desk import Noted, asking, at_desk, run_out, until


def url_of(url: str) -> Any:
    params = types.ElicitRequestURLParams(message="Log in.", url=url, elicitation_id="1")
    return presentable(types.ElicitRequest(params=params), "bank")


@pytest.mark.parametrize("url", ["https://bank.example/login?a=1", "http://127.0.0.1:8000/x", "http://localhost/x"])
def test_a_url_that_a_browser_may_visit_is_passed_on(url: str) -> None:
    passed = url_of(url)
    assert (passed.params.url, passed.params.message) == (url, "The MCP server 'bank' asks: Log in.")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://bank.example/",
        "https://paypal.example@evil.example/",
        "https://b\u0430nk.example/",
        "https://[",
        "https://bank.example/ a",
        f"https://bank.example/{'x' * 2_000}",
    ],
)
def test_any_other_url_is_refused_with_the_reason(url: str) -> None:
    with pytest.raises(ValueError, match="the URL is not passed on: it must be https"):
        url_of(url)


def test_a_long_message_is_cut_and_a_question_of_more_than_a_megabyte_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = types.ElicitRequestFormParams(message="m" * 5_000, requested_schema=schema)
    shown: Any = presentable(types.ElicitRequest(params=form), "s")
    assert shown.params.message == f"The MCP server 's' asks: {'m' * 4_000}…"
    said = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="x" * 1_100_000))
    sampling = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=5))
    large = types.ElicitRequestFormParams(message="m" * 1_100_000, requested_schema=schema)
    for asked in (sampling, types.ElicitRequest(params=large)):
        with pytest.raises(ValueError, match="the question has more than 1,048,576 bytes"):
            presentable(asked, "s")


@pytest.mark.anyio
async def test_progress_that_does_not_grow_is_left_out_and_its_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quartermaster.serving.mcp.client._PROGRESS_INTERVAL_S", 0.0)
    steps: list[Any] = []

    class Session:
        async def report_progress(self, progress: float, _: float | None, message: str | None) -> None:
            steps.append((progress, message))

    client = CallingClient(SimpleNamespace(session=Session(), request=None))  # type: ignore[arg-type]
    for step in (1, 3, 2, 3, 4):
        await client.report_progress(step, None, "m" * 1_000)
    assert steps == [(step, "m" * 300) for step in (1, 3, 4)]


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


async def test_a_client_over_http_reads_why_the_server_refuses_it(desk_router: Router) -> None:
    settings = HttpSettings(port=0, requests_per_minute=1)
    with served_app(http_app(server(desk_router), settings)) as port, pytest.raises(Exception) as refused:
        async with at_desk(f"http://127.0.0.1:{port}/mcp", "auto") as desk:
            for _ in range(5):
                await desk.json("asking/ask")
    assert "more than 1 requests a minute: wait" in "".join(traceback.format_exception(refused.value))


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
            with pytest.raises(UpstreamFailed, match=r"did not answer within 120 s \(timeout_s\); it may still carry"):
                await upstreams.call(record(desk_router, "asking/hold"), {})

        tasks.start_soon(hold)
        (connection,) = upstreams.connections
        await until(lambda: connection._calls._scopes)
        run_out(connection)
