"""Clients are told when a list of the server's changes: by a subscription, or over stdio by the 2025 protocol."""

import asyncio
from pathlib import Path

import anyio
import pytest
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged

from quartermaster.serving.mcp import list_changes, server
from quartermaster.serving.profiles import Callers
from router import Router
from tests.quartermaster.serving.mcp.desk import MODES, asking, at_desk, until
from tests.support.profiles import written

pytestmark = pytest.mark.anyio
PROFILE = "[profiles.office]\nselection = {}\ncall = %s\n"


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_changes, "_LOOK_S", 0.02)
    monkeypatch.setattr(list_changes, "_BETWEEN_S", 0.1)


async def test_a_2025_client_over_a_stream_is_told_without_a_subscription(desk_router: Router) -> None:
    served = server(desk_router, [asking(max_pages=2)], resources=True, prompts=True)
    async with at_desk(served, "legacy") as desk:
        await desk.client.list_tools()
        await desk.text("asking/chatter")
        await until(lambda: {*desk.messages} >= {"ResourceListChangedNotification", "PromptListChangedNotification"})
    assert desk.messages.count("ResourceListChangedNotification") < 20  # of 500


@pytest.mark.parametrize("mode", MODES)
async def test_a_profile_that_may_call_from_now_on_has_another_list_of_tools(
    desk_router: Router, tmp_path: Path, mode: str
) -> None:
    path = written(tmp_path / "profiles.toml", PROFILE % "false")
    served = server(desk_router, [], callers=Callers(path, desk_router), profile="office", prompts=True)
    async with at_desk(served, mode) as desk:
        assert len((await desk.client.list_tools()).tools) == 2
        if mode == "auto":
            async with desk.client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
                written(path, PROFILE % "true")
                with anyio.fail_after(60):
                    coming = aiter(events)
                    assert {await anext(coming), await anext(coming)} == {ToolsListChanged(), PromptsListChanged()}
        else:
            written(path, PROFILE % "true")
            await until(lambda: "ToolListChangedNotification" in desk.messages)
        assert len((await desk.client.list_tools()).tools) == 3


def test_a_server_can_be_run_again_in_another_event_loop(desk_router: Router) -> None:
    served = server(desk_router)

    async def names() -> list[str]:
        async with at_desk(served) as desk:
            return [tool.name for tool in (await desk.client.list_tools()).tools]

    assert asyncio.run(names()) == asyncio.run(names())
