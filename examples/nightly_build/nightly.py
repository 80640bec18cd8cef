"""Build a catalog once, as every night, and report what the night changed, for a log, a mail or a chat.

    pip install '.[build]'        (in a checkout of Quartermaster)
    python nightly.py             (once; a second run has nothing to do)

By cron, at two in the morning:

    0 2 * * *  cd /srv/tools && python nightly.py --catalog nightly_build >> nightly.log 2>&1

With Prefect (`pip install '.[build,flows]'`), which tries again what failed and keeps the reports:

    quartermaster schedule nightly_build --cron "0 2 * * *"

The exit code is 0 where the new snapshot serves or nothing changed, 1 where it was held back, 3 where the build could
not end. In the last two cases, the snapshot of the night before serves on.
"""

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from router import QuartermasterError

HELD, FAILED = 1, 3


def summary(report: BuildReport) -> str:
    """Return what a night did, in a few lines."""
    lines = [f"{report.outcome}: {report.counts['tools']} tools in {report.snapshot.name}"]
    changes = {"new": report.added, "changed": report.changed, "gone": report.removed_tools}
    lines += [f"{what}: {', '.join(ids[:5])}{', …' if len(ids) > 5 else ''}" for what, ids in changes.items() if ids]
    lines += [f"rejected: {record.origin.file} {record.origin.pointer}: {record.reason}" for record in report.rejected]
    lines += [f"no phrases from the model: {failure.tool_id}: {failure.message}" for failure in report.failures]
    lines += [f"held back: {reason}" for reason in report.held]
    asked = ", ".join(f"{count} by {generator}" for generator, count in report.asked.items()) or "none"
    lines.append(f"tools with new phrases: {asked}; {report.usage.cost_usd or 0:.2f} US dollars")
    if report.evaluation:
        served = [report.evaluation, *filter(None, [report.evaluation.get("serving")])]
        figures = ", before: ".join(f"{one['metrics']['ndcg@10']:.3f}" for one in served)
        lines.append(f"nDCG@10 of {report.evaluation['requests']} judged requests: {figures}")
    return "\n  ".join(lines)


def main() -> int:
    """Build once, print the summary, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, default=Path(__file__).parent, help="a folder with catalog.toml")
    parser.add_argument(
        "--workspace", type=Path, default=Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster"))
    )
    arguments = parser.parse_args()
    started = f"{datetime.now():%Y-%m-%d %H:%M}"
    try:
        report = build(load(arguments.catalog), workspace=arguments.workspace)
    except QuartermasterError as error:  # a source, a setting, the model's server, the disk
        print(f"{started} failed: {error}")
        return FAILED
    print(started, summary(report))
    return HELD if report.held else 0


if __name__ == "__main__":
    sys.exit(main())
