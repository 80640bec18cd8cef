"""What the server says of itself: catalog, health, staleness, metrics, log, and errors that nobody foresaw."""

import logging
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from quartermaster.serving.http import HttpSettings
from router import Router, SnapshotInvalid
from router.snapshot.store.path import SnapshotPath
from tests.quartermaster.serving.conftest import Ask
from tests.support.factories import TOOLS
from tests.support.places import ROOT
from tests.support.publishing import Publications, corrupt, look

IDS = sorted(tool["id"] for tool in TOOLS)


def test_tools_come_by_id_page_by_page(client: TestClient) -> None:
    seen, after, pages = [], "", 0
    while after is not None:
        page = client.get("/v1/tools", params={"after": after, "limit": 3}).json()
        seen += [tool["tool_id"] for tool in page["tools"]]
        after, pages = page["next"], pages + 1
        assert page["total"] == len(TOOLS)
    assert (seen, pages) == (IDS, 3)
    assert client.get("/v1/tools", params={"after": "linear/zzz", "limit": 1}).json()["tools"][0]["provider"] == "slack"
    assert client.get("/v1/tools", params={"limit": 0}).json()["error"]["field"] == "limit"


def test_the_snapshot_and_a_tool_are_shown_and_another_tool_is_not_found(client: TestClient, router: Router) -> None:
    record = router.record("stripe/create_refund")
    assert record
    expected = {**record.to_json(), "withheld": [], "unusable": ""}
    assert client.get("/v1/tools/stripe/create_refund").json() == expected
    assert client.get("/v1/tools/stripe%2Fcreate_refund").json() == expected
    row = client.get("/v1/snapshot").json()
    assert (row["snapshot"], row["tools"], row["recipe"]) == (router.manifest.snapshot, len(TOOLS), "default")
    missing = client.get("/v1/tools/stripe/unheard_of")
    assert (missing.status_code, missing.json()["error"]["field"]) == (404, "tool_id")


def test_ready_names_the_snapshot_and_not_ready_the_reason(client_of: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise SnapshotInvalid("the disk is gone")

    assert client_of().get("/readyz").json()["status"] == "ok"
    monkeypatch.setattr(Router, "route", broken)
    client = client_of()
    refused = client.get("/readyz")
    assert refused.status_code == 503
    assert "the disk is gone" in refused.json()["error"]["message"]
    assert client.get("/healthz").status_code == 200


def test_metrics_count_requests_answers_and_what_was_left_out(client_of: Ask) -> None:
    client = client_of()
    client.post("/v1/route", json={"request": "undo a payment", "selection": {"block": ["stripe/*"]}, "explain": True})
    client.post("/v1/route", json={"request": ""})
    client.get("/v1/tools/stripe/create_refund")
    client.get("/no/such/page")
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
    }
    requests = "quartermaster_http_requests_total"
    assert found[requests, "/v1/route", "200", "POST"] == 1
    assert found[requests, "/v1/route", "422", "POST"] == 1
    assert found[requests, "/v1/tools/{tool_id:path}", "200", "GET"] == 1
    assert found[requests, "404", "GET", "unmatched"] == 1
    assert found["quartermaster_answers_total", "default"] == 1
    assert found["quartermaster_dropped_total", "block"] >= 1
    assert found["quartermaster_tools",] == len(TOOLS)
    assert any(name[0] == "quartermaster_route_stage_seconds_count" for name in found)


def test_what_servers_and_the_router_say_goes_to_standard_error_with_its_time() -> None:
    code = """
import logging
import subprocess
import sys
from quartermaster.serving.http import configure_logs
configure_logs()
for name in ("router", "quartermaster.serving"):
    logging.getLogger(name).info("a fact")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert [line.split()[2:] for line in done.stderr.splitlines()] == [
        ["INFO", "router:", "a", "fact"],
        ["INFO", "quartermaster.serving:", "a", "fact"],
    ]


def test_neither_log_nor_metrics_hold_what_was_asked(client_of: Ask, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of()
    with caplog.at_level(logging.INFO, logger="router.access"):
        client.post("/v1/route", json={"request": "my secret is swordfish"})
        client.get("/", params={"request": "my secret is swordfish"})
        client.get("/tools/swordfish")
        client.get("/swordfish", headers={"X-Swordfish": "swordfish"})
        client.delete("/tools/swordfish")
    lines = [record.getMessage() for record in caplog.records if record.name == "router.access"]
    assert [line.split()[1:4] for line in lines] == [
        ["POST", "/v1/route", "200"],
        ["GET", "/", "200"],
        ["GET", "/tools/{tool_id:path}", "404"],
        ["GET", "unmatched", "404"],
        ["DELETE", "/tools/{tool_id:path}", "405"],
    ]
    assert "swordfish" not in "".join(lines) + client.get("/metrics").text


def test_a_failure_is_logged_and_one_that_nobody_foresaw_is_not_shown(
    client_of: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([RuntimeError("a secret of the inside"), SnapshotInvalid("the disk is gone")])

    def broken(self: Router, tool_id: str) -> None:
        raise next(failures)

    client = client_of()
    monkeypatch.setattr(Router, "record", broken)
    internal = client.get("/v1/tools/stripe/create_refund")
    assert (internal.status_code, internal.json()["error"]["type"]) == (500, "internal")
    assert "inside" not in internal.text and "Traceback" not in internal.text
    assert internal.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/v1/tools/stripe/create_refund").status_code == 503
    assert client.post("/v1/route", json={"request": ""}).status_code == 422
    assert "a secret of the inside" in caplog.text
    logged = [record.getMessage() for record in caplog.records if record.name == "router.http"]
    assert logged[1:] == ["GET /v1/tools/{tool_id:path} failed: the disk is gone"]


HOUR = 3_600.0


@pytest.fixture
def office(snapshot: Path, tmp_path: Path) -> Publications:
    made = Publications(tmp_path, snapshot)
    made.add("a")
    made.publish("a")
    return made


@pytest.fixture
def watching(office: Publications) -> Router:
    return Router.open(office.folder, watch=HOUR)


def sample(client: TestClient, name: str) -> float:
    """The value of a metric without labels."""
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + seconds)


def test_a_storage_that_is_away_is_told_of_after_the_time_and_not_before(
    client_of: Ask, watching: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: SnapshotPath) -> None:
        raise OSError("the storage is away")

    client = client_of(watching, stale_after_s=60)
    strict = client_of(watching, stale_after_s=60, unready_when_stale=True)
    with monkeypatch.context() as patch:
        patch.setattr(SnapshotPath, "publication", away)
        look(watching)
    assert (client.get("/readyz").json()["stale"], strict.get("/readyz").status_code) == (False, 200)
    later(monkeypatch, 61)
    assert client.get("/readyz").json() == {"status": "ok", "snapshot": "a", "stale": True}
    refused = strict.get("/readyz")
    assert refused.status_code == 503
    assert re.search(r"not known to be the newest snapshot for 6\d s", refused.json()["error"]["message"])
    assert "storage" not in refused.text  # the path is open to everybody
    assert 61 <= sample(client, "quartermaster_seconds_since_source_was_read") < 120
    look(watching)
    assert (client.get("/readyz").json()["stale"], strict.get("/readyz").status_code) == (False, 200)
    assert sample(client, "quartermaster_seconds_since_source_was_read") < 30


def test_a_snapshot_that_is_refused_leaves_the_one_before_stale_though_the_source_was_read(
    client_of: Ask, watching: Router, office: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(watching, stale_after_s=60)
    later(monkeypatch, 61)
    folder = office.add("b")
    corrupt(folder)
    office.point("b\n")
    look(watching)
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
