"""The adapter of the snapshot that serves, taken over while few of the phrases that it was learned from have changed.

An adapter moves requests as a whole catalog asks for it: a hundredth of the phrases changes next to nothing, and to
learn it takes longer than all else that a nightly build does. Which phrases it was learned from lies beside it, and
goes with it from snapshot to snapshot.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.training import FEWEST_PHRASES
from pipeline.records import Catalog
from router.contract import ADAPTER, EncoderManifest, Manifest
from router.fingerprint import file_sha256
from router.tools.field_text import FieldDocuments

LEARNED_FROM = "adapter_phrases.npy"  # keys of the phrases, see `phrase_keys`

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class ReusedAdapter:
    """An adapter, float32 (dim, dim), or None where none was worth it; the keys of the phrases that told so, and what
    the manifest says of it."""

    adapter: NDArray[np.float32] | None
    keys: Keys
    evidence: dict[str, Any]


def phrase_keys(catalog: Catalog, documents: Sequence[FieldDocuments], original: Collection[str]) -> Keys:
    """A key for each phrase of the tools `original`, by its text and by its tool's record; each once, rising."""
    keys = {
        hashlib.sha256(f"{catalog.hashes[document.tool_id]} {phrase}".encode("utf-8", "surrogatepass")).digest()[:8]
        for document in documents
        if document.tool_id in original
        for phrase in document.phrases
    }
    return np.sort(np.frombuffer(b"".join(keys), ">u8").astype(np.uint64))


def changed_share(before: Keys, now: Keys) -> float:
    """The share of phrases that are no longer there, or are new: of the larger of the two sets."""
    most = max(len(before), len(now))
    return (most - len(np.intersect1d(before, now, assume_unique=True))) / most if most else 0.0


def reuse_adapter(
    serving: Path | None, keys: Keys, encoder: EncoderManifest, version: int, most: float
) -> ReusedAdapter | None:
    """What the snapshot that serves has, where at most the share `most` of the phrases has changed since it learned it.

    None, so that it is learned anew, where nothing serves, its files are not what its manifest says, it was made for
    another encoder or by another version of the tuning, or `most` is 0.
    """
    if serving is None or not most:
        return None
    try:
        manifest = Manifest.read(serving)
    except SnapshotInvalid:
        return None
    evidence = manifest.tuning.get("adapter")
    if evidence is None or manifest.versions.get("tuning") != version or not _same(manifest.encoder, encoder):
        return None
    before, adapter = (_array(serving, manifest, name) for name in (LEARNED_FROM, ADAPTER))
    if before is None or len(before) < FEWEST_PHRASES or (adapter is None) is (ADAPTER in manifest.files):
        return None
    share = changed_share(before, keys)
    if share > most:
        return None
    origin = evidence.get("taken_over", {}).get("from", manifest.snapshot)
    return ReusedAdapter(adapter, before, {**evidence, "taken_over": {"from": origin, "changed": round(share, 4)}})


def _same(one: EncoderManifest | None, other: EncoderManifest) -> bool:
    made_by = ("revision", "pooling", "dim", "max_length", "query_prefix")
    return one is not None and all(getattr(one, name) == getattr(other, name) for name in made_by)


def is_whole(folder: Path, manifest: Manifest, name: str) -> bool:
    """Whether a file is what the manifest says; not where it is missing or damaged."""
    try:
        return manifest.files.get(name) == file_sha256(folder / name)
    except OSError:
        return False


def _array(folder: Path, manifest: Manifest, name: str) -> NDArray[Any] | None:
    if not is_whole(folder, manifest, name):
        return None
    held: NDArray[Any] = np.load(folder / name, allow_pickle=False)
    return held
