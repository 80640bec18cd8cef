"""The catalogs of the repository: what is judged names tools that exist, and real servers are read whole."""

import importlib.util
from collections import Counter
from typing import Any

import pytest

from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import read
from quartermaster.evaluation.judgements import Judgement, read_judgements
from quartermaster.training import read_requests
from router.tools.definitions.raw_tool import tool_id_of
from tests.support.places import ROOT

CATALOGS = ROOT / "catalogs"
AT_LEAST = {
    "named": 80, "generic": 75, "workflow": 41, "ambiguous": 23, "none": 32, "prerequisite": 48, "identified": 12,
    "implicit": 40, "sufficient": 10,
}  # fmt: skip


def reading_of(name: str) -> Any:
    """Return what the sources of a catalog give."""
    return read(load(CATALOGS / name, environment={}))


@pytest.fixture(scope="module")
def judged() -> list[Judgement]:
    return read_judgements(CATALOGS / "demo" / "judgements.jsonl")


def test_every_judged_tool_of_the_demo_exists_no_request_comes_twice_and_every_slice_has_enough(
    judged: list[Judgement],
) -> None:
    tools = {tool_id_of(tool) for tool in reading_of("demo").tools}
    assert {tool_id for one in judged for tool_id in one.tools} <= tools
    requests = Counter(one.request.casefold() for one in judged)
    assert [request for request, count in requests.items() if count > 1] == []
    counts = Counter(one.slice for one in judged)
    assert counts.keys() == AT_LEAST.keys()
    assert {name: counts[name] for name in AT_LEAST if counts[name] < AT_LEAST[name]} == {}


def test_what_needs_another_tool_is_judged_with_several_and_what_needs_none_with_one(judged: list[Judgement]) -> None:
    for one in judged:
        if one.slice in ("prerequisite", "implicit"):
            assert one.kind == "multi" and len(one.steps) >= 2, one.id
        elif one.slice in ("identified", "sufficient"):
            assert one.kind == "single" and len(one.steps) == 1, one.id
    needing = [[tool_id.split("/")[0] for tool_id in one.required] for one in judged if one.slice == "prerequisite"]
    assert all(len(providers) > len(set(providers)) for providers in needing)  # two of one provider
    assert len({provider for providers in needing for provider in providers}) >= 15


def test_the_requests_for_training_name_all_tools_of_their_catalog_and_nothing_of_the_demo(
    judged: list[Judgement],
) -> None:
    tools = {tool_id_of(tool) for tool in reading_of("training").tools}
    found = {file: read_requests(file) for file in (CATALOGS / "training" / "requests").glob("*.jsonl")}
    assert all(one.rejected == [] and len(one.requests) > 500 for one in found.values())
    own = [one for file, one in found.items() if not file.stem.startswith("public")]
    assert {tool for one in own for _, needed in one.requests for tool in needed} == tools
    asked = {text.casefold() for one in found.values() for text, _ in one.requests}
    assert asked & {one.request.casefold() for one in judged} == set()
    assert tools & {tool for one in judged for tool in one.tools} == set()


@pytest.mark.nightly
def test_three_real_mcp_servers_list_their_tools_whole_and_nothing_of_this_machine() -> None:
    reading = reading_of("mcp")
    assert reading.rejected == ()
    ids = {record.tool_id for record in catalog_records(reading.tools).records}
    assert ids >= {"git/git_status", "git/git_commit", "git/git_log", "time/get_current_time", "time/convert_time"}
    assert "fetch/fetch" in ids
    assert all(tool.description and tool.input_schema["properties"] for tool in reading.tools)
    (now,) = [tool for tool in reading.tools if tool.name == "get_current_time"]
    assert "'Etc/UTC' as local timezone" in now.input_schema["properties"]["timezone"]["description"]
    assert {tool.origin.file for tool in reading.tools} == {"mcp-server-git", "mcp-server-time", "mcp-server-fetch"}


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("prefect") is None, reason="needs the extra flows")
def test_every_operation_of_the_installed_prefect_is_a_tool_and_no_two_are_taken_for_one() -> None:
    reading = reading_of("prefect")
    assert reading.rejected == () and len(reading.tools) > 150
    assert all(tool.provider == "prefect" and tool.description and not tool.notices for tool in reading.tools)
    found = {(tool.annotations["method"], tool.annotations["path"]): tool for tool in reading.tools}
    create = found["POST", "/deployments/{id}/create_flow_run"]
    assert {"id", "parameters", "tags"} <= set(create.input_schema["properties"])
    assert create.categories == ("Deployments",)
    assert found["POST", "/flow_runs/filter"].origin.pointer == "/paths/~1flow_runs~1filter/post"
    assert found["DELETE", "/variables/name/{name}"].input_schema["required"] == ["name"]
    catalog = catalog_records(reading.tools)
    assert len(catalog.records) == len(reading.tools) and catalog.count("merged") == 0
