"""Whatever ends a build, and whenever: no submitted batch is lost or paid for twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.enrichment import Enrichment
from pipeline.enrichment.generator import GeneratedExpansion
from pipeline.enrichment.openai import BatchGenerator
from pipeline.errors import Unavailable
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.ledger.answers import Answers
from pipeline.ledger.batches import Batches
from pipeline.records import Catalog, record_hash
from tests.pipeline.enrichment.batch_server import BatchServer, Course
from tests.pipeline.enrichment.catalog_run import enriched, ledger_rows
from tests.pipeline.enrichment.model_server import COST, Reply, but, completion, error, replies, row
from tests.support.factories import make_record
from tests.support.places import ROOT

_RECORDS = [make_record(f"tool_{number}") for number in range(4)]
_NAMES = [record.name for record in _RECORDS]
# A build's part in another process.
_BUILD = """
import sys
from pathlib import Path
from pydantic import SecretStr
from pipeline.enrichment.openai import BatchGenerator
from pipeline.ledger import Ledger
from pipeline.settings import EnrichmentSettings
from tests.pipeline.enrichment.model_server import replies
from tests.support.factories import make_record
records = [make_record(f"tool_{number}") for number in range(4)]
settings = EnrichmentSettings(base_url=sys.argv[2], api_key=SecretStr("sk-loopback"), mode="batch")
with Ledger.open(Path(sys.argv[1])) as ledger:
    list(replies(BatchGenerator(settings, ledger), records))
