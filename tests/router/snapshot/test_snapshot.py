"""Opening a snapshot: whole, or refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router import Router, Signal, SnapshotInvalid
from router.contract import ADAPTER, CATALOG_DB, CURRENT, EXPANDED, FORMAT_VERSION, MANIFEST, TOKEN_COUNTS, Expanded
from router.fingerprint import file_sha256, fingerprint
from router.retrieval.retrievers import LexicalRetriever
from router.snapshot.snapshot import Snapshot
from tests.support.factories import TOOLS


@pytest.fixture
def copied(snapshot: Path, tmp_path: Path) -> Path:
    """A copy of the session's snapshot, to be damaged, in a catalog folder with CURRENT."""
    folder = tmp_path / "office" / snapshot.name
    shutil.copytree(snapshot, folder)
    (folder.parent / CURRENT).write_text(snapshot.name + "\n", encoding="utf-8")
    return folder


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest and write it with the new checksum."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del manifest["checksum"]
    change(manifest)
    manifest["checksum"] = fingerprint(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def test_a_catalog_folder_opens_its_current_snapshot(copied: Path) -> None:
    assert Router.open(copied.parent).manifest.snapshot == copied.name


def test_a_snapshot_folder_opens_itself(copied: Path) -> None:
    assert len(Router.open(str(copied))) == 8


def test_opening_leaves_no_file_behind(copied: Path) -> None:
    before = sorted(path.relative_to(copied) for path in copied.rglob("*"))
    Router.open(copied).route("refund")
    assert sorted(path.relative_to(copied) for path in copied.rglob("*")) == before


def test_opening_again_and_again_leaves_no_links_behind(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(links))
    for _ in range(60):
        LexicalRetriever.open(copied / "name", 8)
    assert list(links.iterdir()) == []


def test_a_read_only_snapshot_opens_and_any_account_may_read_it(copied: Path) -> None:
    folders = [copied, *(path for path in copied.rglob("*") if path.is_dir())]
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in copied.rglob("*") if path.is_file())
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert Router.open(copied).route("refund the customer", k=1).ids == ("stripe/create_refund",)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def mark_expanded(folder: Path, marks: np.ndarray) -> None:
    """Write which tools have an expansion, as a build that expanded only some of them does."""
    np.save(folder / EXPANDED, marks)
    digest = file_sha256(folder / EXPANDED)
    change_manifest(folder, lambda m: m["files"].update({EXPANDED: digest}))


def test_a_tool_without_expansion_is_told_what_is_assumed_of_it(copied: Path) -> None:
    request, tool_id = "give the customer their money back", "stripe/list_charges"
    before, _ = Router.open(copied).explain(request, tool_id, recipe="published")
    assert before.assumed == 0
    ids = sorted(tool["id"] for tool in TOOLS)
    mark_expanded(copied, np.array([Expanded.NO if i == tool_id else Expanded.YES for i in ids], np.uint8))
    router = Router.open(copied)
    tool, rank = router.explain(request, tool_id, recipe="published")
    assert rank is not None
    better = min(tool.ranks[s] for s in (Signal.DESCRIPTION, Signal.DENSE) if s in tool.ranks)
    assert tool.contributions[Signal.EXPANSION] == pytest.approx(2 / (60 + better))
    assert tool.assumed == pytest.approx(2 / (60 + better) - before.contributions.get(Signal.EXPANSION, 0))
    assert tool.score == pytest.approx(sum(tool.contributions.values())) == pytest.approx(before.score + tool.assumed)
    routed = router.route(request, recipe="published", explain=True)
    assert [found.tool_id for found in routed if found.assumed] == [tool_id]
    assert routed.to_json()["tools"][rank - 1]["assumed"] == tool.assumed
    assert [record.tool_id for record in router.select(request, 8, token_budget=10**6)] == list(
        router.route(request).ids
    )


@pytest.mark.parametrize("marks", [np.zeros(3, np.uint8), np.zeros(8, np.int64)])
def test_marks_that_do_not_fit_the_catalog_are_refused(copied: Path, marks: np.ndarray) -> None:
    mark_expanded(copied, marks)
    with pytest.raises(SnapshotInvalid, match="do not fit 8 tools"):
        Router.open(copied)


def test_a_flipped_bit_in_the_manifest_is_refused(copied: Path) -> None:
    text = (copied / MANIFEST).read_text(encoding="utf-8")
    (copied / MANIFEST).write_text(text.replace('"dense": 2', '"dense": 3'), encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        Router.open(copied)


def test_a_flipped_bit_in_any_file_is_refused_and_named(copied: Path) -> None:
    files = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))["files"]
    assert len(files) > 20
    for name in files:
        path = copied / name
        data = bytearray(path.read_bytes())
        if not data:
            continue
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(SnapshotInvalid, match="checksum"):
            Snapshot.open(copied, whole=True)
        if name != CATALOG_DB:  # a router does not read it
            with pytest.raises(SnapshotInvalid, match="checksum"):
                Router.open(copied)
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    assert len(Snapshot.open(copied, whole=True).records) == 8


