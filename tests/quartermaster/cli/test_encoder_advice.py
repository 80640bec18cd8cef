"""A listing of snapshots says where a rebuild would use another encoder, and how to measure what that gains."""

import json
from pathlib import Path

import pytest

from pipeline.encoders import automatic
from pipeline.encoders.export import PACKAGED
from router.contract import EncoderManifest
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.command_line import called

_ENCODER = EncoderManifest(PACKAGED, "0123456789abcdef", "mean", "", 384, 256, "int8")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose catalog has two snapshots of the packaged encoder, on a machine that has a newer one."""
    monkeypatch.setattr(automatic, "INSTALLED", (PACKAGED, "newer-v1"))
    monkeypatch.setattr(automatic, "packaged_folder", lambda: tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    store = tmp_path / "ws" / "snapshots" / "office"
    for name in ("20260101T000000Z-aaaaaaaa", "20260102T000000Z-bbbbbbbb"):
        write_bare_snapshot(store / name, {"records": b"{}"}, encoder=_ENCODER)
    (store / "CURRENT").write_text("20260102T000000Z-bbbbbbbb", encoding="utf-8")
    return tmp_path / "ws"


def test_the_snapshot_that_serves_says_what_it_was_built_with_and_what_to_measure_also_to_programs(
    workspace: Path,
) -> None:
    done = called(workspace.parent, "snapshots", "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    advice = [line for line in done.stdout.splitlines() if "A rebuild" in line]
    assert advice == [
        "20260102T000000Z-bbbbbbbb: built with all-MiniLM-L6-v2, revision 0123456789abcdef, 384 dimensions, int8. A "
        'rebuild with encoder = "auto" would use newer-v1. To measure what that gains: quartermaster '
        "evaluate --bench CATALOG_FOLDER --encoder auto --against-encoder all-MiniLM-L6-v2"
    ]
    rows = json.loads(called(workspace.parent, "snapshots", "--workspace", workspace, "--json").stdout)
    by_name = {row["snapshot"][-8:]: row for row in rows}
    serving = by_name["bbbbbbbb"]
    assert [serving[f"encoder{key}"] for key in ("", "_revision", "_dim", "_precision")] == [
        PACKAGED, "0123456789abcdef", 384, "int8"
    ]  # fmt: skip
    assert serving["rebuild_encoder"] == "newer-v1" and by_name["aaaaaaaa"]["rebuild_encoder"] is None


def test_a_catalog_that_names_its_encoder_is_told_nothing(workspace: Path) -> None:
    folder = workspace / "snapshots" / "office" / "20260102T000000Z-bbbbbbbb"
    write_bare_snapshot(folder, {}, encoder=_ENCODER, preferred_encoder="")
    assert "A rebuild" not in called(workspace.parent, "snapshots", "--workspace", workspace).stdout
