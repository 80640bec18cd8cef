"""Builds sign what they write, before it serves, and stop before anything is paid where they cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, load
from pipeline.store import SnapshotStore, signing_keys
from pipeline.store.private_keys import generate
from router import Router, SnapshotUntrusted
from router.contract import SIGNATURE
from tests.support.notes import Notes
from tests.support.quick import QUICK


@pytest.fixture(autouse=True)
def key(tmp_path: Path) -> None:
    """Make the key that the settings name."""
    generate(tmp_path / "build.pem")


def settings(catalog: Path, key: str = "../build.pem", **publish: Any) -> CatalogSettings:
    return load(catalog, {**QUICK, "publish": {"sign_key": key, **publish}}, environment={})


def test_a_build_signs_its_snapshot_unless_a_gate_held_it_and_nothing_holds_the_key(
    catalog: Path, tmp_path: Path
) -> None:
    workspace, keys = tmp_path / "ws", tmp_path / "build.pem.pub"
    report = build(settings(catalog), workspace=workspace)
    assert Router.open(workspace / "snapshots" / "office", trusted_keys=keys)
    with (catalog / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "more", "name": "more", "description": "Does more."}\n' + "{}\n" * 4)
    held = build(settings(catalog, max_rejected_share=0.0), workspace=workspace)
    assert held.outcome == "held" and not (held.snapshot / SIGNATURE).exists()
    with pytest.raises(SnapshotUntrusted):
        Router.open(held.snapshot, trusted_keys=keys)
    secret = (tmp_path / "build.pem").read_bytes().splitlines()[1]
    assert not [path for path in workspace.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert secret.decode() not in json.dumps(report.to_json(), default=str)


def test_an_unsigned_snapshot_that_goes_on_serving_is_told(catalog: Path, quick: Path) -> None:
    notes = Notes()
    again = build(settings(catalog), workspace=quick, progress=notes)
    assert again.outcome == "unchanged" and signing_keys(again.snapshot) == ()
    assert any("serves without a signature of the key" in note for note in notes.said)


@pytest.mark.parametrize("key", ["../missing.pem", "${NO_SUCH_VARIABLE}", "tools.jsonl"])
def test_a_key_that_cannot_be_read_stops_build_and_plan_before_anything_is_written(
    catalog: Path, tmp_path: Path, key: str
) -> None:
    for run in (build, plan):
        with pytest.raises(SettingsInvalid, match="private key"):
            run(settings(catalog, key), workspace=tmp_path / "ws")
    assert SnapshotStore(tmp_path / "ws", "office").newest() is None
    assert not (tmp_path / "ws" / "ledger.duckdb").exists()


def test_the_key_itself_is_refused_as_a_setting_and_not_shown(catalog: Path, tmp_path: Path) -> None:
    pem = (tmp_path / "build.pem").read_text()
    with pytest.raises(SettingsInvalid, match=r"publish\.sign_key: it must be the path") as refused:
        settings(catalog, pem)
    assert pem.splitlines()[1] not in str(refused.value)
