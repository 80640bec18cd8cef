"""Which tools texts fit as well as their own, where most of the texts and most of the tools were compared before.

Whether a text fits a tool as well as its own hangs on the two of them alone. So what was found is kept by what made it:
a new text is compared with all tools, a known one with the new tools, and the rest is as it was. Of 10,000 tools with 8
phrases each a hundredth of 10^9 products is left.
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

# A text that says next to nothing fits thousands of tools as well as its own: it is compared each time. Of 89,861
# phrases of 9,998 tools 2.4 % fit more, and would take 3.7 of 4.2 million entries.
_MOST_KEPT = 256  # of a text


@dataclass(frozen=True)
class ComparedTexts:
    """Texts by key, rising; text i fits the tools tools[starts[i]:starts[i+1]], places in `columns`, the keys of the
    tools that it was compared with, with `scores` beside them."""

    texts: Keys
    starts: NDArray[np.int64]
    tools: NDArray[np.int32]
    scores: NDArray[np.float32]
    columns: Keys

    @classmethod
    def nothing(cls) -> "Compared":
        """Of no text and no tool."""
        none = np.empty(0, np.uint64)
        return cls(none, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), none)


@dataclass
class ComparisonCache:
    """What was compared, by the name of the comparison: of the build before, and of this one."""

    before: Mapping[str, ComparedTexts] = field(default_factory=dict)
    now: dict[str, ComparedTexts] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path, state: str) -> "Memory":
        """What was kept under the same state; nothing where the file is missing, damaged or of another."""
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
        """Keep what this build compared, in place of what was kept before."""
        arrays = {
            f"{name}.{part}": getattr(c, part) for name, c in self.now.items() for part in ComparedTexts.__annotations__
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        making = file.with_name(f".{file.name}")
        with making.open("wb") as stream:
            np.savez(stream, state=np.array(state), names=np.array(list(self.now)), **arrays)
        making.replace(file)


class CatalogComparison:
    """One comparison of texts with all tools, run by run. `columns` are the tools' keys, for their `centres`."""

    def __init__(
        self, space: CatalogVectors, centres: NDArray[np.float32], columns: Keys, before: ComparedTexts | None
    ) -> None:
        self._space = space
        self._centres = centres
        self._columns = columns
        self._before = before or ComparedTexts.nothing()
        order = np.argsort(columns)
        at = np.minimum(np.searchsorted(columns, self._before.columns, sorter=order), len(columns) - 1)
        places = order[at]
        self._places = np.where(columns[places] == self._before.columns, places, -1)
        self._new_tools = np.flatnonzero(~np.isin(columns, self._before.columns))
        self._found: list[tuple[Keys, NDArray[np.int64], Competitors]] = []

    def fits(
        self, texts: NDArray[np.float32], keys: Keys, owners: NDArray[np.int64], own: NDArray[np.float32]
    ) -> Competitors:
        """As `CatalogVectors.fits`, for texts (rows, dim) with keys (rows,)."""
        before = self._before
        at = np.searchsorted(before.texts, keys)
        inside = at < len(before.texts)
        known = inside.copy()
        known[inside] = before.texts[at[inside]] == keys[inside]
        fresh, old = np.flatnonzero(~known), np.flatnonzero(known)
        parts = [self._compared(texts, owners, own, fresh, None)] if len(fresh) else []
        if len(old):
            if len(self._new_tools):
                parts.append(self._compared(texts, owners, own, old, self._new_tools))
            first, counts = before.starts[at[old]], np.diff(before.starts)[at[old]]
            entries = _ranges(first, counts)
            tools = self._places[before.tools[entries]]
            parts.append(Competitors(np.repeat(old, counts), tools, before.scores[entries]).take(tools >= 0))
        found = parts[0]
        if len(parts) > 1:
            rows, tools, scores = (np.concatenate([getattr(p, n) for p in parts]) for n in ("rows", "tools", "scores"))
            order = np.lexsort((tools, rows))
            found = Competitors(rows[order], tools[order], scores[order])
        self._found.append((keys, np.bincount(found.rows, minlength=len(keys)), found))
        return found

    def compared(self) -> ComparedTexts:
        """What was found, to be kept: of texts that fit no more than so many tools."""
        if not self._found:
            return ComparedTexts.nothing()
        keys = np.concatenate([keys for keys, _, _ in self._found])
        counts = np.concatenate([counts for _, counts, _ in self._found])
        tools = np.concatenate([found.tools for _, _, found in self._found]).astype(np.int32)
        scores = np.concatenate([found.scores for _, _, found in self._found])
        order = np.argsort(keys)
        order = order[counts[order] <= _MOST_KEPT]
        first = (np.cumsum(counts) - counts)[order]
        counts = counts[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        entries = _ranges(first, counts)
        return ComparedTexts(keys[order], starts, tools[entries], scores[entries], self._columns)

    def _compared(
        self,
        texts: NDArray[np.float32],
        owners: NDArray[np.int64],
        own: NDArray[np.float32],
        rows: NDArray[np.int64],
        tools: NDArray[np.int64] | None,
    ) -> Competitors:
        found = self._space.fits(texts[rows], owners[rows], own[rows], self._centres, tools)
        return Competitors(rows[found.rows], found.tools, found.scores)


def _ranges(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """first[0], first[0] + 1, … as many as counts[0], then those of the next."""
    before: NDArray[np.int64] = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(first - before, counts)


def key(*parts: str) -> int:
    """64 bits of the hash of texts."""
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def tool_keys(subjects: Sequence[AssessedTool], judged: NDArray[np.bool_] | None = None) -> Keys:
    """A key for each tool as its centre is made: of its record, and where `judged` is given of its phrases in play."""
    return np.array(
        [
            key(s.tool_id, s.content, s.text, *(s.phrases if judged is not None and judged[tool] else ()))
            for tool, s in enumerate(subjects)
        ],
        np.uint64,
    )


def phrase_keys(subjects: Sequence[AssessedTool], tools: Keys) -> Keys:
    """A key for each phrase of each subject, by its text and by its tool's key."""
    return np.array(
        [key(str(of), p) for of, s in zip(tools.tolist(), subjects, strict=True) for p in s.phrases], np.uint64
    )
