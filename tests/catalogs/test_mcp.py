"""catalogs/mcp: three real servers of the package index, asked over stdio. Live, without a network."""

import pytest

from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import Reading, read
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "mcp"


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read(load(FOLDER, environment={}))


def test_the_three_servers_list_their_tools(reading: Reading) -> None:
    ids = {record.tool_id for record in catalog_records(reading.tools).records}
    assert ids >= {"git/git_status", "git/git_commit", "git/git_log", "time/get_current_time", "time/convert_time"}
    assert "fetch/fetch" in ids
    assert {tool.provider for tool in reading.tools} == {"git", "time", "fetch"}


def test_no_tool_is_rejected_or_without_words_and_schema(reading: Reading) -> None:
    assert reading.rejected == ()
    assert all(tool.description and tool.input_schema["properties"] for tool in reading.tools)


def test_nothing_of_this_machine_is_in_them(reading: Reading) -> None:
    (now,) = [tool for tool in reading.tools if tool.name == "get_current_time"]
    assert "'Etc/UTC' as local timezone" in now.input_schema["properties"]["timezone"]["description"]
    assert {tool.origin.file for tool in reading.tools} == {"mcp-server-git", "mcp-server-time", "mcp-server-fetch"}
