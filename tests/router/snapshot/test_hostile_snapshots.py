"""Snapshots that somebody else wrote: refused before they cost anything, whatever their manifest says."""

import json
import os
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.store import SnapshotStore
from router import Router, SnapshotInvalid
from router.contract import (
    CATALOG_DB,
    MANIFEST,
    MOST_MANIFEST_BYTES,
    RECORD_OFFSETS,
    RECORDS,
    TOKEN_COUNTS,
    UNNAMED_TOKEN_FORMATS,
    VECTORS,
    Manifest,
)
from router.fingerprint import file_sha256
from router.snapshot import opened_files
from router.snapshot.listed_files import unlisted_files
from router.snapshot.snapshot import Snapshot
from tests.support.publishing import sign

LONGEST_S = 5.0


@pytest.fixture
def copied(snapshot: Path, tmp_path: Path) -> Path:
    """A copy of the session's snapshot whose files may be written."""
    folder = Path(shutil.copytree(snapshot, tmp_path / "office" / snapshot.name))
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    return folder


def put(folder: Path, name: str, data: bytes) -> None:
    """Replace a file and its checksum, as one who writes both does."""
    (folder / name).write_bytes(data)
    sign(folder, lambda manifest: manifest["files"].update({name: file_sha256(folder / name)}))


def refuse(folder: Path, words: str) -> None:
    """Expect that opening ends with SnapshotInvalid and some words, within seconds."""
    begun = time.monotonic()
    with pytest.raises(SnapshotInvalid, match=words):
        Snapshot.open(folder, whole=True)
    assert time.monotonic() - begun < LONGEST_S


def test_each_file_that_is_read_must_be_listed(copied: Path) -> None:
    before = (copied / MANIFEST).read_bytes()
    needed = (RECORDS, RECORD_OFFSETS, TOKEN_COUNTS, VECTORS, CATALOG_DB, "name/meta.json", "encoder/model.onnx")
    for name in needed:
        sign(copied, lambda manifest, name=name: manifest["files"].pop(name))  # type: ignore[misc]
        refuse(copied, f"does not list {name}, which .* needs")
        (copied / MANIFEST).write_bytes(before)
    segment = next((copied / "name").glob("*.term"))
    sign(copied, lambda manifest: manifest["files"].pop(f"name/{segment.name}"))
    refuse(copied, rf"{segment.name} is in an index, and {MANIFEST} does not list it")
    segment.rename(copied / segment.name)
    refuse(copied, "the index .*name cannot be opened")


def test_files_that_no_manifest_lists_are_named(copied: Path) -> None:
    (copied / "name" / ".tantivy-meta.lock").touch()
    assert unlisted_files(copied, Manifest.read(copied)) == []
    (copied / "adapter.npy").touch()
    (copied / "extra").symlink_to("/etc/passwd")
    assert unlisted_files(copied, Manifest.read(copied)) == ["adapter.npy", "extra"]


@pytest.mark.parametrize(
    "name",
    [
        *("/dev/zero", "../../secret", "a/../../b", "", ".", "a//b"),
        *("C:\\x", "C:x", "a\\b", "a\x00b", "a\nb", "x" * 300, "a/b/c/d/e/f/g/h/i"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_read(copied: Path, name: str) -> None:
    sign(copied, lambda manifest: manifest["files"].update({name: "0" * 64}))
    refuse(copied, r"\$\.files\[")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(target: str) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return replace


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes")
@pytest.mark.parametrize(
    ("replace", "words"),
    [
        (_pipe, "not a regular file"),
        (_link("/dev/zero"), "leads out of its folder"),
        (_link("/etc/hostname"), "leads out of its folder"),
        (_link("../../elsewhere"), "leads out of its folder"),
    ],
)
@pytest.mark.parametrize("name", [RECORDS, MANIFEST, "name/meta.json", CATALOG_DB])
def test_pipes_devices_and_links_that_lead_out_are_refused(
    copied: Path, name: str, replace: Callable[[Path], None], words: str
) -> None:
    replace(copied / name)
    refuse(copied, f"{words}|no snapshot at" if name == MANIFEST else words)


def test_a_link_inside_the_folder_is_followed(copied: Path) -> None:
    (copied / RECORDS).rename(copied / "moved")
    (copied / RECORDS).symlink_to("moved")
    assert len(Router.open(copied)) == 8


def test_a_file_that_is_swapped_after_its_hash_is_not_read(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Router.open(copied).route("refund the customer", k=1)[0].record
    compare = opened_files._compare

    def swapped(folder: Path, *arguments: Any) -> None:
        compare(folder, *arguments)
        other = folder / "other"
        other.write_bytes((folder / RECORDS).read_bytes().replace(b"efund", b"EFUND"))
        other.replace(folder / RECORDS)

    def written_into(folder: Path, *arguments: Any) -> None:
        compare(folder, *arguments)
        (folder / RECORDS).write_bytes((folder / RECORDS).read_bytes())

    monkeypatch.setattr(opened_files, "_compare", written_into)
    with pytest.raises(SnapshotInvalid, match=f"{RECORDS} was changed while it was opened"):
        Snapshot.open(copied)
    monkeypatch.setattr(opened_files, "_compare", swapped)
    assert Router.open(copied).route("refund the customer", k=1)[0].record == before
    monkeypatch.setattr(opened_files, "_DESCRIPTORS", Path("/nowhere"))
    shutil.copyfile(copied / RECORDS, copied / "kept")
    (copied / RECORDS).write_bytes((copied / "kept").read_bytes().replace(b"EFUND", b"efund"))
    with pytest.raises(SnapshotInvalid, match="was changed while it was opened"):
        Snapshot.open(copied)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(files=[]), r"\$\.files"),
        (lambda m: m["files"].update({RECORDS: "x"}), r"\$\.files\["),
        (lambda m: m.update(counts={"tools": -1}), r"\$\.counts"),
        (lambda m: m["counts"].update(tools=10**30), r"\$\.counts"),
        (lambda m: m["encoder"].update(dim=10**9), r"\$\.encoder\.dim"),
        (lambda m: m.update(signals=["name", "other"]), "other"),
        (lambda m: m.update(sequence=True), r"\$\.sequence"),
        (lambda m: m.update(files={str(i): "0" * 64 for i in range(5000)}), r"\$\.files"),
        (lambda m: m.update(snapshot="../x"), r"\$\.snapshot"),
        (lambda m: m.update(recipe=json.loads("[" * 40 + "]" * 40)), "nested deeper than"),
        (lambda m: m.update(tuning={"fitting": []}), "cannot be"),
    ],
)
def test_a_manifest_of_another_shape_is_refused_with_its_place(
    copied: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    sign(copied, change)
    refuse(copied, words)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"9" * 10_000, b" " * (MOST_MANIFEST_BYTES + 1), b"\xff", b'{"a":'])
