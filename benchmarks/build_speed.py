"""Time a first build and the next night's build, stage by stage:
`python -m benchmarks.build_speed CATALOG [--share .01]`.

CATALOG is a folder of `tools.jsonl`, with `expansions.jsonl` or without, such as large_catalogs writes. It is built in
a new workspace (or `--workspace`); then one tool in a hundred gets another description and other phrases, and it is
built again there. Each build is a process of its own: what it imports counts. CPU time is of all threads and tells more
than wall time where others have the cores; `peak_mb` is the most memory that the process had held by the end of a
stage.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import RESULTS, about, arguments, report

# A stage's figures are of all its parts: "embed" of the assessment's texts, of the documents and of the phrases.
_STAGES = ("read", "normalize", "export", "estimate", "enrich", "embed", "assess", "project", "tune")
_LATER = ("prerequisites", "index", "write", "learn", "calibrate", "verify", "evaluate", "inspect", "publish")


def build(catalog: Path, workspace: Path, encoder: str) -> dict[str, Any]:
    """Build in a process of its own: seconds, CPU seconds and peak memory, by stage and of the whole."""
    program = [sys.executable, "-c", "from quartermaster.cli.main import main; main()"]
    command = [*program, "build", str(catalog), "--workspace", str(workspace), "--json"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "QUARTERMASTER_VECTORS__ENCODER": encoder}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the build of {catalog} ended with exit code {done.returncode}")
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    said = json.loads(done.stdout.splitlines()[-1])  # a library may say something before
    stages = {
        stage: {
            "seconds": round(said["seconds"][stage], 2),
            "cpu_s": round(said["cpu_seconds"][stage], 2),
            "peak_mb": said["peak_mb"][stage],
        }
        for stage in (*_STAGES, *_LATER)
        if stage in said["seconds"]
    }
    whole = {
        "seconds": round(wall, 2),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "peak_mb": max(stage["peak_mb"] for stage in stages.values()),
    }
    rest = {
        name: round(whole[name] - sum(stage[name] for stage in stages.values()), 2) for name in ("seconds", "cpu_s")
    }
    embedding = {"texts": said["embedded"], "a_second": 0.0, "a_cpu_second": 0.0}
    if "embed" in stages and said["embedded"]:
        embedding["a_second"] = round(said["embedded"] / max(stages["embed"]["seconds"], 1e-3), 1)
        embedding["a_cpu_second"] = round(said["embedded"] / max(stages["embed"]["cpu_s"], 1e-3), 1)
    return {**stages, "start and the rest": rest, "whole": whole, "embedded": embedding}


def changed(catalog: Path, folder: Path, share: float) -> Path:
    """A copy in which a share of the tools, evenly drawn, has another description and other phrases."""
    folder.mkdir(parents=True)
    ids: set[str] = set()
    with (folder / "tools.jsonl").open("w", encoding="utf-8") as stream:
        for number, row in enumerate(_rows(catalog / "tools.jsonl")):
            if int(number * share) != int((number + 1) * share):
                ids.add(row["id"])
                row["description"] = f"{row.get('description') or ''} Revised tonight.".strip()
            stream.write(json.dumps(row) + "\n")
    if not (catalog / "expansions.jsonl").exists():
        return folder
    with (folder / "expansions.jsonl").open("w", encoding="utf-8") as stream:
        for row in _rows(catalog / "expansions.jsonl"):
            if row["id"] in ids:
                row["user_phrases"] = [f"{phrase} tonight" for phrase in row["user_phrases"]]
            stream.write(json.dumps(row) + "\n")
    return folder


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _ratios(full: Mapping[str, Any], nightly: Mapping[str, Any]) -> dict[str, float]:
    return {name: round(nightly["whole"][name] / full["whole"][name], 4) for name in ("seconds", "cpu_s")}


def main() -> None:
    parser = arguments(__doc__, RESULTS / "build_speed.json")
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--share", type=float, default=0.01, help="of the tools that change overnight")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--workspace", type=Path, help="where to build; what it holds already is not made again")
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    found = about()
    with tempfile.TemporaryDirectory() as temporary:
        workspace = given.workspace or Path(temporary) / "workspace"
        full = build(given.catalog, workspace, given.encoder)
        tonight = changed(given.catalog, Path(temporary) / "tonight" / given.catalog.resolve().name, given.share)
        nightly = build(tonight, workspace, given.encoder)
    figures = {"full": full, "nightly": nightly, "nightly of full": _ratios(full, nightly)}
    report(f"Build of {given.catalog.name}, and of the next night", found, figures, given.json, given.against)


if __name__ == "__main__":
    main()
