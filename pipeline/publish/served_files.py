"""The files that the router maps into memory: records, token counts, vectors, the encoder."""

import os
import shutil
from pathlib import Path

import numpy as np

from pipeline.build_state import BuildState
from pipeline.indexing import dense
from pipeline.memo import Memo, digest
from pipeline.settings.snapshot import CandidateEngine
from pipeline.tokens import TokenCounter
from pipeline.vectors import CatalogVectors
from router import contract
from router.retrieval.deduplication import duplicate_groups
from router.retrieval.prerequisite_graph import PrerequisiteGraph
from router.retrieval.retrievers import NO_FAISS_WARNING, is_large
from router.snapshot.record_store import ToolEntry, json_lines

_TOOLS_A_PART = 4_096  # whose records are in memory as JSON at once


def write_served_files(folder: Path, state: BuildState, engine: CandidateEngine, memo: Memo) -> str:
    """Write every file that is not a lexical index, and return the name of the token counter.

    `engine` finds the candidates of a large catalog, `memo` has what earlier builds computed.
    """
    counter = TokenCounter()
    records, expanded = state.catalog.records, _expanded(state)
    _write_records(folder, state)
    keys = [digest(key, counter.name) for key in state.catalog.digests]
    rows = memo.results("tokens", keys, list[int], lambda places: [counter.row(records[p]) for p in places])
    np.save(folder / contract.TOKEN_COUNTS, counter.table(rows))
    # The router reads a missing file as "all are expanded alike".
    if contract.Expanded.NO in expanded and any(one.expansion or one.translations for one in state.documents):
        np.save(folder / contract.EXPANDED, np.array(expanded, dtype=np.uint8))
    if unread := state.catalog.unread:
        np.save(folder / contract.NON_ENGLISH, np.array([record.tool_id in unread for record in records], bool))
    groups = duplicate_groups(records)
    if (groups != np.arange(len(groups))).any():
        np.save(folder / contract.DUPLICATES, groups)
    if (graph := PrerequisiteGraph.of(records, state.prerequisites or ())) is not None:
        graph.save(folder)
    if (vectors := state.vectors) is not None:
        dense.write_dense(folder, vectors.documents, vectors.phrases, vectors.offsets, engine)
        (folder / contract.ENCODER_FOLDER).mkdir()
        for name in (contract.ENCODER_MODEL, contract.ENCODER_TOKENIZER):
            _link(vectors.export.folder / name, folder / contract.ENCODER_FOLDER / name)
    return counter.name


def _expanded(state: BuildState) -> list[contract.Expanded]:
    """Return for each tool whether it has its own expansion.

    A record that tries to steer counts as expanded: nothing is made up for what it lost by that. One with phrases of a
    person alone does not: they are too few to be all that its expansion would earn.
    """
    suspects = {verdict.tool_id for verdict in state.enrichment.suspicious}
    by_hand = {tool_id for tool_id, one in state.enrichment.written.items() if not one.generated}
    return [
        contract.Expanded.YES
        if ((document.expansion or document.translations) and document.tool_id not in by_hand)
        or document.tool_id in suspects
        else contract.Expanded.NO
        for document in state.documents
    ]


def _write_records(folder: Path, state: BuildState) -> None:
    """Write the records with their phrases, and where each begins, some thousands at a time."""
    records, documents = state.catalog.records, state.documents
    offsets = np.zeros(len(records) + 1, np.int64)
    by_person = {tool_id: len(one.by_person) for tool_id, one in state.enrichment.written.items()}
    with (folder / contract.RECORDS).open("wb") as file:
        for first in range(0, len(records), _TOOLS_A_PART):
            part = records[first : first + _TOOLS_A_PART]
            paired = zip(part, documents[first : first + _TOOLS_A_PART], strict=True)
            lines = json_lines(ToolEntry(r, one.phrases, by_person.get(r.tool_id, 0)) for r, one in paired)
            file.writelines(lines)
            offsets[first + 1 : first + 1 + len(lines)] = list(map(len, lines))
    np.save(folder / contract.RECORD_OFFSETS, np.cumsum(offsets))


def slow_search_note(folder: Path, vectors: CatalogVectors) -> str | None:
    """Return a note where each request will be compared with so many vectors that it is felt; else None."""
    count = len(vectors.documents) + len(vectors.phrases)
    has_candidates = any((folder / name).exists() for name in (contract.CANDIDATES, contract.CANDIDATE_TABLE))
    if has_candidates or not is_large(len(vectors.documents), count):
        return None
    return NO_FAISS_WARNING.format(vectors=count)


def _link(source: Path, target: Path) -> None:
    """Make a hard link where the file system has them: a model of 90 to 440 MB then exists once for all snapshots."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
