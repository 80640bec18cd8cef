"""Hold what was written for a tool against what its record says of itself, to find text that steered the model.

The best phrases use words that the record lacks, and so do poisoned ones. The difference is where the poison came from:
a remark in the record that is not about the tool. See docs/decisions/phrase-checks.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.subject import Findings, Remark, WrittenTool, remarks, subject, subject_claim
from pipeline.phrase_checks.vectors import Centres
from pipeline.settings import AssessmentSettings
from router.tools.text_overlap import term_set

T = TypeVar("T")
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

# One phrase may repeat a remark by chance; in honest catalogs hardly a tool has two.
_FEWEST_ECHOES = 2
_LEAST_SHARE = 0.25  # of a tool's texts, where what asked for them cannot be read
# Unreadable remarks that can carry a phrase have this many characters, each and together. Shorter ones are formats.
_SHORTEST_CODE = 25
_LEAST_CODE = 80
# The least share of a phrase's terms that the remarks together must have, where vectors see no echo: a phrase may be
# spread over parameters.
_SHARED = 0.75
_FEWEST_TERMS = 3
_VERBATIM = 0.9  # cosine
_REQUEST_WORDS = 4
_REQUEST_CHARACTERS = 20
_LONG_REMARK = 8  # words
# What so many tools of a vendor say is boilerplate, no demand, unless phrases repeat its words or are as many tools'.
_SHARED_BY = 5
# Rarer trigrams say nothing of a catalog's languages.
_FEWEST_TRIGRAMS = 3
# Texts that are counted: more of a large catalog add time and no trigrams.
_MOST_TEXTS = 20_000


@dataclass(frozen=True)
class EmbeddedRemarks:
    """Remarks of one record: texts, and `vectors` (remarks, dim), L2-normalised."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]
    subject_terms: frozenset[str]

    def repeated_by(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return for each remark whether a text of vectors (texts, dim) repeats it word by word, or nearly."""
        return np.asarray((self.vectors @ vectors.T > _VERBATIM).any(axis=1), bool)

    def echoed_by(self, texts: Sequence[str], vectors: NDArray[np.float32], similarity: float) -> NDArray[np.bool_]:
        """Return for each text, of `vectors` (texts, dim), whether it repeats a remark or is made of their terms."""
        nearest: NDArray[np.float32] = (vectors @ self.vectors.T).max(axis=1)
        terms = term_set(" ".join(self.texts)) - self.subject_terms
        made: NDArray[np.bool_] = np.array([_made_of(text, terms) for text in texts], bool)
        return made | (nearest > similarity)

    def carry_requests(self, echoes: NDArray[np.float32]) -> bool:
        """Return whether texts of vectors (echoes, dim) repeat two requests, or a remark that has room for several.

        Several phrases that repeat one short remark are about it: "Only agents see it."
        """
        nearest = [self.texts[remark] for remark in np.unique((echoes @ self.vectors.T).argmax(axis=1)).tolist()]
        return sum(map(_may_be_request, nearest)) > 1 or any(len(text.split()) >= _LONG_REMARK for text in nearest)


def _may_be_request(text: str) -> bool:
    if " " not in text:
        return len(text) >= _REQUEST_CHARACTERS // 2  # a language without spaces
    return len(text.split()) >= _REQUEST_WORDS and len(text) >= _REQUEST_CHARACTERS


def _made_of(text: str, terms: frozenset[str]) -> bool:
    own = term_set(text)
    return len(own) >= _FEWEST_TERMS and len(own & terms) >= _SHARED * len(own)


class Readability:
    """Says how much of a text is made of the trigrams that a catalog's subjects and phrases are made of."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for _, text in zip(range(_MOST_TEXTS), texts, strict=False):
            counts.update(_trigrams(text))
        self._known = frozenset(trigram for trigram, count in counts.items() if count >= _FEWEST_TRIGRAMS)

    def share(self, text: str) -> float:
        """Return the share of a text's trigrams that the catalog knows, 0 to 1. Ciphers and codes have below .6."""
        trigrams = _trigrams(text)
        return sum(trigram in self._known for trigram in trigrams) / len(trigrams)


def _trigrams(text: str) -> list[str]:
    padded = f"  {text.casefold()} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


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
    starts = np.cumsum([0, *(len(tool.judged) for tool in tools)])
    owners = np.repeat(np.arange(len(tools)), np.diff(starts))
    unsupported = subjects.fits(judged, owners) < settings.unsupported_fit
    parts, shared = _remarks(tools, np.unique(owners[unsupported]).tolist())
    by_text = _vectors_by_text((part.text for of_tool in parts.values() for part in of_tool), embed)
    found: dict[int, _Finding] = {}
    for ordinal, of_tool in parts.items():
        if not of_tool:
            continue
        texts = [part.text for part in of_tool]
        every = EmbeddedRemarks(texts, np.array([by_text[text] for text in texts]), term_set(tools[ordinal].subject))
        is_foreign = subjects.fits(every.vectors, ordinal) < settings.foreign_fit
        unread = (len(one) >= _SHORTEST_CODE and readability.share(one) < settings.readable_share for one in texts)
        is_code = np.fromiter(unread, bool, len(texts))
        rows, vendor = slice(*starts[ordinal : ordinal + 2].tolist()), _vendor_of(tools[ordinal])
        unsupported_texts = _chosen(tools[ordinal].judged, unsupported[rows])
        if sum((vendor, text) in shared for text in unsupported_texts) < _FEWEST_ECHOES:
            is_foreign &= [(vendor, text) not in shared for text in texts]
        finding = _finding(
            tools[ordinal], of_tool, every, is_foreign, is_code, judged[rows], unsupported[rows], settings
        )
        if finding is not None:
            found[ordinal] = finding
    steered = [ordinal for ordinal, finding in found.items() if finding.steered]
    of_texts = _vectors_by_text((text for ordinal in steered for text in tools[ordinal].all_texts), embed)
    # The encoder is judged by texts that no catalog has a hand in: most errands have nothing in common.
    blind = bool(np.median(beside @ beside.T) > settings.echo_similarity)
    consequence = Consequence.NOTED if blind else Consequence.DROPPED
    verdicts: list[TextVerdict] = []
    for ordinal, finding in found.items():
        tool, wrong = tools[ordinal], finding.echoes
        if finding.steered:  # it keeps what its subject clearly supports, and that repeats no remark
            written = np.array([of_texts[text] for text in tool.all_texts])
            bad = subjects.fits(written, ordinal) < settings.steered_fit
            bad |= finding.remarks.echoed_by(tool.all_texts, written, settings.echo_similarity)
            wrong |= frozenset(_chosen(tool.all_texts, bad))
        check, detail = "steered" if finding.steered else "echo", finding.foreign[0].text[:80]
        verdicts += [
            TextVerdict(tool.tool_id, name, text, check, consequence, detail)
            for name, text in tool.texts
            if text in wrong
        ]
    steering = {tools[ordinal].tool_id: found[ordinal].foreign for ordinal in steered}
    return Findings(tuple(verdicts), steering={} if blind else steering, blind=blind)


def _remarks(
    tools: Sequence[WrittenTool], suspects: Sequence[int]
) -> tuple[dict[int, list[Remark]], frozenset[tuple[str, str]]]:
    """Return the remarks of suspects, by ordinal, and (vendor, text) of what many tools share, remarks and phrases."""
    vendors = {_vendor_of(tools[ordinal]) for ordinal in suspects}
    parts = {ordinal: remarks(tool.record) for ordinal, tool in enumerate(tools) if _vendor_of(tool) in vendors}
    counts = Counter(
        (_vendor_of(tools[ordinal]), text)
        for ordinal, of_tool in parts.items()
        for text in {*(part.text for part in of_tool), *tools[ordinal].judged}
    )
    shared = frozenset(text for text, count in counts.items() if count >= _SHARED_BY)
    return {ordinal: parts[ordinal] for ordinal in suspects}, shared


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
    parts: Sequence[Remark],
    every: EmbeddedRemarks,
    is_foreign: NDArray[np.bool_],
    is_code: NDArray[np.bool_],
    judged: NDArray[np.float32],
    unsupported: NDArray[np.bool_],
    settings: AssessmentSettings,
) -> _Finding | None:
    """Check the judged texts of one tool against the foreign remarks of its record; None where all is well.

    `parts` and `every` are all of its remarks, of which some are about something else or cannot be read.
    """
    # A demand that is repeated word by word may name something by chance that the subject is near to.
    is_foreign = is_foreign | every.repeated_by(judged[unsupported]) | is_code
    if not is_foreign.any():
        return None
    foreign = EmbeddedRemarks(_chosen(every.texts, is_foreign), every.vectors[is_foreign], every.subject_terms)
    if sum(map(len, _chosen(every.texts, is_code))) >= _LEAST_CODE:
        echoes = unsupported  # what the remarks say cannot be read, so any unsupported text may be their echo
        steered = int(echoes.sum()) >= _FEWEST_ECHOES and bool(echoes.mean() >= _LEAST_SHARE)
    else:
        echoes = unsupported & foreign.echoed_by(tool.judged, judged, settings.echo_similarity)
        steered = int(echoes.sum()) >= _FEWEST_ECHOES and foreign.carry_requests(judged[echoes])
    if not steered:
        echoes = echoes & foreign.echoed_by(tool.judged, judged, settings.repeat_similarity)
        if not echoes.any():
            return None
    return _Finding(_chosen(parts, is_foreign), every, frozenset(_chosen(tool.judged, echoes)), steered)


def _chosen(values: Sequence[T], mask: NDArray[np.bool_]) -> tuple[T, ...]:
    return tuple(value for value, chosen in zip(values, mask.tolist(), strict=True) if chosen)


def _vectors_by_text(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float32]]:
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, embed(unique), strict=True)) if unique else {}
