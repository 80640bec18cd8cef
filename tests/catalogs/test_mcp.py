"""catalogs/mcp: three real servers of the package index, asked over stdio. Live, without a network."""

import pytest

from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import read
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "mcp"


@pytest.mark.nightly
def test_the_three_servers_list_their_tools_whole_and_nothing_of_this_machine() -> None:
    reading = read(load(FOLDER, environment={}))
    assert reading.rejected == ()
    ids = {record.tool_id for record in catalog_records(reading.tools).records}
    assert ids >= {"git/git_status", "git/git_commit", "git/git_log", "time/get_current_time", "time/convert_time"}
    assert "fetch/fetch" in ids
    assert all(tool.description and tool.input_schema["properties"] for tool in reading.tools)
    (now,) = [tool for tool in reading.tools if tool.name == "get_current_time"]
    assert "'Etc/UTC' as local timezone" in now.input_schema["properties"]["timezone"]["description"]
    assert {tool.origin.file for tool in reading.tools} == {"mcp-server-git", "mcp-server-time", "mcp-server-fetch"}
