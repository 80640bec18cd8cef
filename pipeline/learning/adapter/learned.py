"""A snapshot's query adapter: learned before the snapshot is written, or reused, and saved into it.

If a hundredth of a catalog's phrases changes, the adapter hardly changes, and learning it takes 30 s of CPU at 10,000
tools. So the adapter of the snapshot that serves is reused while few of the phrases that it was learned from have
changed. Their keys are stored beside it, and passed on from snapshot to snapshot.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.adapter.training import FEWEST_PHRASES, PhraseSpace, learn_adapter
from pipeline.records import Catalog
from pipeline.vectors import CatalogVectors, Embedding
from router.contract import ADAPTER, EncoderManifest, Manifest
from router.fingerprint import file_sha256
from router.tools.field_text import FieldDocuments, record_document

# Part of the content hash of every snapshot: raise it with any change to what is learned.
TUNING_VERSION = 3
# Their vectors are in memory, 700 MB of 384 dimensions with eight phrases each; training reads a tenth of the phrases.
MOST_TRAINED = 50_000
LEARNED_FROM = "adapter_phrases.npy"

Keys = NDArray[np.uint64]  # of phrases, see `phrase_keys`


@dataclass(frozen=True)
class LearnedAdapter:
    """A learned query adapter.

    `adapter` is float32 (dim, dim), or None where none was worth it; `keys` are those of the phrases that it was
    learned from; `evidence` is for the manifest.
    """

    adapter: NDArray[np.float32] | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    keys: Keys | None = None

    def save(self, folder: Path) -> None:
        """Write the files into a snapshot's folder."""
        if self.adapter is not None:
            np.save(folder / ADAPTER, self.adapter)
        if self.keys is not None:
            np.save(folder / LEARNED_FROM, self.keys)


def phrase_space(catalog: Catalog, vectors: CatalogVectors, embedding: Embedding) -> PhraseSpace:
    """Return the vectors to learn from; records are embedded where the assessment has not done so.

    Of a very large catalog MOST_TRAINED tools, spread evenly, stand for all.
    """
    count = len(catalog.records) if len(vectors.phrases) else 0  # without phrases no record is embedded for it
    tools = np.linspace(0, count - 1, min(count, MOST_TRAINED)).astype(np.int64)
    counts = np.diff(vectors.offsets)[tools]
    owners = np.repeat(np.arange(len(tools)), counts)
    hashes = embedding.embed(record_document(catalog.records[tool]) for tool in tools.tolist())
    rows = np.arange(len(owners)) + np.repeat(vectors.offsets[tools] - (np.cumsum(counts) - counts), counts)
    return PhraseSpace(embedding.vectors(hashes), vectors.documents[tools], vectors.phrases[rows], owners)


def tune(space: PhraseSpace, keys: Keys) -> LearnedAdapter:
    """Learn the query adapter; `keys` are those of the phrases. A stage of a build."""
    adapter, evidence = learn_adapter(space)
    return LearnedAdapter(adapter, asdict(evidence), keys)


def phrase_keys(catalog: Catalog, documents: Iterable[FieldDocuments]) -> Keys:
    """Return keys of all phrases, of text and record; each key once, ascending."""
    keys = {
        hashlib.sha256(f"{catalog.hashes[document.tool_id]} {phrase}".encode("utf-8", "surrogatepass")).digest()[:8]
        for document in documents
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
    names = ("revision", "pooling", "dim", "max_length", "query_prefix", "document_prefix")
    evidence, before = manifest.tuning.get("adapter"), manifest.encoder
    if evidence is None or before is None or manifest.versions.get("tuning") != version:
        return None
    if any(getattr(before, name) != getattr(encoder, name) for name in names):
        return None
    learned_from, adapter = (
        np.load(serving / name, allow_pickle=False) if is_intact(serving, manifest, name) else None
        for name in (LEARNED_FROM, ADAPTER)
    )
    if learned_from is None or len(learned_from) < FEWEST_PHRASES or (adapter is None) is (ADAPTER in manifest.files):
        return None
    share = changed_share(learned_from, keys)
    if share > most:
        return None
    origin = evidence.get("taken_over", {}).get("from", manifest.snapshot)
    taken_over = {"from": origin, "changed": round(share, 4)}
    return LearnedAdapter(adapter, {**evidence, "taken_over": taken_over}, learned_from)


def is_intact(folder: Path, manifest: Manifest, name: str) -> bool:
    """Return whether a file is as the manifest says; False where it is missing or damaged."""
    try:
        return manifest.files.get(name) == file_sha256(folder / name)
    except OSError:
        return False
