"""Opening a snapshot: whole, or refused; its token counts by name; and two catalogs compared tool by tool."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router import RECIPES, RequestInvalid, Router, Signal, SnapshotInvalid
from router.contract import (
    ADAPTER,
    CATALOG_DB,
    CURRENT,
    DUPLICATES,
    EXPANDED,
    FORMAT_VERSION,
    FORMER_FILES,
    MANIFEST,
    TOKEN_COUNTS,
    UNNAMED_TOKEN_FORMATS,
    Expanded,
    Manifest,
)
from router.fingerprint import file_sha256, fingerprint
from router.provider_formats.formats import Detail, ProviderFormat
from router.snapshot.snapshot import Snapshot
from tests.support.factories import TOOLS
from tests.support.publishing import sign

REQUEST = "give the customer their money back"


@pytest.fixture
def copied(snapshot: Path, tmp_path: Path) -> Path:
    """A copy of the session's snapshot, to be damaged, in a catalog folder with CURRENT."""
    folder = tmp_path / "office" / snapshot.name
    shutil.copytree(snapshot, folder)
    (folder.parent / CURRENT).write_text(snapshot.name + "\n", encoding="utf-8")
    return folder


def save(folder: Path, name: str, array: np.ndarray) -> None:
    """Put an array into a snapshot, and its checksum into the manifest."""
    np.save(folder / name, array)
    sign(folder, lambda manifest: manifest["files"].update({name: file_sha256(folder / name)}))


def test_a_catalogs_folder_opens_its_current_snapshot_and_a_snapshots_folder_itself(copied: Path) -> None:
    before = sorted(copied.rglob("*"))
    for place in (copied.parent, str(copied)):
        router = Router.open(place)
        assert (router.manifest.snapshot, len(router)) == (copied.name, 8)
        router.route("refund")
    assert sorted(copied.rglob("*")) == before, "it leaves no file behind"
    assert min(router.manifest.field_lengths.values()) > 1
    assert list(router.manifest.field_lengths) == ["name", "description", "expansion"]
    with pytest.raises(RequestInvalid, match=r"requests\[1\] is None"):
        router.route_many(["undo", None])  # type: ignore[list-item]


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


def test_a_tool_without_expansion_is_told_what_is_assumed_of_it(copied: Path) -> None:
    tool_id = "stripe/list_charges"
    before = Router.open(copied).diagnose(REQUEST, tool_id, recipe="published").tool
    assert before.assumed == 0
    ids = sorted(tool["id"] for tool in TOOLS)
    save(copied, EXPANDED, np.array([Expanded.NO if i == tool_id else Expanded.YES for i in ids], np.uint8))
    router = Router.open(copied)
    found = router.diagnose(REQUEST, tool_id, recipe="published")
    tool, rank = found.tool, found.rank
    assert rank is not None
    better = min(tool.ranks[s] for s in (Signal.DESCRIPTION, Signal.DENSE) if s in tool.ranks)
    assert tool.contributions[Signal.EXPANSION] == pytest.approx(2 / (60 + better))
    assert tool.assumed == pytest.approx(2 / (60 + better) - before.contributions.get(Signal.EXPANSION, 0))
    assert tool.score == pytest.approx(sum(tool.contributions.values())) == pytest.approx(before.score + tool.assumed)
    routed = router.route(REQUEST, recipe="published", explain=True)
    assert [found.tool_id for found in routed if found.assumed] == [tool_id]
    assert routed.to_json()["tools"][rank - 1]["assumed"] == tool.assumed
    selected = router.select(REQUEST, 8, token_budget=10**6)
    assert [record.tool_id for record in selected] == list(router.route(REQUEST).ids)


@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        (EXPANDED, np.zeros(3, np.uint8), "do not fit 8 tools"),
        (EXPANDED, np.zeros(8, np.int64), "do not fit 8 tools"),
        ("vectors.npy", np.zeros((3, 32), np.int8), r"\(3, 32\)"),
        (TOKEN_COUNTS, np.zeros(8, np.int32), "token counts of shape"),
        (TOKEN_COUNTS, np.zeros((8, 5, 2), np.int32), "token counts of shape"),
        (TOKEN_COUNTS, np.zeros((8, 5, 3), np.int64), "token counts of shape"),
        (ADAPTER, np.eye(3, dtype=np.float32), "an adapter of shape"),
        (ADAPTER, np.eye(384, dtype=np.float64), "an adapter of shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.shape),
)
def test_an_array_that_does_not_fit_is_refused(copied: Path, name: str, array: np.ndarray, told: str) -> None:
    save(copied, name, array)
    with pytest.raises(SnapshotInvalid, match=told):
        Router.open(copied)


