"""Check answers as they come: keep what passes, mark what does not, and stop a model that answers mostly badly."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pipeline.enrichment.context import Consequence, Enrichment, EnrichmentContext, ScreenedExpansion, TextVerdict
from pipeline.enrichment.generator import UNUSABLE, GeneratedExpansion, GenerationFailure, Generator, Outcome, Question
from pipeline.enrichment.repeated_answers import RepeatedAnswers
from pipeline.enrichment.sibling_answers import SiblingAnswers, least_share
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
        self._of_all: dict[str, RepeatedAnswers | SiblingAnswers] = {
            "repeated": RepeatedAnswers(),
            "sibling": SiblingAnswers(context.catalog.records),
        }
        self._looked_at = 0
        self._accepted: dict[str, tuple[GeneratedExpansion, Sequence[Question], Mapping[str, ScreenedExpansion]]] = {}
        self._refused: dict[str, str] = {}  # checks by key, to be marked

    def add(self, outcome: Outcome, alike: Sequence[Question]) -> None:
        """Take in an outcome that answers these questions, whose key is one."""
        into, key, record = self._into, alike[0].key, alike[0].record
        if not isinstance(outcome, GeneratedExpansion):
            into.answers["of no use"][record.provider or ""] += outcome.kind in UNUSABLE
            return
        tool_ids = [question.record.tool_id for question in alike]
        before = {tool_id: into.written[tool_id] for tool_id in tool_ids if tool_id in into.written}
        passed = [check(self._context, into, question, self._generator, outcome.expansion) for question in alike]
        refused = [tool_id for tool_id, has_phrases in zip(tool_ids, passed, strict=True) if not has_phrases]
        into.failures += [refusal(into, tool_id) for tool_id in refused]
        if not self._generator.accepts_siblings:
            return  # a file's line is no answer that could be asked for again, and may say what others say
        if any(passed):
            into.answers["of use"][record.provider or ""] += 1
            into.new_keys.add(key)
            self._accepted[key] = outcome, alike, before
            for answers in self._of_all.values():
                answers.add(key, record, outcome.expansion)
        else:
            self._refuse(key, alike)

    def end_group(self, *, at_end: bool = False) -> None:
        """Take back what a look at all answers finds, mark what is refused, stop a model that is at fault.

        All are looked at again once their number has grown by a quarter.
        """
        into, answers = self._into, self._into.answers
        asked = answers["of use"] + answers["of no use"]
        enough = asked.total() >= _FEWEST
        if at_end or asked.total() >= 1.25 * self._looked_at:
            self._looked_at = asked.total()
            for name, of_all in self._of_all.items():
                self._take_back(of_all.found(), name)
                if enough and least_share(answers[name], asked) > 1 / 2:  # the few others are of the same evening
                    self._take_back([*self._accepted], name)
        marked, self._refused = self._refused, {}
        self._context.ledger.refusals.mark(self._context.run, marked, self._context.checks)
        if enough and least_share(answers["of no use"], asked) > 1 / 2:
            checks = ", ".join(sorted(set(into.rejected.values()))) or "none could be read"
            of_no_use = f"{answers['of no use'].total():,} of {asked.total():,} answers of {self._generator.model!r}"
            self._generator.given_up = f"not asked: {of_no_use} were of no use ({checks}). A later build asks again"

    def _take_back(self, keys: Iterable[str], name: str) -> None:
        """Refuse answers that were accepted, by a check of this name: their tools have again what they had before."""
        into = self._into
        for key in keys:
            if key not in self._accepted:
                continue
            outcome, alike, before = self._accepted.pop(key)
            provider = alike[0].record.provider or ""
            into.new_keys.discard(key)
            into.answers["of use"][provider] -= 1
            into.answers[name][provider] += 1
            for question in alike:
                tool_id = question.record.tool_id
                into.written.pop(tool_id, None)
                into.refused[tool_id] = _dropped(tool_id, outcome.expansion.user_phrases, name)
                into.failures.append(refusal(into, tool_id))
            into.written |= before
            self._refuse(key, alike)

    def _refuse(self, key: str, alike: Sequence[Question]) -> None:
        """Count an answer as refused, for all of the tools that it was about."""
        into = self._into
        into.answers["of no use"][alike[0].record.provider or ""] += 1
        into.rejected |= {one.record.tool_id: checks_of(into, one.record.tool_id) for one in alike}
        self._refused[key] = into.rejected[alike[0].record.tool_id]
