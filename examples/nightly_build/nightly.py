"""Build a catalog once, as every night, and report what the night changed, for a log, a mail or a chat.

    pip install '.[build]'        (in a checkout of Quartermaster)
    python nightly_build/nightly.py        (a second run has nothing to do)

By cron, at two in the morning:

    0 2 * * *  cd /srv/tools && .venv/bin/python nightly_build/nightly.py >> nightly.log 2>&1

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

WORKSPACE = Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster"))
FAILED = 3


def summary(report: BuildReport) -> str:
    """Return what a night did, in a few lines."""
    lines = [f"{report.outcome}: {report.counts['tools']} tools in {report.snapshot.name}"]
    changes = {"new": report.added, "changed": report.changed, "gone": report.removed_tools}
    lines += [f"{what}: {', '.join(ids[:5])}{', …' if len(ids) > 5 else ''}" for what, ids in changes.items() if ids]
    lines += [f"rejected: {record.origin.file} {record.origin.pointer}: {record.reason}" for record in report.rejected]
    lines += [f"no phrases from the model: {failure.tool_id}: {failure.message}" for failure in report.failures]
    lines += [f"held back: {reason}" for reason in report.held]
    lines += [f"held back alone: {tool}" for tool in report.quarantined]
    lines += [f"went without: {reason}" for reason in report.degraded]
    asked = ", ".join(f"{count} by {generator}" for generator, count in report.asked.items()) or "none"
    cost = report.usage.cost_usd  # None: [enrichment.prices] does not have the model
    lines.append(f"tools with new phrases: {asked}; {'unknown cost' if cost is None else f'{cost:.2f} US dollars'}")
    if report.evaluation:
        measured = [report.evaluation, report.evaluation.get("serving", report.evaluation)]
        new, before = (one["metrics"]["ndcg@10"] for one in measured)
        lines.append(f"{report.evaluation['requests']} judged requests: nDCG@10 {new:.3f}, before {before:.3f}")
    return "\n  ".join(lines)


def main() -> int:
    """Build once, print the summary, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, default=Path(__file__).parent, help="a folder with catalog.toml")
    parser.add_argument("--workspace", type=Path, default=WORKSPACE, help="where ledger and snapshots lie")
    arguments = parser.parse_args()
    started = f"{datetime.now():%Y-%m-%d %H:%M}"
    try:
        report = build(load(arguments.catalog), workspace=arguments.workspace)
    except QuartermasterError as error:  # a source, a setting, the model's server, the disk
        print(f"{started} failed: {error}")
        return FAILED
    print(started, summary(report))
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
