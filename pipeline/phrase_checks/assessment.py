"""Assess the phrases of a catalog against all of its tools."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.comparison import CatalogComparison, ComparisonCache, tool_keys
from pipeline.phrase_checks.phrases import PhraseFindings, judge_phrases
from pipeline.phrase_checks.subject import Findings
from pipeline.phrase_checks.vectors import BLOCK, AssessedTool, CatalogVectors, ScoreDistribution
from pipeline.settings import AssessmentSettings

# Part of the key of every assessment in the ledger: raise it with any change to what is found.
ASSESSMENT_VERSION = 9

# The mean of fewer phrases depends too much on each of them.
_FEWEST_PHRASES = 3
# With fewer tools nothing is dropped: a standard deviation of so few scores says little.
_FEWEST_TOOLS = 20


def assess(
    tools: Sequence[AssessedTool],
    records: NDArray[np.float32],
    interfaces: NDArray[np.float32],
    phrases: NDArray[np.float32],
    settings: AssessmentSettings | None = None,
    *,
    block: int = BLOCK,
    cache: ComparisonCache | None = None,
) -> Findings:
    """Assess the phrases of a catalog, whose tools are in the order of their ids.

    Verdicts are of three checks, and their `detail` is the other tool's id. "misplaced": all phrases of a tool, because
    together they fit another tool, which is then its sibling. "inconsistent": one phrase that does. "collision": one
    phrase that fits a sibling as well or better, which is only noted. A phrase that repeats the record's own name and
    first sentence is neither misplaced nor inconsistent; nor is one of a record in another language.

    `records` and `interfaces` (tools, dim) are the vectors of each `AssessedTool.text` and `interface`, `phrases`
    (phrases, dim) those of each of `AssessedTool.phrases`, one tool after the other; all are L2-normalised. At most
    `block` scores are held at once. `cache` has what an earlier build compared, and receives what this one does;
    verdicts are the same without it. Raises ValueError where the shapes are not those of the tools.
    """
    settings = settings or AssessmentSettings()
    catalog = CatalogVectors.of(tools, records, phrases, block)
    if not len(phrases):
        return Findings()
    cache = cache or ComparisonCache()
    # With a filled cache the products are many and small, and threads cost more than they bring.
    with threadpool_limits(1 if cache.previous else None, "blas"):
        misplaced = _misplaced_tools(catalog, interfaces, tools, settings, cache)
        findings = judge_phrases(catalog.without(misplaced), tools, settings, cache)
    siblings = findings.siblings | {tool: (other,) for tool, other in misplaced.items()}
    return Findings(
        _verdicts(catalog, tools, misplaced, findings, settings),
        {tools[tool].tool_id: tuple(tools[other].tool_id for other in siblings[tool]) for tool in sorted(siblings)},
    )


def _misplaced_tools(
    catalog: CatalogVectors,
    interfaces: NDArray[np.float32],
    tools: Sequence[AssessedTool],
    settings: AssessmentSettings,
    cache: ComparisonCache,
) -> dict[int, int]:
    """Return {tool: other tool}, ordinals, for tools whose mean phrase fits another record far better than its own.

    Finds answers that came back under another tool's id. A careless description is no evidence: the phrases must fit
    the other interface better, too. A tool that has a phrase of its own words is never misplaced: where a record's text
    is about something else (permissions, rate limits, a long label), it is the record's vector that is off.
    """
    keys, columns = tool_keys(tools, catalog.judged), tool_keys(tools)
    comparison = CatalogComparison(catalog, catalog.records, keys, columns, cache, "whole")
    counts = np.diff(catalog.offsets)
    means, distribution = catalog.means(catalog.sums()), ScoreDistribution.of(catalog.records)
    of_interfaces = ScoreDistribution.of(interfaces)
    misplaced: dict[int, int] = {}
    for run in catalog.runs(np.ones(len(counts), np.int64)):
        own = np.einsum("ij,ij->i", means[run], catalog.records[run])
        rows, highest, best = comparison.competitors(run, means[run], run, own).best()
        found, texts = run[rows], means[run[rows]]
        fit, lead = distribution.fit_and_lead(texts, catalog.records[found], own[rows], highest)
        at_own, at_best = (np.einsum("ij,ij->i", texts, interfaces[some]) for some in (found, best))
        interface_fit, interface_lead = of_interfaces.fit_and_lead(texts, interfaces[found], at_own, at_best)
        wrong = np.maximum(fit, interface_fit) < settings.misplaced_fit
        wrong &= (lead + interface_lead) / 2 > settings.misplaced_lead
        wrong &= counts[found] >= _FEWEST_PHRASES
        wrong &= ~np.array([any(tools[tool].own_phrases) for tool in found.tolist()], bool)
        misplaced.update(zip(found[wrong].tolist(), best[wrong].tolist(), strict=True))
    comparison.keep()
    return misplaced


def _verdicts(
    catalog: CatalogVectors,
    tools: Sequence[AssessedTool],
    misplaced: Mapping[int, int],
    findings: PhraseFindings,
    settings: AssessmentSettings,
) -> tuple[TextVerdict, ...]:
    """Return a verdict for each field of each phrase with a finding; the gravest finding of a phrase counts."""

    def consequence(found: Iterable[int], judged: NDArray[np.int64]) -> Consequence:
        # An encoder at fault shows in most sources. Those of a hostile one cannot outvote the others.
        counts = Counter(tools[tool].source for tool in found)
        totals = Counter(tools[tool].source for tool in judged.tolist())
        faulty = sum(counts[source] > settings.max_share * total for source, total in totals.items())
        sound = len(tools) >= _FEWEST_TOOLS and 2 * faulty <= len(totals)
        return Consequence.DROPPED if sound else Consequence.NOTED

    of_tools = consequence(misplaced, np.flatnonzero(catalog.judged))
    of_phrases = consequence(catalog.owners[list(findings.inconsistent)].tolist(), catalog.owners)
    rows = {row: ("collision", Consequence.NOTED, other) for row, other in findings.collisions.items()}
    rows |= {row: ("inconsistent", of_phrases, other) for row, other in findings.inconsistent.items()}
    for tool, other in misplaced.items():
        first, end = catalog.offsets[tool : tool + 2].tolist()
        rows |= dict.fromkeys(range(first, end), ("misplaced", of_tools, other))
    verdicts: list[TextVerdict] = []
    for row, (check, what, other) in sorted(rows.items()):
        tool = int(catalog.owners[row])
        owner, detail = tools[tool], tools[other].tool_id
        text = owner.phrases[row - int(catalog.offsets[tool])]
        verdicts += [TextVerdict(owner.tool_id, name, text, check, what, detail) for name in owner.fields(text)]
    return tuple(verdicts)
