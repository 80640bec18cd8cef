"""Screens a build's answers: those known before a model is asked as one stage, the others as they come."""

from collections.abc import Iterator, Sequence

from pipeline.build.stages import screen_answers
from pipeline.enrichment import Generator
from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import GeneratedExpansion, questions_about
from pipeline.execution import Execution, parts
from pipeline.ledger import Ledger
from pipeline.phrase_checks.record import Screen
from pipeline.phrase_checks.record.cached_screen import CachedScreen
from pipeline.records import Catalog
from router.expansion import Expansion
from router.record import ToolRecord

_ANSWERS_A_STAGE = 1024


def prepare_screen(
    remembering: CachedScreen,
    screen: Screen,
    catalog: Catalog,
    chain: Sequence[Generator],
    ledger: Ledger,
    execution: Execution,
) -> None:
    """Screen the answers that the ledger and the file of expansions have, unless an earlier build has screened them."""
    unknown = remembering.unknown(_known_answers(catalog, chain, ledger))
    for answers, screened in execution.map("screen", screen_answers, parts(unknown, _ANSWERS_A_STAGE), screen):
        remembering.prepare(answers, screened)


def _known_answers(
    catalog: Catalog, chain: Sequence[Generator], ledger: Ledger
) -> Iterator[tuple[ToolRecord, Expansion]]:
    """Yield for each record the first answer in the order of the chain that can be had without asking a model."""
    remaining = list(catalog.records)
    for generator in chain:
        questions = questions_about(catalog, generator, remaining)
        stored = ledger.expansions([question.key for question in questions])
        answers = {q.record.tool_id: Expansion.from_json(stored[q.key]) for q in questions if stored.get(q.key)}
        if isinstance(generator, FileGenerator):
            for outcomes in generator.generate([q for q in questions if q.record.tool_id not in answers]):
                answers |= {
                    outcome.tool_id: outcome.expansion
                    for outcome in outcomes
                    if isinstance(outcome, GeneratedExpansion)
                }
        yield from ((record, answers[record.tool_id]) for record in remaining if record.tool_id in answers)
        remaining = [record for record in remaining if record.tool_id not in answers]
