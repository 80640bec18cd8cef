"""`quartermaster feedback` shows a log and erases a text."""

import json
from pathlib import Path

import pytest

from quartermaster.output.feedback import forget_text, show_feedback
from router import FeedbackLog, SettingsInvalid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = FeedbackLog(tmp_path / "log", texts=True)
    answer = log.offered("s1", ["stripe/refund", "bank/refund"], request="refund Lindholm")
    log.report(answer, "stripe/refund", "succeeded")
    log.close()
    return log.folder


def test_a_log_is_shown_in_numbers_to_people_and_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_feedback(folder, as_json=False)
    shown = capsys.readouterr().out
    assert "1 answers: 1 with their text, 1 succeeded" in shown
    assert "100%" in shown and "bank/refund" in shown and "Lindholm" not in shown
    show_feedback(folder, as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert (shown["answers"], shown["texts"], shown["never_called"]) == (1, 1, {"bank/refund": 1})


def test_a_text_is_erased(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forget_text(folder, "REFUND lindholm")
    assert "erased from 1 answers" in capsys.readouterr().err
    assert all(b"Lindholm" not in path.read_bytes() for path in folder.iterdir())


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"there is no feedback log in .*: name the folder that --feedback"):
        show_feedback(tmp_path / "missing", as_json=False)
