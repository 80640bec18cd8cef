"""`quartermaster push`, and `quartermaster snapshots` on an address."""

import json
import shutil
from pathlib import Path

import pytest

from pipeline.store import SnapshotStore, signing_keys
from pipeline.store.bucket.store import BucketStore
from pipeline.store.private_keys import generate
from router import Router
from router.snapshot.store.bucket.cache import mark
from tests.support.command_line import Done, called
from tests.support.publishing import Publications, corrupt


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    """The workspace "work" with the snapshots "a", "b" and "c", the last of which is current."""
    built = Publications(tmp_path / "work", snapshot)
    for number, name in enumerate("abc", 1):
        built.add(name, sequence=number, content_hash=name * 64, inputs_hash=name, held=["rejected"] * (name == "b"))
    built.publish("c")
    return built


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of the catalog in a folder: the network is tested elsewhere."""
    return f"file://{tmp_path}/bucket/office"


def run(tmp_path: Path, *arguments: object, **variables: str) -> Done:
    return called(
        tmp_path, *arguments, "--workspace", "work", QUARTERMASTER_CACHE=str(tmp_path / "caches"), **variables
    )


def test_a_catalog_is_pushed_and_listed_by_its_address(tmp_path: Path, office: Publications, url: str) -> None:
    done = run(tmp_path, "push", "office", url)
    assert (done.returncode, done.stderr) == (0, f"{url} now serves c\n")
    listed = run(tmp_path, "snapshots", url, "--verify", "--json")
    assert listed.returncode == 0
    (entry,) = json.loads(listed.stdout)
    assert (entry["snapshot"], entry["current"], entry["catalog"]) == ("c", True, "office")
    assert entry["own_bytes"] > 10_000 and entry["shared_bytes"] == 0
    assert SnapshotStore.at(office.folder).current() == "c" and not (office.folder / "bucket").exists()


def test_an_older_snapshot_is_stored_and_serves_by_a_decision_alone(
    tmp_path: Path, office: Publications, url: str
) -> None:
    run(tmp_path, "push", "office", url)
    done = run(tmp_path, "push", office.folder / "a", url, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert not told["serves"] and told["reasons"][0] == "c serves, which has the number 3, and this one 1"
    assert f"quartermaster snapshots {url} --use a" in told["reasons"][1]
    assert run(tmp_path, "snapshots", url, "--use", "a").returncode == 0
    store = BucketStore(url, tmp_path / "reader/office")
    assert (store.current(), [left.snapshot for left in store.state().rolled_back]) == ("a", ["c"])
    again = run(tmp_path, "push", "office", url)
    assert again.returncode == 1 and "which was rolled back from" in again.stderr and store.current() == "a"


def test_a_held_snapshot_is_stored_and_does_not_serve_and_a_damaged_one_is_not_pushed(
    tmp_path: Path, office: Publications, url: str
) -> None:
    corrupt(office.folder / "c")
    done = run(tmp_path, "push", "office", url)
    assert done.returncode == 4 and "corrupt" in done.stderr
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]
    done = run(tmp_path, "push", office.folder / "b", url)
    assert done.returncode == 1 and "rejected; to let it serve" in done.stderr
    listed = run(tmp_path, "snapshots", url)
    assert listed.returncode == 4 and f"{url} serves no snapshot" in listed.stderr


def test_decisions_by_the_name_of_a_copy_go_to_its_bucket(tmp_path: Path, office: Publications, url: str) -> None:
    for name in ("a", "c"):
        run(tmp_path, "push", office.folder / name, url)
    mark(SnapshotStore.at(office.folder), url)
    done = run(tmp_path, "snapshots", "office", "--rollback")
    assert f"office: a copy of {url}" in done.stdout.replace("\n", "")
    assert (done.returncode, BucketStore(url, tmp_path / "reader/office").current()) == (0, "a")
    assert SnapshotStore.at(office.folder).current() == "a"
    assert Router.open(office.folder).manifest.snapshot == "a"


def test_a_signature_goes_to_the_bucket(tmp_path: Path, office: Publications, url: str) -> None:
    run(tmp_path, "push", "office", url)
    keys = []
    for name in ("one.pem", "two.pem"):
        keys.append(generate(tmp_path / name).public.key_id)
        done = run(tmp_path, "snapshots", url, "--sign", "--sign-key", name)
        assert done.returncode == 0, done.stderr
        shutil.rmtree(tmp_path / "caches")  # as another machine would
    (entry,) = json.loads(run(tmp_path, "snapshots", url, "--json").stdout)
    assert sorted(entry["signed_by"]) == sorted(keys)
    fetched = BucketStore(url, tmp_path / "reader/office").local_folder("c")
    assert sorted(signing_keys(fetched)) == sorted(keys)
