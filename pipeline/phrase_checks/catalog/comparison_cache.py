"""Keep which tools texts fit as well as their own, so that the next build compares only what is new.

Whether a text fits a tool as well as its own depends only on the text and the two tools. Results are kept under keys
made from these: a new text is compared with all tools, a known text with the new tools. See
docs/decisions/phrase-checks.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.vectors import CatalogVectors, Competitors

Keys = NDArray[np.uint64]

# Entries kept of a text. One that says next to nothing fits thousands of tools, and is compared each time.
_MOST_KEPT = 256


@dataclass(frozen=True)
class ComparedTexts:
    """Results of one comparison, by text.

    `texts` are keys, ascending. Text i fits the tools tools[starts[i]:starts[i+1]] with the `scores` at the same
    places. `tools` are places in `columns`, the keys of the tools that the texts were compared with.
    """

    texts: Keys
    starts: NDArray[np.int64]
    tools: NDArray[np.int32]
    scores: NDArray[np.float32]
    columns: Keys

    @classmethod
    def nothing(cls) -> "ComparedTexts":
        """Return the results of no text and no tool."""
        empty = np.empty(0, np.uint64)
        return cls(empty, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), empty)


@dataclass
class ComparisonCache:
    """Results by the name of the comparison: of the previous build, and of this one."""

    previous: Mapping[str, ComparedTexts] = field(default_factory=dict)
    current: dict[str, ComparedTexts] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path, state: str) -> "ComparisonCache":
        """Return what was kept under the same state; nothing where the file is missing, damaged or of another state."""
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                if str(stored["state"]) != state:
                    return cls()
                names = [str(name) for name in stored["names"]]
                parts = ComparedTexts.__annotations__
                return cls(
                    {name: ComparedTexts(**{part: stored[f"{name}.{part}"] for part in parts}) for name in names}
                )
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return cls()

    def save(self, file: Path, state: str) -> None:
        """Write the results of this build, in place of those before."""
        arrays = {
            f"{name}.{part}": getattr(c, part)
            for name, c in self.current.items()
            for part in ComparedTexts.__annotations__
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f".{file.name}")
        with unfinished.open("wb") as stream:
            np.savez(stream, state=np.array(state), names=np.array(list(self.current)), **arrays)
        unfinished.replace(file)


class CatalogComparison:
    """One comparison of texts with all tools, run by run. `columns` are the keys of the tools, which have `centres`."""

    def __init__(
        self, catalog: CatalogVectors, centres: NDArray[np.float32], columns: Keys, previous: ComparedTexts | None
    ) -> None:
        self._catalog = catalog
        self._centres = centres
        self._columns = columns
        self._previous = previous or ComparedTexts.nothing()
        order = np.argsort(columns)
        at = np.minimum(np.searchsorted(columns, self._previous.columns, sorter=order), len(columns) - 1)
        places = order[at]
        # Where each tool of the previous build is now; -1 where it is gone.
        self._places = np.where(columns[places] == self._previous.columns, places, -1)
        self._new_tools = np.flatnonzero(~np.isin(columns, self._previous.columns))
        self._runs: list[tuple[Keys, NDArray[np.int64], Competitors]] = []

    def competitors(
        self, texts: NDArray[np.float32], keys: Keys, owners: NDArray[np.int64], own: NDArray[np.float32]
    ) -> Competitors:
        """Return what `CatalogVectors.competitors` does, for texts (rows, dim) with keys (rows,)."""
        previous = self._previous
        at = np.searchsorted(previous.texts, keys)
        inside = at < len(previous.texts)
        is_known = inside.copy()
        is_known[inside] = previous.texts[at[inside]] == keys[inside]
        new, known = np.flatnonzero(~is_known), np.flatnonzero(is_known)
        parts = [self._compare(texts, owners, own, new, None)] if len(new) else []
        if len(known):
            if len(self._new_tools):
                parts.append(self._compare(texts, owners, own, known, self._new_tools))
            first, counts = previous.starts[at[known]], np.diff(previous.starts)[at[known]]
            entries = _ranges(first, counts)
            tools = self._places[previous.tools[entries]]
            parts.append(Competitors(np.repeat(known, counts), tools, previous.scores[entries]).take(tools >= 0))
        competitors = parts[0]
        if len(parts) > 1:
            rows, tools, scores = (np.concatenate([getattr(p, n) for p in parts]) for n in ("rows", "tools", "scores"))
            order = np.lexsort((tools, rows))
            competitors = Competitors(rows[order], tools[order], scores[order])
        counts = np.bincount(competitors.rows, minlength=len(keys))
        kept = counts <= _MOST_KEPT
        self._runs.append((keys[kept], counts[kept], competitors.take(kept[competitors.rows])))
        return competitors

    def to_cache(self) -> ComparedTexts:
        """Return the results of all runs, without texts that fit too many tools to be kept."""
        if not self._runs:
            return ComparedTexts.nothing()
        keys = np.concatenate([keys for keys, _, _ in self._runs])
        counts = np.concatenate([counts for _, counts, _ in self._runs])
        tools = np.concatenate([competitors.tools for _, _, competitors in self._runs]).astype(np.int32)
        scores = np.concatenate([competitors.scores for _, _, competitors in self._runs])
        order = np.argsort(keys)
        first = (np.cumsum(counts) - counts)[order]
        counts = counts[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        entries = _ranges(first, counts)
        return ComparedTexts(keys[order], starts, tools[entries], scores[entries], self._columns)

    def _compare(
        self,
        texts: NDArray[np.float32],
        owners: NDArray[np.int64],
        own: NDArray[np.float32],
        rows: NDArray[np.int64],
        tools: NDArray[np.int64] | None,
    ) -> Competitors:
        entries = self._catalog.competitors(texts[rows], owners[rows], own[rows], self._centres, tools)
        return Competitors(rows[entries.rows], entries.tools, entries.scores)


def _ranges(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts[0] numbers from first[0] on, then counts[1] numbers from first[1] on, and so on."""
    before: NDArray[np.int64] = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(first - before, counts)


def key(*parts: str) -> int:
    """Return 64 bits of the hash of texts."""
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def tool_keys(tools: Sequence[AssessedTool], judged: NDArray[np.bool_] | None = None) -> Keys:
    """Return a key for each tool, of its record, and with `judged` (tools,) also of the phrases that are judged."""
    return np.array(
        [
            key(
                tool.tool_id, tool.content, tool.text, *(tool.phrases if judged is not None and judged[ordinal] else ())
            )
            for ordinal, tool in enumerate(tools)
        ],
        np.uint64,
    )


def phrase_keys(tools: Sequence[AssessedTool], keys: Keys) -> Keys:
    """Return a key for each phrase of each tool, from its text and its tool's key."""
    return np.array(
        [key(str(of), phrase) for of, tool in zip(keys.tolist(), tools, strict=True) for phrase in tool.phrases],
        np.uint64,
    )
