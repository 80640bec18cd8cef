"""The whole build: incremental by content, gated, atomic."""

import gc
import json
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.build import build, expanding
from pipeline.build.report import BuildReport
from pipeline.build.run import _rare_collections
from pipeline.inspection import writing
from pipeline.publish import served_files
from pipeline.settings import CatalogSettings, load
from pipeline.store import SnapshotStore
from router import Router, Signal
from router.contract import (
    CATALOG_DB,
    DOCUMENT_SIGNALS,
    RECORD_OFFSETS,
    RECORDS,
    TOKEN_COUNTS,
    VECTOR_OFFSETS,
    VECTOR_SCALES,
    VECTORS,
    Manifest,
)
from router.retrieval.retrievers import ToolVectors
from router.store import current_folder
from tests.support.quick import QUICK
from tests.support.rows import edit, select
from tests.support.small_encoder import vector_settings
from tests.support.stores import OwnStore


def _vectors(encoder: Path) -> dict[str, dict[str, Any]]:
    return {"vectors": vector_settings(encoder)}


def _built(catalog: Path, sections: dict[str, dict[str, Any]]) -> BuildReport:
    """Build a catalog in the workspace beside it."""
    return build(load(catalog, sections, environment={}), workspace=catalog.parent / "ws")


@pytest.fixture
def first(workspace: Path, snapshot: Path, tmp_path: Path) -> Path:
    """The snapshot of the catalog in a copy of the session's workspace."""
    return shutil.copytree(workspace, tmp_path / "ws") / "snapshots" / "office" / snapshot.name


@pytest.fixture
def serving(quick: Path) -> Path:
    """The snapshot that serves in a copy of the workspace without vectors."""
    return current_folder(SnapshotStore(quick, "office"))


def test_a_build_that_fails_leaves_pythons_search_for_cycles_as_it_was() -> None:
    before = gc.get_threshold()
    with suppress(OSError), _rare_collections():
        assert gc.get_threshold() == (200_000, *before[1:])
        raise OSError
    assert gc.get_threshold() == before


def test_the_last_of_overlapping_builds_restores_pythons_search_for_cycles() -> None:
    before, first, second = gc.get_threshold(), ExitStack(), ExitStack()
    first.enter_context(_rare_collections())
    second.enter_context(_rare_collections())
    first.close()
    assert gc.get_threshold() == (200_000, *before[1:])
    second.close()
    assert gc.get_threshold() == before