def test_a_manifest_that_is_no_small_json_is_refused(copied: Path, data: bytes) -> None:
    (copied / MANIFEST).write_bytes(data)
    refuse(copied, "cannot be read|is not a snapshot's manifest")
    assert SnapshotStore.at(copied.parent).snapshots()[0].manifest is None


def test_a_manifest_of_an_older_version_without_later_fields_opens(copied: Path) -> None:
    later = ("sequence", "inputs_hash", "stale_sources", "stale_expansions", "degraded", "token_formats")

    def drop(manifest: dict[str, Any]) -> None:
        for name in (*later, "token_details"):
            manifest.pop(name)
        counts = np.load(copied / TOKEN_COUNTS)[:, : len(UNNAMED_TOKEN_FORMATS)]  # the forms that there were
        np.save(copied / TOKEN_COUNTS, counts)
        manifest["files"][TOKEN_COUNTS] = file_sha256(copied / TOKEN_COUNTS)
        manifest["newer"] = {"field": 1}

    sign(copied, drop)
    assert len(Router.open(copied)) == 8


def _npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


@pytest.mark.parametrize(
    "data",
    [
        _npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1099511627776,), }"),
        _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"cos\nsystem\n(S'x'\ntR."),
        _npy("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }"),
        _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9,), }", bytes(72)),
        _npy("__import__('os').abort()"),
        b"PK\x03\x04",
        b"",
    ],
)
@pytest.mark.parametrize("name", [RECORD_OFFSETS, VECTORS])
def test_an_array_whose_header_lies_is_refused_before_it_is_mapped(copied: Path, name: str, data: bytes) -> None:
    put(copied, name, data)
    refuse(copied, name)


def test_records_that_lie_outside_their_file_or_are_no_json_are_refused(copied: Path) -> None:
    offsets = np.load(copied / RECORD_OFFSETS)
    before = (copied / RECORD_OFFSETS).read_bytes()
    for changed in (offsets + 1, offsets[::-1].copy(), offsets * 1000):
        np.save(copied / RECORD_OFFSETS, changed)
        put(copied, RECORD_OFFSETS, (copied / RECORD_OFFSETS).read_bytes())
        refuse(copied, "offsets")
    put(copied, RECORD_OFFSETS, before)
    put(copied, RECORDS, b"[" * (copied / RECORDS).stat().st_size)
    with pytest.raises(SnapshotInvalid, match="the record 0 of the snapshot is damaged"):
        Snapshot.open(copied).records.entry(0)


def test_a_panic_is_a_typed_error_whether_an_index_is_opened_or_read(copied: Path) -> None:
    numbers = next((copied / "name").glob("*.fast"))  # which Tantivy reads without a check
    before = numbers.read_bytes()
    put(copied, f"name/{numbers.name}", before[:50] + b"\xff" * 8 + before[58:])
    refuse(copied, "the index .*name cannot be opened: PanicException")
    put(copied, f"name/{numbers.name}", before[:5] + b"\xff" * 8 + before[13:])
    router = Router.open(copied)
    with pytest.raises(SnapshotInvalid, match="an index of the snapshot is damaged"):
        router.route("create a refund", recipe="lexical")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes")
@pytest.mark.parametrize("name", ["CURRENT", "state.json"])
def test_a_pipe_or_a_device_in_place_of_a_stores_file_is_refused(copied: Path, name: str) -> None:
    store = SnapshotStore.at(copied.parent)
    read = store.state if name == "state.json" else lambda: Router.open(store.folder)
    for replace in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.write_bytes(b"[" * 10**6)):
        path = store.folder / name
        path.unlink(missing_ok=True)
        replace(path)
        with pytest.raises(SnapshotInvalid):
            read()
