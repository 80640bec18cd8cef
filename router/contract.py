"""The snapshot format: signals, file names, versions and the manifest.

The reader owns the format, so `pipeline` imports it from here.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

from router.errors import SnapshotInvalid
from router.fingerprint import fingerprint
from router.text import ENGLISH

FORMAT_VERSION = 5

MANIFEST = "manifest.json"
CURRENT = "CURRENT"
CATALOG_DB = "catalog.duckdb"
RECORDS = "records.jsonl"
RECORD_OFFSETS = "record_offsets.npy"
TOKEN_COUNTS = "token_counts.npy"  # int32 (tools, provider formats, details)  # noqa: S105 - no secret
# See `ToolVectors`. The candidate index and the moments exist only in catalogs too large to score every vector.
VECTORS = "vectors.npy"  # int8 (documents and phrases, dim)
VECTOR_SCALES = "vector_scales.npy"  # float32 (documents and phrases,)
VECTOR_OFFSETS = "vector_offsets.npy"  # int64 (tools + 1,)
CANDIDATES = "candidates.faiss"
MOMENTS = "moments.npz"
EXPANDED = "expanded.npy"  # uint8 (tools,), `Expanded` by ordinal: only where tools differ in it
ADAPTER = "adapter.npy"  # the query adapter, float32 (dim, dim): only where one was learned
DUPLICATES = "twins.npy"  # int64 (tools,), the first ordinal among a tool's duplicates: only where there are some
# Scores of background queries, see `BackgroundScores`: only in a calibrated snapshot; the vector only with an encoder.
BACKGROUND_SCORES = "cohort.npy"
BACKGROUND_VECTOR = "errand_vector.npy"
# Past requests, only where a catalog has some; request i led to tools[offsets[i]:offsets[i+1]].
INTENT_VECTORS = "intent_vectors.npy"  # float32 (requests, dim)
INTENT_OFFSETS = "intent_offsets.npy"  # int64 (requests + 1,)
INTENT_TOOLS = "intent_tools.npy"  # ordinals, int64 (pairs,)
INTENT_WEIGHTS = "intent_lessons.npy"  # float32 (pairs,)
INTENT_THRESHOLD = "intent_threshold.npy"  # float64 ()
ENCODER_FOLDER = "encoder"
ENCODER_MODEL = "model.onnx"
ENCODER_TOKENIZER = "tokenizer.json"
ENCODER_TOKENS = "tokens"  # the name of the model's second output, the token vectors, with mean pooling

# Fields of each Tantivy index. TEXT_FIELD is English; the expansion's index has one more per language: `text_field`.
TEXT_FIELD = "text"
ORDINAL_FIELD = "ordinal"

# The provider formats and details of token counts in snapshots whose manifest does not name them.
UNNAMED_TOKEN_FORMATS = ("openai", "responses", "anthropic", "mcp", "langchain")
UNNAMED_TOKEN_DETAILS = ("full", "short", "signature")

_CHECKSUM = "checksum"


def text_field(language: str) -> str:
    """Return the name of the field of the expansion's index that holds the phrases in a language."""
    return TEXT_FIELD if language == ENGLISH else f"{TEXT_FIELD}_{language}"


class Signal(StrEnum):
    """The rankings that are fused, in the order of every table and every sum.

    Four of them read a document of each tool. INTENT reads past requests, and exists only where a catalog has some.
    """

    NAME = "name"
    DESCRIPTION = "description"
    EXPANSION = "expansion"
    DENSE = "dense"
    INTENT = "intent"


LEXICAL_SIGNALS = (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION)
DOCUMENT_SIGNALS = (*LEXICAL_SIGNALS, Signal.DENSE)


