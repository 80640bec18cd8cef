"""Plays a month on the cluster and prints each night: `python -m simulations.cluster_month --nights 30 --seed 1`.

Exits with 1 where a promise was broken.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from simulations.cluster_month.plan import draw_month
from simulations.cluster_month.simulation import ClusterMonth
from tests.support.object_storage import object_storage_server


def _main() -> int:
    parser = argparse.ArgumentParser(description="A simulated month of builders, a bucket and a fleet, checked.")
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="Keep the hosts' disks here.")
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as temporary, object_storage_server() as storage:
        nights = draw_month(options.seed, options.nights)
        for result in ClusterMonth(options.folder or Path(temporary), storage, options.seed, nights).play():
            print(result, flush=True)
            broken += len(result.violations)
    print(f"{options.nights} nights, seed {options.seed}: {broken} promises broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(_main())
