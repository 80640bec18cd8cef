"""What a build took, by stage."""

import time

from pipeline.progress import SilentProgress, StageClock


def test_stages_of_one_name_add_up_and_each_has_its_cpu_and_its_peak() -> None:
    clock = StageClock(SilentProgress())
    for stage in ("read", "embed", "read"):
        clock.start(stage)
        time.sleep(0.01)
    clock.stop()
    assert list(clock.seconds) == list(clock.cpu_seconds) == list(clock.peak_mb) == ["read", "embed"]
    assert clock.seconds["read"] >= 0.02 and clock.seconds["embed"] >= 0.01
    assert clock.cpu_seconds["read"] < clock.seconds["read"]  # it slept
    assert clock.peak_mb["read"] > 10
