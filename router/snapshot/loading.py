"""Open the files of a snapshot, and compare their shapes with its catalog.

Every function raises SnapshotInvalid where a file cannot be read or does not fit. `tools` is the number of tools.
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest, Signal
from router.encoding.encoder import Encoder, OnnxEncoder, import_runtime
from router.errors import SnapshotInvalid
from router.provider_formats.formats import Detail, ProviderFormat, VendorText
from router.record import ToolRecord
from router.retrieval.arrays import load_array, load_bytes, load_offsets
from router.retrieval.implicit_needs import ImplicitNeedTools
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.retrievers import has_faiss, is_large
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.record_store import RecordStore, ToolEntries


def import_libraries(manifest: Manifest) -> None:
    """Import what reads a snapshot's vectors, which takes as long as hashing 100 MB.

    Where a library cannot be imported nothing happens: its first user reports that.
    """
    with suppress(ImportError):
        if Signal.DENSE in manifest.signals and manifest.encoder is not None:
            import_runtime()
        vectors = manifest.counts.get("phrases", 0) + (tools := manifest.counts.get("tools", 0))
        if contract.CANDIDATES in manifest.files and is_large(tools, vectors):  # older versions wrote more
            has_faiss()


def load_records(folder: Path, manifest: Manifest) -> RecordStore:
    """Return the records, whose number must be the manifest's."""
    offsets = load_offsets(folder / contract.RECORD_OFFSETS)
    tools = len(offsets) - 1
    if tools != manifest.counts.get("tools"):
        raise SnapshotInvalid(f"{folder} holds {tools} tools, its manifest says {manifest.counts.get('tools')}")
    lines = load_bytes(folder / contract.RECORDS)
    if offsets[-1] != len(lines):
        raise SnapshotInvalid(f"{folder / contract.RECORDS} has {len(lines)} bytes, its offsets say {offsets[-1]}")
    return RecordStore(lines, offsets)


def open_encoder(folder: Path, manifest: Manifest) -> Encoder | None:
    """Return the encoder of requests, which has encoded a word in time; None where the snapshot has no vectors."""
    if Signal.DENSE not in manifest.signals or manifest.encoder is None:
        return None
    encoder = OnnxEncoder.open(folder / contract.ENCODER_FOLDER, manifest.encoder)
    encoder.require_vector()
    return encoder


def encoder_identity(manifest: Manifest) -> object:
    """Return the encoder's description and the checksums of its files: equal for snapshots that encode alike."""
    folder = f"{contract.ENCODER_FOLDER}/"
    return manifest.encoder, {name: digest for name, digest in manifest.files.items() if name.startswith(folder)}


def load_expansion_marks(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.uint8] | None:
    """Return the `Expanded` mark of each tool, uint8 (tools,); None where every tool has an expansion."""
    if Signal.EXPANSION not in manifest.signals:
        return np.full(tools, contract.Expanded.NO, np.uint8)
    if contract.EXPANDED not in manifest.files:
        return None
    return _by_ordinal(folder, contract.EXPANDED, "marks", np.dtype(np.uint8), tools)


def load_non_english(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.bool_] | None:
    """Return for each tool whether the English analyzer cannot read its description; None where it reads all."""
    if not manifest.lists(contract.NON_ENGLISH):
        return None
    return _by_ordinal(folder, contract.NON_ENGLISH, "marks", np.dtype(np.bool_), tools)


def load_adapter(folder: Path, manifest: Manifest) -> NDArray[np.float32] | None:
    """Return the query adapter, float32 (dim, dim); None where none was learned."""
    if contract.ADAPTER not in manifest.files:
        return None
    learned = load_array(folder / contract.ADAPTER)
    dim = manifest.encoder.dim if manifest.encoder else 0
    if learned.shape != (dim, dim) or learned.dtype != np.float32:
        raise SnapshotInvalid(
            f"{folder}: an adapter of shape {learned.shape} ({learned.dtype}) does not fit {dim} dims"
        )
    return learned


def load_calibration(
    folder: Path, manifest: Manifest, tools: int
) -> tuple[BackgroundScores | None, tuple[Calibration, ...]]:
    """Return the background scores and the no-answer calibrations; None and () where the snapshot has none."""
    if not manifest.lists(contract.BACKGROUND_SCORES):
        return None, ()
    dim = manifest.encoder.dim if manifest.encoder and manifest.lists(contract.BACKGROUND_VECTOR) else None
    rows = manifest.tuning.get("fitting", {}).get("calibrations", ())
    return BackgroundScores.open(folder, tools, dim), tuple(map(Calibration.from_json, rows))


def load_duplicates(folder: Path, manifest: Manifest, tools: int) -> NDArray[np.int64] | None:
    """Return for each ordinal the first ordinal of its duplicates, int64 (tools,); None where no tool has one."""
    if not manifest.lists(contract.DUPLICATES):
        return None
    first = _by_ordinal(folder, contract.DUPLICATES, "duplicates", np.dtype(np.int64), tools)
    if tools and not 0 <= first.min() <= first.max() < tools:
        raise SnapshotInvalid(f"{folder / contract.DUPLICATES} names a tool that is not one of {tools}")
    return first


def load_prerequisites(folder: Path, manifest: Manifest, tools: int) -> PrerequisiteGraph | None:
    """Return which tools need which; None where none does, or the build did not look."""
    return PrerequisiteGraph.open(folder, tools) if contract.PREREQUISITES in manifest.files else None


