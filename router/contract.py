"""The snapshot format: signals, file names, versions and the manifest.

The reader owns the format, so `pipeline` imports it from here.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from router.errors import SnapshotInvalid
from router.files import name_problem, read_in
from router.fingerprint import fingerprint
from router.text import ENGLISH
from router.typed import is_nested_deeper

FORMAT_VERSION = 6
_FORMER = 5

MANIFEST = "manifest.json"
CURRENT = "CURRENT"
SIGNATURE = "manifest.sig.json"  # beside the manifest
POINTER_SIGNATURE = "CURRENT.sig.json"  # beside CURRENT
CATALOG_DB = "catalog.duckdb"
RECORDS = "records.jsonl"
RECORD_OFFSETS = "record_offsets.npy"
TOKEN_COUNTS = "token_counts.npy"  # int32 (tools, provider formats, details)  # noqa: S105 - no secret
# See `ToolVectors`. The candidate index and the moments exist only in catalogs too large to score every vector.
VECTORS = "vectors.npy"  # int8 (documents and phrases, dim)
VECTOR_SCALES = "vector_scales.npy"  # float32 (documents and phrases,)
VECTOR_OFFSETS = "vector_offsets.npy"  # int64 (tools + 1,)
CANDIDATES = "candidates.faiss"
CANDIDATE_TABLE = "candidates.lance"  # a folder, in the place of CANDIDATES
MOMENTS = "moments.npz"
EXPANDED = "expanded.npy"  # uint8 (tools,), `Expanded` by ordinal: only where tools differ in it
NON_ENGLISH = "non_english.npy"  # bool (tools,), descriptions in other languages: only where there are some
ADAPTER = "adapter.npy"  # the query adapter, float32 (dim, dim): only where one was learned
DUPLICATES = "duplicates.npy"  # int64 (tools,), the first ordinal among a tool's duplicates: only where there are some
# See `PrerequisiteGraph`: only where a tool resolves what another needs.
PREREQUISITES = "prerequisites.jsonl"
PREREQUISITE_OFFSETS = "prerequisite_offsets.npy"  # int64 (tools + 1,)
PROVIDER_GROUPS = "provider_groups.npy"  # int32 (tools,), a number for each provider, -1 for none
# Scores of background queries, see `BackgroundScores`: only in a calibrated snapshot; the vector only with an encoder.
BACKGROUND_SCORES = "background_scores.npy"
BACKGROUND_VECTOR = "background_vector.npy"
# Past requests, only where a catalog has some; request i led to tools[offsets[i]:offsets[i+1]].
INTENT_VECTORS = "intent_vectors.npy"  # float32 (requests, dim)
INTENT_OFFSETS = "intent_offsets.npy"  # int64 (requests + 1,)
INTENT_TOOLS = "intent_tools.npy"  # ordinals, int64 (pairs,)
INTENT_WEIGHTS = "intent_weights.npy"  # float32 (pairs,)
INTENT_THRESHOLD = "intent_threshold.npy"  # float64 ()
# The tools that meet implicit needs, see `ImplicitNeedTools`: only where there are some.
IMPLICIT_NEEDS = "implicit_needs.json"
ENCODER_FOLDER = "encoder"
ENCODER_MODEL = "model.onnx"
ENCODER_TOKENIZER = "tokenizer.json"
ENCODER_TOKENS = "tokens"  # the name of the model's second output, the token vectors, with mean pooling

# What format 5 called files and a field of its recipe. Routers still read it.
FORMER_FILES = {
    "unread.npy": NON_ENGLISH,
    "twins.npy": DUPLICATES,
    "cohort.npy": BACKGROUND_SCORES,
    "errand_vector.npy": BACKGROUND_VECTOR,
    "intent_lessons.npy": INTENT_WEIGHTS,
}
_FORMER_RECIPE_FIELDS = {"assume_unread": "impute_non_english"}

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
    """Whether a tool has an expansion. Earlier versions wrote 1 where a rule had made it: that is none."""

    NO = 0
    YES = 2


# What a manifest may hold. A snapshot may come from anywhere: the bounds are far above what builds write.
MOST_MANIFEST_BYTES = 4 << 20
_MOST_DEPTH = 32
_Name = Annotated[str, Meta(min_length=1, max_length=255)]
_Text = Annotated[str, Meta(max_length=4096)]
_MOST_COUNT = 2**53
_Count = Annotated[int, Meta(ge=0, le=_MOST_COUNT)]
_Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Few = Meta(max_length=256)
_Many = Meta(max_length=4096)


@dataclass(frozen=True, slots=True)
class EncoderManifest:
    """The encoder that made a snapshot's vectors; requests must be encoded by the same one.

    `pooling` is "mean", "cls" or "max"; `query_prefix` is put before every request, `document_prefix` before every text
    of a tool; `dim` is the length of a vector; `max_length` is in tokens; `precision` ("fp32" or "int8") is that of the
    ONNX export that the router runs.
    """

    model: _Text
    revision: _Text
    pooling: _Text
    query_prefix: _Text
    dim: Annotated[int, Meta(ge=1, le=65_536)]
    max_length: Annotated[int, Meta(ge=0, le=1_000_000)]
    precision: _Name
    document_prefix: _Text = ""

    @property
    def described(self) -> str:
        """Return the encoder in words: "all-MiniLM-L6-v2, revision 1f0c…, 384 dimensions, int8"."""
        return f"{self.model}, revision {self.revision}, {self.dim} dimensions, {self.precision}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a snapshot, stored as `manifest.json`.

    `sequence` is the number of the snapshot in its store, from 1; 0 in those of versions that gave none.
    `inputs_hash` is `content_hash` without what depends on the snapshot that served before; empty in old ones.
    `versions` has the keys format, text, projection and prompt. `files` maps each path in the snapshot to its sha256,
    `sizes` that to bytes; empty in snapshots of versions that told none.
    `counts` has at least the keys tools and phrases. `recipe` is the default recipe as JSON. `held` lists the reasons
    why the quality gate withheld the snapshot; empty where it passed. `degraded` lists what its build went without,
    such as a source that did not answer. `stale_sources` lists the sources whose last known records it holds, each with
    `source`, `reason`, `last_read_at`, `age_s` and `tools`; `stale_expansions` counts the tools whose expansion answers
    an earlier question. `quarantined` lists the tools that its build held back one by one, each with `tool_id`, `kind`,
    `since`, `requests`, `probes`, `distance`, `examples` and `content_hash`. `languages` are those of the phrases,
    English first; `tool_languages` those of the tools that are not in English, the most frequent first. `evaluation`
    has the metrics on the catalog's judged requests; None without any. `tuning` maps what was learned to its evidence,
    or to the reason why it was not learned. `field_lengths` is the mean number of English terms of a document, per
    lexical signal, for BM25's length normalisation.
    `token_formats` and `token_details` name the provider formats and details of the token counts, in their order.
    """

    snapshot: _Name
    catalog: _Name
    created_at: _Text
    content_hash: _Text
    versions: Annotated[Mapping[str, int], _Few]
    signals: Annotated[tuple[Signal, ...], _Few]
    encoder: EncoderManifest | None
    generators: Annotated[Mapping[str, _Count], _Many]
    recipe: Mapping[str, Any]
    counts: Annotated[Mapping[str, _Count], _Few]
    token_counter: _Text
    files: Annotated[Mapping[str, _Sha256], _Many]
    held: Annotated[tuple[str, ...], _Many] = ()
    degraded: Annotated[tuple[str, ...], _Many] = ()
    stale_sources: Annotated[tuple[Mapping[str, Any], ...], _Many] = ()
    stale_expansions: _Count = 0
    agreement: Annotated[Mapping[str, float], _Few] | None = None
    languages: Annotated[tuple[_Name, ...], _Few] = (ENGLISH,)
    tool_languages: Annotated[tuple[_Name, ...], _Few] = ()
    evaluation: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    quarantined: Annotated[tuple[Mapping[str, Any], ...], _Many] = ()
    field_lengths: Annotated[Mapping[str, float], _Few] = field(default_factory=dict)
    token_formats: Annotated[tuple[_Name, ...], _Few] = UNNAMED_TOKEN_FORMATS
    token_details: Annotated[tuple[_Name, ...], _Few] = UNNAMED_TOKEN_DETAILS
    sequence: _Count = 0
    inputs_hash: _Text = ""
    sizes: Annotated[Mapping[_Sha256, _Count], _Many] = field(default_factory=dict)

    @property
    def renamed(self) -> Mapping[str, str]:
        """Return by their names in the folder the files that this version calls otherwise: those of format 5."""
        return FORMER_FILES if self.versions["format"] == _FORMER else {}

    def lists(self, name: str) -> bool:
        """Return whether the snapshot has a file, which its format may call otherwise."""
        return name in self.files or any(new == name and old in self.files for old, new in self.renamed.items())

    def write(self, folder: Path) -> None:
        """Write `manifest.json`, with a checksum of its content, into a snapshot's folder."""
        row = asdict(self)
        text = json.dumps({**row, _CHECKSUM: fingerprint(row)}, indent=2, ensure_ascii=False)
        (folder / MANIFEST).unlink(missing_ok=True)  # it may be read-only, or a link of another snapshot's
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Return the manifest of a snapshot's folder. Raises SnapshotInvalid as `read_manifest` does."""
        return read_manifest(folder)[1]

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> "Manifest":
        """Return the manifest in the bytes of a file. Raises SnapshotInvalid as `read_manifest` does."""
        try:
            raw = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
        if is_nested_deeper(raw, _MOST_DEPTH):
            raise SnapshotInvalid(f"{path} is nested deeper than {_MOST_DEPTH} levels, the most that is read")
        if not isinstance(raw, dict) or not isinstance(raw.get("versions"), dict):
            raise SnapshotInvalid(f"{path} is not a snapshot's manifest")
        version = raw["versions"].get("format")
        if version not in (_FORMER, FORMAT_VERSION):
            raise SnapshotInvalid(
                f"{path.parent} has format {version!r:.40}, this router reads formats {_FORMER} and "
                f"{FORMAT_VERSION}: build the catalog again"
            )
        if raw.pop(_CHECKSUM, None) != fingerprint(raw):
            raise SnapshotInvalid(f"{path} is corrupt: its checksum does not match its content; roll back or rebuild")
        if version == _FORMER and isinstance(raw.get("recipe"), dict):
            raw["recipe"] = {_FORMER_RECIPE_FIELDS.get(name, name): value for name, value in raw["recipe"].items()}
        try:
            manifest = msgspec.convert(raw, cls)
        except ValueError as error:  # msgspec names the place, as `$.files[...]`
            raise SnapshotInvalid(f"{path} has a missing or invalid field: {error}") from error
        for name in (*manifest.files, manifest.snapshot):
            if problem := name_problem(name):
                place = f"$.files[{name!r:.200}]" if name in manifest.files else "$.snapshot"
                raise SnapshotInvalid(f"{path}: {place} cannot be a file of a snapshot: its name {problem}")
        return manifest


