"""Several builders publish at once through a bucket that loses answers; the check can fail."""

from pathlib import Path

from tests.cluster_month.publishers import PUBLISHERS, play
from tests.support.object_storage import ObjectStorage

_ROUNDS = 6


def test_publishers_that_publish_at_once_lose_and_mix_nothing(object_storage: ObjectStorage, tmp_path: Path) -> None:
    tally = play(tmp_path, object_storage, _ROUNDS, seed=1)
    assert tally.violations == []
    assert len(tally.published) >= _ROUNDS - 1, f"a round in which nobody publishes: {tally}"
    assert len(tally.published) + tally.refused.total() == _ROUNDS * PUBLISHERS
    assert tally.faults.total() > 10
