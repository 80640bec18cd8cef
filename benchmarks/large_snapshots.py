"""Make the snapshot of a large catalog without building it:
`python -m benchmarks.large_snapshots TOOLS.jsonl SNAPSHOT --tools N --out FOLDER`.

SNAPSHOT was built of the folder that large_catalogs wrote of the same TOOLS by the same seed. The tools are those that
large_catalogs would write, their documents projected and indexed as a build does it. What would take hours is taken
from SNAPSHOT: vectors as near_vectors.py says; the query adapter; the recipe; what everyday requests score on a tool,
as on the real tool behind it, with the calibration. No phrase is screened or assessed but by SNAPSHOT's own build.

The vectors are also left in fp32 in FOLDER.vectors, for recall.py. Memory is bounded: some 300 bytes a tool for ids and
their order, what finding duplicates takes, the documents of one segment, and the heap of Tantivy's writer.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large_catalogs import body_of, real_tools, tool, write_requests
from benchmarks.support.near_vectors import NearVectors
from benchmarks.support.on_disk import Records, Spilled
from benchmarks.support.phrasing import expansion
from benchmarks.support.reference_vectors import DOCUMENTS, OFFSETS, PHRASES, ReferenceVectors
from pipeline.indexing import dense
from pipeline.indexing.lexical import write_lexical
from pipeline.publish import VERSIONS
from pipeline.sources import RawTool
from pipeline.tokens import TokenCounter
from router import contract
from router.expansion import Expansion
from router.fingerprint import file_sha256, fingerprint
from router.provider_formats.formats import Detail, ProviderFormat
from router.record import Origin, ToolRecord
from router.retrieval.arrays import load_array
from router.retrieval.deduplication import duplicate_groups
from router.snapshot.snapshot import Snapshot
from router.tools import field_text
from router.tools.definitions.raw_tool import normalize

_CHUNK = 8_192  # tools whose vectors are in memory at once: 110 MB with nine of 384 numbers each


class Writer:
    """Writes a snapshot of `count` tools into a folder, which is made; `base` is the smaller catalog's."""

    def __init__(
        self,
        real: Sequence[dict[str, Any]],
        base: Snapshot,
        vectors: ReferenceVectors,
        count: int,
        folder: Path,
        seed: int,
    ) -> None:
        folder.mkdir(parents=True)
        assert base.folder is not None
        self._real, self._base, self._base_folder, self._folder, self._seed = real, base, base.folder, folder, seed
        self._vectors_of_base = vectors
        in_base = {base.records.tool_id(ordinal): ordinal for ordinal in range(len(base.records))}
        first = {_content(row): row["id"] for row in reversed(real)}
        behind = np.array([in_base[first[_content(row)]] for row in real], np.int64)  # by place in TOOLS
        # A build merges exact duplicates, of which the base has the first.
        numbers = [number for number in range(count) if number >= len(real) or real[number]["id"] in in_base]
        ids = {number: tool(real, number, seed)["id"] for number in numbers}
        self._order = np.array(sorted(numbers, key=ids.__getitem__), np.int64)
        self._ordinals = behind[[body_of(real, number, seed) for number in self._order.tolist()]]

    def write(self) -> None:
        """All of it, the manifest last."""
        spill = self._folder.with_name(f".{self._folder.name}.documents")
        try:
            with Spilled(spill) as projected:
                counts = self._records(projected)
                lengths = write_lexical(projected, self._folder)
        finally:
            spill.unlink(missing_ok=True)
        firsts = duplicate_groups(Records(self._folder))
        if (firsts != np.arange(len(firsts))).any():
            np.save(self._folder / contract.DUPLICATES, firsts)
        self._vectors(counts)
        self._learned()
        self._manifest(lengths, counts)

    def _records(self, projected: Spilled) -> list[int]:
        """Records and their documents; how many phrases each tool has."""
        offsets, tokens, phrases = [0], [], []
        counter = TokenCounter()
        with (self._folder / contract.RECORDS).open("wb") as lines:
            for record, written in self._tools():
                document = field_text.project_record(record, written)
                row = {"record": record.to_json(), "phrases": document.phrases}
                offsets.append(offsets[-1] + lines.write(json.dumps(row, ensure_ascii=False).encode() + b"\n"))
                tokens.append(counter.counts([record]))
                phrases.append(len(document.phrases))
                projected.append(document)
        np.save(self._folder / contract.RECORD_OFFSETS, np.array(offsets, np.int64))
        np.save(self._folder / contract.TOKEN_COUNTS, np.concatenate(tokens))
        return phrases

    def _tools(self) -> Iterator[tuple[ToolRecord, Expansion]]:
        """By id. Of a real tool's expansion, what its own build kept: its phrases are those that have vectors."""
        for number, ordinal in zip(self._order.tolist(), self._ordinals.tolist(), strict=True):
            row = tool(self._real, number, self._seed)
            written = Expansion.from_json(expansion(row, f"{self._seed}/phrases/{number}"))
            if number < len(self._real):
                kept = self._base.records.entry(ordinal).phrases
                written = replace(
                    written,
                    user_phrases=tuple(phrase for phrase in written.user_phrases if phrase in kept),
                    when_to_use=written.when_to_use if written.when_to_use in kept else "",
                )
            yield _record(row, number), written

    def _vectors(self, counts: Sequence[int]) -> None:
        """In fp32 beside the snapshot, chunk by chunk; then as a build writes them. The encoder is the base's."""
        near = NearVectors(self._vectors_of_base, self._seed)
        kept = self._folder.with_name(f"{self._folder.name}.vectors")
        kept.mkdir(exist_ok=True)
        offsets = np.cumsum([0, *counts], dtype=np.int64)
        held = np.lib.format.open_memmap(kept / DOCUMENTS, "w+", np.float32, (len(counts), near.dim))
        phrases = np.lib.format.open_memmap(kept / PHRASES, "w+", np.float32, (int(offsets[-1]), near.dim))
        for first in range(0, len(counts), _CHUNK):
            chunk = slice(first, min(first + _CHUNK, len(counts)))
            moved = self._order[chunk] >= len(self._real)
            drawn = near.draw(first, self._ordinals[chunk], moved, counts[chunk])
            held[chunk], phrases[offsets[chunk.start] : offsets[chunk.stop]] = drawn
        np.save(kept / OFFSETS, offsets)
        dense.write_dense(self._folder, held, phrases, offsets)
        shutil.copytree(self._base_folder / contract.ENCODER_FOLDER, self._folder / contract.ENCODER_FOLDER)

    def _learned(self) -> None:
        """What was learned of the base's tools: of each tool what was learned of the real one behind it."""
        for name in (contract.ADAPTER, contract.BACKGROUND_VECTOR):
            if name in self._base.manifest.files:
                shutil.copyfile(self._base_folder / name, self._folder / name)
        if contract.BACKGROUND_SCORES in self._base.manifest.files:
            np.save(
                self._folder / contract.BACKGROUND_SCORES,
                load_array(self._base_folder / contract.BACKGROUND_SCORES)[..., self._ordinals],
            )

    def _manifest(self, lengths: Mapping[contract.Signal, float], counts: Sequence[int]) -> None:
        files = {}
        for path in sorted(self._folder.rglob("*")):
            if path.name.endswith(".lock"):
                path.unlink()
            elif path.is_file():
                files[path.relative_to(self._folder).as_posix()] = file_sha256(path)
        manifest = replace(
            self._base.manifest,
            snapshot=f"recombined-{len(counts)}",
            catalog=self._folder.name,
            content_hash=fingerprint([self._base.manifest.content_hash, len(counts), self._seed]),
            versions=VERSIONS,
            signals=(*lengths, contract.Signal.DENSE),
            field_lengths={str(signal): round(length, 3) for signal, length in lengths.items()},
            counts={**dict.fromkeys(self._base.manifest.counts, 0), "tools": len(counts), "phrases": sum(counts)},
            token_formats=tuple(map(str, ProviderFormat)),
            token_details=tuple(map(str, Detail)),
            files=files,
            evaluation=None,
        )
        manifest.write(self._folder)


