"""find_tools and call_tool in one dialogue: the log learns which answer a call came from, and how it ended."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from pipeline.feedback import Answers, join_answers, read_events
from quartermaster.serving.mcp import server
from router import FeedbackLog, Outcome
from tests.quartermaster.serving.mcp.conftest import TOOLS, plain, router_of

pytestmark = pytest.mark.anyio
REFUND = {"request": "give money back", "k": 1}
HELLO = {"tool_id": "plain/echo", "arguments": {"text": "hello"}}


async def logged(folder: Path, *calls: tuple[str, dict[str, Any]]) -> Answers:
    """What the log holds after calls in one session."""
    log = FeedbackLog(folder, texts=True)
    async with Client(server(router_of(*TOOLS, feedback=log), [plain()])) as client:
        for name, arguments in calls:
            await client.call_tool(name, arguments)
    log.close()
    return join_answers(read_events(folder))


async def test_a_call_is_tied_to_the_latest_answer_that_offered_the_tool(tmp_path: Path) -> None:
    echo = ("find_tools", {"request": "do echo", "k": 2})
    found = await logged(tmp_path, echo, ("find_tools", REFUND), ("call_tool", HELLO))
    assert [(answer.request, dict(answer.outcomes)) for answer in found.answers] == [
        ("do echo", {"plain/echo": Outcome.SUCCEEDED}),
        ("give money back", {}),
    ]
    assert found.untied == 0


async def test_a_call_that_fails_is_no_success(tmp_path: Path) -> None:
    no_server = ("call_tool", {"tool_id": "bank/refund", "arguments": {}})
    found = await logged(tmp_path, ("find_tools", REFUND), no_server)
    assert [dict(answer.outcomes) for answer in found.answers] == [{"bank/refund": Outcome.FAILED}]


async def test_a_tool_that_was_not_offered_and_a_wrong_id_leave_no_trace(tmp_path: Path) -> None:
    wrong = ("call_tool", {"tool_id": "plain/ecko", "arguments": {}})  # its answer names similar ids: none to log
    assert await logged(tmp_path, ("call_tool", HELLO), wrong) == Answers((), 0)
