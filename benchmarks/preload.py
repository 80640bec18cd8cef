"""What a worker process costs: `python -m benchmarks.preload SNAPSHOT [--json FILE] [--workers 3]`.

Private memory of a process that was forked after the router was opened and had answered, as under `gunicorn --preload`,
and of one that opens its own, each after a hundred requests. Reads /proc, so Linux only.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.support.measuring import about, arguments, report
from router import Router

REQUESTS = ("give the customer half of the money back", "who is on call", "open an issue, then tell the team") * 34


def private_mb() -> float:
    """MB of this process that it shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def answer(router: Router) -> None:
    """Answer a hundred requests and print the memory."""
    for request in REQUESTS[:100]:
        router.route(request)
    print(private_mb(), flush=True)


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--as", dest="role", choices=["own", "forked"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.role:
        router = Router.open(asked.snapshot)
        if asked.role == "own":
            answer(router)
            return
        router.route(REQUESTS[0])
        for _ in range(asked.workers):
            if not (child := os.fork()):
                answer(router)
                os._exit(0)
            os.waitpid(child, 0)
        return
    found = about(asked.snapshot)
    line = [sys.executable, "-m", "benchmarks.preload", str(asked.snapshot), "--workers", str(asked.workers), "--as"]
    figures = {}
    for role, times in (("forked", 1), ("own", asked.workers)):
        runs = [subprocess.run([*line, role], check=True, capture_output=True, text=True) for _ in range(times)]
        sizes = [float(size) for run in runs for size in run.stdout.split()]
        figures[role] = {"private MB, mean": round(sum(sizes) / len(sizes), 1), "most": round(max(sizes), 1)}
    report(f"{asked.workers} workers of each kind", found, figures, asked.json, None)


if __name__ == "__main__":
    main()
