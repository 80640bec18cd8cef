"""A build publishes into any store."""

from pathlib import Path

from pipeline.build import build
from pipeline.settings import load
from router import Router
from tests.support.quick import QUICK
from tests.support.zip_store import ZipStore


def test_a_build_publishes_into_a_store_that_is_no_folder_and_finds_it_unchanged(
    catalog_folder: Path, tmp_path: Path
) -> None:
    settings = load(catalog_folder, QUICK, environment={})
    store = ZipStore(tmp_path / "cache")
    first = build(settings, workspace=tmp_path / "workspace", store=store)
    assert (first.outcome, store.current()) == ("published", first.snapshot.name)
    assert Router.open(store).route("give the customer their money back").ids
    again = build(settings, workspace=tmp_path / "workspace", store=store)
    assert (again.outcome, list(store.objects)) == ("unchanged", [first.snapshot.name])
    assert not (tmp_path / "workspace" / "snapshots").exists()