def test_a_missing_file_is_refused_and_named(copied: Path) -> None:
    (copied / "vectors.npy").unlink()
    with pytest.raises(SnapshotInvalid, match=r"vectors\.npy"):
        Router.open(copied)


def test_a_folder_without_snapshots_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match="build one with `quartermaster build`"):
        Router.open(tmp_path)


def test_a_catalog_that_serves_none_of_its_snapshots_says_how_to_serve_one(copied: Path) -> None:
    (copied.parent / CURRENT).unlink()
    with pytest.raises(SnapshotInvalid, match=f"quartermaster snapshots {copied.parent.name} --use {copied.name}"):
        Router.open(copied.parent)


def test_a_folder_that_does_not_exist_says_so(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match="does not exist"):
        Router.open(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", ".hidden", "", "gone"])
def test_current_may_only_name_a_snapshot_beside_it(copied: Path, name: str) -> None:
    (copied.parent / CURRENT).write_text(name, encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match="CURRENT"):
        Router.open(copied.parent)


def test_another_format_is_refused_with_both_versions(copied: Path) -> None:
    change_manifest(copied, lambda m: m["versions"].update(format=FORMAT_VERSION + 1))
    with pytest.raises(SnapshotInvalid, match=f"format {FORMAT_VERSION + 1}.*format {FORMAT_VERSION}"):
        Router.open(copied)


def test_another_analyzer_is_refused(copied: Path) -> None:
    change_manifest(copied, lambda m: m["versions"].update(text=999))
    with pytest.raises(SnapshotInvalid, match="text version 999"):
        Router.open(copied)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"versions": {}}', '{"versions": {"format": 1}}'])
def test_a_manifest_that_is_none_is_refused(copied: Path, text: str) -> None:
    (copied / MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotInvalid):
        Router.open(copied)


def test_vectors_of_another_shape_are_refused(copied: Path) -> None:
    np.save(copied / "vectors.npy", np.zeros((3, 32), np.int8))
    digest = file_sha256(copied / "vectors.npy")
    change_manifest(copied, lambda m: m["files"].update({"vectors.npy": digest}))
    with pytest.raises(SnapshotInvalid, match=r"\(3, 32\)"):
        Router.open(copied)


@pytest.mark.parametrize(
    "counts", [np.zeros(8, np.int32), np.zeros((8, 5, 2), np.int32), np.zeros((8, 5, 3), np.int64)]
)
def test_token_counts_that_do_not_fit_the_forms_are_refused(copied: Path, counts: np.ndarray) -> None:
    np.save(copied / TOKEN_COUNTS, counts)
    change_manifest(copied, lambda m: m["files"].update({TOKEN_COUNTS: file_sha256(copied / TOKEN_COUNTS)}))
    with pytest.raises(SnapshotInvalid, match="token counts of shape"):
        Router.open(copied)


def test_a_snapshot_says_how_long_its_documents_are_on_average(copied: Path) -> None:
    lengths = Router.open(copied).manifest.field_lengths
    assert list(lengths) == ["name", "description", "expansion"] and min(lengths.values()) > 1


def add_adapter(folder: Path, adapter: np.ndarray) -> None:
    np.save(folder / ADAPTER, adapter)
    change_manifest(folder, lambda m: m["files"].update({ADAPTER: file_sha256(folder / ADAPTER)}))


def test_an_adapter_moves_requests_of_the_recipes_that_use_it(copied: Path) -> None:
    plain = Router.open(copied)
    assert plain.manifest.encoder is not None
    mirror = -2 * np.eye(plain.manifest.encoder.dim, dtype=np.float32)  # q - 2q: what was nearest is farthest
    add_adapter(copied, mirror)
    moved = Router.open(copied)
    request = "give the customer their money back"
    for recipe, same in (("default", False), ("published", True)):
        before = plain.rankings(request, recipe=recipe)[Signal.DENSE].ordinals.tolist()
        after = moved.rankings(request, recipe=recipe)[Signal.DENSE].ordinals.tolist()
        assert (after == before) is same


@pytest.mark.parametrize("adapter", [np.eye(3, dtype=np.float32), np.eye(384, dtype=np.float64)])
def test_an_adapter_of_another_encoder_is_refused(copied: Path, adapter: np.ndarray) -> None:
    add_adapter(copied, adapter)
    with pytest.raises(SnapshotInvalid, match="an adapter of shape"):
        Router.open(copied)
