"""Plays a month and prints each night: `python -m simulations.month --nights 30 --seed 1`.

Exits with 1 where a promise was broken.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from simulations.month.plan import draw_month
from simulations.month.simulation import Month


def printed(description: str, play: Callable[[Path, int, int], Iterable[Any]]) -> int:
    """Play a month in a folder, by its seed and its number of nights, and print each; return 1 for a broken promise."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="Keep here what the month leaves on disk.")
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as temporary:
        for result in play(options.folder or Path(temporary), options.seed, options.nights):
            print(result, flush=True)
            broken += len(result.violations)
    print(f"{options.nights} nights, seed {options.seed}: {broken} promises broken")
    return int(broken > 0)


def _play(folder: Path, seed: int, nights: int) -> Iterable[Any]:
    return Month(folder, seed, draw_month(seed, nights)).play()


if __name__ == "__main__":
    sys.exit(printed("A simulated month of nightly builds, checked after each night.", _play))
