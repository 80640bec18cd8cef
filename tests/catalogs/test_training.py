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


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.stem)
def test_every_tool_of_a_request_is_in_the_catalog(file: Path, tools: set[str]) -> None:
    assert {tool for _, needed in read_requests(file).requests for tool in needed} <= tools


def test_every_tool_has_requests(tools: set[str]) -> None:
    asked = {tool for file in OWN for _, needed in read_requests(file).requests for tool in needed}
    assert tools - asked == set()


@pytest.mark.parametrize("file", [file for file in FILES if file not in OWN], ids=lambda file: file.stem)
def test_rows_of_public_tools_name_their_catalog(file: Path) -> None:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    named = Counter(tool.get("catalog") for row in rows for tool in row.get("tools", [row]))
    assert named.keys() == {"composio", "smithery"}


def test_no_request_is_a_judged_one() -> None:
    judged = {one.request.casefold() for one in read_judgements(ROOT / "catalogs" / "demo" / "judgements.jsonl")}
    assert {text.casefold() for file in FILES for text, _ in read_requests(file).requests} & judged == set()


def test_no_tool_is_one_of_the_demo(tools: set[str]) -> None:
    judged = read_judgements(ROOT / "catalogs" / "demo" / "judgements.jsonl")
    assert tools & {tool for one in judged for tool in one.tools} == set()
