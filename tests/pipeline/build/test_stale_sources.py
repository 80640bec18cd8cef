"""A source that fails keeps its last known records for a while; the rest of the catalog goes on."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.plan import Plan, plan
from pipeline.build.report import BuildReport
from pipeline.errors import Unavailable
from pipeline.ledger import LEDGER_FILE
from pipeline.settings import CatalogSettings, load
from pipeline.store import SnapshotStore
from router.contract import Manifest
from router.store import current_folder
from tests.pipeline.sources.web import Web, serving
from tests.support.command_line import called
from tests.support.publishing import sign
from tests.support.quick import QUICK
from tests.support.rows import select

LOGIN = "<!doctype html>\n<html><body>\n<form>Sign in</form>\n</body></html>\n"


def _tools(name: str, count: int = 5) -> str:
    schema = {"type": "object", "properties": {"zone": {"type": "string"}, "city": {"type": "string"}}}
    rows = [
        {"name": f"{name}_{number}", "description": f"Does {number} for {name}.", "inputSchema": schema}
        for number in range(count)
    ]
    return json.dumps({"tools": rows})


class Shop:
    """A catalog of a file, a command and a URL, five tools each, and its workspace."""

    def __init__(self, folder: Path, web: Web) -> None:
        self.folder, self.workspace, self.web = folder, folder.parent / "ws", web
        self.answer(_tools("web"))

    def write(self) -> None:
        self.folder.mkdir()
        (self.folder / "file.json").write_text(_tools("file"), encoding="utf-8")
        (self.folder / "told.json").write_text(_tools("told"), encoding="utf-8")
        (self.folder / "catalog.toml").write_text(
            '[[source]]\npath = "file.json"\n'
            '[[source]]\ncommand = ["cat", "told.json"]\nformat = "function"\n'
            f'[[source]]\nurl = "{self.web.root}/shop?key=sk-secret"\nformat = "function"\nprovider = "shop"\n',
            encoding="utf-8",
        )

    def answer(self, body: str, status: int = 200) -> None:
        self.web.page(body, path="/shop", status=status)

    def break_off(self) -> None:
        """Let the list have a second page that cannot be had."""
        self.web.page(_tools("web", 4), path="/shop", headers={"link": '</more>; rel="next"'})
        self.web.page("", path="/more", status=503)

    def settings(self, **sources: Any) -> CatalogSettings:
        return load(self.folder, {**QUICK, "sources": sources}, environment={})

    def build(self, **sources: Any) -> BuildReport:
        return build(self.settings(**sources), workspace=self.workspace)

    def ledger(self, statement: str) -> list[Any]:
        return select(self.workspace / LEDGER_FILE, statement, read_only=False)

    @property
    def serving(self) -> Path:
        return current_folder(SnapshotStore(self.workspace, "shop"))

    def turn_clock(self, ago: timedelta) -> None:
        """Let the last good reads be so long ago, before now by the clock."""
        self.ledger(f"UPDATE source_readings SET read_at = read_at - INTERVAL '{int(ago.total_seconds())} seconds'")


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Path:
    """A folder with the catalog and its workspace after a good night. To be copied."""
    shop = Shop(tmp_path_factory.mktemp("built") / "shop", web)
    shop.write()
    assert shop.build().outcome == "published"
    return shop.folder.parent


@pytest.fixture
def shop(tmp_path: Path, built: Path, web: Web) -> Shop:
    """The catalog after a good night."""
    copytree(built, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path / "shop", web)


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (lambda shop: shop.answer("", 503), "answered 503"),
        pytest.param(lambda shop: shop.answer("", 401), "answered 401", marks=pytest.mark.nightly),
        pytest.param(lambda shop: shop.answer(LOGIN), "gave a web page (HTML)", marks=pytest.mark.nightly),
        pytest.param(lambda shop: (shop.folder / "file.json").unlink(), "does not exist", marks=pytest.mark.nightly),
        (lambda shop: (shop.folder / "told.json").unlink(), "ended with exit code 1"),
        (lambda shop: shop.answer(_tools("web", 4), 206), "answered 206 Partial Content, which is not the whole"),
        (lambda shop: shop.break_off(), "answered 503"),
    ],
    ids=["503", "401", "a login page", "a file that vanished", "a command that fails", "a part", "a page of several"],
)
def test_a_source_that_fails_keeps_its_records_and_the_night_is_unchanged_but_degraded(
    shop: Shop, break_it: Callable[[Shop], None], reason: str
) -> None:
    serving = shop.serving
    break_it(shop)
    report = shop.build()
    assert (report.outcome, report.held, report.snapshot) == ("unchanged", (), serving)
    (stale,) = report.to_json()["stale_sources"]
    assert reason in stale["reason"] and stale["tools"] == 5 and 0 <= stale["age_s"] < 600
    (sentence,) = report.degraded
    assert " ago) keeps its last known records: " in sentence and reason in sentence
    assert report.missing.skipped == () and report.counts["tools"] == 15


def test_a_list_whose_further_pages_cannot_be_had_is_read_and_the_night_is_degraded(shop: Shop) -> None:
    body = json.dumps({**json.loads(_tools("file", 6)), "nextCursor": "x"})
    (shop.folder / "file.json").write_text(body, encoding="utf-8")
    report = shop.build()
    assert (report.outcome, report.added) == ("published", ("file/file_5",))
    (sentence,) = report.degraded
    assert sentence.startswith("file.json: /nextCursor says that more pages follow")


def test_the_other_sources_go_on_and_the_manifest_tells_the_stale_one(shop: Shop) -> None:
    shop.answer("", 503)
    (shop.folder / "file.json").write_text(_tools("file", 6), encoding="utf-8")
    report = shop.build()
    assert report.outcome == "published" and report.added == ("file/file_5",) and not report.removed_tools
    manifest = Manifest.read(report.snapshot)
    assert list(manifest.stale_sources) == report.to_json()["stale_sources"] and manifest.degraded == report.degraded
    # A manifest of an older version has no stale source.
    sign(report.snapshot, lambda raw: (raw.pop("stale_sources"), raw.pop("degraded")))
    manifest = Manifest.read(report.snapshot)
    assert (manifest.stale_sources, manifest.degraded) == ((), ())


def test_where_all_sources_fail_what_serves_goes_on_and_their_records_are_those_that_they_gave(shop: Shop) -> None:
    serving = shop.serving
    for name in ("file.json", "told.json"):
        (shop.folder / name).unlink()
    shop.answer("", 503)
    report = build(shop.settings(), workspace=shop.workspace, force=True)
    assert (report.outcome, len(report.stale_sources)) == ("published", 3)
    assert [sentence.count(" keeps its last known records: ") for sentence in report.degraded] == [1, 1, 1]
    assert Manifest.read(serving).content_hash == Manifest.read(report.snapshot).content_hash
    for name in ("records.jsonl", "token_counts.npy"):
        assert (serving / name).read_bytes() == (report.snapshot / name).read_bytes()


def test_a_source_that_failed_for_longer_than_max_age_stops_the_build_and_says_since_when(shop: Shop) -> None:
    def planned(**sources: Any) -> Plan:
        return plan(shop.settings(**sources), workspace=shop.workspace)

    shop.answer("", 503)
    shop.turn_clock(timedelta(days=-400))  # a clock that was set back makes the records no younger than new
    assert {stale.age for stale in planned().stale} == {timedelta()}
    shop.turn_clock(timedelta(days=400 + 7.4))
    with pytest.raises(Unavailable, match=r"answered 503 .*its last known records, of 20.* UTC, are 7.4 days old: "):
        shop.build()
    assert len(planned(max_age="8d").stale) == 2
    told = planned(skip_unreadable=True)
    assert len(told.missing.skipped) == 2 and told.stale == ()
    with pytest.raises(Unavailable, match="answered 503"):
        shop.build(max_age=0)  # keeps nothing


def test_only_an_answer_that_serves_stands_in_for_its_source(shop: Shop) -> None:
    shop.answer(_tools("web", 1))
    held = shop.build()
    assert held.outcome == "held"
    shop.answer("", 503)
    assert {stale.tools for stale in plan(shop.settings(), workspace=shop.workspace).stale} == {5}
    SnapshotStore(shop.workspace, "shop").publish(held.snapshot.name)  # an operator lets it serve
    for _ in range(2):
        report = shop.build()
        assert (report.outcome, report.held, report.snapshot) == ("unchanged", (), held.snapshot)
        assert report.stale_sources[0].tools == 1


@pytest.mark.nightly
def test_a_build_that_was_killed_before_it_accepted_its_reads_has_not_forgotten_them(shop: Shop) -> None:
    shop.answer(_tools("web", 6))
    report = shop.build()
    shop.ledger("UPDATE source_readings SET accepted = false")  # as it stands between publishing and the end
    shop.answer("", 503)
    later = shop.build()
    assert (later.outcome, later.snapshot, later.stale_sources[0].tools) == ("unchanged", report.snapshot, 6)


def test_what_is_kept_holds_no_secret_and_grows_only_with_what_changes(shop: Shop) -> None:
    assert shop.ledger("SELECT count(*), count(DISTINCT source_key) FROM source_readings") == [(3, 3)]
    assert shop.ledger("SELECT count(*) FROM source_contents") == [(3,)]
    assert "sk-secret" not in str(shop.ledger("SELECT * FROM source_readings"))
    assert b"sk-secret" not in (shop.workspace / LEDGER_FILE).read_bytes()


def test_a_plan_runs_no_command_and_counts_such_a_source_by_its_last_known_records(shop: Shop) -> None:
    shop.answer("", 503)
    told = plan(shop.settings(), workspace=shop.workspace).to_json()
    assert {one["source"]: one["tools"] for one in told["stale_sources"]} == {"cat": 5, f"{shop.web.root}/shop": 5}
    assert told["not_read"] == {"sources": 2, "tools": 10, "cost_usd": None}


@pytest.mark.nightly
def test_the_command_line_tells_a_stale_source_and_ends_well(shop: Shop) -> None:
    run = partial(called, shop.folder.parent, QUARTERMASTER_VECTORS__ENCODER="none", COLUMNS="200")
    shop.answer("", 503)
    where = ("build", shop.folder, "--workspace", shop.workspace)
    for mark, option, kept in (("degraded", "--allow-commands", 1), ("stale", "--plan", 2)):
        done = run(*where, option)
        assert done.returncode == 0, done.stderr
        assert f"\n{mark}: {shop.web.root}/shop (5 tools of 20" in f"\n{done.stderr}"
        assert (done.stderr.count("keeps its last known records"), done.stderr.count("answered 503")) == (kept, 1)
    done = run(*where, QUARTERMASTER_SOURCES__MAX_AGE="0")
    assert done.returncode == 3 and "answered 503" in done.stderr
