"""Gather what a catalog gives to calibrate on, by language: judged requests, or phrases in their place."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.learning.no_answer_calibration.background import talk
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from pipeline.learning.no_answer_calibration.held_out_phrases import (
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

    `answerable` are those that a tool fits, or phrases in their place; there are none where `source` is GENERIC.
    `none` are judged to have no tool, `absent` are the answerable without their tools, and `talk` is what no tool
    answers. English has background queries instead of `talk`, and of `absent` where requests are judged.
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
    judged = defaultdict[str, list[tuple[Judgement, RankedQuery]]](list)
    none = defaultdict[str, list[RankedQuery]](list)
    for judgement, query in zip(judgements, ranker.rank([one.request for one in judgements]), strict=True):
        language = request_language(judgement.request)
        if judgement.kind == "none":
            none[language].append(query)
        else:
            judged[language].append((judgement, query))
    needs_phrases = len(judged[ENGLISH]) < MIN_ANSWERABLE or ranker.snapshot.manifest.tool_languages
    phrases = rank_held_out_phrases(ranker) if needs_phrases else {}
    for language, pairs in rank_held_out_translations(ranker, documents, MIN_ANSWERABLE).items():
        phrases[language] = max(pairs, phrases.get(language, []), key=len)
    examples = {ENGLISH: Examples(none=none[ENGLISH]), OTHER_LANGUAGE: Examples()}
    for language in sorted({*judged, *phrases} - {OTHER_LANGUAGE}):
        source, pairs = JUDGEMENTS, [(query, without_acceptable(ranker, one, query)) for one, query in judged[language]]
        if len(pairs) < MIN_ANSWERABLE:
            source, pairs = PHRASES, phrases.get(language, [])
        if len(pairs) >= MIN_ANSWERABLE:
            answerable, absent = zip(*pairs, strict=True)
            absent = absent if (language, source) != (ENGLISH, JUDGEMENTS) else ()
            everyday = ranker.rank(talk().get(language, ()))
            examples[language] = Examples(source, answerable, none[language], absent, everyday)
    return examples


def without_acceptable(ranker: BatchRanker, judgement: Judgement, query: RankedQuery) -> RankedQuery:
    """Return a ranked request as if no tool that its judgement names were in the catalog."""
    known = map(ranker.snapshot.records.ordinal, judgement.tools)
    return without_tools(ranker, query, {ordinal for ordinal in known if ordinal is not None})
