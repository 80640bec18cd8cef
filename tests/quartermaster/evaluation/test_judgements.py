"""Judged requests as they are read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quartermaster.evaluation import judgements_of, read_judgements
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
