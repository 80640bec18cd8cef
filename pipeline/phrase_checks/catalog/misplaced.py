"""A tool's phrases together: do they speak of the tool that its record describes?"""

from collections.abc import Sequence

import numpy as np

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.comparison_cache import CatalogComparison, ComparisonCache, tool_keys
from pipeline.phrase_checks.catalog.vectors import CatalogVectors, ScoreDistribution
from pipeline.settings import AssessmentSettings

# The mean of fewer phrases is one writer's whim.
_FEWEST_PHRASES = 3


def misplaced_tools(
    space: CatalogVectors, subjects: Sequence[AssessedTool], settings: AssessmentSettings, memory: ComparisonCache
) -> dict[int, int]:
    """Tools whose phrases together hardly fit their own record, and another far better: {tool: other}, ordinals.

    Answers that came back under another tool's id are found so, and what a model made up from a name. A tool that has a
    phrase of its own words is none of them: where its record's text is about something else (permissions, rate limits,
    a long label), it is the record's vector that lies elsewhere.
    """
    keys = tool_keys(subjects, space.judged)
    comparison = CatalogComparison(space, space.records, tool_keys(subjects), memory.before.get("whole"))
    counts = np.diff(space.offsets)
    means, spread = space.means(space.sums()), ScoreDistribution.of(space.records)
    found: dict[int, int] = {}
    for tools in space.runs(np.ones(len(counts), np.int64)):
        own = np.einsum("ij,ij->i", means[tools], space.records[tools])
        texts, highest, best = comparison.fits(means[tools], keys[tools], tools, own).best()
        mean, deviation = spread.standard(means[tools[texts]], space.records[tools[texts]], own[texts])
        fit = (np.round(own[texts], 6) - mean) / deviation
        lead = (np.round(highest, 6) - np.round(own[texts], 6)) / deviation
        wrong = (fit < settings.misplaced_fit) & (lead > settings.misplaced_lead)
        wrong &= counts[tools[texts]] >= _FEWEST_PHRASES
        wrong &= ~np.array([any(subjects[tool].own_phrases) for tool in tools[texts].tolist()], bool)
        found.update(zip(tools[texts[wrong]].tolist(), best[wrong].tolist(), strict=True))
    memory.now["whole"] = comparison.compared()
    return found
