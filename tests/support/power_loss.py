"""Simulate a power loss at every point of what a process writes, by what it has synced until then."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from router.fingerprint import fingerprint

Tree = dict[str, bytes]
# Between two of these calls nothing moves or is removed: a loss before and after each shows every state.
_CALLS = ("fsync", "rename", "replace", "link", "unlink", "remove", "rmdir", "mkdir")


class PowerLoss:
    """Follows the files of a folder and calls `check` with what each power loss would leave of them.

    What a loss leaves is not defined by POSIX beyond what was synced. Two outcomes are tried at each point: only what
    was synced; every entry of every folder as it is now, each file with its synced content. A file that was never
    synced is empty.
    """

    def __init__(self, root: Path, check: Callable[[Tree], None]) -> None:
        self.losses = 0
        self._root, self._check = root, check
        self._files: dict[int, bytes] = {}
        self._folders: dict[int, dict[str, int]] = {}
        self._held: list[int] = []  # descriptors: a file that is open keeps its inode's number
        self._seen: set[int] = set()
        self._sync(os.open(root, os.O_RDONLY))

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Lose power before and after each call in the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in _CALLS:
                patch.setattr(os, name, self._around(getattr(os, name), name == "fsync"))
            yield
        for descriptor in self._held:
            os.close(descriptor)

    def _around(self, call: Callable[..., Any], syncs: bool) -> Callable[..., Any]:
        def around(*arguments: Any, **keywords: Any) -> Any:
            self._lose()
            result = call(*arguments, **keywords)
            if syncs:
                self._sync(os.dup(arguments[0]))
            self._lose()
            return result

        return around

    def _sync(self, descriptor: int) -> None:
        self._held.append(descriptor)
        inode = os.fstat(descriptor).st_ino
        path = Path(f"/proc/self/fd/{descriptor}")
        if path.is_dir():
            self._folders[inode] = {entry.name: entry.inode() for entry in os.scandir(descriptor)}
        else:
            self._files[inode] = path.read_bytes()

    def _lose(self) -> None:
        everywhere = {path.stat().st_ino: path for path in (self._root, *self._root.rglob("*")) if path.is_dir()}
        for live in ({}, everywhere):
            tree = dict(self._walk(self._root.stat().st_ino, "", live))
            if (state := hash(frozenset(tree.items()))) not in self._seen:
                self._seen.add(state)
                self.losses += 1
                self._check(tree)

    def _walk(self, folder: int, prefix: str, live: dict[int, Path]) -> Iterator[tuple[str, bytes]]:
        if path := live.get(folder):
            entries = {entry.name: entry.inode() for entry in os.scandir(path)}
        else:
            entries = self._folders.get(folder, {})
        for name, inode in entries.items():
            if inode in self._folders or inode in live:
                yield from self._walk(inode, f"{prefix}{name}/", live)
            else:
                yield prefix + name, self._files.get(inode, b"")


def serves_whole(tree: Tree, catalog: str) -> str | None:
    """Return the snapshot that CURRENT names in a catalog's folder; None without CURRENT.

    Raises AssertionError where the snapshot is not whole, or the store's state cannot be read.
    """
    if state := tree.get(f"{catalog}/state.json", b"{}"):
        json.loads(state)
    else:
        raise AssertionError("state.json is empty")
    if (current := tree.get(f"{catalog}/CURRENT")) is None:
        return None
    name = current.decode().strip()
    assert name, "CURRENT is empty"
    manifest = json.loads(tree.get(f"{catalog}/{name}/manifest.json") or b"{}")
    assert manifest, f"{name} has no manifest"
    checksum = manifest.pop("checksum")
    assert checksum == fingerprint(manifest)
    for file, sha256 in manifest["files"].items():
        assert _sha256(tree.get(f"{catalog}/{name}/{file}", b"")) == sha256, f"{name}/{file} is not whole"
    return name


@cache
def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
