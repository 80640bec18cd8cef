"""Two builds of the same inputs give files of the same bytes, except those that hold times."""

import json
from pathlib import Path

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
