"""Candidates of a large catalog from LanceDB, an embedded database engine: an index on disk, and a bounded cache of it.

The table has a row a tool, in the order of ordinals: `ordinal`, and `centroid`, float16 (dim,), which
`router.retrieval.retrievers.candidates` defines. Its index clusters the centroids and holds 4-bit product codes of two
components each. Parts that a query reads stay in a bounded cache. `pipeline.indexing.lance_table` writes the table.
"""

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.distribution import install_command
from router.errors import SnapshotInvalid
from router.process import renew_in_child
from router.refusals import damage_refused
from router.retrieval.retrievers.candidates import with_others
from router.retrieval.retrievers.held_files import HeldFiles

NO_LANCEDB = f"the candidates are in a table of LanceDB, which is not installed: {install_command('lancedb')}"
TABLE = contract.CANDIDATE_TABLE.removesuffix(".lance")
CENTROID, ORDINAL = "centroid", "ordinal"
INDEX = f"{CENTROID}_idx"
DISTANCE: Final = "dot"
# Memory for parts of the index, of all tables of the process together; least recently used parts go first.
CACHE_BYTES = 256 * 2**20
# The share of the clusters that a query reads: at 100,000 tools, three quarters already miss a fiftieth of the first
# fifty. See docs/decisions/large-catalogs.md.
_PROBED = 1.0
_TOOLS_A_CLUSTER = 4096
_session: Any = None
_session_lock = threading.Lock()


def require_lancedb() -> Any:
    """Return the package lancedb. Raises SnapshotInvalid, with the command that installs it, where it is missing."""
    try:
        import lancedb
    except ImportError as error:
        raise SnapshotInvalid(NO_LANCEDB) from error
    return lancedb


def table_files(files: Iterable[str]) -> list[str]:
    """Return those of a manifest's files that are the table's."""
    return [name for name in files if name.startswith(f"{contract.CANDIDATE_TABLE}/")]


class LanceTable:
    """A table in files that stay open. Each process opens it for itself, at its first search.

    LanceDB has threads, and those of a parent do not live on in its child.
    """

    def __init__(self, files: HeldFiles) -> None:
        self._files = files
        self._opened: dict[int, Any] = {}  # by process: freeing a parent's could wait for threads that are gone
        self._opening = threading.Lock()
        renew_in_child(self, "_opening")

    def get(self) -> Any:
        """Return the table as this process has it open; what LanceDB raises over its files passes through."""
        process = os.getpid()
        if (table := self._opened.get(process)) is not None:
            return table
        with self._opening:
            if process not in self._opened:
                database = require_lancedb().connect(self._files.folder(), session=_shared_session())
                self._opened[process] = database.open_table(TABLE)
            return self._opened[process]


class LanceCandidates:
    """The table's centroids, by ordinal. Safe to search from many threads.

    A forked child may search too, or may wait for ever: see docs/past_one_machine.md.
    """

    def __init__(self, table: LanceTable, tools: int, always: NDArray[np.int64] | None = None) -> None:
        """Internal: use `open`."""
        self._table, self._tools = table, tools
        self._always = np.empty(0, np.int64) if always is None else always
        self._probes = max(1, round(_PROBED * cluster_count(tools)))

    @classmethod
    def open(cls, folder: Path, names: Sequence[str], tools: int, dim: int) -> "LanceCandidates":
        """Open the table of a snapshot's folder, which has the files `names`.

        Raises SnapshotInvalid where lancedb is not installed, and where the table cannot be read, is of other vectors
        or has no index of all of them.
        """
        require_lancedb()
        place = folder / contract.CANDIDATE_TABLE
        with damage_refused(f"{place} cannot be read", RuntimeError):  # which LanceDB raises for errors of its own
            table = LanceTable(HeldFiles(folder, names))
            _require_fit(table.get(), place, tools, dim)
        candidates = cls(table, tools)
        candidates.nearest(np.ones(dim, np.float32), 1)  # reads the head of the index
        return candidates

    def with_always(self, ordinals: NDArray[np.int64]) -> "LanceCandidates":
        """Return the same as `CandidateIndex.with_always`."""
        return LanceCandidates(self._table, self._tools, ordinals)

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Return the same as `CandidateIndex.nearest`. Raises SnapshotInvalid where the table turns out damaged."""
        count = min(count, self._tools)
        with damage_refused(f"{contract.CANDIDATE_TABLE} is damaged", RuntimeError):
            search = self._table.get().search(vector, vector_column_name=CENTROID).distance_type(DISTANCE)
            search = search.limit(count).nprobes(self._probes).with_row_id(True)
            rows = search.select(["_rowid", "_distance"]).to_arrow()["_rowid"].to_numpy()
        ordinals: NDArray[np.int64] = np.unique(rows.astype(np.int64))
        if len(ordinals) and not 0 <= ordinals[0] <= ordinals[-1] < self._tools:
            raise SnapshotInvalid(
                f"{contract.CANDIDATE_TABLE} is damaged: it gives a tool that the snapshot does not have"
            )
        return with_others(ordinals, self._always)


def _require_fit(table: Any, place: Path, tools: int, dim: int) -> None:
    """Raise SnapshotInvalid for a table of other vectors, or without an index of all of them."""
    kind = table.schema.field(CENTROID).type
    if (table.count_rows(), kind.list_size, str(kind.value_type)) != (tools, dim, "halffloat"):
        raise SnapshotInvalid(
            f"{place} holds {table.count_rows()} centroids of {kind}, not {tools} of {dim} dims in float16"
        )
    held = table.index_stats(INDEX)
    if held is None or held.num_indexed_rows != tools or str(held.distance_type).lower() != DISTANCE:
        raise SnapshotInvalid(f"{place} has no index of its {tools} centroids by {DISTANCE} product: build it again")


def cluster_count(tools: int) -> int:
    """Return how many clusters the index of a number of tools has."""
    return -(-tools // _TOOLS_A_CLUSTER)


def _shared_session() -> Any:
    """Return the session of this process, whose caches are bounded; LanceDB's own may take 7 GB."""
    global _session
    with _session_lock:
        if _session is None or _session[0] != os.getpid():
            made = require_lancedb().Session(index_cache_size_bytes=CACHE_BYTES, metadata_cache_size_bytes=CACHE_BYTES)
            _session = os.getpid(), made
        return _session[1]