def load_implicit_needs(folder: Path, manifest: Manifest, tools: int) -> ImplicitNeedTools:
    """Return the tools that meet implicit needs; none where the snapshot tells none."""
    return ImplicitNeedTools.open(folder, tools) if contract.IMPLICIT_NEEDS in manifest.files else ImplicitNeedTools()


def _by_ordinal(folder: Path, name: str, what: str, dtype: np.dtype[Any], tools: int) -> NDArray[Any]:
    values = load_array(folder / name)
    if values.shape != (tools,) or values.dtype != dtype:
        raise SnapshotInvalid(f"{folder}: {what} of shape {values.shape} ({values.dtype}) do not fit {tools} tools")
    return values


_logger = logging.getLogger("router")


class TokenCounts:
    """The tokens of the tools in `records`, by form and detail.

    `counted` has by form the counts of a build, int32 (tools, details), in the order of `Detail`. Any other form, and
    any ordinal behind them, is estimated where it is first asked for.
    """

    def __init__(self, records: ToolEntries, counted: Mapping[ProviderFormat, NDArray[np.int32]] | None = None) -> None:
        self.records = records
        self.counted = counted or {}
        self._estimates: dict[tuple[ProviderFormat, int], list[int]] = {}

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, records: ToolEntries) -> "TokenCounts":
        """Open the counts of a snapshot's folder, memory-mapped.

        Forms that the router does not know are ignored. Those that the snapshot has no counts of are estimated, which
        the logger "router" warns of. Raises SnapshotInvalid where the counts do not fit the manifest.
        """
        stored = load_array(folder / contract.TOKEN_COUNTS)
        forms, details = manifest.token_formats, manifest.token_details
        if stored.shape != (len(records), len(forms), len(details)) or stored.dtype != np.int32:
            raise SnapshotInvalid(
                f"{folder}: token counts of shape {stored.shape} ({stored.dtype}) do not fit {len(records)} tools "
                f"in {len(forms)} forms and {len(details)} details"
            )
        counted = {}
        if {*Detail} <= {*details}:
            columns = slice(None) if details == tuple(Detail) else [details.index(detail) for detail in Detail]
            counted = {form: stored[:, forms.index(form)][:, columns] for form in ProviderFormat if form in forms}
        if missing := [form for form in ProviderFormat if form not in counted]:
            _logger.warning(
                "%s has no token counts of %s: they are estimated; build the catalog again",
                manifest.snapshot,
                ", ".join(missing),
            )
        return cls(records, counted)

    def over(self, records: ToolEntries) -> "TokenCounts":
        """Return the counts of more tools, of which these are the first."""
        return TokenCounts(records, self.counted)

    def of(
        self,
        form: ProviderFormat,
        ordinals: Sequence[int] | NDArray[np.integer],
        vendor_text: VendorText = VendorText.TRUSTED,
    ) -> NDArray[np.int32]:
        """Return the tokens of some tools in one form, int32 (ordinals, details).

        A build counts the trusted text. With `vendor_text` "verbatim", tools that have more than that are estimated.
        """
        places = np.asarray(ordinals, np.int64)
        counted = self.counted.get(form)
        if vendor_text is VendorText.VERBATIM:
            rows = [self._verbatim(form, place) for place in places.tolist()]
            return np.array(rows, np.int32).reshape(len(rows), len(Detail))
        if counted is not None and (places < len(counted)).all():
            return counted[places]
        rows = [
            counted[place] if counted is not None and place < len(counted) else self._estimated(form, place)
            for place in places.tolist()
        ]
        return np.array(rows, np.int32).reshape(len(rows), len(Detail))

    def table(self) -> NDArray[np.int32]:
        """Return the tokens of every tool in every form, int32 (tools, forms, details). It takes a copy."""
        return np.stack([self.of(form, range(len(self.records))) for form in ProviderFormat], axis=1)

    def _verbatim(self, form: ProviderFormat, ordinal: int) -> list[int]:
        """Return the tokens of a tool as its vendor wrote it; never fewer than those of its trusted text."""
        from router.provider_formats.shaping import handed_record

        tokens: list[int] = self.of(form, [ordinal])[0].tolist()
        record = self.records.entry(ordinal).record
        if handed_record(record, VendorText.TRUSTED).record is record:
            return tokens
        return list(map(max, tokens, estimated_tokens(record, form, VendorText.VERBATIM)))

    def _estimated(self, form: ProviderFormat, ordinal: int) -> list[int]:
        key = form, ordinal
        if key not in self._estimates:
            self._estimates[key] = estimated_tokens(self.records.entry(ordinal).record, form)
        return self._estimates[key]


def estimated_tokens(
    record: ToolRecord, form: ProviderFormat, vendor_text: VendorText = VendorText.TRUSTED
) -> list[int]:
    """Return an estimate of a tool's tokens in one form, by detail: a quarter of the characters of its compact JSON.

    It is rounded up, and errs on the high side for JSON. A router has no tokeniser file at hand.
    """
    from router.provider_formats.shaping import variants  # here: a build has counted the tokens of most tools

    texts = (
        json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool, _ in variants(record, [form], vendor_text)
    )
    return [math.ceil(len(text) / 4) for text in texts]