def read_manifest(folder: Path) -> tuple[bytes, Manifest]:
    """Return the bytes of a snapshot's `manifest.json`, and the manifest that they hold.

    Both come from one reading of the file: what checks the bytes checks the manifest that is used. Raises
    SnapshotInvalid where it is missing, malformed, corrupt or of another format version.
    """
    path = folder / MANIFEST
    try:
        data, _ = read_in(folder, MANIFEST, MOST_MANIFEST_BYTES)
    except FileNotFoundError:
        raise SnapshotInvalid(f"{folder} is not a snapshot: it has no {MANIFEST}") from None
    except OSError as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return data, Manifest.from_bytes(data, path)


def sequence_in(folder: Path) -> int:
    """Return the number of a snapshot's folder, whatever its format version; 0 where no manifest tells one."""
    try:
        return sequence_of(read_in(folder, MANIFEST, MOST_MANIFEST_BYTES)[0])
    except (OSError, ValueError):
        return 0


def sequence_of(manifest: bytes) -> int:
    """Return the number in the bytes of a manifest, whatever its format version; 0 where they tell none."""
    try:
        sequence = json.loads(manifest)["sequence"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0  # an old manifest, or a damaged one: `Manifest.from_bytes` says what is wrong with it
    return sequence if isinstance(sequence, int) and 0 <= sequence <= _MOST_COUNT else 0
