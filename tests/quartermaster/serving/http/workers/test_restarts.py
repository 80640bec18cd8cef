"""A worker that dies is replaced at once; where one after another dies young, after growing pauses."""

import time

import pytest

from quartermaster.serving.http.workers.restarts import Cause, Restarts


def test_the_first_death_has_no_pause_and_a_crash_loop_has_growing_ones() -> None:
    restarts = Restarts()
    pauses = [restarts.ended(Cause.CRASHED, lived_s=1.0) for _ in range(10)]
    assert pauses == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert restarts.next_at == pytest.approx(time.monotonic() + 30, abs=5)
    assert restarts.ended(Cause.HUNG, lived_s=60.0) == 0
    assert restarts.ended(Cause.CRASHED, lived_s=0.0) == 0.5  # it never served


def test_whoever_was_told_to_end_is_no_crash() -> None:
    restarts = Restarts()
    assert [restarts.ended(Cause.RELOADED, lived_s=0.1) for _ in range(5)] == [0] * 5
    assert restarts.ended(Cause.SUPERSEDED, lived_s=0.0) == 0
    assert restarts.counts() == {"crashed": 0, "hung": 0, "signalled": 0, "reloaded": 5}
