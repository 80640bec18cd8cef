"""The page on the snapshot format names all that a snapshot has."""

import re
from dataclasses import fields
from pathlib import Path

from router import contract
from router.contract import EncoderManifest, Manifest
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "snapshot_format.md").read_text(encoding="utf-8")
FIRST_CELLS = re.findall(r"^\| (`[^|]*) \|", PAGE, re.MULTILINE)
TABLE_KEYS = {name for cell in FIRST_CELLS for name in re.findall(r"`([^`]+)`", cell)}


def test_every_field_of_the_manifest_is_explained() -> None:
    told = {name.partition(".")[0] for name in TABLE_KEYS}
    assert {field.name for field in fields(Manifest)} | {"checksum"} <= told
    assert all(f"`{field.name}`" in PAGE for field in fields(EncoderManifest))


def test_every_file_of_a_snapshot_is_explained(demo_workspace: Path) -> None:
    folder = demo_workspace / "snapshots" / "demo"
    manifest = Manifest.read(folder / (folder / contract.CURRENT).read_text(encoding="utf-8").strip())
    of_indexes = {f"{signal}/" for signal in contract.LEXICAL_SIGNALS}
    written = {name for name in manifest.files if not name.startswith(tuple(of_indexes))}
    optional = {contract.CANDIDATES, contract.MOMENTS, contract.EXPANDED, contract.UNREAD, contract.DUPLICATES}
    folders = of_indexes | {f"{contract.CANDIDATE_TABLE}/"}
    assert (written | optional | folders) - TABLE_KEYS == set()


def test_the_page_names_the_version_that_the_router_reads() -> None:
    assert f"`versions.format` is {contract.FORMAT_VERSION}." in PAGE
