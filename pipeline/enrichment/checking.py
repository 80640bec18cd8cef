"""Check answers as they come: keep what passes, mark what does not, and stop a model that answers mostly badly."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipeline.enrichment.context import Consequence, Enrichment, EnrichmentContext, ScreenedExpansion, TextVerdict
from pipeline.enrichment.generator import UNUSABLE, GeneratedExpansion, GenerationFailure, Generator, Outcome, Question
from pipeline.enrichment.repeated_answers import RepeatedAnswers
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.foreign_text import foreign_script
from router.tools.text_overlap import record_texts

_FEWEST = 32  # answers of a build, of which more than half must be of use


def check(
    context: EnrichmentContext, into: Enrichment, question: Question, generator: Generator, answer: Expansion
) -> bool:
    """Screen an answer, and add it to `into` unless the tool's first one is better; return whether a phrase passed."""
    record = question.record
    # A person's file may be in any language; a model is asked for English.
    by_model = generator.accepts_siblings
    screened, verdicts = screen_answer(context, record, answer) if by_model else context.screen(record, answer)
    if not screened.user_phrases:
        into.refused[record.tool_id] = verdicts
        return False
    into.refused.pop(record.tool_id, None)
    context.progress.advance()
    if into.improves(record.tool_id, screened):
        into.written[record.tool_id] = ScreenedExpansion(
            screened, generator.name, generator.model, question.key, answer, verdicts
        )
    return True


def screen_answer(
    context: EnrichmentContext, record: ToolRecord, answer: Expansion
) -> tuple[Expansion, tuple[TextVerdict, ...]]:
    """Screen a model's answer: no phrase passes where all of them together are not English, though the record is."""
    screened, verdicts = context.screen(record, answer)
    letters = foreign_script("\n".join(screened.user_phrases))
    if letters and not foreign_script(" ".join(record_texts(record))):
        verdicts = (*verdicts, *_dropped(record.tool_id, screened.user_phrases, "language", letters))
        screened = replace(screened, user_phrases=())
    return screened, verdicts


def _dropped(tool_id: str, phrases: Sequence[str], check: str, detail: str = "") -> tuple[TextVerdict, ...]:
    return tuple(TextVerdict(tool_id, "user_phrases", text, check, Consequence.DROPPED, detail) for text in phrases)


def refusal(into: Enrichment, tool_id: str) -> GenerationFailure:
    """Return the failure of a tool whose answer was refused."""
    return GenerationFailure(
        tool_id, "rejected", f"no phrase of the answer passed the checks: {checks_of(into, tool_id)}"
    )


def checks_of(into: Enrichment, tool_id: str) -> str:
    """Return the names of the checks that refused a tool's answer."""
    return ", ".join(sorted({verdict.check for verdict in into.refused[tool_id]}))


class NewAnswers:
    """Takes in what one generator answers, group by group."""

    def __init__(self, context: EnrichmentContext, generator: Generator, into: Enrichment) -> None:
        """`into` receives what passes the checks."""
        self._context, self._generator, self._into = context, generator, into
        self._repeated = RepeatedAnswers()
        self._accepted: dict[str, tuple[GeneratedExpansion, Sequence[Question], Mapping[str, ScreenedExpansion]]] = {}
        self._refused: dict[str, str] = {}  # checks by key, to be marked

    def add(self, outcome: Outcome, alike: Sequence[Question]) -> None:
        """Take in an outcome that answers these questions, whose key is one."""
        into, key = self._into, alike[0].key
        if not isinstance(outcome, GeneratedExpansion):
            into.answers["of no use" if outcome.kind in UNUSABLE else "failed"] += 1
            return
        tool_ids = [question.record.tool_id for question in alike]
        before = {tool_id: into.written[tool_id] for tool_id in tool_ids if tool_id in into.written}
        passed = [check(self._context, into, question, self._generator, outcome.expansion) for question in alike]
        refused = [tool_id for tool_id, has_phrases in zip(tool_ids, passed, strict=True) if not has_phrases]
        into.failures += [refusal(into, tool_id) for tool_id in refused]
        if not self._generator.accepts_siblings:
            return  # a file's line is no answer that could be asked for again, and may say what others say
        if any(passed):
            into.answers["of use"] += 1
            into.new_keys.add(key)
            self._accepted[key] = outcome, alike, before
            self._repeated.add(key, alike[0].record, outcome.expansion.user_phrases)
        else:
            self._refuse(key, refused)

    def end_group(self, *, at_end: bool = False) -> None:
        """Take back answers that say the same of many tools, mark what is refused, stop a model that is at fault."""
        into, answers = self._into, self._into.answers
        for key in self._repeated.found(at_end=at_end):
            if key in self._accepted:
                self._take_back(key)
        asked = answers["of use"] + answers["of no use"]
        if asked >= _FEWEST and 2 * answers["repeated"] > asked:  # the few others are of the same evening
            for key in list(self._accepted):
                self._take_back(key)
        marked, self._refused = self._refused, {}
        self._context.ledger.refusals.mark(self._context.run, marked, self._context.checks)
        if asked >= _FEWEST and 2 * answers["of no use"] > asked:
            checks = ", ".join(sorted(set(into.rejected.values()))) or "none could be read"
            self._generator.given_up = (
                f"not asked: {answers['of no use']:,} of {asked:,} answers of {self._generator.model!r} were of no use "
                f"({checks}). A later build asks again"
            )

    def _take_back(self, key: str) -> None:
        """Refuse an answer that was accepted: its tools have again what they had before."""
        into = self._into
        outcome, alike, before = self._accepted.pop(key)
        tool_ids = [question.record.tool_id for question in alike]
        into.new_keys.discard(key)
        into.answers["of use"] -= 1
        into.answers["repeated"] += 1
        for tool_id in tool_ids:
            into.written.pop(tool_id, None)
            into.refused[tool_id] = _dropped(tool_id, outcome.expansion.user_phrases, "repeated")
            into.failures.append(refusal(into, tool_id))
        into.written |= before
        self._refuse(key, tool_ids)

    def _refuse(self, key: str, tool_ids: Sequence[str]) -> None:
        """Count an answer as refused, for all of the tools that it was about."""
        self._into.answers["of no use"] += 1
        self._into.rejected |= {tool_id: checks_of(self._into, tool_id) for tool_id in tool_ids}
        self._refused[key] = self._into.rejected[tool_ids[0]]
