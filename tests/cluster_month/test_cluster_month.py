"""Three nights on the cluster with a fleet of three routers; the long form is `python -m tests.cluster_month`."""

from pathlib import Path

from tests.cluster_month.plan import Night
from tests.cluster_month.simulation import ClusterMonth
from tests.support.object_storage import ObjectStorage

_NIGHTS = (
    Night(0),
    Night(1, bucket="failed answers of CURRENT", builder="killed before CURRENT", reader="cache damaged", struck=2),
    Night(2, bucket="half downloads", operator="rollback", reader="cache emptied while it serves"),
)


def test_nights_of_faults_break_no_promise(object_storage: ObjectStorage, tmp_path: Path) -> None:
    month = ClusterMonth(tmp_path, object_storage, 1, _NIGHTS, caches=("shared", "shared", "own"))
    results = list(month.play())
    assert [f"{result.night}: {broken}" for result in results for broken in result.violations] == []
    assert [outcome.killed for outcome in results[1].outcomes if outcome] == [True, False]
    assert results[2].revision > results[1].revision > results[0].revision
