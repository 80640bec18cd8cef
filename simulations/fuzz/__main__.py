"""Runs the fuzzers and prints their figures: `python -m simulations.fuzz --minutes 60 --seed 1`.

Exits with 1 where an input failed in a way that `known.toml` does not tell.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks.support.measuring import about
from simulations.fuzz.engine.campaign import Campaign
from simulations.fuzz.engine.corpus import read_known
from simulations.fuzz.engine.report import earlier_tallies, summary, table
from simulations.fuzz.engine.tally import Tally
from simulations.fuzz.registry import TARGETS


def _main() -> int:
    parser = argparse.ArgumentParser(description="Try mutated inputs with everything that reads them.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="Only this one; may be repeated.")
    parser.add_argument("--workers", type=int, default=1, help="Processes at a time.")
    parser.add_argument("--engine", choices=("mutation", "atheris"), default="mutation")
    parser.add_argument("--json", type=Path, help="Write the figures to this file.")
    parser.add_argument("--add", action="store_true", help="Add the counts to those that the file has.")
    options = parser.parse_args()
    targets = [TARGETS[name] for name in options.target or TARGETS]
    campaign = Campaign(targets, options.minutes, options.seed, options.workers, options.engine)
    conditions = about()  # the load as it was before
    run = {"minutes": options.minutes, "seed": options.seed, "workers": options.workers, "engine": options.engine}
    tallies = campaign.run()
    if options.json and options.add and options.json.exists():
        stored = json.loads(options.json.read_text(encoding="utf-8"))
        run["minutes"] += stored["run"]["minutes"]
        for earlier in earlier_tallies(stored):
            tallies.setdefault(earlier.target, Tally(earlier.target)).add(earlier)
    figures = summary(tallies.values(), read_known(), **run, **conditions)
    print(table(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return bool(figures["total"]["untyped"] or figures["total"]["hangs"])


if __name__ == "__main__":
    sys.exit(_main())
