"""What upstreams tell and ask during a call reaches the client of that call, and no other."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anyio
import mcp_types as types
import pytest

from router import Router
from router.serving.mcp import Upstream, connected, server
from router.serving.mcp.calling_client import CALLING_CLIENT, CallingClient, InputAnswer, InputRequest
from tests.router.serving.mcp.conftest import listening, text_of
from tests.router.serving.mcp.desk import HERE, MODES, asking, at_desk, clerk, until

PROTOCOLS = {"http": "2026-07-28", "http-2025": "2025-11-25", "sse": "2026-07-28"}


@pytest.fixture(scope="module", params=list(PROTOCOLS))
def clerk_over_http(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Upstream, str]]:
    """The real server, and the protocol that it speaks."""
    kind: str = request.param
    with listening(tmp_path_factory.mktemp(kind), HERE / "clerk.py", kind) as port:
        url = f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
        yield Upstream("clerk", url=url, provider="clerk", sse=kind == "sse"), PROTOCOLS[kind]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("upstream", [asking(), clerk()], ids=["2025", "2026"])
def test_progress_reaches_the_client_that_asks_for_it(desk_router: Router, upstream: Upstream, mode: str) -> None:
    async def run() -> list[Any]:
        async with at_desk(server(desk_router, [upstream]), mode) as desk:
            await desk.text(f"{upstream.name}/steps")
            return desk.progress

    progress = asyncio.run(run())
    # What comes within a twentieth of a second is told of together: the first, and the last.
    assert progress[0] == (1, 4, "step 1")
    assert progress[-1] == (4, 4, "step 4")


@pytest.mark.parametrize("mode", MODES)
def test_a_question_of_a_2025_server_names_it_and_is_answered_by_the_client(desk_router: Router, mode: str) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), mode) as desk:
            return json.loads(await desk.text("asking/ask")), desk.questions

    answer, (question,) = asyncio.run(run())
    assert answer == {"action": "accept", "content": {"name": "Ada"}}
    assert question.message == "The MCP server 'asking' asks: Who are you?"
    assert question.requested_schema["properties"]["name"]["title"] == "Name"


@pytest.mark.parametrize("mode", MODES)
def test_a_question_of_a_2026_server_names_it_and_is_answered_by_the_client(desk_router: Router, mode: str) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [clerk()]), mode) as desk:
            return [await desk.text("clerk/order", item="tea"), await desk.text("clerk/describe", item="tea"), desk]

    ordered, described, desk = asyncio.run(run())
    assert (ordered, described) == ("tea: ordered", "four")
    assert [question.message for question in desk.questions] == ["The MCP server 'clerk' asks: Order tea?"]


@pytest.mark.parametrize("mode", MODES)
def test_sampling_names_the_server_and_brings_no_context_of_others(desk_router: Router, mode: str) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), mode) as desk:
            return json.loads(await desk.text("asking/sample")), desk.sampled

    answer, (sampled,) = asyncio.run(run())
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


def test_over_stdio_a_question_while_two_calls_are_under_way_is_passed_to_nobody(desk_router: Router) -> None:
    async def run() -> Any:
        served = server(desk_router, [asking()])
        async with at_desk(served, "legacy") as desk, anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "asking/hold")
            held: Any = []
            while "held" not in held:
                held = json.loads(await desk.text("asking/told"))
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


class Noted(CallingClient):
    """A client that notes what it is asked, and confirms if its name is "a"."""

    def __init__(self, name: str) -> None:
        self.name = self.owner = name
        self.asked: list[str] = []
        self.context = None

    async def ask(self, request: InputRequest) -> InputAnswer:
        assert isinstance(request, types.ElicitRequest)
        self.asked.append(request.params.message)
        await anyio.sleep(0.05)  # so that both are asked before either answers
        return types.ElicitResult(action="accept", content={"yes": self.name == "a"})


def test_over_http_each_of_two_clients_is_asked_for_its_own_call_at_the_same_time(
    desk_router: Router, clerk_over_http: tuple[Upstream, str]
) -> None:
    upstream, protocol = clerk_over_http

    async def run() -> Any:
        clients, results = {name: Noted(name) for name in "ab"}, dict[str, str]()
        order, told = (desk_router.record(f"clerk/{name}") for name in ("order", "told"))
        assert order and told
        async with connected([upstream]) as upstreams, anyio.create_task_group() as tasks:

            async def call(name: str) -> None:
                CALLING_CLIENT.set(clients[name])
                results[name] = text_of(await upstreams.call(order, {"item": name}))

            await upstreams.call(told, {})
            session = upstreams.connections["clerk"]._session
            assert session is not None
            assert session.client.protocol_version == protocol
            for name in "ab":
                tasks.start_soon(call, name)
        return results, {name: client.asked for name, client in clients.items()}

    results, asked = asyncio.run(run())
    assert results == {"a": "a: ordered", "b": "b: left"}
    assert asked == {name: [f"The MCP server 'clerk' asks: Order {name}?"] for name in "ab"}


def test_what_a_client_cancels_is_cancelled_at_the_server(desk_router: Router) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.call, "asking/hold")
                while "held" not in json.loads(await desk.text("asking/told")):
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
            told: Any = []
            while not any(isinstance(row, dict) and "cancelled" in row for row in told):
                told = json.loads(await desk.text("asking/told"))
            return told

    assert any("cancelled" in row for row in asyncio.run(run()) if isinstance(row, dict))


def test_a_flood_of_progress_and_of_questions_does_not_reach_the_client(desk_router: Router) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [asking()]), "legacy") as desk:
            await desk.text("asking/storm")
            return desk.progress, json.loads(await desk.text("asking/pester")), desk.questions

    progress, answers, questions = asyncio.run(run())
    assert 1 <= len(progress) < 300  # of 20,000
    refused = [answer for answer in answers if "error" in answer]
    assert len(answers) == 30
    assert len(questions) == 30 - len(refused) <= 20
    assert {answer["error"] for answer in refused} == {"one call may ask 20 questions, 5 at a time, and has done so"}


def test_the_time_that_a_user_takes_does_not_count_for_the_server(desk_router: Router) -> None:
    async def run() -> str:
        async with at_desk(server(desk_router, [asking(timeout_s=1.0)]), "legacy") as desk:
            elicited = desk.elicited

            async def slowly(context: Any, params: Any) -> Any:
                await anyio.sleep(1.5)
                return await elicited(context, params)

            desk.client.session._elicitation_callback = slowly
            return await desk.text("asking/ask")

    assert json.loads(asyncio.run(run()))["action"] == "accept"


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
