"""What a build took, by stage."""

from itertools import count
from types import SimpleNamespace

import pytest

from pipeline.progress import SilentProgress, StageClock


def test_stages_of_one_name_add_up_and_each_has_its_cpu_and_its_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = SimpleNamespace(perf_counter=count(step=2).__next__, process_time=count().__next__)
    monkeypatch.setattr("pipeline.progress.time", ticks)
    clock = StageClock(SilentProgress())
    for stage in ("read", "embed", "read"):
        clock.start(stage)
    clock.stop()
    assert (clock.seconds, clock.cpu_seconds) == ({"read": 4, "embed": 2}, {"read": 2, "embed": 1})
    assert list(clock.peak_mb) == ["read", "embed"] and clock.peak_mb["read"] > 10
