"""What a snapshot's manifest must list, and what lies in its folder unlisted."""

import os
from collections.abc import Iterator
from pathlib import Path

from router import contract
from router.contract import LEXICAL_SIGNALS, Manifest, Signal
from router.errors import SnapshotInvalid

# Files that no manifest lists: itself, what serves no router, and what Tantivy and deltas leave.
_UNLISTED = (contract.MANIFEST, contract.SIGNATURE, f"{contract.CATALOG_DB}.delta")
_TRANSIENT = (".lock", ".wal")
_HIDDEN = (f".{contract.CATALOG_DB}-", ".nfs")

_ALWAYS = (contract.RECORDS, contract.RECORD_OFFSETS, contract.TOKEN_COUNTS)
_INDEX_FOLDERS = (*LEXICAL_SIGNALS, contract.CANDIDATE_TABLE)
_INDEX = "meta.json"  # of Tantivy: it names the others
_DENSE = (
    contract.VECTORS,
    contract.VECTOR_SCALES,
    contract.VECTOR_OFFSETS,
    f"{contract.ENCODER_FOLDER}/{contract.ENCODER_MODEL}",
    f"{contract.ENCODER_FOLDER}/{contract.ENCODER_TOKENIZER}",
)
_INTENT = (
    contract.INTENT_VECTORS,
    contract.INTENT_OFFSETS,
    contract.INTENT_TOOLS,
    contract.INTENT_WEIGHTS,
    contract.INTENT_THRESHOLD,
)


def require_listed(folder: Path, manifest: Manifest, *, whole: bool = False) -> None:
    """Raise SnapshotInvalid where a manifest does not list a file that the router reads.

    A router reads them; `whole` adds `catalog.duckdb`, which people read. Also raise it where the folder of an index
    holds a file that is not listed: nothing but an index's own files belongs there.
    """
    database = ((contract.CATALOG_DB, "`quartermaster inspect`"),) if whole else ()
    for name, reason in (*_required(manifest), *database):
        if not manifest.lists(name):
            raise SnapshotInvalid(f"{folder / contract.MANIFEST} does not list {name}, which {reason} needs")
    for name in unlisted_files(folder, manifest):
        if name.split("/")[0] in _INDEX_FOLDERS and not name.rpartition("/")[2].startswith("."):
            raise SnapshotInvalid(f"{folder / name} is in an index, and {contract.MANIFEST} does not list it")


def unlisted_files(folder: Path, manifest: Manifest) -> list[str]:
    """Return the names of what lies in a snapshot's folder and is not in its manifest, sorted.

    Links and pipes count too. What a router or a build leaves beside the files does not.
    """
    known = {*_UNLISTED, *manifest.files}
    return sorted(name for name in _entries(folder, "") if name not in known and not _is_transient(name))


def _required(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the names of the files that must be listed, each with what needs it."""
    yield from ((name, "every snapshot") for name in _ALWAYS)
    for signal in manifest.signals:
        if signal in LEXICAL_SIGNALS:
            yield f"{signal}/{_INDEX}", f"the signal {signal}"
        elif manifest.encoder is not None:
            yield from ((name, f"the signal {signal}") for name in (_INTENT if signal is Signal.INTENT else _DENSE))
    for candidates in (contract.CANDIDATES, contract.CANDIDATE_TABLE):
        if any(name.split("/")[0] == candidates for name in manifest.files):
            yield contract.MOMENTS, candidates
    if manifest.tuning.get("fitting", {}).get("calibrations"):
        yield contract.BACKGROUND_SCORES, "the calibration"


def _entries(folder: Path, prefix: str) -> Iterator[str]:
    """Yield the names of what is in a folder, and in the folders in it; a link is not followed."""
    with os.scandir(folder) as opened:
        entries = list(opened)  # a caller that stops early leaves no folder open
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path), f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name


def _is_transient(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.endswith(_TRANSIENT) or last.startswith(_HIDDEN)
