"""A short month of nightly builds with faults, and an oracle that can fail."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from simulations.month import twin
from simulations.month.churn import Churn
from simulations.month.evenings import EVENINGS
from simulations.month.oracle import Outcome, Serving
from simulations.month.plan import STAMPED, START, Night, draw_month
from simulations.month.schedulers import rolling_restart
from simulations.month.simulation import Month

_OLD, _NEW, _BAD = ("please pay",), ("please pay at once",), ("I'm sorry",)


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
def test_nights_of_faults_break_no_promise(tmp_path: Path) -> None:
    assert _broken(tmp_path, draw_month(seed=13, nights=9)) == []


@pytest.mark.nightly
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


@pytest.mark.nightly
@pytest.mark.parametrize("evening", EVENINGS)
def test_a_good_night_makes_up_for_a_bad_evening(evening: str, tmp_path: Path) -> None:
    assert _broken(tmp_path, _nights({"evening": evening, "overhaul": True}, {})) == []


@pytest.mark.nightly
def test_descriptions_with_the_time_in_them_are_told_of_and_not_paid_for_each_night(tmp_path: Path) -> None:
    assert _broken(tmp_path, _nights(*[{"stamped": "mail"}] * STAMPED, {})) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_scheduler_that_ends_leaves_the_builds_to_the_other(tmp_path: Path) -> None:
    _broken(tmp_path, _nights())  # writes the catalog
    assert list(rolling_restart(tmp_path / "month", tmp_path / "workspace")) == []


def _serving(phrases: tuple[str, ...]) -> Serving:
    return Serving("one", "hash", {"pay/pay": "Pay."}, {"pay/pay": "openai"}, {"pay/pay": phrases})


def test_phrases_of_a_bad_evening_and_what_it_cost_beyond_its_questions_are_seen() -> None:
    assert list(twin.of_the_evening(None, _serving(_OLD), [*_OLD, *_NEW])) == []
    (broken,) = twin.of_the_evening(_serving(_OLD), _serving(_BAD), [*_OLD, *_NEW])
    assert broken.startswith("1 tools serve phrases of a bad evening, such as pay/pay")
    well = twin.Pair([_serving(_NEW), _serving(_NEW)], [30, 1])
    assert list(twin.of_the_night_after(twin.Pair([_serving(_OLD), _serving(_NEW)], [40, 31]), well)) == []
    left, paid = twin.of_the_night_after(twin.Pair([_serving(_OLD), _serving(_OLD)], [40, 32]), well)
    assert left.startswith("a good night after a bad evening left 1 phrases other than without it")
    assert paid == "a bad evening that asked 40 questions cost 41 more"


def test_a_churn_that_is_paid_for_every_night_without_a_word_is_seen() -> None:
    churn, published = Churn(), Outcome(0, "", "", {"outcome": "published"})
    nights = _nights(*[{"stamped": "mail"}] * STAMPED)
    broken = [list(churn.violations(night, published, ["mail/a", "files/b"], ["mail/a"])) for night in nights]
    assert broken[:-1] == [[]] * STAMPED
    assert [sentence.split(" mail")[0] for sentence in broken[-1]] == [
        f"{STAMPED} questions about 1 tools of",
        "nobody was told that the descriptions of",
    ]
