"""Two builds of the same inputs give files of the same bytes, except those that hold times."""

import json

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from router.contract import CATALOG_DB, Manifest
from tests.support.factories import TOOLS, expansion_row
from tests.support.quick import QUICK


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[BuildReport]:
    """A build, another that is forced in the same workspace, and one in a workspace of its own."""
    folder = tmp_path_factory.mktemp("catalogs") / "office"
    folder.mkdir()
    for name, rows in (("tools", TOOLS), ("expansions", [expansion_row(tool) for tool in TOOLS])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = load(folder, QUICK, environment={})
    workspace, other = tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("other")
    return [
        build(settings, workspace=workspace),
        build(settings, workspace=workspace, force=True),
        build(settings, workspace=other),
    ]


def test_only_the_database_differs_of_the_files_of_two_builds(reports: list[BuildReport]) -> None:
    manifests = [Manifest.read(report.snapshot) for report in reports]
    first, *others = [{name: digest for name, digest in m.files.items() if name != CATALOG_DB} for m in manifests]
    assert others == [first, first]
    assert {name.split("/")[0] for name in first if "/" in name} == {"name", "description", "expansion"}
    assert len({manifest.content_hash for manifest in manifests}) == 1


def test_only_names_times_numbers_and_checksums_of_two_manifests_differ(reports: list[BuildReport]) -> None:
    first, forced, _ = (json.loads((report.snapshot / "manifest.json").read_bytes()) for report in reports)
    differing = {name for name in first if first[name] != forced[name]}
    assert differing - {"created_at"} == {"files", "sequence", "snapshot", "checksum"}


def test_the_indexes_of_an_unchanged_catalog_are_shared_with_the_serving_snapshot(reports: list[BuildReport]) -> None:
    first, forced, _ = (report.snapshot for report in reports)
    shared = {name for name in Manifest.read(first).files if (first / name).samefile(forced / name)}
    assert shared == set(Manifest.read(first).files) - {CATALOG_DB}
