"""Shared by every benchmark: the machine and versions, percentiles, a stored run to compare with, a table.

A result is `{"about": …, "figures": …}`: where it was measured, and nested numbers by name.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from router.contract import Manifest
from router.distribution import version
from router.snapshot.store.pointer import snapshot_folder

BENCHMARKS = Path(__file__).parents[1]
RESULTS = BENCHMARKS / "results"
DATA = BENCHMARKS / "data"
Figures = Mapping[str, Any]
Clock = Callable[[], float]
Item = TypeVar("Item")

_PACKAGES = "numpy onnxruntime tantivy tokenizers faiss-cpu lancedb usearch duckdb sentence-transformers".split()
_ONE_THREAD = {f"{pool}_NUM_THREADS": "1" for pool in ("OMP", "OPENBLAS", "MKL", "RAYON")}
_ONE_THREAD["TOKENIZERS_PARALLELISM"] = "false"


def arguments(description: str | None, json_file: Path | None = None) -> argparse.ArgumentParser:
    """What every command takes: the file that its figures go to. The description is shown as it stands."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=json_file, help="where the figures go")
    return parser


def on_one_thread() -> None:
    """Start this command again with pools of one thread each: they read their sizes when they are imported."""
    if any(os.environ.get(name) != value for name, value in _ONE_THREAD.items()):
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **_ONE_THREAD})


def about(snapshot: Path | None = None) -> dict[str, Any]:
    """The machine and its load now, the versions, and a snapshot's id and counts."""
    found: dict[str, Any] = {"machine": _machine(), "versions": _versions()}
    if snapshot is not None:
        manifest = Manifest.read(snapshot_folder(snapshot))
        found["snapshot"] = {
            "id": manifest.snapshot,
            **{name: manifest.counts[name] for name in ("tools", "phrases")},
            "encoder": manifest.encoder and f"{manifest.encoder.model}, {manifest.encoder.precision}",
        }
    return found


def _machine() -> dict[str, Any]:
    information = Path("/proc/cpuinfo")
    models = information.read_text().splitlines() if information.exists() else []
    model = next((line.partition(":")[2].strip() for line in models if line.startswith("model name")), "")
    return {
        "cpu": model or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()}",
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "quartermaster": _commit()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    """The commit that is checked out, with a + where the working tree differs; the package's version elsewhere."""
    asked = ["git", "describe", "--always", "--dirty=+", "--abbrev=8", "--exclude=*"]
    try:
        said = subprocess.run(asked, cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return version()
    return said.stdout.strip()


def seconds(call: Callable[[Item], object], items: Iterable[Item], clock: Clock = time.perf_counter) -> list[float]:
    """How long a call takes for each item, by the clock: the wall's, or `time.process_time`, which does not run while
    others have the core."""
    taken = []
    for item in items:
        begun = clock()
        call(item)
        taken.append(clock() - begun)
    return taken


def percentiles(taken: Iterable[float]) -> dict[str, float]:
    """Mean and p50, p95, p99 in milliseconds, of seconds; the nearest rank. Raises ValueError where there are none."""
    ordered = sorted(1e3 * value for value in taken)
    if not ordered:
        raise ValueError("nothing was timed: percentiles need at least one call")
    at = {f"p{share}": ordered[-(-share * len(ordered) // 100) - 1] for share in (50, 95, 99)}
    return {"mean": round(sum(ordered) / len(ordered), 4), **{name: round(value, 4) for name, value in at.items()}}


def compare(stored: Figures, now: Figures) -> dict[str, float]:
    """By the dotted name of each figure that both have: now divided by stored."""
    before = dict(_leaves(stored))
    return {name: value / before[name] for name, value in _leaves(now) if before.get(name)}


def _leaves(figures: Figures, prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", float(value)


def report(
    title: str, found: Mapping[str, Any], figures: Figures, json_file: Path | None, against: Path | None
) -> None:
    """Print where it was measured and a row a group of figures; write the JSON; add the ratios to a stored run.

    `found` is what `about` said before the first measurement. Raises OSError where a file cannot be read or written.
    """
    console = Console(width=130)
    for name, facts in found.items():
        console.print(f"[dim]{name}: {', '.join(f'{key} {value}' for key, value in facts.items())}", highlight=False)
    stored = json.loads(against.read_text(encoding="utf-8"))["figures"] if against else {}
    console.print(_table(title, figures, compare(stored, figures)))
    if json_file:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps({"about": found, "figures": figures}, indent=1) + "\n", encoding="utf-8")


def _table(title: str, figures: Figures, ratios: Mapping[str, float]) -> Table:
    """A row a group, a column a figure; `×` is the ratio to the stored run."""
    rows: dict[str, dict[str, float]] = {}
    for name, value in _leaves(figures):
        group, _, leaf = name.rpartition(".")
        rows.setdefault(group, {})[leaf] = value
    drawn = Table(title=title, title_justify="left", box=None)
    drawn.add_column("")
    columns = list(dict.fromkeys(leaf for row in rows.values() for leaf in row))
    for column in columns:
        drawn.add_column(column, justify="right", no_wrap=True)
    for group, row in rows.items():
        cells = []
        for leaf in columns:
            ratio = ratios.get(f"{group}.{leaf}" if group else leaf)
            shown = f"{row[leaf]:,.3f}".rstrip("0").rstrip(".") if leaf in row else ""
            cells.append(f"{shown} [dim]×{ratio:.2f}[/]" if ratio else shown)
        drawn.add_row(group, *cells)
    return drawn
