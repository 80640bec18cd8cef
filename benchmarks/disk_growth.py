"""Measure how the disk of a workspace grows: `python -m benchmarks.disk_growth TOOLS.jsonl --encoder FOLDER`.

Makes a catalog as large_catalogs does and builds it for `--nights` nights, each after a change of `--share` of the
tools: half of them get another description and another phrase, a quarter are removed, and as many are new. Growth is
the disk of the whole workspace after the last night less that after the first; the bar is 1.5 times one snapshot.

Bytes are those of allocated blocks, and a file with several links counts once. ENCODER is a sentence-transformers model
in a folder; the bytes do not depend on its weights, only on its dimensions. Without one, no vectors are written.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.large_catalogs import real_tools, tool
from benchmarks.support.measuring import about
from benchmarks.support.phrasing import expansion

NIGHTS, SHARE, TOOLS, SEED = 10, 0.01, 10_000, 20
BAR = 1.5  # snapshots


class ChangingCatalog:
    """A catalog folder whose tools change from night to night."""

    def __init__(self, folder: Path, real: list[dict[str, Any]], count: int, encoder: Path | None, keep: int) -> None:
        self._folder, self._real = folder, real
        self._next = count
        self._tools = [tool(real, number, SEED) for number in range(count)]
        self._phrasing = [f"{SEED}/phrases/{number}" for number in range(count)]
        folder.mkdir(parents=True)
        (folder / "catalog.toml").write_text(
            'name = "growing"\n[[source]]\npath = "tools.jsonl"\nformat = "jsonl"\n'
            '[enrichment]\nexpansions = "expansions.jsonl"\n'
            f'[vectors]\nprecision = "fp32"\nencoder = "{encoder.resolve() if encoder else "none"}"\n'
            f"[publish]\nkeep = {keep}\n",
            encoding="utf-8",
        )
        self._write()

    def change(self, night: int, share: float) -> None:
        """Change, remove and add tools: `share` of them in all. The same night gives the same changes."""
        draw = random.Random(f"{SEED}/night/{night}")
        number = max(round(share * len(self._tools)) // 4, 1)
        for place in draw.sample(range(len(self._tools)), 2 * number):
            changed = self._tools[place]
            words = f"{changed['description'] or ''} Since night {night} it also answers in short."
            self._tools[place] = {**changed, "description": words}
            self._phrasing[place] += f"/{night}"
        for place in sorted(draw.sample(range(len(self._tools)), number), reverse=True):
            del self._tools[place], self._phrasing[place]
        for _ in range(number):
            place = draw.randrange(len(self._tools))
            self._tools.insert(place, tool(self._real, max(self._next, len(self._real)), SEED))
            self._phrasing.insert(place, f"{SEED}/phrases/{self._next}")
            self._next += 1
        self._write()

    def _write(self) -> None:
        with (self._folder / "tools.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(made, ensure_ascii=False) + "\n" for made in self._tools)
        with (self._folder / "expansions.jsonl").open("w", encoding="utf-8") as lines:
            for made, seed in zip(self._tools, self._phrasing, strict=True):
                lines.write(json.dumps(expansion(made, seed), ensure_ascii=False) + "\n")


def disk(folder: Path) -> dict[str, int]:
    """Return the allocated bytes under a folder, each inode once, by its part of the workspace."""
    seen: set[tuple[int, int]] = set()
    parts: dict[str, int] = {}
    for path in _files(folder):
        status = path.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        inside = path.relative_to(folder).parts
        # Of snapshots the file or the index, whichever snapshot it is of.
        part = inside[0] if inside[0] != "snapshots" else "/".join(("snapshots", *inside[3:4]))
        parts[part] = parts.get(part, 0) + status.st_blocks * 512
    return parts


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def build(catalog: Path, workspace: Path) -> dict[str, Any]:
    """Build the catalog in a process of its own; return the report."""
    command = [sys.executable, "-m", "quartermaster", "build", str(catalog), "--workspace", str(workspace), "--json"]
    environment = {**os.environ, "QUARTERMASTER_CACHE": str(workspace / "user-cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"the build ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _mb(count: float) -> float:
    return round(count / 1e6, 1)


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Build the nights; return megabytes by night and part, and the growth in snapshots."""
    work: Path = asked.work
    catalog = ChangingCatalog(work / "catalog", real_tools(asked.real), asked.tools, asked.encoder, asked.keep)
    nights: list[dict[str, Any]] = []
    for night in range(1, asked.nights + 1):
        if night > 1:
            catalog.change(night, asked.share)
        begun = time.perf_counter()
        report = build(work / "catalog", work / "workspace")
        spent = time.perf_counter() - begun
        parts = disk(work / "workspace")
        own = sum(disk(Path(report["snapshot"])).values())
        nights.append({"all": sum(parts.values()), "snapshot": own, "parts": parts})
        print(
            f"night {night}: {report['outcome']}, {spent:.0f} s; workspace {_mb(sum(parts.values())):,} MB, "
            f"snapshot {_mb(own):,} MB; {json.dumps({name: _mb(size) for name, size in sorted(parts.items())})}",
            flush=True,
        )
        print("  seconds", report["seconds"], flush=True)
    growth = nights[-1]["all"] - nights[0]["all"]
    return {
        "snapshot_mb": _mb(nights[0]["snapshot"]),
        "growth_mb": _mb(growth),
        "growth_in_snapshots": round(growth / nights[0]["snapshot"], 3),
        "bar_in_snapshots": BAR,
        "workspace_mb": [_mb(night["all"]) for night in nights],
        "first_night_mb": {name: _mb(size) for name, size in sorted(nights[0]["parts"].items())},
        "last_night_mb": {name: _mb(size) for name, size in sorted(nights[-1]["parts"].items())},
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, metavar="TOOLS.jsonl")
    parser.add_argument("--work", type=Path, required=True, help="an empty folder for the catalog and the workspace")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--tools", type=int, default=TOOLS)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--share", type=float, default=SHARE, help="of the tools that change in a night")
    parser.add_argument("--keep", type=int, default=5, help="publish.keep")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = measure(asked)
    print(json.dumps(found, indent=1))
    if asked.json:
        options = {name: getattr(asked, name) for name in ("tools", "nights", "share", "keep")}
        stored = {"about": about() | options, "figures": found}
        asked.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
