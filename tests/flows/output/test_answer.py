"""What search and explain say of an answer before its tools."""

import pytest

from flows.output.answer import show_verdict
from router import RoutedTools


@pytest.mark.parametrize(
    ("calibrated", "said"),
    [
        (True, "Most likely no tool fits this request (probability that one does: 0.07). What came closest:"),
        (False, "Perhaps no tool fits this request; that is a guess, not calibrated for this catalog. What came"),
    ],
)
def test_that_none_fits_is_said_as_surely_as_it_is_known(
    calibrated: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_verdict(RoutedTools((), "s", "default", fits=0.07, none_fits=True, calibrated=calibrated))
    assert " ".join(capsys.readouterr().out.split()).startswith(said)


def test_where_some_tool_fits_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_verdict(RoutedTools((), "s", "default", fits=0.97, calibrated=True))
    assert capsys.readouterr().out == ""
