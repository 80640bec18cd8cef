"""Resources and prompts of upstreams, listed and read through the server."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from router import Router
from router.serving.mcp import Upstream, server
from router.serving.profiles import Callers
from tests.router.serving.mcp.desk import MODES, asking, at_desk, clerk
from tests.support.profiles import written

DEAD = Upstream("dead", command=("no-such-program",), provider="dead")
PROFILES = """
[profiles.clerks]
selection = {providers = ["clerk"]}

[profiles.askers]
selection = {providers = ["asking"]}

[profiles.readers]
selection = {allow = ["clerk/told"]}

[profiles.lookers]
selection = {providers = ["clerk"]}
call = false

[profiles.all]
selection = {}
"""


@pytest.mark.parametrize("mode", MODES)
def test_resources_are_listed_by_server_and_read_without_hidden_characters(desk_router: Router, mode: str) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [DEAD, clerk()], resources=True), mode) as desk:
            listed = (await desk.client.list_resources()).resources
            templates = (await desk.client.list_resource_templates()).resource_templates
            own = templates[0].uri_template.replace("{name}", "first")
            return listed, templates, [await desk.client.read_resource(uri) for uri in (listed[0].uri, own)]

    (resource,), (template,), (first, by_name) = asyncio.run(run())
    assert (resource.uri, resource.description) == ("quartermaster:clerk/note://all/first", "The first note.")
    assert template.uri_template == "quartermaster:clerk/note://by-name/{name}"
    assert (first.contents[0].text, first.contents[0].uri) == ("Buy milk.", resource.uri)
    assert by_name.contents[0].text == "first: Buy milk."


@pytest.mark.parametrize("mode", MODES)
def test_prompts_are_listed_by_server_without_steering_text(desk_router: Router, mode: str) -> None:
    async def run() -> Any:
        async with at_desk(server(desk_router, [clerk()], prompts=True), mode) as desk:
            listed = (await desk.client.list_prompts()).prompts
            return listed, await desk.client.get_prompt("clerk/review", {"file": "a.py"})

    (prompt,), got = asyncio.run(run())
    assert (prompt.name, prompt.description) == ("clerk/review", "Review a file.")
    assert [argument.name for argument in prompt.arguments] == ["file"]
    assert got.messages[0].content.text == "Please review a.py."


def test_without_the_options_there_are_neither(desk_router: Router) -> None:
    async def run() -> types.ServerCapabilities:
        async with at_desk(server(desk_router, [clerk()])) as desk:
            return desk.client.server_capabilities

    capabilities = asyncio.run(run())
    assert (capabilities.resources, capabilities.prompts) == (None, None)


@pytest.mark.parametrize(
    ("profile", "seen"),
    [("clerks", 1), ("all", 1), ("askers", 0), ("readers", 0), ("lookers", 0)],
    ids=["its provider", "everything", "another provider", "some of its tools", "may not call"],
)
def test_only_a_profile_with_the_whole_server_sees_and_reads_its_resources(
    desk_router: Router, tmp_path: Path, profile: str, seen: int
) -> None:
    path = written(tmp_path / "profiles.toml", PROFILES)
    served = server(
        desk_router, [clerk()], callers=Callers(path, desk_router), profile=profile, resources=True, prompts=True
    )

    async def run() -> Any:
        async with at_desk(served) as desk:
            lists = (await desk.client.list_resources()).resources, (await desk.client.list_prompts()).prompts
            told = []
            for read in (
                lambda: desk.client.read_resource("quartermaster:clerk/note://all/first"),
                lambda: desk.client.get_prompt("clerk/review", {"file": "a"}),
            ):
                try:
                    await read()
                except MCPError as error:
                    told.append(error.message)
            return [len(rows) for rows in lists], told

    counts, told = asyncio.run(run())
    assert counts == [seen, seen]
    unknown = "here: the lists give their names"
    assert told == (
        []
        if seen
        else [
            f"there is no resource 'quartermaster:clerk/note://all/first' {unknown}",
            f"there is no prompt 'clerk/review' {unknown}",
        ]
    )


def test_endless_and_huge_lists_and_hidden_names_are_bounded(
    desk_router: Router, caplog: pytest.LogCaptureFixture
) -> None:
    bounds = {"max_pages": 20, "max_list_bytes": 100_000}

    async def run() -> Any:
        async with at_desk(server(desk_router, [asking(**bounds)], resources=True, prompts=True)) as desk:
            return (await desk.client.list_resources()).resources, (await desk.client.list_prompts()).prompts

    assert asyncio.run(run()) == ([], [])
    assert "the server's list of resources has no end: 20 pages" in caplog.text
    assert "its prompts have more than 100,000 bytes (max_list_bytes)" in caplog.text


def test_long_lists_come_in_pages(desk_router: Router) -> None:
    async def run() -> Any:
        upstream = asking(max_tools=450)
        async with at_desk(server(desk_router, [upstream], resources=True)) as desk:
            sizes, cursor = [], None
            while True:
                page = await desk.client.list_resources(cursor=cursor)
                sizes.append(len(page.resources))
                cursor = page.next_cursor
                if cursor is None:
                    break
            with pytest.raises(MCPError, match="the cursor is none of this server's"):
                await desk.client.list_resources(cursor="x")
            return sizes

    assert asyncio.run(run()) == [200, 200, 50]
