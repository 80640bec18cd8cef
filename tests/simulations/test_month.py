"""A short month of nightly builds with faults, and an oracle that can fail."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from simulations.month.plan import START, Night, draw_month
from simulations.month.simulation import Month


def _broken(folder: Path, nights: list[Night], settings: str = "") -> list[str]:
    """Return the promises that the nights broke, each with its night."""
    results = Month(folder, 1, nights, settings).play()
    return [
        f"night {result.night.number}, {result.night}: {broken}" for result in results for broken in result.violations
    ]


def _nights(*faults: dict[str, Any]) -> list[Night]:
    """Return a quiet night, and one for each of these."""
    return [Night(number, START + timedelta(days=number), **fault) for number, fault in enumerate([{}, *faults])]


def test_a_night_of_a_faulty_model_and_one_that_is_killed_break_no_promise(tmp_path: Path) -> None:
    nights = _nights({"model_fault": "every second one fails"}, {"host": "killed", "kill_at": 900})
    assert _broken(tmp_path, nights) == []


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_nights_of_faults_break_no_promise(tmp_path: Path) -> None:
    assert _broken(tmp_path, draw_month(seed=13, nights=8)) == []


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("fault", "without_gate", "seen"),
    [
        ({"host": "no generator"}, "max_downgraded_share", ("tools lost their paid phrases",)),
        (
            {"source": "mail", "source_fault": "half of the tools"},
            "max_removed_share",
            ("tools vanished that their vendors still have", "nobody was told of"),
        ),
    ],
    ids=["phrases", "tools"],
)
def test_the_oracle_sees_what_is_lost_where_no_gate_watches(
    fault: dict[str, Any], without_gate: str, seen: tuple[str, ...], tmp_path: Path
) -> None:
    broken = "\n".join(_broken(tmp_path, _nights(fault), f"[publish]\n{without_gate} = 1.0\n"))
    assert all(sentence in broken for sentence in seen), broken
