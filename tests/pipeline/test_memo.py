"""What a build computed of each tool is there for the next one, and only that."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline import memo
from pipeline.memo import FOLDER, Memo, digest


def computed(workspace: Path, texts: Sequence[str], notes: list[str] | None = None) -> list[str]:
    """Measure texts in a workspace, and return those that were not known."""
    new: list[str] = []

    def lengths(places: Sequence[int]) -> list[int]:
        new.extend(texts[place] for place in places)
        return [len(texts[place]) for place in places]

    with Memo.of_catalog(workspace, "office", (notes if notes is not None else []).append) as kept:
        assert kept.results("length", [digest(text) for text in texts], int, lengths) == list(map(len, texts))
    return new


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    assert computed(tmp_path, ["a", "bb"]) == ["a", "bb"]
    assert computed(tmp_path, ["bb", "ccc", "a"]) == ["ccc"]


def test_other_code_computes_all_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed(tmp_path, ["a"])
    monkeypatch.setattr(memo, "_code", lambda: b"other")
    assert computed(tmp_path, ["a"]) == ["a"]


def test_a_damaged_result_is_computed_anew(tmp_path: Path) -> None:
    computed(tmp_path, ["a", "bb"])
    with sqlite3.connect(tmp_path / FOLDER / "office.db") as connection:
        connection.execute("UPDATE results SET value = substr(value, 1, 4) || x'07'")
    assert computed(tmp_path, ["a", "bb"]) == ["a", "bb"]


def test_a_damaged_file_is_begun_anew_and_said(tmp_path: Path) -> None:
    computed(tmp_path, ["a"])
    (tmp_path / FOLDER / "office.db").write_bytes(b"no database" * 1000)
    notes: list[str] = []
    assert computed(tmp_path, ["a"], notes) == ["a"]
    assert len(notes) == 1 and notes[0].startswith("what earlier builds computed cannot be used")
    assert computed(tmp_path, ["a"]) == []


def test_results_that_no_build_uses_are_forgotten(tmp_path: Path) -> None:
    computed(tmp_path, [f"text {number}" for number in range(9)])
    assert computed(tmp_path, ["text 8"]) == []
    assert computed(tmp_path, ["text 7", "text 8"]) == ["text 7"]


def test_what_cannot_be_packed_is_computed_each_time(tmp_path: Path) -> None:
    assert digest(2**70) != digest(2**71) and digest("\ud800") != digest("\ud801")
    kept, texts = Memo(), ["\ud800", None]
    for _ in range(2):
        found = kept.results(
            "text", list(map(digest, texts)), str | None, lambda places: [*map(texts.__getitem__, places)]
        )
        assert found == texts
