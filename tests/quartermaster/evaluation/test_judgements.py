"""Judged requests as they are read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quartermaster.evaluation import judgements_of, read_judgements, with_needs
from router import SettingsInvalid

GOOD = {"id": "1", "query": "a\u2028b", "required": [], "acceptable": [], "kind": "none"}
WriteLines = Callable[[str, list[object]], Path]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "some"}, "kind is 'some'"),
        ({"required": "stripe/x"}, "Expected `array`, got `str` - at `\\$.required`"),
        ({"query": None}, "missing required field `query`"),
        ({"query": " "}, "query is empty"),
        ({"acceptable": [7]}, "Expected `str`, got `int` - at `\\$.acceptable"),
        ({}, "the id '1' belongs to an earlier request"),
    ],
)
def test_a_bad_judgement_is_named_with_its_line(write_lines: WriteLines, wrong: dict[str, object], said: str) -> None:
    assert read_judgements(write_lines("queries.jsonl", [GOOD]))[0].request == "a\u2028b"
    with pytest.raises(SettingsInvalid, match=f"line 2.*{said}"):
        read_judgements(write_lines("queries.jsonl", [GOOD, GOOD | wrong]))


def test_a_benchmarks_requests_win_over_a_catalogs_judgements(tmp_path: Path) -> None:
    assert judgements_of(tmp_path) is None
    for name in ("judgements.jsonl", "queries.jsonl"):
        (tmp_path / name).write_text("", encoding="utf-8")
        assert judgements_of(tmp_path) == tmp_path / name


def test_only_requests_with_needs_are_measured_with_them(write_lines: WriteLines) -> None:
    judgements = read_judgements(write_lines("queries.jsonl", [GOOD, GOOD | {"id": "2"}, GOOD | {"id": "3"}]))
    needs = write_lines("needs.jsonl", [{"id": "2", "needs": ["find a person"]}, {"id": "3", "needs": []}])
    assert [(one.id, one.needs) for one in with_needs(judgements, needs)] == [("2", ("find a person",))]
    with pytest.raises(SettingsInvalid, match="has needs for none of the 1 requests"):
        with_needs(judgements[:1], needs)
    with pytest.raises(SettingsInvalid, match="line 1: not a request's needs: Expected `array`"):
        with_needs(judgements, write_lines("wrong.jsonl", [{"id": "2", "needs": "find a person"}]))
