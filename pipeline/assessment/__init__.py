"""Phrases judged against the whole catalog: what does not bring its own tool back, and which tools collide.

The measured facts behind it stand in `AssessmentSettings`. All of it is arithmetic on vectors: no model is asked, no
file is read, and equal inputs give equal verdicts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.assessment.phrases import judge_phrases
from pipeline.assessment.space import Space
from pipeline.assessment.subject import Subject
from pipeline.assessment.whole import misplaced
from pipeline.enrichment.verdict import Consequence, Verdict
from pipeline.settings import AssessmentSettings

__all__ = ["ASSESSMENT_VERSION", "Assessment", "Subject", "assess"]

# In the key of every assessment that a ledger keeps: raise it with any change to what is found.
ASSESSMENT_VERSION = 1

# A standard deviation of fewer scores says little: with fewer tools nothing is dropped. (Of subsets of 20 tools none lost
# a text, of 40 tools .04 % of the phrases.)
_FEWEST_TOOLS = 20


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the whole catalog says of the phrases.

    `verdicts`, in the order of tools and phrases, are of three checks; `detail` is the id of the other tool.
    "misplaced": all of a tool's phrases, for together they speak of another tool: nothing of the expansion is to be
    trusted. "inconsistent": one phrase of a tool. "collision", only noted: it fits a sibling as well or better.

    `siblings` are, by tool id, the ids of the tools that its phrases fit as well or better, most phrases first, at most
    three. A tool without any is left out.
    """

    verdicts: tuple[Verdict, ...] = ()
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def assess(
    subjects: Sequence[Subject],
    records: NDArray[np.float32],
    phrases: NDArray[np.float32],
    settings: AssessmentSettings | None = None,
    *,
    block: int | None = None,
) -> Assessment:
    """Judge the phrases of a catalog, whose tools come in the order of their ids.

    `records` (tools, dim) are the vectors of `Subject.text`, `phrases` (phrases, dim) those of every `Subject.phrases`
    one after the other, both L2-normalised. `block` is how many scores are held at once. Raises ValueError where the
    shapes are not those of the subjects.
    """
    settings = settings or AssessmentSettings()
    space = Space.of(subjects, records, phrases, block)
    taken = misplaced(space, settings.misplaced_lead)
    verdicts: dict[int, list[Verdict]] = {}
    few = len(subjects) < _FEWEST_TOOLS
    held = few or len(taken) > settings.max_share * space.tools_with_phrases
    consequence = Consequence.NOTED if held else Consequence.DROPPED
    for tool, other in taken.items():
        verdicts[tool] = [
            Verdict(subjects[tool].tool_id, name, text, "misplaced", consequence, subjects[other].tool_id)
            for phrase in subjects[tool].phrases
            for name, text in subjects[tool].fields(phrase)
        ]
    found = judge_phrases(space.without(taken), settings)
    held = few or len(found.inconsistent) > settings.max_share * len(phrases)
    consequence = Consequence.NOTED if held else Consequence.DROPPED
    marks = [(row, other, "inconsistent", consequence) for row, other in found.inconsistent.items()]
    marks += [(row, other, "collision", Consequence.NOTED) for row, other in found.collisions.items()]
    for row, other, check, what in sorted(marks):
        tool = int(space.owners[row])
        subject = subjects[tool]
        phrase = subject.phrases[row - int(space.offsets[tool])]
        verdicts.setdefault(tool, []).extend(
            Verdict(subject.tool_id, name, text, check, what, subjects[other].tool_id)
            for name, text in subject.fields(phrase)
        )
    near = {**{tool: (other,) for tool, other in taken.items()}, **found.siblings}
    return Assessment(
        tuple(verdict for tool in sorted(verdicts) for verdict in verdicts[tool]),
        {subjects[tool].tool_id: tuple(subjects[other].tool_id for other in near[tool]) for tool in sorted(near)},
    )