def test_a_second_build_asks_nothing_embeds_nothing_and_keeps_the_snapshot_whatever_the_order_of_a_file(
    first: Path, catalog: Path, encoder_folder: Path
) -> None:
    lines = (catalog / "tools.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (catalog / "tools.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    report = _built(catalog, _vectors(encoder_folder))
    assert (report.outcome, report.snapshot) == ("unchanged", first)
    assert (report.asked, report.embedded, report.reused) == ({}, 0, 8)
    assert report.counts["tools"] == report.generators["file"] == 8
    told = json.loads(json.dumps(report.to_json()))
    assert (told["snapshot"], told["written_bytes"], told["freed_bytes"]) == (str(first), 0, 0)
    assert str(report.difference) == f"0 new, 0 changed, 0 removed since {first.name}"
    router = Router.open(first.parent)
    assert (router.manifest.snapshot, router.manifest.signals) == (first.name, DOCUMENT_SIGNALS)


def test_a_changed_tool_costs_one_tool_and_what_is_new_changed_and_removed_is_told(
    first: Path, catalog: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    edit(catalog / "tools.jsonl", 0, description="Returns charges, oldest first.")
    edit(catalog / "tools.jsonl", 1, id="stripe/give_back", name="give_back")
    edit(catalog / "tools.jsonl", 2, origin="elsewhere")  # not of the record
    report = _built(catalog, _vectors(encoder_folder))
    assert (report.outcome, report.asked, report.reused) == ("published", {"file": 1}, 6)
    # Of each its document, and its own words for the assessment; the new one's interface; of the changed one no phrase.
    assert report.embedded == 2 + 2 + 1
    told = report.to_json()
    assert (told["before"], told["added"], told["changed"], told["removed_tools"]) == (
        first.name,
        ["stripe/give_back"],
        ["stripe/list_charges"],
        ["stripe/create_refund"],
    )
    assert told["written_bytes"] > 0 and told["removed"] == []
    assert Router.open(first.parent).record("stripe/create_refund") is None
    kept = "SELECT count(*) FROM expansions WHERE tool_id = 'stripe/create_refund'"
    assert select(tmp_path / "ws" / "ledger.duckdb", kept) == [(1,)], "its answer stays"


def test_too_many_rejected_records_hold_the_snapshot_back(catalog: Path, serving: Path) -> None:
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n" * 2 + '{"name": 7}\n')
    unchanged = _built(catalog, QUICK)
    assert unchanged.outcome == "unchanged" and unchanged.held  # the good records are the same; the gate is still heard
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "stripe/more", "name": "more", "provider": "stripe", "description": "Lists more."}\n')
    held = _built(catalog, QUICK)
    assert held.outcome == "held" and "25.0%" in held.held[0] and held.counts["rejected"] == 3
    assert Router.open(serving.parent).manifest.snapshot == serving.name
    assert select(held.snapshot, "SELECT held FROM snapshot") == [(list(held.held),)]
    rejections = select(held.snapshot, "SELECT file, pointer, reason FROM rejections")
    assert rejections[-1] == ("tools.jsonl", "line 11", "name is a number, not a text") and len(rejections) == 3


def test_a_corrupt_current_snapshot_is_built_anew(catalog: Path, serving: Path) -> None:
    (serving / "records.jsonl").write_text("damaged", encoding="utf-8")
    second = _built(catalog, QUICK)
    assert second.outcome == "published" and second.snapshot != serving


@pytest.mark.nightly
def test_a_catalog_without_vectors_or_expansions_routes_by_what_it_has(catalog: Path, tmp_path: Path) -> None:
    def built(**enrichment: Any) -> Router:
        settings = load(catalog, {**QUICK, "enrichment": enrichment}, environment={})
        return Router.open(build(settings, workspace=tmp_path / "own").snapshot)

    router = built()
    assert Signal.DENSE not in router.manifest.signals and router.manifest.encoder is None
    tool = router.route("undo a payment", explain=True)[0]
    assert tool.tool_id == "stripe/create_refund" and tool.phrase is None
    (catalog / "expansions.jsonl").unlink()
    router = built(generator="none")
    assert router.manifest.signals == (Signal.NAME, Signal.DESCRIPTION)
    assert router.route("create a refund").ids[0] == "stripe/create_refund"


def test_the_snapshots_database_holds_what_the_router_serves(snapshot: Path) -> None:
    ids = [tool_id for (tool_id,) in select(snapshot, "SELECT tool_id FROM tools ORDER BY ordinal")]
    of_tools = "SELECT vector FROM vectors JOIN tools USING (tool_id) WHERE position IS NULL ORDER BY ordinal"
    vectors = select(snapshot, of_tools)
    router = Router.open(snapshot)
    assert ids == [router.tool_id(ordinal) for ordinal in range(8)] == sorted(ids)
    assert select(snapshot, "SELECT typeof(vector) FROM vectors LIMIT 1") == [("FLOAT[32]",)]
    # The database has the vectors as they were made, the router a byte for each component.
    served = ToolVectors(*(np.load(snapshot / name) for name in (VECTORS, VECTOR_SCALES, VECTOR_OFFSETS)))
    assert np.array([row[0] for row in vectors]) == pytest.approx(served.documents(), abs=0.5 / 127)


def _files(snapshot: Path) -> dict[str, str]:
    """Return the checksums of all files that hold no times."""
    return {name: digest for name, digest in Manifest.read(snapshot).files.items() if name != CATALOG_DB}


def test_only_names_times_and_numbers_of_a_forced_build_differ_and_what_did_not_change_is_shared(
    catalog_folder: Path, quick: Path
) -> None:
    first = current_folder(SnapshotStore(quick, "office"))
    forced = build(load(catalog_folder, QUICK, environment={}), workspace=quick, force=True).snapshot
    manifests = [Manifest.read(folder) for folder in (first, forced)]
    files, other_files = [_files(folder) for folder in (first, forced)]
    assert files == other_files
    assert {"name", "description", "expansion"} <= {name.split("/")[0] for name in files if "/" in name}
    assert len({manifest.content_hash for manifest in manifests}) == 1
    one, other = (json.loads((folder / "manifest.json").read_bytes()) for folder in (first, forced))
    differing = {name for name in one if one[name] != other[name]}
    assert differing - {"created_at"} == {"files", "sizes", "sequence", "snapshot", "checksum"}
    assert manifests[1].sizes == {sha256: (forced / name).stat().st_size for name, sha256 in manifests[1].files.items()}
    old, new = Router.open(first), Router.open(forced)
    for request in ("refund the customer", "open a ticket", "what is new"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools
    assert {name for name in manifests[0].files if (first / name).samefile(forced / name)} == set(files)


def test_a_build_publishes_into_a_users_own_store_and_finds_it_unchanged(catalog_folder: Path, tmp_path: Path) -> None:
    settings = load(catalog_folder, QUICK, environment={})
    store: Any = OwnStore(tmp_path / "own")
    first = build(settings, workspace=tmp_path / "workspace", store=store)
    assert (first.outcome, store.current()) == ("published", first.snapshot.name)
    assert Router.open(store).route("give the customer their money back").ids
    again = build(settings, workspace=tmp_path / "workspace", store=store)
    assert (again.outcome, [stored.name for stored in store.snapshots()]) == ("unchanged", [first.snapshot.name])
    assert not (tmp_path / "workspace" / "snapshots").exists()


_TABLES = ("tools", "parameters", "phrases", "vectors")


@pytest.fixture
def settings(catalog_folder: Path, encoder_folder: Path) -> CatalogSettings:
    return load(catalog_folder, {"vectors": vector_settings(encoder_folder)}, environment={})


def _content(folder: Path) -> dict[str, Any]:
    """Return the content hash, the bytes of the served files, and the rows of the tables."""
    content: dict[str, Any] = {"hash": Manifest.read(folder).content_hash}
    content |= {name: (folder / name).read_bytes() for name in (RECORDS, RECORD_OFFSETS, TOKEN_COUNTS, VECTORS)}
    with duckdb.connect(str(folder / CATALOG_DB), read_only=True) as connection:
        for table in _TABLES:
            rows = connection.sql(f"FROM {table}")
            content[table] = (list(zip(rows.columns, map(str, rows.types), strict=True)), rows.fetchall())
    return content


def test_parts_of_three_tools_give_the_snapshot_of_one_part_and_leave_nothing(
    settings: CatalogSettings, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (expanding, served_files):
        monkeypatch.setattr(module, "_TOOLS_A_PART", 3)
    monkeypatch.setattr(writing, "_ROWS", 2)
    assert _content(build(settings, workspace=tmp_path).snapshot) == _content(snapshot)
    assert not (tmp_path / "scratch").exists() and not list(tmp_path.glob("*.tmp"))
