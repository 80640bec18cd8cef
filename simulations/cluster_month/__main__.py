"""Plays a month on the cluster and prints each night: `python -m simulations.cluster_month --nights 30 --seed 1`.

Exits with 1 where a promise was broken.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulations.cluster_month.plan import draw_month
from simulations.cluster_month.simulation import ClusterMonth
from simulations.month.__main__ import printed
from tests.support.object_storage import object_storage_server


def _play(folder: Path, seed: int, nights: int) -> Iterable[Any]:
    with object_storage_server() as storage:
        yield from ClusterMonth(folder, storage, seed, draw_month(seed, nights)).play()


if __name__ == "__main__":
    sys.exit(printed("A simulated month of builders, a bucket and a fleet, checked.", _play))
