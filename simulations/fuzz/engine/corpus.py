"""Inputs that are kept: those of a corpus, which reach lines that others do not, and those that failed."""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
CORPUS, FAILURES, KNOWN = HERE / "corpus", HERE / "failures", HERE / "known.toml"
LONGEST = 4_096  # bytes of an input that is kept
_MOST = 64  # inputs of one target


@dataclass(frozen=True, slots=True)
class Known:
    """Failures of one cause that is not mended yet. `signature` is a glob; `replay` is false where one would hang."""

    target: str
    signature: str
    reason: str
    inputs: tuple[str, ...] = ()
    replay: bool = True

    def tells(self, target: str, signature: str) -> bool:
        """Return whether a failure is one of these."""
        return target == self.target and fnmatchcase(signature, self.signature)


def read_corpus(target: str, folder: Path = CORPUS) -> dict[Path, bytes]:
    """Return the kept inputs of a target by their files, the shortest first."""
    found = {path: path.read_bytes() for path in sorted((folder / target).glob("*"))}
    return dict(sorted(found.items(), key=lambda item: len(item[1])))


def keep(target: str, data: bytes, folder: Path = CORPUS) -> bool:
    """Write an input to the corpus, under its hash, unless it is long or the corpus is full. Return whether it was."""
    place = folder / target
    if len(data) > LONGEST or (place.is_dir() and len(list(place.iterdir())) >= _MOST):
        return False
    place.mkdir(parents=True, exist_ok=True)
    (place / _name(data)).write_bytes(data)
    return True


def pin(target: str, signature: str, data: bytes, folder: Path = FAILURES) -> Path:
    """Write a failing input to a file that is named for its error and place; rename it for what it shows."""
    error, _, place = signature.partition(" at ")
    said = re.sub(r"[^a-z0-9]+", "-", f"{error} {place.rpartition(':')[2]}".lower()).strip("-")
    path = folder / target / f"{said}-{_name(data)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def pinned(folder: Path = FAILURES) -> list[Path]:
    """Return the files of all pinned failures, in order."""
    return sorted(path for path in folder.glob("*/*") if path.is_file())


@cache
def read_known(path: Path = KNOWN) -> tuple[Known, ...]:
    """Return the known failures."""
    rows: list[Mapping[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
    return tuple(Known(**{**row, "inputs": tuple(row.get("inputs", ()))}) for row in rows)


def is_known(target: str, signature: str) -> bool:
    """Return whether a failure is told in `known.toml`."""
    return any(known.tells(target, signature) for known in read_known())


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
