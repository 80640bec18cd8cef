"""Gather what a catalog gives to calibrate on, by language: judged requests, or phrases in their place."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.learning.no_answer_calibration.background import talk
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from pipeline.learning.no_answer_calibration.held_out_phrases import (
    HeldOut,
    rank_held_out_phrases,
    rank_held_out_translations,
    without_tools,
)
from quartermaster.evaluation import Judgement
from router.retrieval.no_answer_calibration import GENERIC, JUDGEMENTS, OTHER_LANGUAGE, PHRASES
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments
from router.tools.foreign_text import request_language

# With fewer answerable requests, or phrases, one in twenty of them places no threshold.
MIN_ANSWERABLE = 50


@dataclass(frozen=True)
class Examples:
    """Ranked requests in one language, by class.

    `answerable` are those that a tool fits, phrases where `source` is PHRASES, and none where it is GENERIC. `none` are
    judged to have no tool, `absent` are the answerable without their tools, and `talk` is what no tool answers: both
    are empty for judged requests in English, whose other class are the background queries.
    """

    source: str = GENERIC
    answerable: Sequence[RankedQuery] = ()
    none: Sequence[RankedQuery] = ()
    absent: Sequence[RankedQuery] = ()
    talk: Sequence[RankedQuery] = ()


def examples_by_language(
    ranker: BatchRanker, judgements: Sequence[Judgement], documents: Sequence[FieldDocuments]
) -> dict[str, Examples]:
    """Return the examples of English, of each language with MIN_ANSWERABLE, and none for OTHER_LANGUAGE."""
    judged: defaultdict[str, list[tuple[Judgement, RankedQuery]]] = defaultdict(list)
    requests = [judgement.request for judgement in judgements]
    for judgement, query in zip(judgements, ranker.rank(requests), strict=True):
        judged[request_language(judgement.request)].append((judgement, query))
    answerable = {
        language: [(judgement, query) for judgement, query in pairs if judgement.kind != "none"]
        for language, pairs in judged.items()
    }
    enough = {language for language, pairs in answerable.items() if len(pairs) >= MIN_ANSWERABLE}
    phrases: dict[str, HeldOut] = {} if ENGLISH in enough else rank_held_out_phrases(ranker)
    phrases |= rank_held_out_translations(ranker, documents, MIN_ANSWERABLE)
    examples = {ENGLISH: Examples(), OTHER_LANGUAGE: Examples()}
    for language in sorted({ENGLISH, *enough, *phrases} - {OTHER_LANGUAGE}):
        none = [query for judgement, query in judged[language] if judgement.kind == "none"]
        everyday = ranker.rank(talk().get(language, ()))
        if language in enough:
            fitting = [query for _, query in answerable[language]]
            absent = [] if language == ENGLISH else [without_acceptable(ranker, *pair) for pair in answerable[language]]
            examples[language] = Examples(JUDGEMENTS, fitting, none, absent, everyday)
        elif language in phrases and len(phrases[language].queries) >= MIN_ANSWERABLE:
            held_out = phrases[language]
            examples[language] = Examples(PHRASES, held_out.queries, none, held_out.toolless, everyday)
        elif language == ENGLISH:
            examples[language] = Examples(none=none)
    return examples


def without_acceptable(ranker: BatchRanker, judgement: Judgement, query: RankedQuery) -> RankedQuery:
    """Return a ranked request as if no tool that its judgement names were in the catalog."""
    known = map(ranker.snapshot.records.ordinal, judgement.tools)
    return without_tools(ranker, query, {ordinal for ordinal in known if ordinal is not None})
