"""A tool's phrases together: do they speak of the tool that its record describes?"""

import numpy as np

from pipeline.assessment.space import Space
from pipeline.settings import AssessmentSettings

# The mean of fewer phrases is one writer's whim.
_FEWEST_PHRASES = 3


def misplaced(space: Space, settings: AssessmentSettings) -> dict[int, int]:
    """Tools whose phrases together hardly fit their own record, and another far better: {tool: other}, ordinals.

    Answers that came back under another tool's id are found so, and what a model made up from a name.
    """
    counts = np.diff(space.offsets)
    means = space.means()
    found: dict[int, int] = {}
    for tools in space.blocks(np.ones(len(counts), np.int64)):
        scores = means[tools] @ space.records.T
        own = (means[tools] * space.records[tools]).sum(axis=1)
        fit = space.fit(scores, tools, own)
        wrong = (fit.own < settings.misplaced_fit) & (fit.lead > settings.misplaced_lead)
        wrong &= counts[tools] >= _FEWEST_PHRASES
        found.update(zip(tools[wrong].tolist(), fit.best[wrong].tolist(), strict=True))
    return found
