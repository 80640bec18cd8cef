"""The kill matrix: a worker, the scheduler and the driver are killed in each stage of a build on a real Dask cluster.

`python -m simulations.cluster --seed 1` takes some minutes. After each kill it holds that

- a killed worker costs its batch: the build publishes what a plain build publishes;
- a batch that kills every worker stops the build with one sentence, which names it;
- without its scheduler a build stops with one sentence, and the next one embeds only what is missing;
- after a killed driver the next build does the same, and nothing of the killed one is left in the storage.
"""

import argparse
import os
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from flows.runtime import configure_prefect, server
from router import Manifest
from simulations.cluster.catalog import write_catalog
from simulations.cluster.faults import STAGES, Fault, struck
from simulations.cluster.processes import Build, Cluster, cluster, end_of, start_build
from tests.support.small_encoder import save

_BY_CONTENT = (".npy", ".jsonl", ".onnx", "meta.json", ".term", ".idx", ".store", ".fast", ".fieldnorm")


@dataclass(frozen=True)
class Place:
    """Where the builds of one case read and write, and what a plain build made of the same catalog."""

    catalog: Path
    encoder: Path
    workspace: Path
    faults: Path
    plain: Build

    def build(self, address: str) -> Build:
        """Build on the cluster."""
        return end_of(start_build(self.catalog, self.workspace, self.encoder, address))

    def check(self, build: Build, embedded: int | None = None) -> None:
        """Hold a build against the plain one: the same bytes, and no text embedded twice."""
        assert build.exit_code == 0, build.said
        assert content(build) == content(self.plain)
        if embedded is not None:
            assert build.report["embedded"] == embedded, build.report["embedded"]
        assert not list((self.workspace / "workers" / "builds").iterdir())


def content(build: Build) -> dict[str, str]:
    """What a snapshot holds, by file: all but its name, its time and the database."""
    manifest = Manifest.read(build.snapshot)
    return {
        "hash": manifest.content_hash,
        **{name: digest for name, digest in manifest.files.items() if name.endswith(_BY_CONTENT)},
    }


def worker_killed(place: Place, running: Cluster, stage: str, spared: int) -> str:
    Fault(stage, "worker", spared=spared).write(place.faults)
    build = place.build(running.address)
    assert struck(place.faults) == 1, build
    place.check(build, place.plain.report["embedded"])
    return "done again, same bytes"


def workers_killed_forever(place: Place, running: Cluster, stage: str, spared: int) -> str:
    Fault(stage, "worker", times=99, spared=spared).write(place.faults)
    build = place.build(running.address)
    assert build.exit_code == 3 and f"the stage '{stage} " in build.said and "ended 3 workers" in build.said, build.said
    return f"stopped after {struck(place.faults)} kills"


def scheduler_killed(place: Place, running: Cluster, stage: str, spared: int) -> str:
    Fault(stage, str(running.scheduler.pid), spared=spared).write(place.faults)
    build = place.build(running.address)
    assert build.exit_code == 3 and "lost the Dask scheduler" in build.said, build.said
    (place.faults / "fault.json").unlink()
    return _resumed(place)


def driver_killed(place: Place, running: Cluster, stage: str, spared: int) -> str:
    (place.faults / "fault.json").unlink(missing_ok=True)
    process = start_build(place.catalog, place.workspace, place.encoder, running.address)
    Fault(stage, str(process.pid), spared=spared).write(place.faults)
    build = end_of(process)
    assert build.exit_code == -9, (build.exit_code, build.said)
    (place.faults / "fault.json").unlink()
    return _resumed(place)


def _resumed(place: Place) -> str:
    """Build again on a new cluster, and say how much was left to embed."""
    with cluster(place.faults) as another:
        build = place.build(another.address)
    place.check(build)
    return f"resumed, same bytes; embedded {build.report['embedded']:,} of {place.plain.report['embedded']:,} again"


CASES = {
    "worker": worker_killed,
    "every worker": workers_killed_forever,
    "scheduler": scheduler_killed,
    "driver": driver_killed,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulations.cluster", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="chooses the batch in which the kill comes")
    parser.add_argument("--stage", choices=STAGES, action="append", help="only this stage")
    parser.add_argument("--victim", choices=CASES, action="append", help="only this victim")
    arguments = parser.parse_args()
    chosen = random.Random(arguments.seed)
    configure_prefect(at_terminal=True)
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder, server() as url:
        os.environ["PREFECT_API_URL"] = url
        root = Path(folder)
        catalog, encoder = write_catalog(root / "offices"), save(root / "encoder")
        plain = end_of(start_build(catalog, root / "plain", encoder, None))
        assert plain.exit_code == 0, plain.said
        for victim in arguments.victim or CASES:
            for stage in arguments.stage or STAGES:
                faults = root / f"{victim}-{stage}-faults"
                faults.mkdir()
                place = Place(catalog, encoder, root / f"{victim}-{stage}", faults, plain)
                began = time.monotonic()
                with cluster(faults) as running:
                    spared = chosen.randrange(2) if stage == "embed" else 0
                    result = CASES[victim](place, running, stage, spared)
                print(f"{victim:>12} killed in {stage:<8} {result} ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
