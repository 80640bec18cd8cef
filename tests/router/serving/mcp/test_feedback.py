"""find_tools and call_tool in one dialogue: the log learns which answer a call came from, and how it ended."""

import asyncio
from pathlib import Path
from typing import Any

from mcp import Client

from pipeline.feedback import Answers, join_answers, read_events
from router import FeedbackLog, Outcome, Router
from router.serving.mcp import server
from tests.router.serving.mcp.conftest import plain


def logged(snapshot: Path, folder: Path, *calls: tuple[str, dict[str, Any]]) -> Answers:
    """What the log holds after calls in one session."""

    async def ask(router: Router) -> None:
        async with Client(server(router, [plain()])) as client:
            for name, arguments in calls:
                await client.call_tool(name, arguments)

    with Router.open(snapshot, feedback=FeedbackLog(folder, texts=True)) as router:
        asyncio.run(ask(router))
    return join_answers(read_events(folder))


def test_a_call_is_tied_to_the_latest_answer_that_offered_the_tool(weather_snapshot: Path, tmp_path: Path) -> None:
    found = logged(
        weather_snapshot,
        tmp_path,
        ("find_tools", {"request": "do echo", "k": 2}),
        ("find_tools", {"request": "give money back", "k": 1}),
        ("call_tool", {"tool_id": "plain/echo", "arguments": {"text": "hello"}}),
    )
    assert [(answer.request, dict(answer.outcomes)) for answer in found.answers] == [
        ("do echo", {"plain/echo": Outcome.SUCCEEDED}),
        ("give money back", {}),
    ]
    assert found.untied == 0


def test_a_call_that_fails_is_no_success(weather_snapshot: Path, tmp_path: Path) -> None:
    found = logged(
        weather_snapshot,
        tmp_path,
        ("find_tools", {"request": "give money back", "k": 1}),
        ("call_tool", {"tool_id": "bank/refund", "arguments": {}}),  # there is no such server
    )
    assert [dict(answer.outcomes) for answer in found.answers] == [{"bank/refund": Outcome.FAILED}]


def test_a_tool_that_was_not_offered_and_a_wrong_id_leave_no_trace(weather_snapshot: Path, tmp_path: Path) -> None:
    found = logged(
        weather_snapshot,
        tmp_path,
        ("call_tool", {"tool_id": "plain/echo", "arguments": {"text": "hello"}}),
        ("call_tool", {"tool_id": "plain/ecko", "arguments": {}}),  # the answer names similar ids: not an answer to log
    )
    assert found == Answers((), 0)
