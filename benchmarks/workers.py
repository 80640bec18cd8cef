"""What workers bring a build, and what they cost it:
`python -m benchmarks.workers CATALOG [--workers 1 2] [--runner dask]`.

CATALOG is a folder of `tools.jsonl` and `expansions.jsonl`, such as large_catalogs writes. It is built as a flow in new
workspaces: in one process with one thread, then on so many workers of one thread each. Each build is a process of its
own. `seconds` are by stage, `driver_mb` is the most memory that the driver had held by the end of a stage, `speed_up`
compares a stage on the most workers with the same stage on the fewest: the same code, the same cost of a task. Every
snapshot must have the same files, but for the inspection database, which holds times and costs.

A last build in this process counts what would cross to workers and back: bytes as pickled, by stage. On workers in
processes, vectors, documents and segments go over the shared storage instead.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from benchmarks.support.measuring import RESULTS, about, report
from pipeline.build import build
from pipeline.execution import Arguments, Batch, DirectExecution, T
from pipeline.settings import load
from router.contract import CATALOG_DB, Manifest

_SERVED_BY_WORKERS = ("read", "screen", "project", "embed", "assess", "tune", "index", "write", "calibrate")


@dataclass
class Counted(DirectExecution):
    """Calls every stage here, and counts what workers would be sent and would send back, in bytes by mapped stage."""

    sent: Counter[str] = field(default_factory=Counter)
    returned: Counter[str] = field(default_factory=Counter)
    tasks: Counter[str] = field(default_factory=Counter)

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        self.sent[f"{stage_name}, once"] += len(cloudpickle.dumps(shared))
        for _, batch in batches:
            result = function(batch, *shared)
            self._count(stage_name, (function, batch), result)
            yield batch, result

    def _count(self, stage_name: str, sent: object, result: object) -> None:
        self.tasks[stage_name] += 1
        self.sent[stage_name] += len(cloudpickle.dumps(sent))
        self.returned[stage_name] += len(cloudpickle.dumps(result))

    def figures(self) -> dict[str, dict[str, float]]:
        return {
            stage: {
                "tasks": self.tasks[stage],
                "sent_mb": round(sent / 1e6, 3),
                "returned_mb": round(self.returned[stage] / 1e6, 3),
            }
            for stage, sent in self.sent.items()
        }


def built(catalog: Path, workspace: Path, encoder: str, runner: str, workers: int) -> dict[str, Any]:
    """Build as a flow in a process of its own: seconds and the driver's peak memory, by stage; the snapshot's files."""
    environment = {
        **os.environ,
        "QUARTERMASTER_VECTORS__ENCODER": encoder,
        "QUARTERMASTER_FLOW__RUNNER": runner,
        "QUARTERMASTER_FLOW__WORKERS": str(workers),
        "PREFECT_HOME": str(workspace.parent / "prefect"),
    }
    program = [sys.executable, "-c", "from flows.cli.main import main; main()"]
    command = [*program, "build", str(catalog), "--workspace", str(workspace), "--flow", "--json"]
    if runner == "none":  # one core, as one worker has
        command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the build on {workers} workers ({runner}) ended with exit code {done.returncode}")
    said = json.loads(done.stdout.splitlines()[-1])
    files = dict(Manifest.read(Path(said["snapshot"])).files)
    files.pop(CATALOG_DB, None)
    stages = {
        stage: {"seconds": round(seconds, 2), "driver_mb": said["peak_mb"][stage]}
        for stage, seconds in said["seconds"].items()
        if stage in _SERVED_BY_WORKERS
    }
    whole = {"seconds": round(sum(said["seconds"].values()), 2), "driver_mb": max(said["peak_mb"].values())}
    return {"stages": {**stages, "whole": whole}, "files": files}


def speed_up(fewest: dict[str, Any], most: dict[str, Any]) -> dict[str, float]:
    """How many times as fast each stage is, for stages that take half a second or more."""
    return {
        stage: round(figures["seconds"] / most["stages"][stage]["seconds"], 2)
        for stage, figures in fewest["stages"].items()
        if figures["seconds"] >= 0.5 and most["stages"].get(stage, {}).get("seconds")
    }


def moved(catalog: Path, workspace: Path, encoder: str) -> dict[str, dict[str, float]]:
    """What crosses to workers and back in a build: tasks and megabytes by stage."""
    counted = Counted()
    settings = load(catalog, {"vectors": {"encoder": encoder}})
    build(settings, workspace=workspace, execution=counted)
    return counted.figures()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--runner", default="dask")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--json", type=Path, default=RESULTS / "workers.json")
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    found = about()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        builds = {"one process, one core": built(given.catalog, place / "none", given.encoder, "none", 1)}
        for count in given.workers:
            name = f"{given.runner}, workers: {count}"
            builds[name] = built(given.catalog, place / str(count), given.encoder, given.runner, count)
        crossed = moved(given.catalog, place / "counted", given.encoder)
    first, *others = builds.values()
    for name, other in zip([*builds][1:], others, strict=True):
        if different := {file for file, digest in first["files"].items() if other["files"].get(file) != digest}:
            raise SystemExit(f"{name}: other bytes in {', '.join(sorted(different))}")
    figures = {
        **{name: one["stages"] for name, one in builds.items()},
        "speed_up": speed_up(others[0], others[-1]) if len(others) > 1 else {},
        "moved": crossed,
    }
    report(f"Builds of {given.catalog.name} on workers", found, figures, given.json, given.against)


if __name__ == "__main__":
    main()
