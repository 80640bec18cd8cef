"""Nights on the cluster, builders that publish at once, and an oracle that sees what each must not do."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simulations.cluster_month.bucket import BucketReader, Contents
from simulations.cluster_month.chain import Version
from simulations.cluster_month.oracle import Evening, Oracle
from simulations.cluster_month.plan import Night
from simulations.cluster_month.publishers import PUBLISHERS, play
from simulations.cluster_month.replica import Status
from simulations.cluster_month.simulation import ClusterMonth
from simulations.month.oracle import Outcome
from tests.support.object_storage import ObjectStorage

_NIGHTS = (
    Night(0),
    Night(1, bucket="failed answers of CURRENT", builder="killed before CURRENT", reader="cache damaged", struck=2),
    Night(2, bucket="half downloads", operator="rollback", reader="cache emptied while it serves"),
)
_TRUE = {"office/a": "A tool."}
_FIRST, _SECOND = Version(1, "one", None, "*", "e1"), Version(2, "two", None, "e1", "e2")
_STATUS = Status("two", "hash", ("one", "two"), "two", _TRUE, "", "", ())
_PUBLISHED = Outcome(0, "", "", {"outcome": "published", "snapshot": "x/two"})


@pytest.mark.nightly
def test_nights_of_faults_break_no_promise(object_storage: ObjectStorage, tmp_path: Path) -> None:
    month = ClusterMonth(tmp_path, object_storage, 1, _NIGHTS, caches=("shared", "shared", "own"))
    results = list(month.play())
    assert [f"{result.night}: {broken}" for result in results for broken in result.violations] == []
    assert [outcome.killed for outcome in results[1].outcomes if outcome] == [True, False]
    assert results[2].revision > results[1].revision > results[0].revision


@pytest.mark.nightly
def test_builders_that_publish_at_once_lose_and_mix_nothing(object_storage: ObjectStorage, tmp_path: Path) -> None:
    rounds = 6
    tally = play(tmp_path, object_storage, rounds, seed=1)
    assert tally.violations == []
    assert len(tally.published) >= rounds - 1, f"a round in which nobody publishes: {tally}"
    assert len(tally.published) + tally.refused.total() == rounds * PUBLISHERS
    assert tally.faults.total() > 10


class _Reader(BucketReader):
    """A bucket whose snapshots all hold the same tools."""

    def __init__(self) -> None:
        """Read nothing."""

    def violations(self, contents: Contents) -> Any:
        return iter(())

    def orphans(self, *_: Any) -> list[str]:
        return []

    def descriptions(self, contents: Contents, snapshot: str) -> dict[str, str]:
        return _TRUE


def _broken(
    status: Status = _STATUS, outcome: Outcome = _PUBLISHED, bucket: str = "late", second: Version = _SECOND
) -> list[str]:
    contents = Contents({"revision": 2, "snapshot": "two"}, {"two": {"content_hash": "hash"}}, {})
    evening = Evening(Night(1, bucket=bucket), [outcome], contents, (_FIRST, second), {3: status}, [], 1, [3])
    builders: Any = [SimpleNamespace(name="builder 0", model=SimpleNamespace(again=()))]
    return list(Oracle(_Reader(), timedelta()).violations(evening, builders, _TRUE))


def test_a_router_that_serves_what_is_current_and_says_that_the_bucket_is_away_breaks_nothing() -> None:
    assert _broken() == []
    assert _broken(replace(_STATUS, warnings=("it does not answer",)), bucket="away") == []
    assert _broken(bucket="away") == ["router 3 did not say that the bucket was away"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"served": ("two", "one", "two")}, "went back"),
        ({"served": ("one", "other", "two")}, "was not published"),
        ({"snapshot": "one", "answered_from": "one", "served": ("one",)}, "serves one and not two"),
        ({"answered_from": "one"}, "answered from one"),
        ({"content_hash": "other"}, "serves another content"),
        ({"descriptions": {"office/a": "Another tool."}}, "answers with descriptions that two does not have"),
        ({"problem": "a file differs"}, "not whole: a file differs"),
    ],
)
def test_a_router_that_serves_the_wrong_thing_is_seen(wrong: dict[str, Any], told: str) -> None:
    (broken,) = _broken(replace(_STATUS, **wrong))
    assert told in broken


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"outcome": Outcome(0, "", "", {"outcome": "published", "snapshot": "lost"})}, "it is lost"),
        ({"outcome": Outcome(0, "", "", {})}, "did not say why"),
        ({"outcome": Outcome(70, "", "Traceback", {})}, "unforeseen error"),
        ({"outcome": Outcome(0, "", "", {"outcome": "unchanged"})}, "no builder says so"),
        ({"second": Version(2, "two", None, "", "e2")}, "revision 2 of CURRENT was written without a condition"),
        ({"second": Version(2, "two", None, "other", "e2")}, "not the one before"),
        ({"second": Version(3, "two", None, "e1", "e2")}, "revision 3 of CURRENT came after 1"),
    ],
)
def test_a_builder_that_says_the_wrong_thing_or_overwrites_a_version_of_current_is_seen(
    wrong: dict[str, Any], told: str
) -> None:
    assert any(told in broken for broken in _broken(**wrong))
