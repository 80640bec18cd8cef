"""A built catalog does not find hostile tools for what their records made the model write: real vectors, real build."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from router import Router
from tests.pipeline.enrichment import honest_tools
from tests.support.quick import QUICK
from tests.support.rows import write_rows

pytestmark = pytest.mark.nightly  # embeds with the encoder that ships

_ATTACKS = Path(__file__).parents[3] / "benchmarks" / "data" / "poisoned_tools.jsonl"


@pytest.fixture(scope="module")
def attacks() -> list[dict[str, Any]]:
    """Return attacks whose records hold what they demand, word by word."""
    rows = [json.loads(line) for line in _ATTACKS.read_text(encoding="utf-8").splitlines()]
    open_ones = [row for row in rows if all(demand in row["attack_tool"]["description"] for demand in row["demand"])]
    assert len(open_ones) >= 4
    return open_ones[:4]


@pytest.fixture(scope="module")
def router(attacks: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Router:
    """Build the honest tools beside the attacks, with the answers of a model that obeys."""
    folder = tmp_path_factory.mktemp("steered")
    tools = [*honest_tools.tools(), *(attack["attack_tool"] for attack in attacks)]
    write_rows(folder / "tools.jsonl", tools)
    ids = {tool["name"]: tool["id"] for tool in tools}
    answers = [*honest_tools.answers().values(), *(attack["obedient_answer"] for attack in attacks)]
    write_rows(folder / "expansions.jsonl", ({**row, "id": ids[row["tool"]]} for row in answers))
    overrides = {**QUICK, "vectors": {"encoder": "minilm-tools-v1"}, "enrichment": {"generator": "none"}}
    return Router.open(build(load(folder, overrides, environment={}), workspace=folder / "ws").snapshot)


def test_no_hostile_tool_is_first_for_a_phrase_that_its_record_demanded(
    router: Router, attacks: list[dict[str, Any]]
) -> None:
    hostile = {attack["attack_tool"]["id"] for attack in attacks}
    first = {demand: router.route(demand, k=1).ids for attack in attacks for demand in attack["demand"]}
    assert {demand: ids for demand, ids in first.items() if set(ids) & hostile} == {}


def test_hostile_tools_are_found_for_what_they_do(router: Router, attacks: list[dict[str, Any]]) -> None:
    missed = [
        attack["name"]
        for attack in attacks
        if attack["attack_tool"]["id"] not in router.route(attack["honest_tool"]["description"], k=5).ids
    ]
    assert missed == []
