"""Measure what a power loss leaves: `python -m benchmarks.power_loss`, as root on Linux.

Three nights are built on ext4 over a loop device, which writes nothing by itself meanwhile. Before each call that
syncs, moves or removes, the device is copied: what the file system holds in memory is not on it. Each copy is then
mounted, and the snapshot that its CURRENT names is compared with the manifest. `--without-syncs` leaves out the syncs
of snapshots, not those of CURRENT.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.build import build
from pipeline.settings import load
from pipeline.store import local
from router import SnapshotInvalid
from router.contract import Manifest
from router.snapshot.snapshot import verify_checksums
from router.snapshot.store.pointer import snapshot_folder

_RESULTS = Path(__file__).parent / "results" / "power_loss.json"
_NIGHTS, _TOOLS, _MB = 3, 300, 100
_CALLS = ("fsync", "rename", "replace", "unlink", "rmdir")


def power_losses(scratch: Path) -> dict[str, int]:
    """Lose power throughout three builds; count the losses, and the broken snapshots and publications lost by them."""
    device = scratch / "device"
    copies: list[tuple[Path, int]] = []  # each with the number of builds that had ended
    ended = 0

    def lose() -> None:
        copies.append((scratch / f"copy-{len(copies)}", ended))
        subprocess.run(["cp", "--sparse=always", device, copies[-1][0]], check=True)

    said: list[str] = []
    with device.open("wb") as stream:
        stream.truncate(_MB * 2**20)
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    with _mounted(device, scratch / "disk", "loop,commit=300") as disk:
        os.sync()
        for night in range(_NIGHTS):
            with _before_each_call(lose):
                said.append(_build(scratch, disk, night))
            ended += 1
            lose()
    outcomes = [_outcome(copy, scratch / "copy", said[:ended]) for copy, ended in copies]
    return {"losses": len(copies), **{kind: outcomes.count(kind) for kind in ("whole", "none", "broken", "undone")}}


def _build(scratch: Path, disk: Path, night: int) -> str:
    catalog = scratch / "catalog"
    catalog.mkdir(exist_ok=True)
    rows = [{"id": f"p/t{n}", "name": f"t{n}", "provider": "p", "description": f"Sends {n}."} for n in range(_TOOLS)]
    rows[0]["description"] = f"Sends what night {night} left."
    (catalog / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = load(catalog, {"vectors": {"encoder": "none"}, "publish": {"keep": 1}}, environment={})
    return build(settings, workspace=disk / "workspace").snapshot.name


def _outcome(copy: Path, place: Path, said: list[str]) -> str:
    """Return what serves on a copy: a whole snapshot, none yet, a broken one, or one before what was said to serve."""
    with _mounted(copy, place, "loop") as disk:
        folder = disk / "workspace" / "snapshots" / "catalog"
        if not (folder / "CURRENT").is_file():
            return "undone" if said else "none"
        try:
            snapshot = snapshot_folder(folder)
            verify_checksums(snapshot, Manifest.read(snapshot).files)
        except SnapshotInvalid:
            return "broken"
        return "undone" if snapshot.name in said[:-1] else "whole"


@contextmanager
def _mounted(device: Path, place: Path, options: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", options, device, place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def _before_each_call(lose: Callable[[], None]) -> Iterator[None]:
    def losing(call: Callable[..., Any]) -> Callable[..., Any]:
        def lost(*arguments: Any, **keywords: Any) -> Any:
            lose()
            return call(*arguments, **keywords)

        return lost

    calls = {name: getattr(os, name) for name in _CALLS}
    try:
        for name, call in calls.items():
            setattr(os, name, losing(call))
        yield
    finally:
        for name, call in calls.items():
            setattr(os, name, call)


def main() -> None:
    """Print the counts, and store them for builds with their syncs."""
    without = "--without-syncs" in sys.argv[1:]
    if without:
        for name in ("sync", "sync_tree"):
            setattr(local, name, lambda _: None)
    with tempfile.TemporaryDirectory() as scratch:
        counts = power_losses(Path(scratch))
    print(json.dumps(counts))
    if not without:
        _RESULTS.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
