"""Reuse the adapter of the snapshot that serves, while few of the phrases that it was learned from have changed.

An adapter depends on the whole catalog: if a hundredth of the phrases changes, it hardly changes, and learning it takes
longer than the rest of a nightly build. The keys of the phrases that it was learned from are stored beside it, and are
passed on from snapshot to snapshot.
"""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.learned import LEARNED_FROM, Keys, LearnedAdapter
from pipeline.learning.adapter.training import FEWEST_PHRASES
from pipeline.records import Catalog
from router.contract import ADAPTER, EncoderManifest, Manifest
from router.fingerprint import file_sha256
from router.tools.field_text import FieldDocuments


def phrase_keys(catalog: Catalog, documents: Sequence[FieldDocuments], original: Collection[str]) -> Keys:
    """Return keys of the phrases of the tools `original`, of text and record; each key once, ascending."""
    keys = {
        hashlib.sha256(f"{catalog.hashes[document.tool_id]} {phrase}".encode("utf-8", "surrogatepass")).digest()[:8]
        for document in documents
        if document.tool_id in original
        for phrase in document.phrases
    }
    return np.sort(np.frombuffer(b"".join(keys), ">u8").astype(np.uint64))


def changed_share(previous: Keys, current: Keys) -> float:
    """Return the share of phrases that are gone or new, of the larger of the two sets."""
    most = max(len(previous), len(current))
    return (most - len(np.intersect1d(previous, current, assume_unique=True))) / most if most else 0.0


def reuse_adapter(
    serving: Path | None, keys: Keys, encoder: EncoderManifest, version: int, most: float
) -> LearnedAdapter | None:
    """Return the adapter of the snapshot that serves, if at most the share `most` of its phrases has changed since.

    Returns None, so that one is learned, where nothing serves, a file differs from the manifest, the encoder or the
    `version` of the tuning is another, or `most` is 0.
    """
    if serving is None or not most:
        return None
    try:
        manifest = Manifest.read(serving)
    except SnapshotInvalid:
        return None
    evidence = manifest.tuning.get("adapter")
    if (
        evidence is None
        or manifest.versions.get("tuning") != version
        or not _is_same_encoder(manifest.encoder, encoder)
    ):
        return None
    learned_from, adapter = (_array(serving, manifest, name) for name in (LEARNED_FROM, ADAPTER))
    if learned_from is None or len(learned_from) < FEWEST_PHRASES or (adapter is None) is (ADAPTER in manifest.files):
        return None
    share = changed_share(learned_from, keys)
    if share > most:
        return None
    origin = evidence.get("taken_over", {}).get("from", manifest.snapshot)
    taken_over = {"from": origin, "changed": round(share, 4)}
    return LearnedAdapter(adapter, {**evidence, "taken_over": taken_over}, learned_from)


def _is_same_encoder(one: EncoderManifest | None, other: EncoderManifest) -> bool:
    names = ("revision", "pooling", "dim", "max_length", "query_prefix")
    return one is not None and all(getattr(one, name) == getattr(other, name) for name in names)


def is_intact(folder: Path, manifest: Manifest, name: str) -> bool:
    """Return whether a file is as the manifest says; False where it is missing or damaged."""
    try:
        return manifest.files.get(name) == file_sha256(folder / name)
    except OSError:
        return False


def _array(folder: Path, manifest: Manifest, name: str) -> NDArray[Any] | None:
    if not is_intact(folder, manifest, name):
        return None
    array: NDArray[Any] = np.load(folder / name, allow_pickle=False)
    return array
