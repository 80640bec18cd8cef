"""A short month of nightly builds with faults, and an oracle that can fail."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.month.plan import START, Night, draw_month
from tests.month.simulation import Month


def _broken(folder: Path, nights: list[Night], settings: str = "") -> list[str]:
    """Return the promises that the nights broke, each with its night."""
    results = Month(folder, 1, nights, settings).play()
    return [
        f"night {result.night.number}, {result.night}: {broken}" for result in results for broken in result.violations
    ]


def _nights(*faults: dict[str, Any]) -> list[Night]:
    """Return a quiet night, and one for each of these."""
    return [Night(number, START + timedelta(days=number), **fault) for number, fault in enumerate([{}, *faults])]


def test_nights_of_faults_break_no_promise(tmp_path: Path) -> None:
    assert _broken(tmp_path, draw_month(seed=13, nights=8)) == []


def test_every_fault_has_its_night_in_a_month() -> None:
    faults = {
        fault
        for night in draw_month(seed=5, nights=31)
        for fault in (night.source_fault, night.model_fault, night.host, night.operator)
    }
    assert len(faults) >= 26


def test_the_oracle_sees_paid_phrases_lost_where_no_gate_watches(tmp_path: Path) -> None:
    broken = _broken(tmp_path, _nights({"host": "lexicon alone"}), "[publish]\nmax_downgraded_share = 1.0\n")
    assert any("tools lost their paid phrases" in promise for promise in broken)


def test_the_oracle_sees_tools_that_vanish_untold_where_no_gate_watches(tmp_path: Path) -> None:
    nights = _nights({"source": "mail", "source_fault": "half of the tools"})
    broken = _broken(tmp_path, nights, "[publish]\nmax_removed_share = 1.0\n")
    assert any("tools vanished that their vendors still have" in promise for promise in broken)
    assert any("nobody was told of" in promise for promise in broken)
