"""Answers that an operator discards: kept, marked, and never read by a build again."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.ledger import Ledger
from pipeline.ledger.commands import check
from pipeline.ledger.database import utc_now
from pipeline.ledger.discarding import Discarded, discard
from tests.pipeline.ledger.ledgers import fill

_LATER = utc_now() + timedelta(days=1)


def _serving(workspace: Path) -> list[str]:
    with Ledger.open(workspace) as ledger:
        by_key = ledger.answers.expansions(["a", "b"])
        earlier = {answer.expansion_key for answer in ledger.answers.earlier_answers("office", ["tool a", "tool b"])}
    assert earlier == by_key.keys()
    return sorted(by_key)


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"tools": ["tool a"]}, ["b"]),
        ({"tools": ["*a", "tool b"]}, []),
        ({"run": 1}, []),
        ({"run": 2}, ["a", "b"]),
        ({"model": "gpt"}, []),
        ({"model": "gpt", "tools": ["tool b"]}, ["a"]),
        ({"since": datetime(2020, 1, 1), "until": _LATER}, []),
        ({"since": _LATER}, ["a", "b"]),
        ({"until": datetime(2020, 1, 1)}, ["a", "b"]),
        ({"found": {"tool a": {"do it"}, "tool b": {"undo it"}}}, ["b"]),
    ],
)
def test_answers_that_meet_all_that_is_chosen_never_serve_again_and_a_dry_run_says_which(
    workspace: Path, chosen: dict[str, Any], left: list[str]
) -> None:
    gone = sorted({"a", "b"} - set(left))
    expected = Discarded(len(gone), 0.5 * len(gone), True, tuple(f"tool {key}" for key in gone))
    assert discard(workspace, **chosen, dry_run=True) == expected
    assert _serving(workspace) == ["a", "b"]
    assert discard(workspace, **chosen).answers == len(gone)
    assert _serving(workspace) == left
    assert discard(workspace, **chosen).answers == 0


def test_what_is_discarded_stays_counted_and_another_answer_to_the_question_serves(workspace: Path) -> None:
    discard(workspace, ["tool a"])
    fill(workspace, "a")
    assert _serving(workspace) == ["a", "b"]
    assert check(workspace).problems == ()  # it was paid twice on purpose
    with Ledger.open(workspace) as ledger:
        assert ledger.rows("SELECT count(*), sum(cost_usd) FROM answers WHERE tool_id = 'tool a'") == [(2, 1.0)]
        assert ledger.rows("SELECT count(*) FROM answers WHERE discarded_at IS NOT NULL") == [(1,)]


def test_nothing_chosen_is_an_error_and_a_file_is_no_model(workspace: Path) -> None:
    with pytest.raises(SettingsInvalid, match="say which answers"):
        discard(workspace)
    with Ledger.open(workspace) as ledger:
        ledger.execute("UPDATE expansions SET generator = 'file'")
    assert discard(workspace, ["*"]).answers == 0
