"""Soak a deployment: `python -m simulations.soak [CATALOG] [--minutes 30] [--workers 2]`.

`quartermaster serve http` follows a bucket of an S3 server (moto's, a process of its own behind a proxy). Client
processes ask known requests; others drip, stall, sip and hang up. Meanwhile snapshots are published into the bucket,
workers are killed by SIGKILL, SIGHUP reloads them, and twice the bucket is away: once it refuses connections, once it
hangs. All is drawn by `--seed`. Kills and reloads end half-way: what grows is looked for in workers that live on.

Each answer is held against what its snapshot answers alone, byte by byte but for its name and the times. A connection
may break only where the killed worker held it, and asking once more must succeed. Memory, open files, threads and the
cache are read every few seconds. Without CATALOG, a folder `snapshots/<catalog>` with two snapshots at least, three are
built of the demo. The exit code is 1 where anything was wrong. Linux only.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.support.measuring import RESULTS, about, arguments, on_one_thread, report
from benchmarks.support.timed_requests import own_requests
from router.snapshot.snapshot import Snapshot
from simulations.soak.answers import Known, asked, digests
from simulations.soak.course import Course, Plan
from simulations.soak.deployment import serving
from simulations.soak.figures import figures_of, over_time
from tests.support.places import ROOT


def bases_of(catalog: Path) -> list[Path]:
    """Return the snapshots of a catalog's folder."""
    return sorted(manifest.parent for manifest in catalog.glob("[!.]*/manifest.json"))


def build_three(workspace: Path) -> Path:
    """Build three snapshots of the demo: of all its sources but the first, the last, and three in the middle."""
    from pipeline.build import build
    from pipeline.settings import load

    publish = {"judged": False, "max_removed_share": 1.0}  # no gate holds one back for what it lacks
    settings = load(ROOT / "catalogs" / "demo", {"publish": publish}, environment={})
    sources = settings.source
    for kept in (sources[1:], sources[:-1], sources[:12] + sources[15:]):
        built = build(settings.model_copy(update={"source": kept}), workspace=workspace)
    return built.snapshot.parent


def requests_of(base: Path, most: int) -> list[str]:
    """Return phrases of a snapshot; of the demo, judged requests, half of them."""
    snapshot = Snapshot.open(base)
    phrases = own_requests(snapshot, most)
    if snapshot.manifest.catalog != "demo":
        return phrases
    lines = (ROOT / "catalogs" / "demo" / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [str(json.loads(line)["query"]) for line in lines]
    return [*judged[: most // 2], *phrases][:most]


def alone(bases: Sequence[Path], bodies: Sequence[Known]) -> list[list[str]]:
    """Return the digest of each answer that each snapshot gives alone."""
    found = []
    for base in bases:
        with serving(str(base), "--watch", "0") as server:
            found.append(digests(server.port, bodies))
    return found


def main() -> int:
    """Soak, print, write; 1 where anything was wrong."""
    on_one_thread()
    parser = arguments(__doc__, RESULTS / "soak.json")
    parser.add_argument("catalog", type=Path, nargs="?")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=3, help="processes that ask")
    parser.add_argument("--rate", type=float, default=24.0, help="requests a second of all of them")
    parser.add_argument("--watch", type=float, default=1.0)
    parser.add_argument("--most", type=int, default=200, help="requests to ask, by turns")
    parser.add_argument("--troubled", type=float, default=0.5, help="share of the time in which workers are killed")
    parser.add_argument("--seed", type=int, default=23)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        bases = bases_of(given.catalog or build_three(work / "built"))
        if len(bases) < 2:
            parser.error(f"{given.catalog} holds {len(bases)} snapshots: it takes two to publish by turns")
        found = about(bases[0])
        bodies = asked(requests_of(bases[0], given.most))
        known = alone(bases, bodies)
        plan = Plan(
            60 * given.minutes, given.workers, given.watch, given.clients, given.rate, given.seed, given.troubled
        )
        os.environ |= {"PYTHONUNBUFFERED": "1"}
        course = Course(plan, bases, bodies, work)
        course.run()
        figures, wrong = figures_of(course, known)
        found["plan"] = {**vars(plan), "snapshots": len(bases), "bodies": len(bodies)}
        counts = figures.pop("counts")
        report(f"a soak of {given.minutes:g} minutes", found, figures, None, None)
        for name, count in counts.items():
            print(f"{count:8,}  {name}")
        given.json.parent.mkdir(parents=True, exist_ok=True)
        stored = {
            "about": found,
            "figures": {"counts": counts, **figures},
            "wrong": wrong[:50],
            "over time": over_time(course),
        }
        given.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    for sentence in wrong[:20]:
        print("WRONG:", sentence)
    print(f"{len(wrong)} findings" if wrong else "nothing was wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
