"""What pages tell of the code holds: their lists are complete, and their figures those of the demo and the results."""

import json
import re
import runpy
import xml.etree.ElementTree as ET
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from pipeline.settings.sources import SourceFormat
from quartermaster.adapters.anthropic import AnthropicToolSearch
from quartermaster.evaluation import METRICS, Cause
from router import Detail, ProviderFormat, Router, Selection, Signal, contract
from router.contract import EncoderManifest, Manifest
from router.retrieval.recipe import RECIPES
from tests.support.places import ROOT

PICTURES = ROOT / "docs" / "pictures"
FORMAT_PAGE = (ROOT / "docs" / "snapshot_format.md").read_text(encoding="utf-8")
FIRST_CELLS = re.findall(r"^\| (`[^|]*) \|", FORMAT_PAGE, re.MULTILINE)
TABLE_KEYS = {name for cell in FIRST_CELLS for name in re.findall(r"`([^`]+)`", cell)}


def findings() -> set[str]:
    """Return the names of what the checks of a record find."""
    checks = (ROOT / "pipeline" / "phrase_checks").glob("*.py")
    return {name for path in checks for name in re.findall(r'inding\(\s*"(\w+)"', path.read_text(encoding="utf-8"))}


def named(page: str) -> set[str]:
    """Return what a page has in backticks."""
    return set(re.findall(r"`([^`\n]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("provider_formats.md", {*map(str, ProviderFormat), *map(str, Detail)}),
        ("catalogs.md", set(get_args(SourceFormat))),
        ("evaluation.md", {*(metric.key for metric in METRICS), *map(str, Cause)}),
        ("how_an_answer_is_made.md", set(RECIPES)),
        ("phrases.md", findings()),
    ],
)
def test_a_page_names_all_that_there_is(page: str, names: set[str]) -> None:
    assert names and names - named(page) == set()


@pytest.mark.parametrize("page", ["concepts.md", "how_an_answer_is_made.md", "glossary.md"])
def test_a_page_of_concepts_has_every_signal(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [signal for signal in Signal if not re.search(rf"\b{signal}\b", text)] == []


def test_every_field_of_the_manifest_and_its_version_are_explained() -> None:
    told = {name.partition(".")[0] for name in TABLE_KEYS}
    assert {field.name for field in fields(Manifest)} | {"checksum"} <= told
    assert all(f"`{field.name}`" in FORMAT_PAGE for field in fields(EncoderManifest))
    assert f"`versions.format` is {contract.FORMAT_VERSION}." in FORMAT_PAGE


def test_every_file_of_a_snapshot_is_explained(demo_workspace: Path) -> None:
    folder = demo_workspace / "snapshots" / "demo"
    manifest = Manifest.read(folder / (folder / contract.CURRENT).read_text(encoding="utf-8").strip())
    of_indexes = {f"{signal}/" for signal in contract.LEXICAL_SIGNALS}
    written = {name for name in manifest.files if not name.startswith(tuple(of_indexes))}
    optional = {contract.CANDIDATES, contract.MOMENTS, contract.EXPANDED, contract.NON_ENGLISH, contract.DUPLICATES}
    folders = of_indexes | {f"{contract.CANDIDATE_TABLE}/"}
    assert (written | optional | folders) - TABLE_KEYS == set()


def test_the_sizes_of_requests_are_those_of_the_demo(reader: Path) -> None:
    def kilobytes(tools: list[dict[str, Any]]) -> float:
        return len(json.dumps(tools, ensure_ascii=False).encode()) / 1_000

    page = (ROOT / "docs" / "integrations" / "anthropic.md").read_text(encoding="utf-8")
    with Router.open(reader / ".quartermaster" / "snapshots" / "demo") as router:
        search = AnthropicToolSearch(router)
        assert f"{len(router)} tools (the demo)" in page
        first, catalog = kilobytes(search.tools([])), kilobytes(search.catalog())
    rows = dict(re.findall(r"^\| (the first request|`catalog\(\)`)[^|]*\| ([\d.]+) KB", page, re.MULTILINE))
    assert rows == {"the first request": f"{first:.1f}", "`catalog()`": f"{catalog:.0f}"}


def test_a_request_that_no_tool_fits_is_told_so_if_the_selection_asks_for_it(reader: Path) -> None:
    song, selection = "sing me a song about the moon", Selection(empty_if_none_fits=True)
    use = {"type": "tool_use", "id": "toolu_1", "name": "search_tools", "input": {"request": song}}
    with Router.open(reader / ".quartermaster" / "snapshots" / "demo") as router:
        (told,) = AnthropicToolSearch(router, selection=selection).answers([use], router.call)
        (loaded,) = AnthropicToolSearch(router).answers([use], router.call)
        doubt = router.route(song, k=5, selection=selection).doubt
    assert "no tool fits this request" in doubt
    nothing = "Search in other words, or say that it cannot be done."
    assert told == {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{doubt} {nothing}"}
    assert [reference["type"] for reference in loaded["content"]] == ["tool_reference"] * 5


def contents(path: Path) -> list[tuple[str, ...]]:
    """Return the texts and the shapes of a plot, without the ids that one version of matplotlib gives them."""
    elements = list(ET.parse(path).iter())
    return [(e.tag, (e.text or "").strip(), e.get("d", ""), e.get("x", ""), e.get("y", "")) for e in elements]


@pytest.mark.nightly
def test_the_plots_are_those_of_the_stored_results_load_nothing_and_can_be_read_in_the_dark(tmp_path: Path) -> None:
    for script in ("plots.py", "peers.py"):
        runpy.run_path(str(PICTURES / script))["main"](tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) >= 5
    assert [path.name for path in drawn if contents(path) != contents(PICTURES / path.name)] == []
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text and "<image" not in text, path.name
        # The comparison has no paper of its own, and colours for both.
        assert path.stem == "peers" or "prefers-color-scheme:dark" in text, path.name
