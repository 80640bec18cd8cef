"""Pages that list what the code has list all of it."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from pipeline.settings.source_formats import SourceFormat
from router import Detail, Form, Signal, contract
from router.contract import EncoderManifest, Manifest
from router.evaluation import METRICS, Cause
from router.retrieval.recipe import RECIPES
from tests.support.places import ROOT


def named(page: str) -> set[str]:
    """Return what a page has in backticks."""
    return set(re.findall(r"`([^`\n]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("provider_formats.md", {*map(str, Form), *map(str, Detail)}),
        ("catalogs.md", set(get_args(SourceFormat))),
        ("evaluation.md", {*(metric.key for metric in METRICS), *map(str, Cause)}),
        ("how_an_answer_is_made.md", set(RECIPES)),
    ],
)
def test_a_page_names_all_that_there_is(page: str, names: set[str]) -> None:
    assert names - named(page) == set()


@pytest.mark.parametrize("page", ["concepts.md", "how_an_answer_is_made.md", "glossary.md"])
def test_a_page_of_concepts_has_every_signal(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [signal for signal in Signal if not re.search(rf"\b{signal}\b", text)] == []


def test_the_page_of_phrases_has_every_finding_of_the_checks() -> None:
    checks = (ROOT / "pipeline" / "phrase_checks" / "record").glob("*.py")
    found = {name for path in checks for name in re.findall(r'inding\(\s*"(\w+)"', path.read_text(encoding="utf-8"))}
    assert len(found) > 5
    assert found - named("phrases.md") == set()


FORMAT_PAGE = (ROOT / "docs" / "snapshot_format.md").read_text(encoding="utf-8")
FIRST_CELLS = re.findall(r"^\| (`[^|]*) \|", FORMAT_PAGE, re.MULTILINE)
TABLE_KEYS = {name for cell in FIRST_CELLS for name in re.findall(r"`([^`]+)`", cell)}


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
    optional = {contract.CANDIDATES, contract.MOMENTS, contract.EXPANDED, contract.UNREAD, contract.DUPLICATES}
    folders = of_indexes | {f"{contract.CANDIDATE_TABLE}/"}
    assert (written | optional | folders) - TABLE_KEYS == set()