class Expanded(IntEnum):
    """The kind of expansion that a tool has: none, a stopgap from the lexicon, or one written for it."""

    NO = 0
    STOPGAP = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class EncoderManifest:
    """The encoder that made a snapshot's vectors; requests must be encoded by the same one.

    `pooling` is "mean", "cls" or "max"; `query_prefix` is put before every request; `dim` is the length of a vector;
    `max_length` is in tokens; `precision` ("fp32" or "int8") is that of the ONNX export that the router runs.
    """

    model: str
    revision: str
    pooling: str
    query_prefix: str
    dim: int
    max_length: int
    precision: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a snapshot, stored as `manifest.json`.

    `sequence` is the number of the snapshot in its store, from 1; 0 in those of versions that gave none.
    `inputs_hash` is `content_hash` without what depends on the snapshot that served before; empty in old ones.
    `versions` has the keys format, text, projection and prompt. `files` maps each path in the snapshot to its sha256.
    `counts` has at least the keys tools and phrases. `recipe` is the default recipe as JSON. `held` lists the reasons
    why the quality gate withheld the snapshot; empty where it passed. `degraded` lists what its build went without,
    such as a source that did not answer. `stale_sources` lists the sources whose last known records it holds, each with
    `source`, `reason`, `last_read_at`, `age_s` and `tools`; `stale_expansions` counts the tools whose expansion answers
    an earlier question. `quarantined` lists the tools that its build held back alone, each with `tool_id`, `kind`,
    `since`, `requests`, `probes`, `distance`, `examples` and `content_hash`.
    `languages` are those of the phrases, English first. `evaluation` has the metrics on the
    catalog's judged requests; None without any. `tuning` maps what was learned to its evidence, or to the reason why it
    was not learned. `field_lengths` is the mean number of English terms of a document, per lexical signal, for BM25's
    length normalisation.
    `token_formats` and `token_details` name the provider formats and details of the token counts, in their order.
    """

    snapshot: str
    catalog: str
    created_at: str
    content_hash: str
    versions: Mapping[str, int]
    signals: tuple[Signal, ...]
    encoder: EncoderManifest | None
    generators: Mapping[str, int]
    recipe: Mapping[str, Any]
    counts: Mapping[str, int]
    token_counter: str
    files: Mapping[str, str]
    held: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    stale_sources: tuple[Mapping[str, Any], ...] = ()
    stale_expansions: int = 0
    agreement: Mapping[str, float] | None = None
    languages: tuple[str, ...] = (ENGLISH,)
    evaluation: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    quarantined: tuple[Mapping[str, Any], ...] = ()
    field_lengths: Mapping[str, float] = field(default_factory=dict)
    token_formats: tuple[str, ...] = UNNAMED_TOKEN_FORMATS
    token_details: tuple[str, ...] = UNNAMED_TOKEN_DETAILS
    sequence: int = 0
    inputs_hash: str = ""

    def write(self, folder: Path) -> None:
        """Write `manifest.json`, with a checksum of its content, into a snapshot's folder."""
        row = asdict(self)
        text = json.dumps({**row, _CHECKSUM: fingerprint(row)}, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read `manifest.json` from a snapshot's folder.

        Raises SnapshotInvalid where it is missing, malformed, corrupt or of another format version.
        """
        path = folder / MANIFEST
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SnapshotInvalid(f"{folder} is not a snapshot: it has no {MANIFEST}") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
        if not isinstance(raw, dict) or not isinstance(raw.get("versions"), dict):
            raise SnapshotInvalid(f"{path} is not a snapshot's manifest")
        version = raw["versions"].get("format")
        if version != FORMAT_VERSION:
            raise SnapshotInvalid(
                f"{folder} has format {version}, this router reads format {FORMAT_VERSION}: build the catalog again"
            )
        if raw.pop(_CHECKSUM, None) != fingerprint(raw):
            raise SnapshotInvalid(f"{path} is corrupt: its checksum does not match its content; roll back or rebuild")
        try:
            raw["held"] = tuple(raw["held"])
            raw["degraded"] = tuple(raw.get("degraded", ()))
            raw["stale_sources"] = tuple(raw.get("stale_sources", ()))
            raw["quarantined"] = tuple(raw.get("quarantined", ()))
            raw["stale_expansions"] = int(raw.get("stale_expansions", 0))
            raw["languages"] = tuple(raw["languages"])
            raw["token_formats"] = tuple(raw.get("token_formats", UNNAMED_TOKEN_FORMATS))
            raw["token_details"] = tuple(raw.get("token_details", UNNAMED_TOKEN_DETAILS))
            raw["sequence"] = int(raw.get("sequence", 0))
            raw["inputs_hash"] = str(raw.get("inputs_hash", ""))
            raw["signals"] = tuple(Signal(signal) for signal in raw["signals"])
            raw["encoder"] = EncoderManifest(**raw["encoder"]) if raw["encoder"] else None
            return cls(**{f.name: raw[f.name] for f in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotInvalid(f"{path} has a missing or invalid field: {error}") from error


def sequence_in(folder: Path) -> int:
    """Return the number of a snapshot's folder, whatever its format version; 0 where no manifest tells one."""
    try:
        sequence = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["sequence"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0  # an old manifest, or a damaged one: `Manifest.read` says what is wrong with it
    return sequence if isinstance(sequence, int) else 0
