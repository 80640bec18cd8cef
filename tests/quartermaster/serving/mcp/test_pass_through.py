"""Which resources and prompts of upstreams are listed and read through the server; test_contract.py has how."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from quartermaster.serving.mcp import server
from quartermaster.serving.mcp.pass_through import split_name, split_uri, unique_name, unique_uri
from quartermaster.serving.profiles import Callers
from router import Router
from tests.quartermaster.serving.mcp.desk import asking, at_desk, clerk
from tests.support.profiles import written

pytestmark = pytest.mark.anyio
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


async def test_without_the_options_there_are_neither(desk_router: Router) -> None:
    async with at_desk(server(desk_router, [clerk()])) as desk:
        capabilities = desk.client.server_capabilities
    assert (capabilities.resources, capabilities.prompts) == (None, None)


@pytest.mark.parametrize(
    ("profile", "seen"),
    [("clerks", 1), ("all", 1), ("askers", 0), ("readers", 0), ("lookers", 0)],
    ids=["its provider", "everything", "another provider", "some of its tools", "may not call"],
)
async def test_only_a_profile_with_the_whole_server_sees_and_reads_its_resources(
    desk_router: Router, tmp_path: Path, profile: str, seen: int
) -> None:
    callers = Callers(written(tmp_path / "profiles.toml", PROFILES), desk_router)
    served = server(desk_router, [clerk()], callers=callers, profile=profile, resources=True, prompts=True)
    told = []
    async with at_desk(served) as desk:
        lists = (await desk.client.list_resources()).resources, (await desk.client.list_prompts()).prompts
        assert [len(rows) for rows in lists] == [seen, seen]
        for read in (
            desk.client.read_resource("quartermaster:clerk/note://all/first"),
            desk.client.get_prompt("clerk/review", {"file": "a"}),
        ):
            try:
                await read
            except MCPError as error:
                told.append(error.message)
    unknown = ["resource 'quartermaster:clerk/note://all/first'", "prompt 'clerk/review'"]
    refused = [f"there is no {what} here: the lists give their names" for what in unknown]
    assert told == ([] if seen else refused)


@pytest.mark.parametrize(("max_list_bytes", "names"), [(100_000, []), (3_000_000, ["asking/huge"])])
async def test_endless_and_huge_lists_are_left_out_and_so_are_hidden_names(
    desk_router: Router, caplog: pytest.LogCaptureFixture, max_list_bytes: int, names: list[str]
) -> None:
    upstream = asking(max_pages=20, max_list_bytes=max_list_bytes)
    async with at_desk(server(desk_router, [upstream], resources=True, prompts=True)) as desk:
        assert (await desk.client.list_resources()).resources == []
        assert [prompt.name for prompt in (await desk.client.list_prompts()).prompts] == names
    assert "the server's list of resources has no end: 20 pages" in caplog.text
    huge = "its prompts have more than 100,000 bytes (max_list_bytes)"
    assert ("one of the prompts of 'asking' is left out: its name hides characters" if names else huge) in caplog.text


def test_a_uri_keeps_its_own_form_after_the_name_of_its_server() -> None:
    assert unique_uri("git", "file:///a%20b/{path}") == "quartermaster:git/file:///a%20b/{path}"
    assert unique_name("my/server", "a/b") == "my%2Fserver/a/b"


@given(st.text(min_size=1), st.text())
def test_what_is_made_unique_is_mapped_back_exactly(server: str, own: str) -> None:
    try:
        server.encode()
    except UnicodeEncodeError:
        return  # half a character is no name
    assert split_uri(unique_uri(server, own)) == (server, own)
    assert split_name(unique_name(server, own)) == (server, own)


def test_what_names_no_server_is_not_mapped() -> None:
    assert [split_uri(uri) for uri in ("file:///etc/passwd", "quartermaster:git", "quartermaster:/x")] == [None] * 3
