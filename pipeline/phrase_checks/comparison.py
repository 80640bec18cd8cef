"""Keep which tools texts fit as well as their own, so that the next build compares only what is new.

Whether a text fits a tool as well as its own depends only on the text and the two tools. Results are kept under keys
made from these: a new text is compared with all tools, a known text with the new tools.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.vectors import AssessedTool, CatalogVectors, Competitors

Keys = NDArray[np.uint64]

# Entries kept of a text. One that says next to nothing fits thousands of tools, and is compared each time.
_MOST_KEPT = 256


# The arrays of a comparison, all of keys but the scores: `texts` were compared with the tools `columns`, and the text
# entry_texts[i] fits the tool entry_tools[i] with scores[i].
_ARRAYS = ("texts", "columns", "entry_texts", "entry_tools", "scores")
_NONE = np.empty(0, np.uint64)


@dataclass
class ComparisonCache:
    """Arrays of the previous build and of this one, by the name of the comparison and their own: `whole.texts`."""

    previous: Mapping[str, Any] = field(default_factory=dict)
    current: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path, state: str) -> "ComparisonCache":
        """Return what was kept under the same state; nothing where the file is missing, damaged or of another state."""
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                return cls({**stored} if str(stored["state"]) == state else {})
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return cls()

    def save(self, file: Path, state: str) -> None:
        """Write the arrays of this build, in place of those before."""
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f".{file.name}")
        with unfinished.open("wb") as stream:
            np.savez(stream, state=np.array(state), **self.current)
        unfinished.replace(file)


class CatalogComparison:
    """One comparison of texts, which have `keys`, with all tools, which have keys `columns` and `centres`."""

    def __init__(
        self,
        catalog: CatalogVectors,
        centres: NDArray[np.float32],
        keys: Keys,
        columns: Keys,
        cache: ComparisonCache,
        name: str,
    ) -> None:
        texts, tools, entry_texts, entry_tools, scores = (cache.previous.get(f"{name}.{a}", _NONE) for a in _ARRAYS)
        self._catalog = catalog
        self._centres = centres
        self._keys = keys
        self._columns = columns
        self._is_known = np.isin(keys, texts)
        self._new_tools = np.flatnonzero(~np.isin(columns, tools))
        rows, tools = _places(keys, entry_texts), _places(columns, entry_tools)
        self._known = Competitors(rows, tools, scores).take((rows >= 0) & (tools >= 0)).in_order()
        self._cache, self._name = cache, name
        self._compared: list[tuple[Keys, Competitors]] = []

    def competitors(
        self, rows: NDArray[np.int64], texts: NDArray[np.float32], owners: NDArray[np.int64], own: NDArray[np.float32]
    ) -> Competitors:
        """Return what `CatalogVectors.competitors` does, for the texts of these `rows`, ascending."""
        is_known = self._is_known[rows]
        parts = []
        for places, among in ((np.flatnonzero(~is_known), None), (np.flatnonzero(is_known), self._new_tools)):
            if len(places) and (among is None or len(among)):
                found = self._catalog.competitors(texts[places], owners[places], own[places], self._centres, among)
                parts.append(Competitors(places[found.rows], found.tools, found.scores))
        first, end = np.searchsorted(self._known.rows, (rows[0], rows[-1] + 1)).tolist()
        known = self._known.take(slice(first, end))
        known = known.take(np.isin(known.rows, rows))
        parts.append(Competitors(np.searchsorted(rows, known.rows), known.tools, known.scores))
        competitors = Competitors.joined(parts)
        kept = np.bincount(competitors.rows, minlength=len(rows)) <= _MOST_KEPT
        of_kept = competitors.take(kept[competitors.rows])
        self._compared.append((self._keys[rows[kept]], Competitors(rows[of_kept.rows], of_kept.tools, of_kept.scores)))
        return competitors

    def keep(self) -> None:
        """Keep the results of all rows for the next build, without texts that fit too many tools."""
        if self._compared:
            found = Competitors.joined([competitors for _, competitors in self._compared])
            texts = np.concatenate([keys for keys, _ in self._compared])
            kept = texts, self._columns, self._keys[found.rows], self._columns[found.tools], found.scores
            self._cache.current |= {f"{self._name}.{array}": of for array, of in zip(_ARRAYS, kept, strict=True)}


def _places(keys: Keys, wanted: Keys) -> NDArray[np.int64]:
    """Return where each wanted key is among `keys`; -1 where it is not."""
    order = np.argsort(keys)
    places = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[places] == wanted, places, -1)


def _key(*parts: str) -> int:
    """Return 64 bits of the hash of texts."""
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def tool_keys(tools: Sequence[AssessedTool], judged: NDArray[np.bool_] | None = None) -> Keys:
    """Return a key for each tool, of its record, and with `judged` (tools,) also of the phrases that are judged."""
    with_phrases = [False] * len(tools) if judged is None else judged.tolist()
    return np.array(
        [
            _key(tool.tool_id, tool.content, tool.text, *(tool.phrases if phrases else ()))
            for tool, phrases in zip(tools, with_phrases, strict=True)
        ],
        np.uint64,
    )


def phrase_keys(tools: Sequence[AssessedTool], keys: Keys) -> Keys:
    """Return a key for each phrase of each tool, from its text and its tool's key."""
    return np.array(
        [_key(str(of), phrase) for of, tool in zip(keys.tolist(), tools, strict=True) for phrase in tool.phrases],
        np.uint64,
    )
