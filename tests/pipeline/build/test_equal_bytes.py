"""Two builds of the same inputs give files of the same bytes, except those that hold times."""

import json
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.settings import load
from pipeline.store import SnapshotStore
from router import Router
from router.contract import CATALOG_DB, Manifest
from router.store import current_folder
from tests.support.quick import QUICK


def _files(snapshot: Path) -> dict[str, str]:
    """Return the checksums of all files that hold no times."""
    return {name: digest for name, digest in Manifest.read(snapshot).files.items() if name != CATALOG_DB}


@pytest.mark.nightly
def test_a_build_in_a_workspace_of_its_own_gives_the_same_bytes(
    catalog_folder: Path, encoder_folder: Path, snapshot: Path, tmp_path: Path
) -> None:
    settings = load(catalog_folder, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    assert _files(build(settings, workspace=tmp_path).snapshot) == _files(snapshot)


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
    assert differing - {"created_at"} == {"files", "sequence", "snapshot", "checksum"}
    old, new = Router.open(first), Router.open(forced)
    for request in ("refund the customer", "open a ticket", "what is new"):
        assert old.route(request, explain=True).tools == new.route(request, explain=True).tools
    assert {name for name in manifests[0].files if (first / name).samefile(forced / name)} == set(files)
