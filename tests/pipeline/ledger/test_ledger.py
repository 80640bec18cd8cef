"""The ledger: a real DuckDB file, one writer."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.errors import RecordRejected, SettingsInvalid
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.ledger.database import Database
from pipeline.records import catalog_records
from pipeline.scratch import mapped_array
from router.record import Origin, ToolRecord
from tests.pipeline.ledger.ledgers import entry
from tests.support.factories import make_raw


def _rows(workspace: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(workspace / LEDGER_FILE), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_a_workspace_is_created_with_its_parents(tmp_path: Path) -> None:
    workspace = tmp_path / "a" / "b"
    with Ledger.open(workspace):
        pass
    assert {path.name for path in workspace.iterdir()} == {LEDGER_FILE, ".lock"}


@pytest.mark.parametrize("workspace", ["file", "file/ws", "file/ws/deeper"])
def test_a_workspace_at_or_below_a_file_is_a_wrong_setting(tmp_path: Path, workspace: str) -> None:
    (tmp_path / "file").write_text("I am a file", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"cannot be written.*choose another with --workspace"):
        Ledger.open(tmp_path / workspace)


def test_runs_are_recorded_with_their_outcome(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        first, second = ledger.start_run("office"), ledger.start_run("home")
        ledger.finish_run(first, "published", snapshot="s1", message="")
        ledger.put_counts(first, {"tools": 8, "asked": {"file": 2}})
    with Ledger.open(tmp_path) as ledger:
        third = ledger.start_run("office")
        ledger.finish_run(third, "failed", snapshot=None, message="no tool")
    assert (first, second, third) == (1, 2, 3)
    said = "run_id, catalog, outcome, snapshot, message, counts, started_at <= finished_at"
    assert _rows(tmp_path, f"SELECT {said} FROM runs ORDER BY run_id") == [
        (1, "office", "published", "s1", "", '{"asked":{"file":2},"tools":8}', True),
        (2, "home", "running", None, None, None, None),
        (3, "office", "failed", None, "no tool", None, True),
    ]


def test_a_version_of_a_record_is_kept_once_and_what_was_rejected_or_noticed_once_a_run(tmp_path: Path) -> None:
    thin = make_raw("a", input_schema={"properties": {"顧客": {"enum": ["x", "\x00"]}}})
    catalog = catalog_records([thin, make_raw("b", description="It does b.")])
    bad = RecordRejected(Origin("tools.json", "/9"), "name is missing")
    with Ledger.open(tmp_path) as ledger:
        for _ in range(2):
            ledger.put_catalog(ledger.start_run("office"), "office", catalog, [bad])
        ledger.put_catalog(ledger.start_run("home"), "home", catalog, [])
        changed = catalog_records([make_raw("b", description="It does more.")])
        ledger.put_catalog(ledger.start_run("home"), "home", changed, [])
    said = "SELECT tool_id, catalog, first_run, record_hash FROM records ORDER BY first_run, tool_id"
    places = [("a", "office", 1), ("b", "office", 1), ("a", "home", 3), ("b", "home", 3)]
    kept = [(*place, catalog.hashes[place[0]]) for place in places]
    assert _rows(tmp_path, said) == [*kept, ("b", "home", 4, changed.hashes["b"])]
    ((text,),) = _rows(tmp_path, "SELECT record FROM records WHERE tool_id = 'a' AND catalog = 'home'")
    assert ToolRecord.from_json(json.loads(text)) == catalog.records[0]
    assert _rows(tmp_path, "FROM rejections") == [(run, "tools.json", "/9", "name is missing") for run in (1, 2)]
    notices = _rows(tmp_path, "SELECT run_id, tool_id, kind, file, pointer FROM notices ORDER BY run_id")
    assert notices == [(run, "a", "thin", "tools.json", "/0") for run in (1, 2, 3)]


def test_the_answer_given_first_is_found_by_its_key_and_a_failure_is_kept_with_its_reason_and_cost(
    tmp_path: Path,
) -> None:
    answer = {"when_to_use": "Now.", "user_phrases": ["顧客 \u2028 \x00 \"'", "two"]}
    shape = entry("b", kind="shape", message="half ? pair")
    late = entry("c", kind="timeout", message="顧客", cost_usd=None)
    with Ledger.open(tmp_path) as ledger:
        ledger.answers.put_entries(7, [entry("a", expansion=json.dumps(answer)), shape, late])
        ledger.answers.put_entries(8, [entry("a")])
        assert ledger.answers.expansions(["a", "b", "unknown"]) == {"a": answer}
        assert ledger.answers.expansions([]) == {} and ledger.answers.expansions(key for key in ("a",)) == {"a": answer}
    said = "expansion_key, tool_id, generator, model, kind, message, prompt_tokens, cached_tokens, completion_tokens"
    assert _rows(tmp_path, f"SELECT {said}, cost_usd, run_id FROM failures ORDER BY 1") == [
        ("b", "tool b", "openai", "gpt", "shape", "half ? pair", 10, 4, 2, 0.5, 7),
        ("c", "tool c", "openai", "gpt", "timeout", "顧客", 10, 4, 2, None, 7),
    ]
    phrases = [(*("tool a", "openai", "gpt"), phrase) for phrase in (*answer["user_phrases"], "do it")]
    assert _rows(tmp_path, "FROM phrases ORDER BY ALL") == sorted(phrases)


@pytest.mark.parametrize("dim", [1, 384])
def test_vectors_come_back_bit_for_bit_in_another_session_from_any_layout_and_in_parts(
    tmp_path: Path, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ledger.vectors._ROWS_PER_CHUNK", 7)
    vectors = np.random.default_rng(dim).standard_normal((3_000, dim)).astype(np.float32)
    vectors[:4, 0] = (-0.0, np.nan, np.inf, np.float32(1e-45))
    hashes = [f"text {number}" for number in range(3_000)]
    with Ledger.open(tmp_path) as ledger:
        ledger.vectors.put(hashes[:20], vectors[:20], "m")
        ledger.vectors.put(hashes[20:], np.asfortranarray(vectors)[20:], "m")
    with Ledger.open(tmp_path) as ledger:
        found = ledger.vectors.vectors(hashes[::-1], "m", dim)
    assert found.dtype == np.float32
    assert found.tobytes() == vectors[::-1].tobytes()


def test_vectors_are_found_by_text_model_and_length_in_the_order_asked_and_a_missing_one_is_named(
    tmp_path: Path,
) -> None:
    with Ledger.open(tmp_path / "ws") as ledger:
        stored, found = ledger.vectors.put, ledger.vectors.vectors
        stored(["a", "b"], np.array([[1, 2], [3, 4]], np.float32), "m")
        stored(["a"], np.array([[5, 6]], np.float32), "other")
        stored(["a"], np.array([[7, 8, 9]], np.float32), "m")
        assert found(["b", "a", "b"], "m", 2).tolist() == [[3, 4], [1, 2], [3, 4]]
        assert (found(["a"], "other", 2).tolist(), found(["a"], "m", 3).tolist()) == ([[5, 6]], [[7, 8, 9]])
        assert found([], "m", 8).shape == (0, 8)
        with pytest.raises(LookupError, match="unknown has no vector of 2 dimensions by m"):
            found(["a", "unknown"], "m", 2)
        out = mapped_array(tmp_path / "out.npy", (2, 2), np.float32)
        assert found(["b", "a"], "m", 2, out=out) is out  # read into the array that is given
        assert np.load(tmp_path / "out.npy").tolist() == [[3, 4], [1, 2]]


def test_answers_and_failures_are_stored_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = Database.execute

    def full(self: Database, statement: str, *rest: Any) -> None:
        if "INTO failures" in statement:
            raise duckdb.IOException("no space left on device")
        execute(self, statement, *rest)

    entries = [entry("a"), entry("b", kind="shape")]
    with Ledger.open(tmp_path) as ledger:
        with monkeypatch.context() as patch, pytest.raises(duckdb.IOException):
            patch.setattr(Database, "execute", full)
            ledger.answers.put_entries(1, entries)
        ledger.execute("ALTER TABLE failures RENAME TO away")
        with pytest.raises(duckdb.CatalogException):  # DuckDB's own error, which ends the transaction
            ledger.answers.put_entries(1, entries)
        ledger.execute("ALTER TABLE away RENAME TO failures")
        ledger.answers.put_entries(1, entries)  # as a build does that was interrupted
        ledger.answers.put_entries(1, [])
    assert _rows(tmp_path, "SELECT expansion_key FROM expansions") == [("a",)]


def test_the_newest_answer_is_that_of_the_latest_run_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(tmp_path) as ledger:
        for key, year in (("ahead", 2099), ("right", 2026)):
            run = ledger.start_run("office")
            monkeypatch.setattr("pipeline.ledger.answers.utc_now", lambda year=year: datetime(year, 1, 1))
            ledger.answers.put_entries(run, [entry(key, tool_id="mail")])
        assert [answer.expansion_key for answer in ledger.answers.earlier_answers("office", ["mail"])] == [
            "right",
            "ahead",
        ]


def test_a_run_that_changed_nothing_while_a_gate_held_is_no_success(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.finish_run(ledger.start_run("office"), "unchanged", snapshot="s1", message="a gate holds s2")
        assert ledger.last_end("office", "snapshots", ["unchanged"]) is None
        ledger.finish_run(ledger.start_run("office"), "unchanged", snapshot="s1", message="")
        assert ledger.last_end("office", "snapshots", ["unchanged"]) is not None
