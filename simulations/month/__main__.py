"""Plays a month and prints each night: `python -m simulations.month --nights 30 --seed 1`.

Exits with 1 where a promise was broken.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from simulations.month.plan import draw_month
from simulations.month.simulation import Month


def _main() -> int:
    parser = argparse.ArgumentParser(description="A simulated month of nightly builds, checked after each night.")
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="Keep the workspace here.")
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as temporary:
        nights = draw_month(options.seed, options.nights)
        for result in Month(options.folder or Path(temporary), options.seed, nights).play():
            print(result, flush=True)
            broken += len(result.violations)
    print(f"{options.nights} nights, seed {options.seed}: {broken} promises broken")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(_main())
