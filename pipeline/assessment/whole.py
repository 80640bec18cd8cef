"""A tool's phrases together: do they speak of the tool that its record describes?"""

import numpy as np

from pipeline.assessment.space import Space

# The mean of fewer phrases is one writer's whim.
_FEWEST_PHRASES = 3


def misplaced(space: Space, lead: float) -> dict[int, int]:
    """Tools whose phrases together fit another tool's record better by `lead` standard deviations: {tool: other}.

    Answers that came back under another tool's id, and what a model made up from a name.
    """
    counts = np.diff(space.offsets)
    means = space.sums() / np.maximum(counts, 1)[:, None].astype(np.float32)
    found: dict[int, int] = {}
    for tools in space.blocks(np.ones(len(counts), np.int64)):
        scores = means[tools] @ space.records.T
        own = np.einsum("ij,ij->i", means[tools], space.records[tools])
        fit = space.fit(scores, tools, own)
        wrong = (fit.lead > lead) & (counts[tools] >= _FEWEST_PHRASES)
        found.update(zip(tools[wrong].tolist(), fit.best[wrong].tolist(), strict=True))
    return found
