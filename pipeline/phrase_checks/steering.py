"""Hold what was written for a tool against what its record says of itself, to find text that steered the model.

The best phrases use words that the record lacks, and so do poisoned ones. The difference is where the poison came from:
a remark in the record that is not about the tool. See docs/decisions/phrase-checks.md.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.echoes import EmbeddedRemarks, Readability, chosen
from pipeline.phrase_checks.subject import Findings, Remark, WrittenTool, remarks, subject, subject_claim
from pipeline.phrase_checks.vectors import Centres
from pipeline.settings import AssessmentSettings
from router.tools.text_overlap import term_set

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

# One phrase may repeat a remark by chance; in honest catalogs hardly a tool has two.
_FEWEST_ECHOES = 2
_LEAST_CODE = 80  # characters of all remarks that cannot be read, where these asked for something
_LEAST_SHARE = 0.25  # of a tool's texts, where what asked for them cannot be read
# What so many tools of a vendor say is boilerplate, no demand, unless phrases repeat its words or are as many tools'.
_SHARED_BY = 5


@dataclass(frozen=True)
class _Finding:
    """What is wrong with one tool: its `echoes`; with `steered`, all that its subject does not support.

    `foreign` are the remarks that are about something else, `remarks` all of its record.
    """

    foreign: tuple[Remark, ...]
    remarks: EmbeddedRemarks
    echoes: frozenset[str]
    steered: bool


def find_steering(
    tools: Sequence[WrittenTool],
    vectors: NDArray[np.float32],
    embed: Embed,
    settings: AssessmentSettings,
    errands: Sequence[str],
) -> Findings:
    """Return what was written for tools without support by their own records, and which records made the model do so.

    A verdict's check is "echo", on a phrase that repeats a foreign remark, or "steered", on a text of a tool whose
    record steered. `detail` is the first foreign remark, shortened.

    `vectors` (tools + texts, dim) are those of each `WrittenTool.subject`, then of each of `WrittenTool.judged`, one
    tool after the other, L2-normalised as what `embed` returns. Remarks and short texts are embedded only for tools
    that have unsupported texts. How many are found changes nothing: a crowd of hostile tools cannot outvote the check.
    `errands` are everyday requests that have nothing to do with the catalog.
    """
    judged = vectors[len(tools) :]
    if not len(judged):
        return Findings()
    readability = Readability(chain(errands, (text for tool in tools for text in (tool.subject, *tool.judged))))
    beside = embed(errands)
    subjects = Centres.of(_subject_vectors(tools, vectors[: len(tools)], readability, embed, settings), beside)
    counts = np.array([len(tool.judged) for tool in tools])
    fits = subjects.fits(judged, np.repeat(np.arange(len(tools)), counts))
    ends = np.cumsum(counts)[:-1]
    by_tool, unsupported = np.split(judged, ends), np.split(fits < settings.unsupported_fit, ends)
    parts, shared = _remarks(tools, [ordinal for ordinal, mask in enumerate(unsupported) if mask.any()])
    by_text = _vectors_by_text((part.text for of_tool in parts.values() for part in of_tool), embed)
    found: dict[int, _Finding] = {}
    for ordinal, of_tool in parts.items():
        tool = tools[ordinal]
        every = EmbeddedRemarks(of_tool, np.array([by_text[p.text] for p in of_tool]), term_set(tool.subject))
        is_foreign = subjects.fits(every.vectors, ordinal) < settings.foreign_fit
        is_foreign &= ~_boilerplate(every, tool, unsupported[ordinal], shared)
        is_code = readability.codes(every.texts, settings.readable_share)
        finding = _finding(tool, every, is_foreign, is_code, by_tool[ordinal], unsupported[ordinal], settings)
        if finding is not None:
            found[ordinal] = finding
    # The encoder is judged by texts that no catalog has a hand in: most errands have nothing in common.
    blind = bool(np.median(beside @ beside.T) > settings.echo_similarity)
    consequence = Consequence.NOTED if blind else Consequence.DROPPED
    steering = {tools[ordinal].tool_id: one.foreign for ordinal, one in found.items() if one.steered and not blind}
    return Findings(_verdicts(tools, found, subjects, embed, settings, consequence), steering=steering, blind=blind)


def _verdicts(
    tools: Sequence[WrittenTool],
    found: Mapping[int, _Finding],
    subjects: Centres,
    embed: Embed,
    settings: AssessmentSettings,
    consequence: Consequence,
) -> tuple[TextVerdict, ...]:
    """Return a verdict on each echo. Of a tool that was steered all texts count, also those that are not judged.

    Such a tool keeps what its subject clearly supports, and that repeats no remark.
    """
    steered = [ordinal for ordinal, finding in found.items() if finding.steered]
    by_text = _vectors_by_text((text for ordinal in steered for text in tools[ordinal].all_texts), embed)
    verdicts: list[TextVerdict] = []
    for ordinal, finding in found.items():
        tool, wrong = tools[ordinal], finding.echoes
        if finding.steered:
            written = np.array([by_text[text] for text in tool.all_texts])
            bad = subjects.fits(written, ordinal) < settings.steered_fit
            bad |= finding.remarks.echoed_by(tool.all_texts, written, settings.echo_similarity)
            wrong |= frozenset(chosen(tool.all_texts, bad))
        check, detail = "steered" if finding.steered else "echo", finding.foreign[0].text[:80]
        verdicts += [
            TextVerdict(tool.tool_id, name, text, check, consequence, detail)
            for name, text in tool.texts
            if text in wrong
        ]
    return tuple(verdicts)


def _remarks(
    tools: Sequence[WrittenTool], suspects: Sequence[int]
) -> tuple[dict[int, list[Remark]], frozenset[tuple[str, str]]]:
    """Return the remarks of suspects that have some, and (vendor, text) of what many tools share, remarks and phrases.

    The remarks are by ordinal.
    """
    vendors = {_vendor_of(tools[ordinal]) for ordinal in suspects}
    parts = {ordinal: remarks(tool.record) for ordinal, tool in enumerate(tools) if _vendor_of(tool) in vendors}
    counts = Counter(
        (_vendor_of(tools[ordinal]), text)
        for ordinal, of_tool in parts.items()
        for text in {*(part.text for part in of_tool), *tools[ordinal].judged}
    )
    shared = frozenset(text for text, count in counts.items() if count >= _SHARED_BY)
    return {ordinal: parts[ordinal] for ordinal in suspects if parts[ordinal]}, shared


def _boilerplate(
    every: EmbeddedRemarks, tool: WrittenTool, unsupported: NDArray[np.bool_], shared: Collection[tuple[str, str]]
) -> NDArray[np.bool_]:
    """Return for each remark whether many tools of the vendor share it; none where they share phrases as well."""
    vendor, texts = _vendor_of(tool), chosen(tool.judged, unsupported)
    if sum((vendor, text) in shared for text in texts) >= _FEWEST_ECHOES:
        return np.zeros(len(every.parts), bool)
    return np.array([(vendor, text) in shared for text in every.texts], bool)


def _vendor_of(tool: WrittenTool) -> str:
    return tool.record.provider or tool.record.origin.file


def _subject_vectors(
    tools: Sequence[WrittenTool],
    subjects: NDArray[np.float32],
    readability: Readability,
    embed: Embed,
    settings: AssessmentSettings,
) -> NDArray[np.float32]:
    """Return the vectors of subjects (tools, dim), by the name only where a subject is in none of the languages."""
    unreadable = [
        place
        for place, tool in enumerate(tools)
        if (claim := subject_claim(tool.record)) and readability.share(claim) < settings.readable_share
    ]
    if not unreadable:
        return subjects
    subjects = subjects.copy()
    subjects[unreadable] = embed([subject(tools[place].record, named_only=True) for place in unreadable])
    return subjects


def _finding(
    tool: WrittenTool,
    every: EmbeddedRemarks,
    is_foreign: NDArray[np.bool_],
    is_code: NDArray[np.bool_],
    judged: NDArray[np.float32],
    unsupported: NDArray[np.bool_],
    settings: AssessmentSettings,
) -> _Finding | None:
    """Check the judged texts of one tool against the foreign remarks of its record; None where all is well.

    `every` has all of its remarks, of which some are about something else or cannot be read.
    """
    # A demand that is repeated word by word may name something by chance that the subject is near to.
    is_foreign = is_foreign | every.repeated_by(judged[unsupported]) | is_code
    if not is_foreign.any():
        return None
    foreign = every.where(is_foreign)
    if sum(map(len, every.where(is_code).texts)) >= _LEAST_CODE:
        echoes = unsupported  # what the remarks say cannot be read, so any unsupported text may be their echo
        steered = int(echoes.sum()) >= _FEWEST_ECHOES and bool(echoes.mean() >= _LEAST_SHARE)
    else:
        echoes = unsupported & foreign.echoed_by(tool.judged, judged, settings.echo_similarity)
        steered = int(echoes.sum()) >= _FEWEST_ECHOES and foreign.carry_requests(judged[echoes])
    if not steered:
        echoes = echoes & foreign.echoed_by(tool.judged, judged, settings.repeat_similarity)
        if not echoes.any():
            return None
    return _Finding(tuple(foreign.parts), every, frozenset(chosen(tool.judged, echoes)), steered)


def _vectors_by_text(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float32]]:
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, embed(unique), strict=True)) if unique else {}
