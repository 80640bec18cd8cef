"""Find what was written for a tool though its own subject says nothing of it, and a tool of another source does.

What asked for it need not be understood, so it holds whatever language, list or riddle did. See
docs/decisions/phrase-checks.md.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.identity import earned_subjects, source_of
from pipeline.phrase_checks.steering import Embed
from pipeline.phrase_checks.subject import Findings, Remark, WrittenTool, remarks
from pipeline.phrase_checks.vectors import BLOCK, Centres
from pipeline.settings import AssessmentSettings

# One phrase of an honest tool may fit another's by chance; hardly a tool has two.
_FEWEST = 2
# Without anything in the record that may have asked for them.
_FEWEST_UNASKED = 3
_SHARE_UNASKED = 0.4
# Parameters are about something else in most honest records.
_PROSE = ("provider", "description", "categories", "examples")


def find_foreign(
    tools: Sequence[WrittenTool],
    vectors: NDArray[np.float32],
    embed: Embed,
    settings: AssessmentSettings,
    errands: Sequence[str],
) -> Findings:
    """Return the texts that fit a tool of another source and that nothing of their own supports, and what asked.

    `vectors` (tools + texts, dim) are those of each `WrittenTool.subject`, then of each of `WrittenTool.judged`, one
    tool after the other, L2-normalised as what `embed` returns. `errands` are everyday requests that have nothing to do
    with the catalog. A verdict's check is "other_source", its `detail` the id of the tool that the text fits. It makes
    no difference whether a tool serves already: what is dropped today would otherwise be indexed tomorrow.
    """
    numbers = {source: number for number, source in enumerate(dict.fromkeys(source_of(tool.record) for tool in tools))}
    if len(vectors) == len(tools) or len(numbers) < 2:
        return Findings()
    sources = np.array([numbers[source_of(tool.record)] for tool in tools])
    judged, earned = vectors[len(tools) :], earned_subjects(tools)
    subjects = embed([subject for subject, _ in earned])
    counts = np.array([len(tool.judged) for tool in tools])
    owners = np.repeat(np.arange(len(tools)), counts)
    beside = embed(errands)
    by_subject = Centres.of(subjects, beside)
    supported = by_subject.fits(judged, owners) >= settings.supported_fit
    # Texts in other words than the subject are near to those that it supports. The others stand for nothing, or those
    # that an attacker demands would support each other.
    of_tools = subjects.copy()
    np.add.at(of_tools, owners[supported], judged[supported])
    centres = Centres.of(of_tools / np.linalg.norm(of_tools, axis=1, keepdims=True), beside)
    limits = settings.foreign_fit, settings.foreign_lead
    found = np.bincount(owners[_better_tools(centres, sources, judged, owners, *limits) >= 0], minlength=len(tools))
    verdicts: list[TextVerdict] = []
    steering: dict[str, tuple[Remark, ...]] = {}
    for ordinal in np.flatnonzero(found >= _FEWEST).tolist():
        tool = tools[ordinal]
        parts = [part for part in remarks(tool.record) if part.field in _PROSE]
        fits = by_subject.fits(embed([part.text for part in parts]), ordinal) if parts else np.zeros(0)
        foreign = (part for part, fit in zip(parts, fits.tolist(), strict=True) if fit < settings.foreign_fit)
        asked = (*earned[ordinal][1], *foreign)
        many = found[ordinal] >= max(_FEWEST_UNASKED, _SHARE_UNASKED * counts[ordinal])
        if not asked and not many:
            continue
        # What surely asked for some texts may have asked for any that its subject does not clearly support.
        compared, fit, lead = (by_subject, settings.steered_fit, 0.0) if asked and many else (centres, *limits)
        texts = tool.all_texts
        fitting = _better_tools(compared, sources, embed(texts), np.full(len(texts), ordinal), fit, lead).tolist()
        others = {text: tools[other].tool_id for text, other in zip(texts, fitting, strict=True) if other >= 0}
        verdicts += [
            TextVerdict(tool.tool_id, name, text, "other_source", Consequence.DROPPED, others[text])
            for name, text in tool.texts
            if text in others
        ]
        if asked:
            steering[tool.tool_id] = asked
    return Findings(tuple(verdicts), steering=steering)


def _better_tools(
    centres: Centres,
    sources: NDArray[np.int64],
    texts: NDArray[np.float32],
    owners: NDArray[np.int64],
    fit: float,
    lead: float,
) -> NDArray[np.int64]:
    """Return for each text (rows, dim) of a lower fit the tool of another source at a higher lead; -1 for none."""
    found = np.full(len(texts), -1)
    unsupported = np.flatnonzero(centres.fits(texts, owners) < fit)
    for rows in np.array_split(unsupported, len(unsupported) * len(centres.vectors) // BLOCK + 1):
        own_centres = centres.vectors[owners[rows]]
        scores = texts[rows] @ centres.vectors.T
        scores[sources[owners[rows], None] == sources] = -1
        best = scores.argmax(axis=1)
        own = np.einsum("ij,ij->i", texts[rows], own_centres)
        highest = scores[np.arange(len(rows)), best]
        _, leads = centres.distribution.fit_and_lead(texts[rows], own_centres, own, highest)
        found[rows] = np.where(leads > lead, best, -1)
    return found
