"""One contract of upstreams by each of their transports and protocols, to a client that can be asked."""

from collections.abc import Iterator

import anyio
import pytest

from quartermaster.serving.mcp import Upstream, server
from router import Router
from tests.quartermaster.serving.mcp.clerk import clerk_server
from tests.quartermaster.serving.mcp.conftest import served_app
from tests.quartermaster.serving.mcp.desk import at_desk, clerk, until

pytestmark = pytest.mark.anyio
PAIRS = ("stdio-2025", "stdio-2026", "http-2025")


@pytest.fixture(scope="module")
def over_http() -> Iterator[Upstream]:
    """The clerk behind an address."""
    with served_app(clerk_server().streamable_http_app()) as port:
        yield Upstream("clerk", url=f"http://127.0.0.1:{port}/mcp", provider="clerk", timeout_s=20)


@pytest.fixture(params=PAIRS)
def upstream(request: pytest.FixtureRequest) -> Upstream:
    """The clerk by a transport and a protocol. One that knows 2025 is spoken to by that."""
    if request.param == "http-2025":
        found: Upstream = request.getfixturevalue("over_http")
        return found
    return clerk(protocol="only 2026" if request.param == "stdio-2026" else "stdio")


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
