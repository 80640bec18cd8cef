"""The log of a build: plain lines with a time, or JSON alone, and no secret in either."""

import json
import logging
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quartermaster.output.logs import LogFormat, LogLevel, logging_to_stderr
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, error, row, tool_of
from tests.support.command_line import Done, Run, called

BUILD = ("build", "tools.jsonl", "--encoder", "none")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Call `quartermaster` in a folder with two tools."""
    rows = [{"id": f"a/{name}", "name": name, "provider": "a", "description": f"Does {name}."} for name in ("x", "y")]
    (tmp_path / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return partial(called, tmp_path, QUARTERMASTER_TUNING__CALIBRATE="false", QUARTERMASTER_LEDGER__BACKUPS="0")


def records(done: Done) -> list[dict[str, Any]]:
    """The records on standard error: each line is one."""
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_each_line_is_an_object_with_its_run_and_each_stage_has_begin_and_end(run: Run) -> None:
    done = run(*BUILD, "--json", "--log-format", "json")
    logged = records(done)
    assert json.loads(done.stdout)["outcome"] == "published"
    assert {(r["catalog"], r["run"]) for r in logged} == {(json.loads(done.stdout)["snapshot"].split("/")[-2], 1)}
    assert all(r["time"].endswith("+00:00") and r["level"] == "info" and "." in r["logger"] for r in logged)
    begun = [r["stage"] for r in logged if r["event"] == "stage_started"]
    ended = {r["stage"]: r["seconds"] for r in logged if r["event"] == "stage_ended"}
    assert begun == list(ended) == list(json.loads(done.stdout)["seconds"])
    enriched = next(r for r in logged if r["event"] == "stage_ended" and r["stage"] == "enrich")
    assert enriched["counts"] == {"done": 0, "total": 2}  # nobody is asked
    assert [r["event"] for r in logged if r["event"] in ("published", "finished")] == ["published", "finished"]
    assert logged[-1]["counts"]["tools"] == 2 and logged[-1]["outcome"] == "published"


def test_as_json_nothing_else_is_on_standard_error(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n")
    held = run(*BUILD, "--log-format", "json")
    assert held.returncode == 1
    assert next(r["message"] for r in records(held) if r["event"] == "held").startswith("gate: 33.3% of the records")
    assert "tools.jsonl" in held.stdout  # the summary
    assert held.stderr.count("of the records were rejected") == 1  # what is an event is told once
    failed = run("build", "nowhere", QUARTERMASTER_LOG_FORMAT="json")
    assert [(r["event"], r["level"], r["exit_code"]) for r in records(failed)] == [("failed", "error", 2)]
    wrong = run("build", "--nope", "--log-format=json")
    assert [r["event"] for r in records(wrong)] == ["exit"]


def test_a_log_that_is_no_terminal_has_the_time_in_front_and_a_level(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "tools.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("not json\n")
    told = run(*BUILD).stderr
    assert any(line.startswith("20") and line.endswith("+00:00 INFO read started") for line in told.splitlines())
    assert told.count("of the records were rejected") == 1  # in the summary alone
    quiet = run(*BUILD, "--json", QUARTERMASTER_LOG_LEVEL="warning").stderr
    assert "INFO" not in quiet and "WARNING gate: 33.3% of the records were rejected" in quiet


def test_what_libraries_warn_of_is_a_record_and_the_loggers_are_left_as_they_were(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root, own = logging.getLogger(), logging.getLogger("pipeline")
    before = (root.handlers[:], own.handlers[:], own.level, own.propagate)
    with logging_to_stderr(LogFormat.JSON, LogLevel.DEBUG, summary=False), warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        logging.getLogger("urllib3").warning("Retrying\nit")
        logging.getLogger("urllib3").debug("GET /?token=x")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    logged = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(r["logger"], r["level"]) for r in logged] == [("urllib3", "warning"), ("py.warnings", "warning")]
    assert logged[0]["message"] == "Retrying\nit"
    assert (root.handlers[:], own.handlers[:], own.level, own.propagate) == before


def test_retries_and_pauses_of_the_model_are_logged_and_no_secret_is(run: Run) -> None:
    def moody(body: dict[str, Any], number: int) -> Reply:
        if number == 1:
            return error(429, "too fast, sk-s3cret-key", headers={"retry-after-ms": "20"})
        if number == 2:
            return error(500, "lost sk-s3cret-key")
        return Reply(completion(json.dumps(row(tool_of(body)["name"]))))

    with ModelServer(moody) as server:
        base_url = str(server.settings().base_url)
        done = run(
            *(*BUILD, "--generator", "openai", "--log-format", "json", "--log-level", "debug", "--json"),
            OPENAI_API_KEY="sk-s3cret-key",
            OPENAI_BASE_URL=base_url,
            QUARTERMASTER_ENRICHMENT__CONCURRENCY="1",
            QUARTERMASTER_ENRICHMENT__RETRY_DELAY_S="0.01",
        )
    assert done.returncode == 0, done.stderr
    asked_again = [r for r in records(done) if r["logger"] == "pipeline.enrichment.openai.direct"]
    assert [r["event"] for r in asked_again] == ["rate_limited", "retry"]
    assert asked_again[0]["wait_s"] == 0.02 and asked_again[0]["run"] == 1
    assert "s3cret" not in done.stdout + done.stderr
