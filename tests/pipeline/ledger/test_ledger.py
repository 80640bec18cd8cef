"""The ledger: a real DuckDB file, one writer."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from pipeline.errors import RecordRejected, RunAborted, SettingsInvalid
from pipeline.ledger import LEDGER_FILE, Ledger, LedgerEntry
from pipeline.records import catalog_records
from pipeline.scratch import mapped_array, write_vector_shard
from router.record import Origin, ToolRecord
from tests.support.factories import make_raw
from tests.support.places import ROOT

# Holds a ledger open as another build would, until its input ends.
_HOLD = """
import sys
from pathlib import Path
from pipeline.ledger import Ledger
with Ledger.open(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""


def _rows(workspace: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(workspace / LEDGER_FILE), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def _entry(key: str = "k", **fields: Any) -> LedgerEntry:
    said: dict[str, Any] = {"expansion": {"user_phrases": ["do it"]}, "cost_usd": 0.5, **fields}
    return LedgerEntry(key, f"hash of {key}", f"tool {key}", "openai", "gpt", 1, 10, 4, 2, **said)


def _vectors(rows: int, dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(dim).standard_normal((rows, dim)).astype(np.float32)


def test_a_workspace_is_created_with_its_parents(tmp_path: Path) -> None:
    workspace = tmp_path / "a" / "b"
    with Ledger.open(workspace):
        pass
    assert {path.name for path in workspace.iterdir()} == {LEDGER_FILE, ".lock"}


def test_a_ledger_that_another_build_holds_aborts_and_opens_once_it_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    root = ROOT
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(RunAborted, match=r"ledger\.duckdb is in use by another build: wait for it to end"):
            Ledger.open(tmp_path)
        other.communicate()
    with Ledger.open(tmp_path) as ledger:
        assert ledger.start_run("office") == 1


@pytest.mark.parametrize("workspace", ["file", "file/ws", "file/ws/deeper"])
def test_a_workspace_at_or_below_a_file_is_a_wrong_setting(tmp_path: Path, workspace: str) -> None:
    (tmp_path / "file").write_text("I am a file", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"cannot be written.*choose another with --workspace"):
        Ledger.open(tmp_path / workspace)


@pytest.mark.parametrize("content", [b"this is no database", b"\x00" * 20_000])
def test_a_file_that_is_no_database_aborts_with_a_way_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "blocked by a lock" / LEDGER_FILE
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(RunAborted, match=r"cannot be opened: .*To begin a new one, .*, move it and the folders"):
        Ledger.open(path.parent)
    assert path.read_bytes() == content


def test_a_damaged_ledger_is_not_said_to_be_in_use(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(["a", "b"], _vectors(2, 64), "m")
    path = tmp_path / LEDGER_FILE
    content = bytearray(path.read_bytes())
    content[4_096:12_288] = bytes(byte ^ 0x5A for byte in content[4_096:12_288])
    path.write_bytes(content)
    with pytest.raises(RunAborted, match=r"cannot be opened: .*To begin a new one"):
        Ledger.open(tmp_path)


def test_runs_are_recorded_with_their_outcome(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        first, second = ledger.start_run("office"), ledger.start_run("home")
        ledger.finish_run(first, "published", snapshot="s1", message="", counts={"tools": 8, "asked": {"file": 2}})
    with Ledger.open(tmp_path) as ledger:
        third = ledger.start_run("office")
        ledger.finish_run(third, "failed", snapshot=None, message="no tool", counts={})
    assert (first, second, third) == (1, 2, 3)
    said = "run_id, catalog, outcome, snapshot, message, counts, started_at <= finished_at"
    assert _rows(tmp_path, f"SELECT {said} FROM runs ORDER BY run_id") == [
        (1, "office", "published", "s1", "", '{"asked":{"file":2},"tools":8}', True),
        (2, "home", "running", None, None, None, None),
        (3, "office", "failed", None, "no tool", "{}", True),
    ]


def test_a_record_is_kept_once_and_what_was_rejected_or_noticed_once_a_run(tmp_path: Path) -> None:
    thin, good = make_raw("a"), make_raw("b", description="It does b.")
    catalog = catalog_records([thin, good])
    bad = RecordRejected(Origin("tools.json", "/9"), "name is missing")
    with Ledger.open(tmp_path) as ledger:
        for _ in range(2):
            ledger.put_catalog(ledger.start_run("office"), "office", catalog, [bad])
        ledger.put_catalog(ledger.start_run("home"), "home", catalog, [])
    records = _rows(
        tmp_path, "SELECT tool_id, catalog, first_run, record_hash FROM records ORDER BY first_run, tool_id"
    )
    hashes = catalog.hashes
    assert records == [(t, c, run, hashes[t]) for c, run in (("office", 1), ("home", 3)) for t in ("a", "b")]
    assert _rows(tmp_path, "FROM rejections") == [(run, "tools.json", "/9", "name is missing") for run in (1, 2)]
    notices = _rows(tmp_path, "SELECT run_id, tool_id, kind, file, pointer FROM notices ORDER BY run_id")
    assert notices == [(run, "a", "thin", "tools.json", "/0") for run in (1, 2, 3)]


def test_a_changed_record_is_kept_beside_the_one_before(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        for description in ("before", "after"):
            catalog = catalog_records([make_raw("a", description=description)])
            ledger.put_catalog(ledger.start_run("office"), "office", catalog, [])
    found = _rows(tmp_path, "SELECT record ->> 'description' FROM records ORDER BY first_run")
    assert found == [("before",), ("after",)]


def test_a_kept_record_is_the_record(tmp_path: Path) -> None:
    catalog = catalog_records([make_raw("顧客", input_schema={"properties": {"a": {"enum": ["x", "\x00"]}}})])
    with Ledger.open(tmp_path) as ledger:
        ledger.put_catalog(ledger.start_run("office"), "office", catalog, [])
    ((text,),) = _rows(tmp_path, "SELECT record FROM records")
    assert ToolRecord.from_json(json.loads(text)) == catalog.records[0]


def test_answers_are_found_by_key_and_failures_are_not(tmp_path: Path) -> None:
    answer = {"when_to_use": "Now.", "user_phrases": ["顧客 \u2028 \x00 \"'"]}
    with Ledger.open(tmp_path) as ledger:
        ledger.put_entries(1, [_entry("a", expansion=answer), _entry("b", expansion=None, kind="timeout")])
        assert ledger.expansions(["a", "b", "unknown"]) == {"a": answer}
        assert ledger.expansions([]) == {}
        assert ledger.expansions(key for key in ("a",)) == {"a": answer}


def test_the_answer_given_first_stands(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        for run in (1, 2, 3):
            ledger.put_entries(run, [_entry("a", expansion={"user_phrases": [f"run {run}"]})])
        assert ledger.expansions(["a"]) == {"a": {"user_phrases": ["run 1"]}}
    assert _rows(tmp_path, "SELECT count(*) FROM expansions") == [(3,)]


def test_a_failure_is_kept_with_its_reason_and_its_cost(tmp_path: Path) -> None:
    known = _entry("a", expansion=None, kind="shape", message="half \ud83d pair")
    unknown = _entry("b", expansion=None, kind="timeout", message="顧客", cost_usd=None)
    with Ledger.open(tmp_path) as ledger:
        ledger.put_entries(7, [known, unknown])
    said = "expansion_key, tool_id, generator, model, kind, message, prompt_tokens, cached_tokens, completion_tokens"
    assert _rows(tmp_path, f"SELECT {said}, cost_usd, run_id FROM failures ORDER BY 1") == [
        ("a", "tool a", "openai", "gpt", "shape", "half ? pair", 10, 4, 2, 0.5, 7),
        ("b", "tool b", "openai", "gpt", "timeout", "顧客", 10, 4, 2, None, 7),
    ]


def test_the_view_phrases_has_a_row_a_phrase(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_entries(1, [_entry("a", expansion={"user_phrases": ["one", "two"]}), _entry("b")])
    assert _rows(tmp_path, "FROM phrases ORDER BY ALL") == [
        ("tool a", "openai", "gpt", "one"),
        ("tool a", "openai", "gpt", "two"),
        ("tool b", "openai", "gpt", "do it"),
    ]


@pytest.mark.parametrize("dim", [1, 384])
def test_vectors_come_back_bit_for_bit_in_another_session(tmp_path: Path, dim: int) -> None:
    vectors = _vectors(50, dim)
    vectors[:4, 0] = (-0.0, np.nan, np.inf, np.float32(1e-45))
    hashes = [f"text {number}" for number in range(50)]
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(hashes[:20], vectors[:20], "m")
        ledger.put_vectors(hashes[20:], vectors[20:], "m")
    with Ledger.open(tmp_path) as ledger:
        found = ledger.vectors(hashes[::-1], "m", dim)
    assert found.dtype == np.float32
    assert found.tobytes() == vectors[::-1].tobytes()


def test_a_text_asked_for_twice_has_two_rows(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(["a", "b"], np.array([[1, 2], [3, 4]], dtype=np.float32), "m")
        assert ledger.vectors(["b", "a", "b"], "m", 2).tolist() == [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]


def test_a_text_without_a_vector_is_named(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(["a"], np.array([[1, 2]], dtype=np.float32), "m")
        with pytest.raises(LookupError, match="unknown has no vector of 2 dimensions by m"):
            ledger.vectors(["a", "unknown"], "m", 2)


def test_no_text_gives_an_empty_matrix_of_the_right_width(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        assert ledger.vectors([], "m", 8).shape == (0, 8)


def test_vectors_of_a_file_are_those_that_a_worker_wrote(tmp_path: Path) -> None:
    vectors = _vectors(5, 8)
    write_vector_shard(tmp_path / "0.parquet", list("abcde"), vectors)
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vector_shard(tmp_path / "0.parquet", "m", 8)
        assert ledger.vectors(list("ecadb"), "m", 8).tobytes() == vectors[[4, 2, 0, 3, 1]].tobytes()


def test_vectors_are_read_into_the_array_that_is_given(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ws") as ledger:
        ledger.put_vectors(["a", "b"], np.array([[1, 2], [3, 4]], dtype=np.float32), "m")
        out = mapped_array(tmp_path / "out.npy", (2, 2), np.float32)
        assert ledger.vectors(["b", "a"], "m", 2, out=out) is out
    assert np.load(tmp_path / "out.npy").tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_used_vectors_are_those_looked_up_and_not_stored_elsewhere_each_once(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(list("abcd"), _vectors(4, 4), "m")
        ledger.put_vectors(["b"], _vectors(1, 4), "other")
        for looked_up in (["c", "b"], ["b", "a", "unknown"]):
            ledger.known_vectors(looked_up, "m", 4)
        used = ledger.used_vectors("m", 4, [["a"], []]).read_all()
    assert used["text_hash"].to_pylist() == ["b", "c"]
    assert set(used["model_key"].to_pylist()) == {"m"}


def test_missing_texts_come_once_each_in_the_order_of_their_hashes(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.open_missing_texts()
        ledger.add_missing_texts({"2": "two", "1": "one"})
        ledger.add_missing_texts({"3": "three", "1": "one"})
        assert ledger.sort_missing_texts() == 3
        assert (ledger.missing_texts(0, 2), ledger.missing_texts(2, 2)) == (["one", "two"], ["three"])


def test_vectors_are_whole_where_they_come_in_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.ledger.vectors._ROWS_PER_CHUNK", 7)
    vectors, hashes = _vectors(5_000, 3), [f"text {number}" for number in range(5_000)]
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(hashes, vectors, "m")
        assert ledger.vectors(hashes, "m", 3).tobytes() == vectors.tobytes()


def test_vectors_belong_to_their_model_and_their_length(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(["a"], np.array([[1, 2]], dtype=np.float32), "m")
        ledger.put_vectors(["a"], np.array([[5, 6]], dtype=np.float32), "other")
        ledger.put_vectors(["a"], np.array([[7, 8, 9]], dtype=np.float32), "m")
        found = [ledger.vectors(["a"], model, dim).tolist() for model, dim in (("m", 2), ("other", 2), ("m", 3))]
    assert found == [[[1.0, 2.0]], [[5.0, 6.0]], [[7.0, 8.0, 9.0]]]


def test_any_memory_layout_of_vectors_is_kept_right(tmp_path: Path) -> None:
    vectors = _vectors(8, 6)
    with Ledger.open(tmp_path) as ledger:
        ledger.put_vectors(["a", "b"], np.asfortranarray(vectors)[2:8:3], "m")
        found = ledger.vectors(["a", "b"], "m", 6)
    assert found.tolist() == [vectors[2].tolist(), vectors[5].tolist()]


def test_answers_and_failures_are_stored_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = Ledger._insert

    def full(self: Ledger, table: str, *rest: Any) -> None:
        if table == "failures":
            raise duckdb.IOException("no space left on device")
        insert(self, table, *rest)

    entries = [_entry("a"), _entry("b", expansion=None, kind="shape")]
    with Ledger.open(tmp_path) as ledger:
        with monkeypatch.context() as patch, pytest.raises(duckdb.IOException):
            patch.setattr(Ledger, "_insert", full)
            ledger.put_entries(1, entries)
        ledger.put_entries(1, entries)  # as a build does that was interrupted
    assert _rows(tmp_path, "SELECT expansion_key FROM expansions") == [("a",)]


def test_the_newest_answer_is_that_of_the_latest_run_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(tmp_path) as ledger:
        for key, year in (("ahead", 2099), ("right", 2026)):
            run = ledger.start_run("office")
            monkeypatch.setattr("pipeline.ledger.answers.utc_now", lambda year=year: datetime(year, 1, 1))
            ledger.put_entries(run, [replace(_entry(key), tool_id="mail")])
        assert [answer.expansion_key for answer in ledger.earlier_answers("office", ["mail"])] == ["right", "ahead"]