def test_a_flipped_bit_in_any_file_is_refused_and_named(copied: Path) -> None:
    files = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))["files"]
    assert len(files) > 20
    for name in files:
        path = copied / name
        whole = path.read_bytes()
        if not whole:
            continue
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        with pytest.raises(SnapshotInvalid, match=rf"{path.name}.* checksum"):
            Snapshot.open(copied, whole=True)
        if name != CATALOG_DB:  # a router does not read it
            with pytest.raises(SnapshotInvalid, match="checksum"):
                Router.open(copied)
        path.write_bytes(whole)
    assert len(Snapshot.open(copied, whole=True).records) == 8
    text = (copied / MANIFEST).read_text(encoding="utf-8")
    (copied / MANIFEST).write_text(text.replace('"dense": 2', '"dense": 3'), encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        Router.open(copied)


def test_a_folder_without_a_snapshot_that_serves_says_what_to_do(copied: Path, tmp_path: Path) -> None:
    (copied.parent / CURRENT).unlink()
    (tmp_path / "empty").mkdir()
    for place, told in (
        (tmp_path / "empty", "build one with `quartermaster build`"),
        (tmp_path / "nowhere", "does not exist"),
        (copied.parent, f"quartermaster snapshots {copied.parent.name} --use {copied.name}"),
    ):
        with pytest.raises(SnapshotInvalid, match=told):
            Router.open(place)


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", ".hidden", "", "gone", "a\\b", "a\x00b"])
def test_current_may_only_name_a_snapshot_beside_it(copied: Path, name: str) -> None:
    (copied.parent / CURRENT).write_text(name, encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match="CURRENT"):
        Router.open(copied.parent)


def test_another_format_and_another_analyzer_are_refused_with_their_versions(copied: Path) -> None:
    sign(copied, lambda manifest: manifest["versions"].update(text=999))
    with pytest.raises(SnapshotInvalid, match="text version 999"):
        Router.open(copied)
    sign(copied, lambda manifest: manifest["versions"].update(format=FORMAT_VERSION + 1))
    with pytest.raises(SnapshotInvalid, match=f"format {FORMAT_VERSION + 1}.*formats 5 and {FORMAT_VERSION}"):
        Router.open(copied)


def test_a_snapshot_of_format_5_answers_as_it_did(copied: Path) -> None:
    save(copied, DUPLICATES, np.arange(8))
    expected = [(tool.tool_id, tool.score) for tool in Router.open(copied).route(REQUEST)]

    def former(manifest: dict[str, Any]) -> None:
        manifest["versions"]["format"] = 5
        manifest["recipe"]["assume_unread"] = manifest["recipe"].pop("impute_non_english")
        for old, new in FORMER_FILES.items():
            if new in manifest["files"]:
                (copied / new).rename(copied / old)
                manifest["files"][old] = manifest["files"].pop(new)

    sign(copied, former)
    opened = Router.open(copied)
    assert [(tool.tool_id, tool.score) for tool in opened.route(REQUEST)] == expected
    assert set(FORMER_FILES) & set(opened.manifest.files)


def test_an_adapter_moves_requests_of_the_recipes_that_use_it(copied: Path) -> None:
    plain = Router.open(copied)
    assert plain.manifest.encoder is not None
    mirror = -2 * np.eye(plain.manifest.encoder.dim, dtype=np.float32)  # q - 2q: what was nearest is farthest
    save(copied, ADAPTER, mirror)
    moved = Router.open(copied)
    for recipe, same in (("default", False), ("published", True)):
        before = plain.lists(REQUEST, recipe=RECIPES[recipe])[0][Signal.DENSE].ordinals.tolist()
        after = moved.lists(REQUEST, recipe=RECIPES[recipe])[0][Signal.DENSE].ordinals.tolist()
        assert (after == before) is same


FORMATS, DETAILS = tuple(map(str, ProviderFormat)), tuple(map(str, Detail))


def recount(folder: Path, counts: np.ndarray, formats: tuple[str, ...], details: tuple[str, ...]) -> None:
    """Put other counts into a snapshot, of the formats and details named."""
    np.save(folder / TOKEN_COUNTS, counts)
    manifest = Manifest.read(folder)
    files = {**manifest.files, TOKEN_COUNTS: file_sha256(folder / TOKEN_COUNTS)}
    replace(manifest, files=files, token_formats=formats, token_details=details).write(folder)


def test_unnamed_counts_are_the_first(snapshot: Path, copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts = np.load(snapshot / TOKEN_COUNTS)[:, : len(UNNAMED_TOKEN_FORMATS)]
    recount(copied, counts, UNNAMED_TOKEN_FORMATS, DETAILS)
    raw = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    for key in ("checksum", "token_formats", "token_details"):
        del raw[key]
    (copied / MANIFEST).write_text(json.dumps({**raw, "checksum": fingerprint(raw)}), encoding="utf-8")
    assert (Snapshot.open(copied).token_counts[:, : len(UNNAMED_TOKEN_FORMATS)] == counts).all()
    later = FORMATS[len(UNNAMED_TOKEN_FORMATS) :]
    told = [f"{copied.name} has no token counts of {', '.join(later)}"] if later else []
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == told


def test_counts_are_read_by_name_and_those_of_unknown_formats_and_details_ignored(copied: Path) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    other = np.full((len(counts), len(FORMATS) + 1, len(DETAILS) + 1), -1, np.int32)
    other[:, 1:, 1:] = counts[:, ::-1, ::-1]
    recount(copied, other, ("carrier pigeon", *FORMATS[::-1]), ("telegram", *DETAILS[::-1]))
    assert (Snapshot.open(copied).token_counts == counts).all()


def test_counts_that_are_not_there_are_estimated(copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    recount(copied, counts[:, 1:], FORMATS[1:], DETAILS)
    router = Router.open(copied)
    assert "has no token counts of openai: they are estimated" in caplog.text
    tokens = router.tokens(router.tool_id(0)) or {}
    assert list(tokens["responses"].values()) == counts[0, 1].tolist() and min(tokens["openai"].values()) > 0
    routed = router.route("refund a charge", token_budget=2 * tokens["openai"]["full"])
    assert len(routed) and routed.tokens is not None and routed.tokens <= 2 * tokens["openai"]["full"]


def test_what_lacks_a_detail_is_estimated_and_what_does_not_fit_refused(copied: Path) -> None:
    counts = np.load(copied / TOKEN_COUNTS)
    recount(copied, counts[:, :, :2], FORMATS, DETAILS[:2])
    assert (Snapshot.open(copied).token_counts > 0).all()
    recount(copied, counts, FORMATS[1:], DETAILS)
    with pytest.raises(SnapshotInvalid, match=f"in {len(FORMATS) - 1} forms and 3 details"):
        Router.open(copied)
