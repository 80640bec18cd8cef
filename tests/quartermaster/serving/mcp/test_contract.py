"""Real servers by each protocol that they may know, and several at once: progress, questions, cancellation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quartermaster.serving.mcp import Upstream, server
from quartermaster.serving.mcp.session import open_session
from router import Router
from tests.quartermaster.serving.conftest import served_app
from tests.quartermaster.serving.mcp.clerk import clerk_server
from tests.quartermaster.serving.mcp.desk import at_desk, until

pytestmark = pytest.mark.anyio


def _only_2026(app: ASGIApp) -> ASGIApp:
    """An app that refuses the protocols before 2026."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or dict(scope["headers"]).get(b"mcp-protocol-version", b"").startswith(b"2026"):
            await app(scope, receive, send)
        else:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no such method"}}
            await JSONResponse(error, status_code=400)(scope, receive, send)

    return answer


@pytest.fixture(scope="module", params=["2025 and 2026", "only 2026"])
def upstream(request: pytest.FixtureRequest) -> Iterator[Upstream]:
    """The clerk. One that knows 2025 is spoken to by that."""
    app = clerk_server().streamable_http_app()
    with served_app(_only_2026(app) if request.param == "only 2026" else app) as port:
        yield Upstream("clerk", url=f"http://127.0.0.1:{port}/mcp", provider="clerk", timeout_s=120)


async def test_a_call_tells_of_progress_and_its_questions_are_answered_by_the_client(
    desk_router: Router, upstream: Upstream
) -> None:
    async with at_desk(server(desk_router, [upstream])) as desk:
        assert await desk.text("clerk/steps") == "done"
        assert await desk.text("clerk/order", item="tea") == "tea: ordered"
        assert await desk.text("clerk/describe", item="tea") == "four"
    # What comes within a twentieth of a second is left out, but for the last.
    assert (desk.progress[0], desk.progress[-1]) == ((1, 4, "step 1"), (4, 4, "step 4"))
    assert [question.message for question in desk.questions] == ["The MCP server 'clerk' asks: Order tea?"]
    assert [sampled.system_prompt for sampled in desk.sampled] == ["The MCP server 'clerk' asks for this."]


async def test_a_program_of_the_sdk_asks_the_user_and_the_model_in_the_midst_of_a_call(desk_router: Router) -> None:
    command = (sys.executable, str(Path(__file__).with_name("clerk.py")))
    program = Upstream("clerk", command=command, provider="clerk", timeout_s=120)
    async with at_desk(server(desk_router, [program])) as desk:
        assert await desk.text("clerk/consult", item="tea") == "accept, m"
    assert (desk.questions[0].message, len(desk.sampled)) == ("The MCP server 'clerk' asks: Order tea?", 1)


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
@pytest.mark.parametrize(("protocol", "by"), [("auto", "2025-11-25"), ("2025", "2025-11-25"), ("2026", "2026-07-28")])
async def test_a_server_is_spoken_to_by_the_protocol_that_its_settings_name(
    desk_router: Router, clerk: Upstream, protocol: str, by: str
) -> None:
    upstream = replace(clerk, protocol=protocol)
    async with open_session(upstream) as session:
        assert session.protocol == by
    async with at_desk(server(desk_router, [upstream])) as desk:
        answer = await desk.call("clerk/consult", item="tea")
    assert answer.is_error == (len(desk.questions) == 0) == (protocol == "2026")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_a_client_cancels_is_cancelled_at_the_server(
    desk_router: Router, upstream: Upstream, mode: str
) -> None:
    async with at_desk(server(desk_router, [upstream]), mode) as desk:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.call, "clerk/linger")
            await until(lambda: desk.progress)
            tasks.cancel_scope.cancel()
        await until(lambda: desk.told("cancelled"))
