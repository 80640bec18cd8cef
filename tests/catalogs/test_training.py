"""catalogs/training, which made the packaged encoder: it can be read, names tools that exist, and judges nothing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pipeline.learning.encoder.several_catalogs import read_requests
from pipeline.settings import load
from pipeline.sources import read
from router.evaluation.judgements import read_judgements
from router.tools.definitions.normalization import tool_id_of
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "training"
FILES = sorted((FOLDER / "requests").glob("*.jsonl"))
OWN = [file for file in FILES if not file.stem.startswith("public")]


@pytest.fixture(scope="module")
def tools() -> set[str]:
    return {tool_id_of(tool) for tool in read(load(FOLDER, environment={})).tools}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_is_read(file: Path) -> None:
    found = read_requests(file)
    assert found.rejected == [] and len(found.requests) > 500


def test_requests_name_every_tool_of_the_catalog_and_no_other(tools: set[str]) -> None:
    asked = {tool for file in OWN for _, needed in read_requests(file).requests for tool in needed}
    assert asked == tools


def test_rows_of_public_tools_name_their_catalog() -> None:
    for file in FILES:
        if file not in OWN:
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            named = Counter(tool.get("catalog") for row in rows for tool in row.get("tools", [row]))
            assert named.keys() == {"composio", "smithery"}, file.name


def test_nothing_of_the_demo_is_trained_on(tools: set[str]) -> None:
    judged = read_judgements(ROOT / "catalogs" / "demo" / "judgements.jsonl")
    requests = {one.request.casefold() for one in judged}
    assert {text.casefold() for file in FILES for text, _ in read_requests(file).requests} & requests == set()
    assert tools & {tool for one in judged for tool in one.tools} == set()
