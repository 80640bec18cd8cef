"""Catalogs whose vectors are axes, so that every score can be worked out by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.phrase_checks.assessment import assess
from pipeline.phrase_checks.subject import Findings
from pipeline.phrase_checks.vectors import AssessedTool
from pipeline.settings import AssessmentSettings
from router.tools.text_overlap import term_set

# Catalogs of a few tools with phrases: one wrong tool is a large share of them.
ANY_SHARE = AssessmentSettings(max_share=1)


@dataclass
class Catalog:
    """Tools added one by one. A vector is a text of axes: "a" is the first axis, "ab" lies between the first two."""

    subjects: list[AssessedTool] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)

    def add(
        self,
        record: str,
        *phrases: str,
        when: str = "",
        content: str | None = None,
        own: Sequence[int] = (),
        interface: str = "",
    ) -> str:
        """A tool with the vectors of its record, its phrases and its sentence; its id, which is t00, t01, …

        The phrases of these numbers, `own`, say what the record's name and first sentence say. The vector of its
        `interface` is the record's, unless another is given.
        """
        tool_id = f"t{len(self.subjects):02d}"
        texts = tuple(f"{tool_id} phrase {number}" for number in range(len(phrases)))
        sentence = f"{tool_id} sentence" if when else ""
        terms = term_set(" ".join(texts[number] for number in own))
        self.subjects.append(AssessedTool(tool_id, "", content or tool_id, texts, sentence, terms))
        self.records.append(record)
        self.interfaces.append(interface or record)
        self.phrases += [*phrases, *([when] if when else [])]
        return tool_id

    def fill(self, tools: int, record: str = "z") -> "Catalog":
        """Tools without phrases up to a number."""
        while len(self.subjects) < tools:
            self.add(record)
        return self

    def assess(self, settings: AssessmentSettings = ANY_SHARE) -> Findings:
        records, interfaces, phrases = map(vectors, (self.records, self.interfaces, self.phrases))
        return assess(self.subjects, records, interfaces, phrases, settings)


def vectors(texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """(texts, 26): the axes of each text's letters, normalised."""
    matrix = np.zeros((len(texts), 26), np.float32)
    for row, text in enumerate(texts):
        for letter in text:
            matrix[row, ord(letter) - ord("a")] += 1
        matrix[row] /= np.linalg.norm(matrix[row])
    return matrix
