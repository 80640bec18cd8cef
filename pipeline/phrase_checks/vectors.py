"""Hold the texts and vectors of a catalog, and find the tools that a text fits as well as its own."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.subject import subject
from router.expansion import Expansion
from router.record import ToolRecord
from router.text import identifier_words
from router.tools.field_text import join_texts, record_document
from router.tools.foreign_text import foreign_script
from router.tools.text_overlap import identifying_terms, uses_only_terms
from router.tools.trust.sanitization import sanitize

# Scores held at once: 32 MB.
BLOCK = 8_000_000
# Centres in double precision at once: 200 MB of 384 dimensions.
_CENTRES = 65_536
# Scores nearer than this are equal: the last bits depend on the place in a matrix product.
TIE = 1e-5


@dataclass(frozen=True, slots=True)
class AssessedTool:
    """A tool: its record as the one text that is embedded for it, and the phrases written for it.

    Tools of equal `content` are the same tool, offered by several servers: their phrases may fit each other. `own` are
    the terms of its name and first sentence: a phrase that has no other terms belongs to the tool in any case.
    `non_english` is true where the description is not English: the record's vector then says little of English phrases.
    `source` names where it was read from. `interface` is what the record says without its description: label, name and
    parameters' names.
    """

    tool_id: str
    text: str
    content: str
    user_phrases: tuple[str, ...] = ()
    when_to_use: str = ""
    own: frozenset[str] = frozenset()
    non_english: bool = False
    source: str = ""
    interface: str = ""

    @classmethod
    def of(cls, record: ToolRecord, expansion: Expansion | None) -> "AssessedTool":
        """Return the tool of a record. Without expansion it has no phrases; others' are still compared with it."""
        sanitized, texts = sanitize(record)[0], (record_document(record), f"{record.name}\n{record.description}")
        phrases = (expansion.user_phrases, expansion.when_to_use) if expansion else ((), "")
        own, non_english = identifying_terms(sanitized), bool(foreign_script(record.description))
        return cls(record.tool_id, *texts, *phrases, own, non_english, record.origin.file, _interface(sanitized))

    @property
    def phrases(self) -> tuple[str, ...]:
        """The phrases that are judged, each once. The index has a vector for each of them."""
        return tuple(dict.fromkeys(phrase for phrase in (*self.user_phrases, self.when_to_use) if phrase))

    @property
    def own_phrases(self) -> tuple[bool, ...]:
        """For each phrase, whether it cannot be held against the record.

        It has only terms of the record's own name and first sentence, or the record is in another language.
        """
        return tuple(self.non_english or uses_only_terms(phrase, self.own) for phrase in self.phrases)

    def fields(self, phrase: str) -> list[str]:
        """Return the fields of the expansion that have a phrase: one, or both."""
        by_field = {"user_phrases": phrase in self.user_phrases, "when_to_use": phrase == self.when_to_use}
        return [name for name, present in by_field.items() if present]


def _interface(record: ToolRecord) -> str:
    parameters = (parameter.path.rsplit(".", 1)[-1] for parameter in record.parameters)
    named = subject(replace(record, name=" ".join(identifier_words(record.name))), named_only=True)
    return join_texts(named, *dict.fromkeys(" ".join(identifier_words(name)) for name in parameters), separator=", ")


