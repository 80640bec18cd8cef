"""Route without a pause while snapshots are published:
`python -m benchmarks.live [CATALOG] [--seconds 60] [--threads 8] [--publications 20]`.

Threads ask without a pause while snapshots of CATALOG, a folder `snapshots/<catalog>` with two of them at least, are
published by turns to a router that watches; one publication, half-way, is a corrupt copy. Each answer is held against
what its snapshot answers by itself. Without CATALOG three are built of the demo, each lacking some of its sources.

What the process holds is read before the first publication, when all threads have asked for a sixth of the time (ONNX
Runtime's memory grows with the requests that run at once), after each publication, and when the last has settled: its
memory, and of it what is anonymous (mapped files are the page cache's).
"""

import argparse
import gc
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import about, on_one_thread, percentiles, report
from benchmarks.support.timed_requests import own_requests
from router import Router
from router.snapshot.snapshot import Snapshot
from router.store import SnapshotStore
from tests.support.places import ROOT
from tests.support.publishing import corrupt
from simulations.soak.threads import SoakResult, known_answers, routing_threads

LOOK = 0.2
_LONGEST = 60.0  # until a publication must have been noticed
_SETTLE = 2.0  # Tantivy's threads let an index go within half a second


class Warnings(logging.Handler):
    """What the router warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def measure(
    catalog: Path, names: Sequence[str], requests: Sequence[str], *, seconds: float, threads: int, publications: int
) -> tuple[dict[str, Any], SoakResult, list[str]]:
    """Figures, what the threads met, and the warnings."""
    store = SnapshotStore.at(catalog)
    known = known_answers([catalog / name for name in names], requests)
    bad = _corrupt_copy(catalog, names[-1])
    warnings = Warnings()
    logging.getLogger("router").addHandler(warnings)
    warm_up = seconds / 6
    pause = (seconds - warm_up) / (publications + 1)
    store.publish(names[0])
    picked_up, during = [], []
    with Router.open(catalog, watch=LOOK, request_cache=64) as router, routing_threads(router, known, threads) as soak:
        time.sleep(warm_up)
        before = _held()
        calm = len(soak.seconds)
        for name in _publications(names, bad.name, publications):
            begun = time.monotonic()
            store.publish(name)
            while (not warnings.said if name == bad.name else router.manifest.snapshot != name) and (
                time.monotonic() < begun + _LONGEST
            ):
                time.sleep(0.002)
            if name != bad.name:
                picked_up.append(time.monotonic() - begun)
            time.sleep(max(0.0, pause - (time.monotonic() - begun)))
            during.append(_held())
        time.sleep(max(pause, _SETTLE))
        gc.collect()
        after = _held()
    figures = {
        "right answers": {"count": soak.answers.total() - len(soak.wrong)},
        "wrong answers": {"count": len(soak.wrong)},
        "errors": {"count": len(soak.errors)},
        "publications": {"count": publications},
        "snapshots that served": {"count": len(soak.answers)},
        "snapshots refused": {"count": len(warnings.said)},
        **{
            name: {
                "before": before[name],
                "after one": during[0][name],
                "highest": max(row[name] for row in during),
                "after": after[name],
            }
            for name in before
        },
        "ms until a publication serves": percentiles(picked_up),
        "ms a route, before": percentiles(soak.seconds[:calm]),
        "ms a route, meanwhile": percentiles(soak.seconds[calm:]),
    }
    return figures, soak, warnings.said


def _publications(names: Sequence[str], bad: str, count: int) -> Iterator[str]:
    """The names by turns, the second first; the bad one half-way."""
    turns = cycle([*names[1:], names[0]])
    return (bad if number == count // 2 else next(turns) for number in range(count))


def _corrupt_copy(catalog: Path, name: str) -> Path:
    copy = Path(shutil.copytree(catalog / name, catalog / f"{name}-corrupt"))
    corrupt(copy)
    return copy


def _held() -> dict[str, float]:
    """What the process holds: memory in MB, open files, threads."""
    rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    megabytes = {row: round(int(rows[row].split()[0]) / 1e3, 1) for row in ("VmRSS", "RssAnon")}
    files = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    return {
        "MB resident": megabytes["VmRSS"],
        "MB anonymous": megabytes["RssAnon"],
        "open files": len(files),
        "threads": int(rows["Threads"]),
    }


def build_three(workspace: Path) -> Path:
    """Three snapshots of the demo: of all its sources but the first, the last, and three in the middle."""
    from pipeline.build import build
    from pipeline.settings import load

    publish = {"judged": False, "max_removed_share": 1.0}  # no gate holds one back for what it lacks
    settings = load(ROOT / "catalogs" / "demo", {"publish": publish}, environment={})
    sources = settings.source
    for kept in (sources[1:], sources[:-1], sources[:12] + sources[15:]):
        built = build(settings.model_copy(update={"source": kept}), workspace=workspace)
    return built.snapshot.parent


def _copied(catalog: Path, workspace: Path) -> Path:
    """A catalog's folder to publish in: the snapshots linked, CURRENT its own."""
    folder = workspace / "snapshots" / catalog.name
    folder.mkdir(parents=True)
    for manifest in catalog.glob("[!.]*/manifest.json"):
        (folder / manifest.parent.name).symlink_to(manifest.parent.resolve())
    return folder


def main() -> int:
    """Measure, print, write; 1 where anything was wrong."""
    on_one_thread()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalog", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--publications", type=int, default=20)
    parser.add_argument("--most", type=int, default=100, help="requests to ask, by turns")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        catalog = _copied(asked.catalog, Path(scratch)) if asked.catalog else build_three(Path(scratch))
        names = sorted(folder.name for folder in catalog.iterdir() if folder.is_dir())
        if len(names) < 2:
            parser.error(f"{asked.catalog} holds {len(names)} snapshots: it takes two to publish by turns")
        found = about(catalog / names[0])
        requests = own_requests(Snapshot.open(catalog / names[0]), asked.most)
        figures, soak, warned = measure(
            catalog,
            names,
            requests,
            seconds=asked.seconds,
            threads=asked.threads,
            publications=asked.publications,
        )
    report(f"{asked.threads} threads for {asked.seconds:g} s", found, figures, asked.json, asked.against)
    for line in (*warned, *soak.errors[:5], *soak.wrong[:5]):
        print(line)
    return int(bool(soak.errors or soak.wrong) or len(warned) != 1)


if __name__ == "__main__":
    sys.exit(main())
