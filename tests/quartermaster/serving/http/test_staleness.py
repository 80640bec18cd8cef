"""A server that cannot say whether it serves the newest snapshot tells of it, and on demand is not ready."""

import re
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from quartermaster.serving.http import HttpSettings
from router import Router
from router.snapshot.store.path import SnapshotPath
from tests.quartermaster.serving.conftest import Ask
from tests.support.publishing import Publications, corrupt, look

HOUR = 3_600.0


@pytest.fixture
def office(snapshot: Path, tmp_path: Path) -> Publications:
    made = Publications(tmp_path, snapshot)
    made.add("a")
    made.publish("a")
    return made


@pytest.fixture
def router(office: Publications) -> Router:
    return Router.open(office.folder, watch=HOUR)


def sample(client: TestClient, name: str) -> float:
    """The value of a metric without labels."""
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + seconds)


def test_a_storage_that_is_away_is_told_of_after_the_time_and_not_before(
    client_of: Ask, router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: SnapshotPath) -> None:
        raise OSError("the storage is away")

    client = client_of(router, stale_after_s=60)
    strict = client_of(router, stale_after_s=60, unready_when_stale=True)
    with monkeypatch.context() as patch:
        patch.setattr(SnapshotPath, "publication", away)
        look(router)
    assert (client.get("/readyz").json()["stale"], strict.get("/readyz").status_code) == (False, 200)
    later(monkeypatch, 61)
    assert client.get("/readyz").json() == {"status": "ok", "snapshot": "a", "stale": True}
    refused = strict.get("/readyz")
    assert refused.status_code == 503
    assert re.search(r"not known to be the newest snapshot for 6\d s", refused.json()["error"]["message"])
    assert "storage" not in refused.text  # the path is open to everybody
    assert 61 <= sample(client, "quartermaster_seconds_since_source_was_read") < 120
    look(router)
    assert (client.get("/readyz").json()["stale"], strict.get("/readyz").status_code) == (False, 200)
    assert sample(client, "quartermaster_seconds_since_source_was_read") < 30


def test_a_snapshot_that_is_refused_leaves_the_one_before_stale_though_the_source_was_read(
    client_of: Ask, router: Router, office: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(router, stale_after_s=60)
    later(monkeypatch, 61)
    folder = office.add("b")
    corrupt(folder)
    office.point("b\n")
    look(router)
    assert client.get("/readyz").json() == {"status": "ok", "snapshot": "a", "stale": True}
    assert sample(client, "quartermaster_seconds_since_source_was_read") < 30
    assert 61 <= sample(client, "quartermaster_seconds_since_newest_served") < 120


def test_a_router_that_never_looks_knows_nothing_of_it(client_of: Ask, office: Publications) -> None:
    client = client_of(Router.open(office.folder), stale_after_s=1, unready_when_stale=True)
    assert client.get("/readyz").json()["stale"] is None
    assert "quartermaster_seconds_since" not in client.get("/metrics").text
    assert sample(client, "quartermaster_snapshot_age_seconds") > 0


def test_the_time_is_five_minutes_or_three_looks_unless_it_is_set() -> None:
    assert [HttpSettings().stale_after(watch) for watch in (5.0, 100.0, HOUR)] == [300, 300, 3 * HOUR]
    assert HttpSettings(stale_after_s=30).stale_after(5.0) == 30
