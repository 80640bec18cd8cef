"""A build publishes into a bucket that the settings name."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.build.report import BuildReport
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger import Ledger
from pipeline.settings import load
from pipeline.store import SnapshotStore
from pipeline.store.bucket.store import BucketStore
from router import Router
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.quick import QUICK

REQUEST = "give the customer their money back"


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy before the bucket, which the environment names."""
    with faulty_proxy(bucket.port) as made:
        for variable, value in bucket.through(made.port).environment.items():
            monkeypatch.setenv(variable, value)
        yield made


@pytest.fixture
def address(bucket: Bucket, proxy: FaultyProxy) -> str:
    """The address of the catalog "office" in the bucket."""
    return f"{bucket.url}/catalogs/office"


@pytest.fixture
def build_into(catalog_folder: Path, tmp_path: Path, address: str) -> Callable[..., BuildReport]:
    """Build the catalog into the bucket, in a workspace of the given name; `more` adds to its tools."""

    def run(workspace: str = "one", more: str = "", **options: Any) -> BuildReport:
        folder = tmp_path / "catalogs" / workspace / "office"
        shutil.copytree(catalog_folder, folder, dirs_exist_ok=True)
        if more:
            tool = {"name": more, "description": f"{more} of the office", "provider": "acme"}
            with (folder / "tools.jsonl").open("a", encoding="utf-8") as tools:
                tools.write(json.dumps(tool) + "\n")
        settings = load(folder, QUICK | {"publish": {"to": address, "keep": 2}}, environment={})
        return build(settings, workspace=tmp_path / workspace, **options)

    return run


def test_a_build_publishes_into_the_bucket_and_finds_it_unchanged_from_another_machine(
    build_into: Callable[..., BuildReport], catalog_folder: Path, tmp_path: Path, address: str
) -> None:
    first = build_into("one")
    assert first.outcome == "published"
    assert BucketStore(address, tmp_path / "reader/snapshots/office").current() == first.snapshot.name
    again = build_into("two")  # with an empty workspace: the snapshot is fetched
    assert (again.outcome, again.snapshot.name) == ("unchanged", first.snapshot.name)
    assert Router.open(tmp_path / "two/snapshots/office").route(REQUEST).ids
    assert SnapshotStore(tmp_path / "two", "office").current() == first.snapshot.name
    settings = load(catalog_folder, QUICK | {"publish": {"to": address}}, environment={})
    planned = plan(settings, workspace=tmp_path / "three")
    assert (planned.serving, planned.new) == (first.snapshot.name, 0)


def test_a_bucket_that_cannot_be_reached_or_written_stops_the_build_before_anything_is_read(
    build_into: Callable[..., BuildReport], tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BucketStore, "__init__", partialmethod(BucketStore.__init__, patience_s=0.1))
    proxy.plan.set(Fault("error", "PUT"))
    with pytest.raises(RunAborted, match="clock"):
        build_into()
    proxy.refuse()
    with pytest.raises(RunAborted, match="does not answer"):
        build_into()
    with Ledger.open(tmp_path / "one") as ledger:
        assert ledger.last_end("office", "snapshots", ("failed", "published")) is None


@pytest.mark.nightly
def test_an_upload_that_fails_leaves_the_snapshot_in_the_workspace(
    build_into: Callable[..., BuildReport], tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BucketStore, "__init__", partialmethod(BucketStore.__init__, patience_s=0.1))
    first = build_into()
    proxy.plan.set(Fault("error", "PUT", "*/files/*"))
    with pytest.raises(RunAborted, match=r"quartermaster push .*/one/snapshots/office/20") as failure:
        build_into(more="lend_a_bicycle")
    proxy.plan.set()
    kept = SnapshotStore(tmp_path / "one", "office").newest()
    assert kept is not None and kept in str(failure.value) and kept != first.snapshot.name
    assert SnapshotStore(tmp_path / "one", "office").current() == first.snapshot.name


def test_an_experiment_asks_nothing_of_the_bucket(
    catalog: Path, tmp_path: Path, address: str, proxy: FaultyProxy
) -> None:
    (catalog / "tools.jsonl").write_text("", encoding="utf-8")
    settings = load(catalog, QUICK | {"publish": {"to": address}}, environment={})
    with pytest.raises(RunAborted, match="no tool"):
        build(settings, workspace=tmp_path / "ws", area="experiments")
    assert not proxy.plan.log


def test_a_wrong_address_is_refused_and_no_secret_is_repeated(catalog_folder: Path) -> None:
    with pytest.raises(SettingsInvalid, match="no credentials") as failure:
        load(catalog_folder, {"publish": {"to": "s3://key:secret@bucket/office"}}, environment={})
    assert "secret" not in str(failure.value)