@dataclass(frozen=True, slots=True)
class Competitors:
    """The other tools that texts fit as well as their own, or better: text rows[i] scores scores[i] at tool tools[i].

    Entries are in the order of rows, then of tools' ordinals. Copies of a text's own tool are left out.
    """

    rows: NDArray[np.int64]
    tools: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: Sequence["Competitors"]) -> "Competitors":
        """Return the entries of several, in order."""
        rows, tools, scores = (np.concatenate([getattr(p, n) for p in parts]) for n in ("rows", "tools", "scores"))
        return cls(rows, tools, scores).in_order()

    def in_order(self) -> "Competitors":
        """Return the entries in the order of rows, then of tools."""
        order = np.lexsort((self.tools, self.rows))
        return Competitors(self.rows[order], self.tools[order], self.scores[order])

    def take(self, mask: NDArray[np.bool_] | slice) -> "Competitors":
        """Return the entries where a mask is true, or of a slice."""
        return Competitors(self.rows[mask], self.tools[mask], self.scores[mask])

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return for each row with an entry the row, its highest score, and the first tool that has it.

        Scores that differ only in their last bits are equal.
        """
        texts, starts = np.unique(self.rows, return_index=True)
        if not len(texts):
            return texts, self.scores, self.tools
        highest = np.maximum.reduceat(self.scores, starts)
        lengths = np.diff(np.append(starts, len(self.rows)))
        _, first = np.unique(self.rows[tied := self.scores >= np.repeat(highest - TIE, lengths)], return_index=True)
        return texts, highest, self.tools[tied][first]


@dataclass(frozen=True)
class CatalogVectors:
    """Vectors of a catalog: `records` (tools, dim), and `phrases` (phrases, dim), of which tool i owns
    phrases[offsets[i]:offsets[i+1]].

    `owners` (phrases,) are ordinals; `kinds` (tools,) are equal for copies of the same tool; `judged` (tools,) is false
    for tools whose phrases are left out. About `block` scores are held at once.
    """

    records: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]
    owners: NDArray[np.int64]
    kinds: NDArray[np.int64]
    judged: NDArray[np.bool_]
    block: int

    @classmethod
    def of(
        cls, tools: Sequence[AssessedTool], records: NDArray[np.float32], phrases: NDArray[np.float32], block: int
    ) -> "CatalogVectors":
        """Return the vectors of a catalog. Raises ValueError where the shapes are not those of the tools."""
        counts = np.array([len(tool.phrases) for tool in tools], np.int64)
        if len(records) != len(tools) or len(phrases) != counts.sum():
            raise ValueError(
                f"{len(tools)} tools with {counts.sum()} phrases have {len(records)} and {len(phrases)} vectors"
            )
        first: dict[str, int] = {}
        return cls(
            records.astype(np.float32, copy=False),
            phrases.astype(np.float32, copy=False),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.repeat(np.arange(len(tools), dtype=np.int64), counts),
            np.array([first.setdefault(tool.content, ordinal) for ordinal, tool in enumerate(tools)], np.int64),
            counts > 0,
            block,
        )

    def without(self, tools: Collection[int]) -> "CatalogVectors":
        """Return the catalog with the phrases of some tools left out: neither judged nor part of their tool's mean."""
        judged = self.judged.copy()
        judged[list(tools)] = False
        return replace(self, judged=judged)

    def sums(self) -> NDArray[np.float32]:
        """Return the sum of each tool's phrases, shape (tools, dim); zero where they are left out."""
        sums = np.zeros_like(self.records)
        tools = np.flatnonzero(self.judged)
        if len(tools):
            included = self.judged[self.owners]
            counts = np.diff(self.offsets)[tools]
            # Boolean indexing copies, and usually nothing is left out.
            phrases = self.phrases if included.all() else self.phrases[included]
            sums[tools] = np.add.reduceat(phrases, np.cumsum([0, *counts[:-1]]), axis=0)
        return sums

    def means(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return each tool's mean phrase from the `sums`, (tools, dim); its record where phrases are left out."""
        divisor = np.maximum(np.diff(self.offsets), 1)[:, None].astype(np.float32)
        means: NDArray[np.float32] = np.where(self.judged[:, None], sums / divisor, self.records)
        return means

    def runs(self, rows_per_tool: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield the judged tools in order, in runs whose rows have about a block of scores against all tools."""
        rows = max(self.block // max(len(self.records), 1), 1)
        tools = np.flatnonzero(self.judged)
        if len(tools):
            number = np.cumsum(rows_per_tool[tools]) // rows
            yield from np.split(tools, np.flatnonzero(np.diff(number)) + 1)

    def competitors(
        self,
        texts: NDArray[np.float32],
        owners: NDArray[np.int64],
        own: NDArray[np.float32],
        centres: NDArray[np.float32],
        among: NDArray[np.int64] | None = None,
    ) -> Competitors:
        """Return the tools that `texts` (rows, dim) fit as well as their owner, at which they score `own` (rows,).

        Each tool is represented by one of `centres` (tools, dim). With `among`, ascending ordinals, only those tools
        are compared.
        """
        scores = texts @ (centres if among is None else centres[among]).T
        rows, places = np.nonzero(scores >= (own - np.float32(TIE))[:, None])
        tools = places if among is None else among[places]
        entries = Competitors(rows, tools, scores[rows, places])
        return entries.take(self.kinds[tools] != self.kinds[owners[rows]])


@dataclass(frozen=True)
class ScoreDistribution:
    """The mean and standard deviation of a text's scores over the catalog.

    Both follow from the centres' `mean` (dim,) and second moments `squares` (dim, dim).
    """

    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    count: int

    @classmethod
    def of(cls, centres: NDArray[np.float32]) -> "ScoreDistribution":
        """Return the distribution of scores at centres (tools, dim)."""
        # Double precision: a variance is a small difference of large sums.
        dim, count = centres.shape[1], len(centres)
        total, squares = np.zeros(dim), np.zeros((dim, dim))
        for first in range(0, count, _CENTRES):
            wide = centres[first : first + _CENTRES].astype(np.float64)
            total += wide.sum(axis=0)
            squares += wide.T @ wide
        return cls(total / count, squares / count, count)

    def fit_and_lead(
        self,
        texts: NDArray[np.float32],
        own_centres: NDArray[np.float32],
        own: NDArray[np.float32],
        best: NDArray[np.float32],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return by how many deviations texts (rows, dim) fit their own tools above the mean, and others better.

        Each text counts with `own` (rows,) at its own tool, instead of its score at the tool's centre (rows, dim);
        `best` (rows,) are the scores at the best other tools. A deviation close to 0 counts as infinite.
        """
        wide = texts.astype(np.float64)
        at_centre, instead = np.einsum("ij,ij->i", wide, own_centres), own.astype(np.float64)
        mean = wide @ self.mean + (instead - at_centre) / self.count
        square = np.einsum("ij,ij->i", wide @ self.squares, wide) + (instead**2 - at_centre**2) / self.count
        deviation = np.sqrt(np.maximum(square - mean**2, 0))
        deviation = np.where(deviation > TIE, deviation, np.inf)
        rounded = np.round(own, 6)
        return (rounded - mean) / deviation, (np.round(best, 6) - rounded) / deviation


@dataclass(frozen=True)
class Centres:
    """What stands for each tool, `vectors` (tools, dim), and the distribution of scores at them and at errands.

    Errands stand beside the tools: in a small catalog a standard deviation says little, and hostile tools make it.
    """

    vectors: NDArray[np.float32]
    distribution: ScoreDistribution

    @classmethod
    def of(cls, vectors: NDArray[np.float32], errands: NDArray[np.float32]) -> "Centres":
        """Return the centres beside the vectors of everyday errands (errands, dim)."""
        return cls(vectors, ScoreDistribution.of(np.concatenate([vectors, errands])))

    def fits(self, texts: NDArray[np.float32], owners: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return by how many standard deviations texts (rows, dim) fit their own tools above the mean."""
        own_centres = self.vectors[np.broadcast_to(owners, len(texts))]
        own = np.einsum("ij,ij->i", texts, own_centres)
        return self.distribution.fit_and_lead(texts, own_centres, own, own)[0]
