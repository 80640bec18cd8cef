"""Decide which tools' records steered the model, and which of the texts written for them are not indexed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.phrase_checks.record_steering.measures import EmbeddedRemarks, Readability, SubjectFit
from pipeline.phrase_checks.record_steering.subject import Remark, WrittenTool, remarks, subject, subject_claim
from pipeline.settings import AssessmentSettings
from router.tools.text_overlap import term_set

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

# One phrase may repeat a remark by chance; in honest catalogs hardly a tool has two.
_FEWEST_ECHOES = 2
_LEAST_SHARE = 0.25  # of a tool's texts, where what asked for them cannot be read
# With fewer tools a standard deviation of scores says little, and nothing is judged.
_FEWEST_TOOLS = 20
# Unreadable remarks that can carry a phrase have this many characters, each and together. Shorter ones are formats.
_SHORTEST_CODE = 25
_LEAST_CODE = 80


@dataclass(frozen=True)
class SteeringFindings:
    """Verdicts on the texts of expansions, and by tool id the remarks of a record that steered the model.

    A verdict's check is "echo", on a phrase that repeats a foreign remark, or "steered", on a text of a tool whose
    record steered. `detail` is the first foreign remark, shortened.
    """

    verdicts: tuple[TextVerdict, ...] = ()
    steering: Mapping[str, tuple[Remark, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Finding:
    """What is wrong with one tool: its `echoes`; with `steered`, all that its subject does not support.

    `foreign` are the remarks that are about something else.
    """

    foreign: tuple[Remark, ...]
    echoes: frozenset[str]
    steered: bool


def find_steering(
    tools: Sequence[WrittenTool], vectors: NDArray[np.float32], embed: Embed, settings: AssessmentSettings
) -> SteeringFindings:
    """Return what was written for tools without support by their own records, and which records made the model do so.

    `vectors` (tools + texts, dim) are those of each `WrittenTool.subject`, then of each of `WrittenTool.judged`, one
    tool after the other, L2-normalised as what `embed` returns. Remarks and short texts are embedded only for tools
    that have unsupported texts. Where more than `max_share` of the tools would be found to be steered, the encoder or
    the catalog is at fault, and texts are only noted.
    """
    judged = vectors[len(tools) :]
    if len(tools) < _FEWEST_TOOLS or not len(judged):
        return SteeringFindings()
    readability = Readability(text for tool in tools for text in (tool.subject, *tool.judged))
    fit = SubjectFit(_subject_vectors(tools, vectors[: len(tools)], readability, embed, settings))
    catalog = _Catalog(tools, fit, readability, settings)
    counts = [len(tool.judged) for tool in tools]
    owners = np.repeat(np.arange(len(tools)), counts)
    fits = fit.of(judged, owners)
    found = catalog.findings(judged, owners, fits, embed)
    steered = [ordinal for ordinal, finding in found.items() if finding.steered]
    of_texts = _vectors_by_text((text for ordinal in steered for text in tools[ordinal].all_texts), embed)
    sound = len(steered) <= settings.max_share * len(tools)
    consequence = Consequence.DROPPED if sound else Consequence.NOTED
    verdicts: list[TextVerdict] = []
    for ordinal, finding in found.items():
        unsupported = catalog.unsupported(ordinal, of_texts) if finding.steered else frozenset()
        verdicts += _verdicts(tools[ordinal], finding, finding.echoes | unsupported, consequence)
    steering = {tools[ordinal].tool_id: found[ordinal].foreign for ordinal in steered}
    return SteeringFindings(tuple(verdicts), steering if sound else {})


def _subject_vectors(
    tools: Sequence[WrittenTool],
    subjects: NDArray[np.float32],
    readability: Readability,
    embed: Embed,
    settings: AssessmentSettings,
) -> NDArray[np.float32]:
    """Return the vectors of subjects (tools, dim), by the name alone where a subject is in none of the languages."""
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


class _Catalog:
    """Checks the texts of tools, one tool at a time."""

    def __init__(
        self,
        tools: Sequence[WrittenTool],
        fit: SubjectFit,
        readability: Readability,
        settings: AssessmentSettings,
    ) -> None:
        self._tools = tools
        self._fit = fit
        self._settings = settings
        self._readability = readability
        self._remarks: dict[int, EmbeddedRemarks] = {}

    def findings(
        self, judged: NDArray[np.float32], owners: NDArray[np.int64], fits: NDArray[np.float64], embed: Embed
    ) -> dict[int, _Finding]:
        """Return the findings by tool, given vectors (texts, dim), owners and fits of all judged texts."""
        suspects = np.unique(owners[fits < self._settings.unsupported_fit]).tolist()
        parts = {ordinal: remarks(self._tools[ordinal].record) for ordinal in suspects}
        by_text = _vectors_by_text((part.text for of_tool in parts.values() for part in of_tool), embed)
        starts = np.searchsorted(owners, np.arange(len(self._tools) + 1))
        found: dict[int, _Finding] = {}
        for ordinal, of_tool in parts.items():
            if not of_tool:
                continue
            texts = [part.text for part in of_tool]
            subject_terms = term_set(self._tools[ordinal].subject)
            self._remarks[ordinal] = EmbeddedRemarks(texts, np.array([by_text[text] for text in texts]), subject_terms)
            rows = slice(*starts[ordinal : ordinal + 2].tolist())
            finding = self._finding(ordinal, of_tool, judged[rows], fits[rows] < self._settings.unsupported_fit)
            if finding is not None:
                found[ordinal] = finding
        return found

    def unsupported(self, ordinal: int, by_text: Mapping[str, NDArray[np.float32]]) -> frozenset[str]:
        """Return the texts of a steered tool that its subject does not clearly support, or that repeat any remark."""
        texts = self._tools[ordinal].all_texts
        vectors = np.array([by_text[text] for text in texts])
        wrong = self._fit.of_one(vectors, ordinal) < self._settings.steered_fit
        wrong |= self._remarks[ordinal].echoed_by(texts, vectors, self._settings.echo_similarity)
        return frozenset(text for text, is_wrong in zip(texts, wrong.tolist(), strict=True) if is_wrong)

    def _finding(
        self, ordinal: int, parts: Sequence[Remark], judged: NDArray[np.float32], unsupported: NDArray[np.bool_]
    ) -> _Finding | None:
        """Check the judged texts of one tool against the foreign remarks of its record; None where all is well."""
        tool, similarity = self._tools[ordinal], self._settings.echo_similarity
        everything = self._remarks[ordinal]
        is_foreign = self._fit.of_one(everything.vectors, ordinal) < self._settings.foreign_fit
        # A demand that is repeated word by word may name something by chance that the subject is near to.
        is_foreign |= everything.repeated_by(judged[unsupported])
        is_foreign |= np.array([self._is_code(text) for text in everything.texts], bool)
        if not is_foreign.any():
            return None
        foreign = everything.where(is_foreign)
        if self._has_code(everything.texts):  # what it says cannot be read, so any unsupported text may be its echo
            echoes = unsupported
            steered = int(echoes.sum()) >= _FEWEST_ECHOES and bool(echoes.mean() >= _LEAST_SHARE)
        else:
            echoes = unsupported & foreign.echoed_by(tool.judged, judged, similarity)
            steered = int(echoes.sum()) >= _FEWEST_ECHOES and foreign.carry_requests(judged[echoes])
        if not steered:
            echoes = echoes & foreign.echoed_by(tool.judged, judged, self._settings.repeat_similarity)
        if not steered and not echoes.any():
            return None
        return _Finding(
            tuple(part for part, mask in zip(parts, is_foreign.tolist(), strict=True) if mask),
            frozenset(text for text, mask in zip(tool.judged, echoes.tolist(), strict=True) if mask),
            steered,
        )

    def _has_code(self, texts: Sequence[str]) -> bool:
        """Return whether remarks long enough to carry a phrase are in none of the catalog's languages."""
        return sum(len(text) for text in texts if self._is_code(text)) >= _LEAST_CODE

    def _is_code(self, text: str) -> bool:
        return len(text) >= _SHORTEST_CODE and self._readability.share(text) < self._settings.readable_share


def _verdicts(
    tool: WrittenTool, finding: _Finding, wrong: frozenset[str], consequence: Consequence
) -> list[TextVerdict]:
    check, detail = "steered" if finding.steered else "echo", finding.foreign[0].text[:80]
    return [
        TextVerdict(tool.tool_id, name, text, check, consequence, detail) for name, text in tool.texts if text in wrong
    ]


def _vectors_by_text(texts: Iterable[str], embed: Embed) -> dict[str, NDArray[np.float32]]:
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, embed(unique), strict=True)) if unique else {}
