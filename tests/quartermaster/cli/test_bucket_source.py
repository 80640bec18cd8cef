"""Every command that takes a snapshot takes the address of a catalog in a bucket."""

import json
from pathlib import Path

import pytest

from router.contract import CURRENT, MANIFEST
from router.store import cache_place
from tests.support.command_line import called
from tests.support.object_storage import Bucket
from tests.support.publishing import Publications, corrupt
from tests.support.uploading import BucketCatalog

REQUEST = "give the customer their money back"


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    made = Publications(tmp_path / "built", snapshot)
    made.add("a", sequence=1)
    made.add("b", sequence=2)
    return made


@pytest.fixture
def catalog(bucket: Bucket, office: Publications, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> BucketCatalog:
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QUARTERMASTER_CACHE_DIR", str(tmp_path / "cache"))
    made = BucketCatalog(bucket)
    made.publish(made.upload(office.folder / "a"))
    return made


@pytest.mark.parametrize(
    ("command", "cache"),
    [
        (("search", REQUEST, "--json", "--snapshot"), None),
        (("search", REQUEST, "--json", "--catalog"), "other"),
        (("explain", REQUEST, "--json", "--snapshot"), "other"),
        (("inspect", "--json", "--sql", "SELECT 'a' AS snapshot", "--snapshot"), "other"),
    ],
    ids=["search-snapshot", "search-catalog", "explain", "inspect"],
)
def test_a_command_takes_an_address_and_keeps_what_it_fetched(
    catalog: BucketCatalog, tmp_path: Path, command: tuple[str, ...], cache: str | None
) -> None:
    done = called(tmp_path, *command, catalog.url, *(("--cache-dir", tmp_path / cache) if cache else ()))
    assert done.returncode == 0 and '"snapshot": "a"' in done.stdout, done.stderr
    assert (cache_place(catalog.url, tmp_path / (cache or "cache")) / "a" / MANIFEST).is_file()


def test_the_variable_of_the_cache_does_not_disturb_a_folder(
    catalog: BucketCatalog, office: Publications, tmp_path: Path
) -> None:
    done = called(tmp_path, "search", REQUEST, "--snapshot", office.folder / "b", "--json")
    assert json.loads(done.stdout)["snapshot"] == "b"


def test_pull_fills_the_workspace_and_the_next_one_fetches_the_difference(
    catalog: BucketCatalog, office: Publications, tmp_path: Path
) -> None:
    workspace = tmp_path / "here"
    done = called(tmp_path, "pull", catalog.url, "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    folder = workspace / "snapshots" / "office"
    assert done.stdout.splitlines()[-1] == str(folder / "a")
    assert "fetched a of s3://" in done.stdout
    assert (folder / CURRENT).read_text() == "a\n"
    found = called(workspace, "search", REQUEST, "--workspace", workspace, "--json")
    assert json.loads(found.stdout)["snapshot"] == "a"
    catalog.publish(catalog.upload(office.folder / "b"))
    facts = json.loads(called(tmp_path, "pull", catalog.url, "--workspace", workspace, "--json").stdout)
    assert (facts["snapshot"], facts["fetched_files"], facts["serves"]) == ("b", 0, True)
    assert facts["reused_files"] > 10
    assert "nothing new" in called(tmp_path, "pull", catalog.url, "--workspace", workspace).stdout
    assert called(tmp_path, "pull", f"{catalog.url}-none").returncode == 4


def test_what_was_pushed_is_pulled_and_follows_a_rollback(
    office: Publications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_CACHE_DIR", str(tmp_path / "cache"))
    url = f"file://{tmp_path}/pushed/office"  # as in S3, and quicker
    for name in ("a", "b"):
        office.publish(name)
        done = called(tmp_path, "push", "office", url, "--workspace", tmp_path / "built")
        assert done.returncode == 0, done.stderr
    here = tmp_path / "here"
    assert json.loads(called(tmp_path, "pull", url, "--workspace", here, "--json").stdout)["snapshot"] == "b"
    assert called(tmp_path, "snapshots", url, "--use", "a").returncode == 0
    assert json.loads(called(tmp_path, "pull", url, "--workspace", here, "--json").stdout)["snapshot"] == "a"
    assert json.loads(called(tmp_path, "search", REQUEST, "--snapshot", url, "--json").stdout)["snapshot"] == "a"


def test_pull_mends_what_is_damaged_also_what_no_router_reads(catalog: BucketCatalog, tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    called(tmp_path, "pull", catalog.url, folder)
    corrupt(folder / "a")
    database = folder / "a" / "catalog.duckdb"
    database.unlink()
    database.write_bytes(b"damaged")
    facts = json.loads(called(tmp_path, "pull", catalog.url, folder, "--json").stdout)
    assert facts["fetched_files"] == 2
    assert "nothing new" in called(tmp_path, "pull", catalog.url, folder).stdout


def test_pull_leaves_a_pin_of_a_catalog_that_was_built_here(
    catalog: BucketCatalog, office: Publications, tmp_path: Path
) -> None:
    office.publish("b")
    called(tmp_path, "snapshots", "office", "--pin", "--workspace", tmp_path / "built")
    catalog.upload(office.add("c", sequence=3))
    catalog.publish("c")
    done = called(tmp_path, "pull", catalog.url, "--workspace", tmp_path / "built")
    assert done.returncode == 1
    assert "b is pinned here" in done.stderr
    assert (office.folder / CURRENT).read_text() == "b\n"
