"""The agreement between build and router: signals, file names, versions and the manifest.

The reader owns the format, so it stands here and `pipeline` imports it.
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
TOKEN_COUNTS = "token_counts.npy"  # int32 (tools, formats, details)  # noqa: S105 - no secret
# See `ToolVectors`; the index and the moments only in a catalog that is too large to score every vector.
VECTORS = "vectors.npy"  # int8 (documents and phrases, dim)
VECTOR_SCALES = "vector_scales.npy"  # float32, one a row
VECTOR_OFFSETS = "vector_offsets.npy"  # int64 (tools + 1,)
CANDIDATES = "candidates.faiss"
MOMENTS = "moments.npz"
EXPANDED = "expanded.npy"  # `Expanded` by ordinal, uint8: only where some tools are and some are not
ADAPTER = "adapter.npy"  # the query adapter, float32 (dim, dim): only where one was learned
DUPLICATES = "twins.npy"  # by ordinal the first ordinal of its twins, int64: only where some tool has one
# What everyday requests score, see `Cohort`: only where the snapshot was calibrated; the second with an encoder.
COHORT = "cohort.npy"
ERRAND_VECTOR = "errand_vector.npy"
# Past requests, only where a catalog was given some; use i led to tools[offsets[i]:offsets[i+1]].
INTENT_VECTORS = "intent_vectors.npy"  # float32 (uses, dim)
INTENT_OFFSETS = "intent_offsets.npy"  # int64 (uses + 1,)
INTENT_TOOLS = "intent_tools.npy"  # ordinals, int64 (pairs,)
INTENT_LESSONS = "intent_lessons.npy"  # float32 (pairs,)
INTENT_THRESHOLD = "intent_threshold.npy"  # float64 ()
ENCODER_FOLDER = "encoder"
ENCODER_MODEL = "model.onnx"
ENCODER_TOKENIZER = "tokenizer.json"
ENCODER_TOKENS = "tokens"  # the model's second output, where a vector is the mean of its tokens

# Fields of each Tantivy index. TEXT_FIELD is English; the expansion's has one more a language: `text_field`.
TEXT_FIELD = "text"
ORDINAL_FIELD = "ordinal"

# The provider formats and details of token counts in snapshots whose manifest does not name them.
UNNAMED_TOKEN_FORMATS = ("openai", "responses", "anthropic", "mcp", "langchain")
UNNAMED_TOKEN_DETAILS = ("full", "short", "signature")

_CHECKSUM = "checksum"


def text_field(language: str) -> str:
    """The field of the expansion's index that holds the phrases in a language."""
    return TEXT_FIELD if language == ENGLISH else f"{TEXT_FIELD}_{language}"


class Signal(StrEnum):
    """The rankings that are fused. The order is the order of every table and of every sum.

    Four read a document of each tool. INTENT reads past requests, and is there only where a catalog was given some.
    """

    NAME = "name"
    DESCRIPTION = "description"
    EXPANSION = "expansion"
    DENSE = "dense"
    INTENT = "intent"


LEXICAL_SIGNALS = (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION)
DOCUMENT_SIGNALS = (*LEXICAL_SIGNALS, Signal.DENSE)


class Expanded(IntEnum):
    """Whether a tool has an expansion: none, the words of the lexicon in its place, or one written for it."""

    NO = 0
    STOPGAP = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class EncoderManifest:
    """What made a snapshot's vectors; a request must be encoded the same way.

    `pooling` is "mean", "cls" or "max"; `query_prefix` stands before every request; `dim` is the length of a vector;
    `max_length` is in tokens; `precision` ("fp32" or "int8") is that of the ONNX copy the router runs.
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
    """A snapshot's description of itself, `manifest.json`.

    `versions` has format, text, projection and prompt; `files` maps each file's path in the snapshot to its sha256;
    `counts` has at least tools and phrases; `recipe` is the default recipe as JSON; `held` says why the gate kept it
    from serving, if it did. `languages` are those of the phrases, English first: the fields of the expansion's index.
    `evaluation` is how the catalog's judged requests were answered when it was built; None where it has none. `tuning`
    is what was learned from the catalog, each with its evidence, or the reason why it was not. `field_lengths` are by
    lexical signal the mean number of terms of its documents, in English: what BM25 weighs a document's own length by.
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
    agreement: Mapping[str, float] | None = None
    languages: tuple[str, ...] = (ENGLISH,)
    evaluation: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    field_lengths: Mapping[str, float] = field(default_factory=dict)
    token_formats: tuple[str, ...] = UNNAMED_TOKEN_FORMATS
    token_details: tuple[str, ...] = UNNAMED_TOKEN_DETAILS

    def write(self, folder: Path) -> None:
        """Write `manifest.json`, with a checksum of itself, into the folder of a snapshot under construction."""
        row = asdict(self)
        text = json.dumps({**row, _CHECKSUM: fingerprint(row)}, indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read `manifest.json`. Raises SnapshotInvalid where it is missing, malformed or of another format."""
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
            raw["languages"] = tuple(raw["languages"])
            raw["token_formats"] = tuple(raw.get("token_formats", UNNAMED_TOKEN_FORMATS))
            raw["token_details"] = tuple(raw.get("token_details", UNNAMED_TOKEN_DETAILS))
            raw["signals"] = tuple(Signal(signal) for signal in raw["signals"])
            raw["encoder"] = EncoderManifest(**raw["encoder"]) if raw["encoder"] else None
            return cls(**{f.name: raw[f.name] for f in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotInvalid(f"{path} has a missing or invalid field: {error}") from error
