"""Judge a tool's phrases together: do they fit the tool that its record describes?"""

from collections.abc import Sequence

import numpy as np

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.comparison_cache import CatalogComparison, ComparisonCache, tool_keys
from pipeline.phrase_checks.catalog.vectors import CatalogVectors, ScoreDistribution
from pipeline.settings import AssessmentSettings

# The mean of fewer phrases depends too much on each of them.
_FEWEST_PHRASES = 3


def misplaced_tools(
    catalog: CatalogVectors, tools: Sequence[AssessedTool], settings: AssessmentSettings, cache: ComparisonCache
) -> dict[int, int]:
    """Return {tool: other tool}, ordinals, for tools whose mean phrase fits another record far better than its own.

    Finds answers that came back under another tool's id, and phrases made up from a name. A tool that has a phrase of
    its own words is never misplaced: where a record's text is about something else (permissions, rate limits, a long
    label), it is the record's vector that is off.
    """
    keys = tool_keys(tools, catalog.judged)
    comparison = CatalogComparison(catalog, catalog.records, tool_keys(tools), cache.previous.get("whole"))
    counts = np.diff(catalog.offsets)
    means, distribution = catalog.means(catalog.sums()), ScoreDistribution.of(catalog.records)
    misplaced: dict[int, int] = {}
    for run in catalog.runs(np.ones(len(counts), np.int64)):
        own = np.einsum("ij,ij->i", means[run], catalog.records[run])
        rows, highest, best = comparison.competitors(means[run], keys[run], run, own).best()
        mean, deviation = distribution.standard(means[run[rows]], catalog.records[run[rows]], own[rows])
        fit = (np.round(own[rows], 6) - mean) / deviation
        lead = (np.round(highest, 6) - np.round(own[rows], 6)) / deviation
        wrong = (fit < settings.misplaced_fit) & (lead > settings.misplaced_lead)
        wrong &= counts[run[rows]] >= _FEWEST_PHRASES
        wrong &= ~np.array([any(tools[tool].own_phrases) for tool in run[rows].tolist()], bool)
        misplaced.update(zip(run[rows[wrong]].tolist(), best[wrong].tolist(), strict=True))
    cache.current["whole"] = comparison.to_cache()
    return misplaced
