"""`quartermaster feedback` shows a log and erases a text."""

import json
from pathlib import Path

import pytest

from router import FeedbackLog
from tests.support.command_line import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = FeedbackLog(tmp_path / "log", texts=True)
    answer = log.offered("s1", ["stripe/refund", "bank/refund"], request="refund Lindholm")
    log.report(answer, "stripe/refund", "succeeded")
    log.close()
    return log.folder


def test_a_log_is_shown_in_numbers_to_people_and_programs(run: Run, folder: Path) -> None:
    shown = run("feedback", folder).stdout
    assert "1 answers: 1 with their text, 1 succeeded" in shown
    assert "100%" in shown and "bank/refund" in shown and "Lindholm" not in shown
    facts = json.loads(run("feedback", folder, "--json").stdout)
    assert (facts["answers"], facts["texts"], facts["never_called"]) == (1, 1, {"bank/refund": 1})


def test_a_text_is_erased(run: Run, folder: Path) -> None:
    assert "erased from 1 answers" in run("feedback", folder, "--forget", "REFUND lindholm").stderr
    assert all(b"Lindholm" not in path.read_bytes() for path in folder.iterdir())
