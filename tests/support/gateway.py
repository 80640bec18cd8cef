"""A client's visit to the MCP server in front of several others, as lines of a transcript."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from quartermaster.serving.mcp import Upstream, server
from router import Router
from tests.quartermaster.serving.mcp.desk import at_desk

Call = tuple[str, Mapping[str, Any]]
_WIDTH = 240  # characters of an answer in the transcript


async def visit(
    router: Router, upstreams: Sequence[Upstream], requests: Sequence[str], calls: Sequence[Call]
) -> list[str]:
    """Find tools for requests and make calls, all calls at a time; return what was asked and answered, in order.

    Waits until each tool that is called is served, 150 s at most.
    """
    served = server(router, upstreams, connect=True)
    async with at_desk(served) as desk:
        with anyio.fail_after(150):
            while any(router.record(tool_id) is None for tool_id, _ in calls if not tool_id.startswith("dead/")):
                await anyio.sleep(0.05)
        lines: list[str] = []
        for request in requests:
            found = await desk.client.call_tool("find_tools", {"request": request, "k": 1})
            lines += [f'find_tools "{request}"', *_shown(found)]
        answers: dict[int, list[str]] = {}

        async def call(place: int, tool_id: str, arguments: Mapping[str, Any]) -> None:
            answers[place] = _shown(await desk.call(tool_id, **arguments))

        async with anyio.create_task_group() as tasks:
            for place, (tool_id, arguments) in enumerate(calls):
                tasks.start_soon(call, place, tool_id, arguments)
        for place, (tool_id, arguments) in enumerate(calls):
            lines += [f"call_tool {tool_id} {json.dumps(arguments)}", *answers[place]]
        lines += [f"(asked) {_line(getattr(question, 'message', ''))}" for question in desk.questions]
        lines += [f"(asked) {_line(sampled.system_prompt or '')}" for sampled in desk.sampled]
        lines += [f"(progress) {step:g} of {total or 0:g}" for step, total, _ in desk.progress]
        return lines


def _shown(result: Any) -> list[str]:
    texts = [getattr(block, "text", f"({block.type})") for block in result.content]
    return [("! " if result.is_error else "") + _line(" ".join(texts))]


def _line(text: str, width: int = _WIDTH) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[:width]}…"
