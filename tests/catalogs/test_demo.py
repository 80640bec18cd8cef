"""catalogs/demo: its judged requests name its tools, and each slice judges what it says."""

from collections import Counter

import pytest

from pipeline.settings import load
from pipeline.sources import read
from router.evaluation.judgements import Judgement, read_judgements
from router.tools.definitions.normalization import tool_id_of
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "demo"
AT_LEAST = {
    "named": 80,
    "generic": 75,
    "workflow": 41,
    "ambiguous": 23,
    "none": 32,
    "prerequisite": 48,
    "identified": 12,
    "implicit": 40,
    "sufficient": 10,
}


@pytest.fixture(scope="module")
def judged() -> list[Judgement]:
    return read_judgements(FOLDER / "judgements.jsonl")


def test_every_judged_tool_is_in_the_catalog_and_no_request_is_judged_twice(judged: list[Judgement]) -> None:
    tools = {tool_id_of(tool) for tool in read(load(FOLDER, environment={})).tools}
    assert {tool_id for one in judged for tool_id in one.tools} <= tools
    requests = Counter(one.request.casefold() for one in judged)
    assert [request for request, count in requests.items() if count > 1] == []


def test_every_slice_has_enough_requests(judged: list[Judgement]) -> None:
    counts = Counter(one.slice for one in judged)
    assert counts.keys() == AT_LEAST.keys()
    assert {name: counts[name] for name in AT_LEAST if counts[name] < AT_LEAST[name]} == {}


def test_prerequisites_are_of_the_same_provider_of_many_providers_and_in_chains(judged: list[Judgement]) -> None:
    needing = [one for one in judged if one.slice == "prerequisite"]
    for one in needing:
        providers = Counter(tool_id.split("/")[0] for tool_id in one.required)
        assert max(providers.values()) >= 2, one.id
    assert len({tool_id.split("/")[0] for one in needing for tool_id in one.required}) >= 15
    assert sum(len(one.steps) >= 3 for one in needing) >= 12


def test_what_needs_another_tool_is_judged_with_several_and_what_needs_none_with_one(judged: list[Judgement]) -> None:
    for one in judged:
        if one.slice in ("prerequisite", "implicit"):
            assert one.kind == "multi" and len(one.steps) >= 2, one.id
        elif one.slice in ("identified", "sufficient"):
            assert one.kind == "single" and len(one.steps) == 1, one.id
