"""Calls to the server that a build can do without."""

import pytest

from flows.engine.reporting import ServerReports


def test_a_report_that_fails_silences_those_after_it_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("flows.engine.reporting.time.monotonic", lambda: now[0])
    reports = ServerReports()
    with reports.attempt("something"):
        raise ConnectionError("gone")
    now[0] += 299
    assert not reports.possible
    now[0] += 2
    assert reports.possible
    with pytest.raises(KeyError), reports.attempt("a bug"):
        raise KeyError("ours")
