"""Two builds of the same inputs give files of the same bytes, except those that hold times."""

import json
import shutil
from pathlib import Path

from pipeline.build import build
from pipeline.settings import load
from router.contract import CATALOG_DB, Manifest


def test_only_names_times_and_numbers_of_two_builds_differ_and_what_did_not_change_is_shared(
    catalog_folder: Path, encoder_folder: Path, workspace: Path, snapshot: Path, tmp_path: Path
) -> None:
    settings = load(catalog_folder, {"vectors": {"encoder": str(encoder_folder)}}, environment={})
    shutil.copytree(workspace, tmp_path / "ws")
    first = tmp_path / "ws" / "snapshots" / "office" / snapshot.name
    forced = build(settings, workspace=tmp_path / "ws", force=True).snapshot
    elsewhere = build(settings, workspace=tmp_path / "other").snapshot
    manifests = [Manifest.read(folder) for folder in (first, forced, elsewhere)]
    files, *others = [{name: digest for name, digest in m.files.items() if name != CATALOG_DB} for m in manifests]
    assert others == [files, files]
    assert {"name", "description", "expansion"} <= {name.split("/")[0] for name in files if "/" in name}
    assert len({manifest.content_hash for manifest in manifests}) == 1
    one, other = (json.loads((folder / "manifest.json").read_bytes()) for folder in (first, forced))
    differing = {name for name in one if one[name] != other[name]}
    assert differing - {"created_at"} == {"files", "sequence", "snapshot", "checksum"}
    assert {name for name in manifests[0].files if (first / name).samefile(forced / name)} == set(files)