def _content(row: dict[str, Any]) -> str:
    return json.dumps({**row, "id": None}, sort_keys=True)


def _record(row: dict[str, Any], number: int) -> ToolRecord:
    """The record that a build makes of a line of tools.jsonl."""
    return normalize(
        RawTool(
            name=row["name"],
            origin=Origin("tools.jsonl", f"#{number}"),
            description=row["description"] or "",
            input_schema=row["parameters"] or {},
            id=row["id"],
            provider=row["provider"],
        )
    )


def main() -> None:
    """Write the snapshot, and requests for its tools beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, metavar="TOOLS.jsonl")
    parser.add_argument("base", type=Path, metavar="SNAPSHOT")
    parser.add_argument("--vectors", type=Path, help="SNAPSHOT's vectors in fp32, as this command leaves them")
    parser.add_argument("--tools", type=int, default=100_000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20)
    asked = parser.parse_args()
    real = real_tools(asked.real)
    base = Snapshot.open(asked.base)
    vectors = ReferenceVectors.open(asked.vectors) if asked.vectors else ReferenceVectors.of(base)
    Writer(real, base, vectors, asked.tools, asked.out, asked.seed).write()
    write_requests(real, asked.tools, asked.out.with_name(f"{asked.out.name}.requests.jsonl"), asked.seed)
    print(f"{asked.out}: {asked.tools:,} tools, {max(asked.tools - len(real), 0):,} of them recombined")


if __name__ == "__main__":
    main()