"""


def _answers(workspace: Path, server: BatchServer, **settings: Any) -> list[str]:
    """Return the tools for which a build of this process has answers."""
    with Ledger.open(workspace) as ledger:
        outcomes = list(replies(BatchGenerator(server.settings(**settings), ledger), _RECORDS))
        assert ledger.batches.unsettled(f"{server.base_url}/", "gpt-5-mini") == []
    return sorted(outcome.tool_id.partition("/")[2] for outcome in outcomes if isinstance(outcome, GeneratedExpansion))


@pytest.mark.nightly
def test_a_process_killed_before_it_heard_of_its_batch_leaves_it_to_the_next(tmp_path: Path) -> None:
    with BatchServer(hangs=True) as server:
        command = [sys.executable, "-c", _BUILD, str(tmp_path), server.base_url]
        with subprocess.Popen(command, cwd=ROOT) as build:
            assert server.made.wait(150)
            build.kill()
        server.hangs = False
        assert ledger_rows(tmp_path, "SELECT batch_id, file_id FROM batches") == [(None, "file-0000")]
        assert _answers(tmp_path, server) == _NAMES
    assert server.paid == _NAMES
    assert len(server.batches) == 1


class _Killed(BaseException):
    """Ends a build as a kill would: nothing catches it."""


@pytest.mark.parametrize("step", ["upload", "create"])
def test_a_build_that_ended_before_its_batch_was_made_hands_it_in_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def killed(*_: object) -> str:
        raise _Killed

    with BatchServer() as server:
        with monkeypatch.context() as patch, pytest.raises(_Killed):
            patch.setattr(f"pipeline.enrichment.openai.batch_calls.BatchCalls.{step}", killed)
            _answers(tmp_path, server)
        # The server might be at it for as long as the build would have waited: after that it is asked anew.
        with duckdb.connect(str(tmp_path / LEDGER_FILE)) as connection:
            connection.execute("UPDATE batches SET asked_at = asked_at - INTERVAL 1 HOUR")
        assert _answers(tmp_path, server) == _NAMES
    assert server.paid == _NAMES
    outcomes = ledger_rows(tmp_path, "SELECT outcome FROM batches ORDER BY created_at")
    assert outcomes == [("not sent",), ("completed",)]


def test_a_batch_whose_making_was_never_confirmed_is_found_and_not_asked_for_again(tmp_path: Path) -> None:
    with BatchServer(courses=[Course(loses=True)]) as server:
        assert _answers(tmp_path, server, max_retries=1) == _NAMES
    assert len(server.batches) == 1
    assert server.paid == _NAMES


def test_a_batch_that_the_server_was_still_making_is_waited_for(tmp_path: Path) -> None:
    nothing_yet = Reply({"object": "list", "data": [], "has_more": False})
    with BatchServer(courses=[Course(loses=True)]) as server:
        with pytest.raises(Unavailable):
            _answers(tmp_path, server, max_retries=0)
        server.trouble = lambda method, path, count: nothing_yet if path == "/batches" and count < 2 else None
        assert _answers(tmp_path, server, timeout_s=10) == _NAMES
    assert server.calls.count("GET /batches") == 3
    assert len(server.batches) == 1


def test_a_batch_is_found_behind_many_others(tmp_path: Path) -> None:
    with BatchServer(courses=[Course(loses=True)], page=2) as server:
        with pytest.raises(Unavailable):
            _answers(tmp_path, server, max_retries=0)
        for number in range(3):  # of other builds of the account
            _answers(tmp_path / str(number), server)
        listed = server.calls.count("GET /batches")
        assert _answers(tmp_path, server) == _NAMES
    assert server.calls.count("GET /batches") - listed == 2
    assert len(server.batches) == 4


def test_a_batch_that_the_server_has_lost_is_asked_for_anew_unless_it_is_in_the_list(tmp_path: Path) -> None:
    def trouble(_: str, path: str, count: int) -> Reply | None:
        return error(404, "No batch found") if path == "/batches/batch_0000" and count == 0 else None

    with BatchServer(trouble=trouble) as server:
        assert _answers(tmp_path / "found", server) == _NAMES
    assert len(server.batches) == 1
    with BatchServer(courses=[Course(["in_progress"])]) as server:
        with Ledger.open(tmp_path) as ledger:
            list(replies(BatchGenerator(server.settings(wait_s=0), ledger), _RECORDS))
        server.batches["batch_other"] = server.batches.pop("batch_0000") | {"metadata": {}, "input_file_id": "other"}
        assert _answers(tmp_path, server) == _NAMES
    assert ledger_rows(tmp_path, "SELECT outcome FROM batches ORDER BY created_at") == [("lost",), ("completed",)]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, TimeoutError])
def test_an_interruption_is_heard_at_once_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupted(*_: object) -> None:
        raise interruption

    with BatchServer() as server:
        with monkeypatch.context() as patch, pytest.raises(interruption):
            patch.setattr("pipeline.enrichment.openai.batch_calls.BatchCalls.sleep", interrupted)
            _answers(tmp_path, server)
        assert _answers(tmp_path, server) == _NAMES
    assert len(server.batches) == 1


def _enriched(workspace: Path, server: BatchServer, records: list[Any], **settings: Any) -> Enrichment:
    catalog = Catalog(tuple(records), {r.tool_id: record_hash(r) for r in records}, ())
    with Ledger.open(workspace) as ledger:
        return enriched(ledger, catalog, BatchGenerator(server.settings(**settings), ledger))


def test_a_build_killed_between_two_batches_reads_the_results_of_the_second_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Answers.put_entries

    def put_two(self: Answers, run: int, entries: Any) -> None:
        if entries and len(self.expansions([line["custom_id"] for line in server.lines(0) + server.lines(1)])) == 2:
            raise _Killed
        put(self, run, entries)

    with BatchServer() as server:
        with monkeypatch.context() as patch, pytest.raises(_Killed):
            patch.setattr(Answers, "put_entries", put_two)
            _enriched(tmp_path, server, _RECORDS, batch={"max_requests": 2})
        into = _enriched(tmp_path, server, _RECORDS)
    assert sorted(into.written) == [record.tool_id for record in _RECORDS]
    assert (into.reused, into.asked["openai"]) == (2, 2)
    assert server.paid == _NAMES
    assert ledger_rows(tmp_path, "SELECT count(*), sum(cost_usd) FROM expansions") == [(4, pytest.approx(4 * COST / 2))]


def test_what_was_kept_before_a_kill_is_in_the_accounts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise _Killed

    changed = make_record("tool_0", description="Another description.")
    with BatchServer(but("tool_3", Reply(completion(json.dumps(row("tool_9")))))) as server:
        for records in (_RECORDS, [changed, *_RECORDS[1:]]):  # the second time nobody asks for tool_0 as it was
            with monkeypatch.context() as patch, pytest.raises(_Killed):
                patch.setattr(Batches, "mark_settled", killed)
                _enriched(tmp_path, server, records)
        into = _enriched(tmp_path, server, [changed, *_RECORDS[1:]])
    assert len(into.written) == 3
    assert [failure.kind for failure in into.failures] == ["mismatch"]
    assert server.paid == sorted([*_NAMES, "tool_0"])
    every = "SELECT cost_usd FROM expansions UNION ALL SELECT cost_usd FROM failures"
    assert ledger_rows(tmp_path, f"SELECT sum(cost_usd) FROM ({every})") == [(pytest.approx(5 * COST / 2),)]


def test_answers_that_nobody_asks_for_any_more_are_kept(tmp_path: Path) -> None:
    changed = [make_record("tool_0", description="Another description."), *_RECORDS[1:3]]
    with BatchServer(courses=[Course(["in_progress"])]) as server:
        into = _enriched(tmp_path, server, _RECORDS, wait_s=0)
        assert [failure.kind for failure in into.failures] == ["waiting"] * 4
        server.proceed("completed")
        into = _enriched(tmp_path, server, changed)
    assert sorted(into.written) == [record.tool_id for record in changed]
    assert server.paid == sorted([*_NAMES, "tool_0"])
    assert into.asked["openai"] == 3
    kept = ledger_rows(
        tmp_path, "SELECT tool_id, record_hash, cost_usd, model FROM expansions ORDER BY tool_id, created_at"
    )
    assert len(kept) == 5
    first = _RECORDS[0]
    assert (first.tool_id, record_hash(first), pytest.approx(COST / 2), "gpt-5-mini") in kept


def test_a_batch_of_another_catalog_is_collected_and_not_waited_for(tmp_path: Path) -> None:
    others = [make_record(f"other_{number}", "linear") for number in range(2)]
    with BatchServer(courses=[Course(["in_progress"])]) as server:
        _enriched(tmp_path, server, _RECORDS, wait_s=0)
        into = _enriched(tmp_path, server, others)
        assert len(into.written) == 2
        server.proceed("completed")
        _enriched(tmp_path, server, [*others, make_record("other_3", "linear")])
        assert _enriched(tmp_path, server, _RECORDS).reused == 4
    assert server.paid == sorted([*_NAMES, "other_0", "other_1", "other_3"])
