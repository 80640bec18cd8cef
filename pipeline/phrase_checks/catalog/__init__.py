"""Phrases judged against the whole catalog: what does not bring its own tool back, and which tools collide.

What was measured stands in `AssessmentSettings`. It is arithmetic on vectors: equal inputs give equal verdicts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.enrichment.verdict import Consequence, Verdict
from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.comparison_cache import ComparisonCache
from pipeline.phrase_checks.catalog.misplaced import misplaced_tools
from pipeline.phrase_checks.catalog.phrases import judge_phrases
from pipeline.phrase_checks.catalog.vectors import BLOCK, CatalogVectors
from pipeline.settings import AssessmentSettings

__all__ = ["ASSESSMENT_VERSION", "Assessment", "Memory", "Subject", "assess"]

# In the key of every assessment that a ledger keeps: raise it with any change to what is found.
ASSESSMENT_VERSION = 2

# A standard deviation of fewer scores says little: with fewer tools nothing is dropped.
_FEWEST_TOOLS = 20


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the whole catalog says of the phrases.

    `verdicts`, in the order of tools and phrases, are of three checks, and their `detail` is the other tool's id.
    "misplaced": all phrases of a tool, for together they speak of another. "inconsistent": one phrase does.
    "collision": one fits a sibling as well or better, which is only noted. A phrase that says what the record's own
    name and first sentence say is neither misplaced nor inconsistent.

    `siblings` has by tool id the ids of the tools that enough of its phrases fit as well or better, the most phrases
    first, at most three; for a misplaced tool, the tool that its phrases speak of. A tool without any is left out.
    """

    verdicts: tuple[Verdict, ...] = ()
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def assess(
    subjects: Sequence[AssessedTool],
    records: NDArray[np.float32],
    phrases: NDArray[np.float32],
    settings: AssessmentSettings | None = None,
    *,
    block: int = BLOCK,
    memory: ComparisonCache | None = None,
) -> Assessment:
    """Judge the phrases of a catalog, whose tools come in the order of their ids.

    `records` (tools, dim) are the vectors of each `AssessedTool.text`, `phrases` (phrases, dim) those of each of
    `AssessedTool.phrases`, one tool after the other; both are L2-normalised. `block` is how many scores are held at once;
    `memory` has what an earlier build compared, and takes what this one does: without it the verdicts are the same.
    Raises ValueError where the shapes are not those of the subjects.
    """
    settings = settings or AssessmentSettings()
    space = CatalogVectors.of(subjects, records, phrases, block)
    if not len(phrases):
        return Assessment()
    memory = memory or ComparisonCache()
    # A night's products are many and small, and threads that wait for the next one cost more than they bring: 10,000
    # tools of which a hundredth is new take 3.9 CPU s on one thread, 9.2 on two.
    with threadpool_limits(1 if memory.before else None, "blas"):
        whole = misplaced_tools(space, subjects, settings, memory)
        judged = judge_phrases(space.without(whole), subjects, settings, memory)

    def consequence(found: int, of: int) -> Consequence:
        sound = len(subjects) >= _FEWEST_TOOLS and found <= settings.max_share * of
        return Consequence.DROPPED if sound else Consequence.NOTED

    of_tools = consequence(len(whole), int(space.judged.sum()))
    of_phrases = consequence(len(judged.inconsistent), len(phrases))
    rows = {row: ("collision", Consequence.NOTED, other) for row, other in judged.collisions.items()}
    rows |= {row: ("inconsistent", of_phrases, other) for row, other in judged.inconsistent.items()}
    for tool, other in whole.items():
        first, end = space.offsets[tool : tool + 2].tolist()
        rows |= dict.fromkeys(range(first, end), ("misplaced", of_tools, other))
    verdicts = []
    for row, (check, what, other) in sorted(rows.items()):
        tool = int(space.owners[row])
        subject, detail = subjects[tool], subjects[other].tool_id
        text = subject.phrases[row - int(space.offsets[tool])]
        verdicts += [Verdict(subject.tool_id, name, text, check, what, detail) for name in subject.fields(text)]
    siblings = judged.siblings | {tool: (other,) for tool, other in whole.items()}
    return Assessment(
        tuple(verdicts),
        {
            subjects[tool].tool_id: tuple(subjects[other].tool_id for other in siblings[tool])
            for tool in sorted(siblings)
        },
    )
