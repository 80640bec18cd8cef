"""The generator that uses the Batch API: questions are answered within a day, at a share of the price.

A batch is in the ledger before it is submitted and until its answers are stored: a build that ends or is killed leaves
its batches to the next.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai
from openai.types import Batch as ServerBatch

from pipeline.enrichment.budget import Budget, Reservation
from pipeline.enrichment.generator import UNASKED, GenerationFailure, Outcome, Prompt, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode
from pipeline.enrichment.openai.batch.client import END_STATUSES, BatchClient, sleep
from pipeline.enrichment.openai.batch.collector import BatchCollector
from pipeline.enrichment.openai.batch.context import BatchContext
from pipeline.enrichment.openai.batch.submitter import BatchSubmitter
from pipeline.enrichment.openai.breaker import MAX_UNUSABLE, UNUSABLE, Breaker
from pipeline.enrichment.openai.chat import connection
from pipeline.enrichment.openai.requests import RequestBuilder, answer_key
from pipeline.ledger import Ledger
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord


class BatchGenerator:
    """Asks a chat model about all tools at once. Questions that stay unanswered while the build waits are postponed.

    Budget, waiting time and what was learned of the server last as long as the generator, across all stages of a build.
    """

    name = "openai"
    accepts_siblings = True

    def __init__(
        self,
        settings: EnrichmentSettings,
        ledger: Ledger,
        budget: Budget | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """Send nothing yet. Raises SettingsInvalid on a key that cannot be sent.

        `note` is called with the state of a batch whenever it changes.
        """
        connection(settings)
        self.model = settings.model
        self.requests = RequestBuilder(settings)
        self.unclaimed = TokenUsage()
        self._settings = settings
        self._ledger = ledger
        self._budget = budget or Budget(settings.max_cost_usd, settings.max_tools)
        self._reservations: dict[str, Reservation] = {}
        self._note = note or (lambda _: None)
        self._waited_s = 0.0
        self._breaker = Breaker(settings.model)
        self._output_mode = OutputMode.JSON_SCHEMA

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """Return the same key as for direct requests: an answer does not depend on the way it was asked for."""
        return answer_key(self._settings)

    def prompt(self, question: Question) -> Prompt:
        """Return the messages and parameters of a request about this question alone."""
        return self.requests.prompt(question)

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes in groups, batch by batch. A question that an earlier batch holds is not asked again.

        Answers that no question asks for any more are stored in the ledger and counted in `unclaimed`. Raises
        RunAborted where no batch can be created or computed, Unavailable where the server does not answer. After an
        interruption the batches stay open.
        """
        if not questions:
            return
        with openai.OpenAI(**connection(self._settings)) as client:
            context = BatchContext(
                self._settings,
                self.requests,
                self._budget,
                self._reservations,
                BatchClient(self._settings, client),
                self._ledger,
                self._breaker,
                self._note,
            )
            collector = BatchCollector(context, self.name, questions, self._output_mode)
            try:
                for group in self._outcomes(context, collector, questions):
                    if group:
                        yield group
            finally:
                self._output_mode = collector.output_mode
                self.unclaimed = self.unclaimed + collector.unclaimed

    def _outcomes(
        self, context: BatchContext, collector: BatchCollector, questions: Sequence[Question]
    ) -> Iterator[Sequence[Outcome]]:
        submitter = BatchSubmitter(context)
        open_batches = submitter.earlier_batches()
        submitted = {key for batch in open_batches for key in batch.requests}
        to_submit = {self._output_mode: [question for question in questions if question.key not in submitted]}
        noted: dict[str, str] = {}
        limits = self._settings.batch
        while True:
            for output_mode, mode_questions in to_submit.items():
                tried, untried, reason = self._worth_asking(mode_questions)
                yield [
                    collector.finish(question, GenerationFailure(question.record.tool_id, UNASKED, reason))
                    for question in untried
                ]
                left_out = submitter.submit(tried, output_mode, open_batches)
                reason = self._budget.reason() if left_out else ""
                yield [
                    collector.finish(question, GenerationFailure(question.record.tool_id, "budget", reason))
                    for question in left_out
                ]
            for batch in list(open_batches):
                server_batch = context.client.look(batch.batch_id, batch.batch.token, batch.batch.file_id)
                if server_batch is None or server_batch.status in END_STATUSES:
                    open_batches.remove(batch)
                    yield from collector.end(batch, server_batch)
                else:
                    self._note_progress(server_batch, noted)
            to_submit = collector.take_resubmissions()
            if to_submit:
                continue
            if not any(collector.needs(batch) for batch in open_batches) or self._waited_s >= limits.wait_s:
                break
            pause_s = min(limits.poll_s, limits.wait_s - self._waited_s)
            sleep(pause_s)
            self._waited_s += pause_s
        yield collector.postpone(open_batches)

    def _worth_asking(self, questions: Sequence[Question]) -> tuple[Sequence[Question], Sequence[Question], str]:
        """Return the questions to submit, the others, and why these are not asked.

        A model whose latest answers could all not be used, in this build or before, is not asked about everything.
        """
        if self._breaker.reason:
            return (), questions, self._breaker.reason
        latest = () if self._breaker.proven else self._ledger.answers.latest_kinds(self.model, MAX_UNUSABLE)
        if len(latest) < MAX_UNUSABLE or not UNUSABLE.issuperset(latest):
            return questions, (), ""
        reason = (
            f"not asked: the latest {MAX_UNUSABLE} answers of {self.model!r} could not be used. "
            f"{MAX_UNUSABLE} questions are submitted to see whether it answers now, and a later build asks the rest. "
            "Check enrichment.model and enrichment.parameters, or build with --generator lexicon"
        )
        return questions[:MAX_UNUSABLE], questions[MAX_UNUSABLE:], reason

    def _note_progress(self, batch: ServerBatch, noted: dict[str, str]) -> None:
        counts = batch.request_counts
        done = (counts.completed or 0) + (counts.failed or 0) if counts else 0
        share = f", {done:,} of {counts.total:,} done" if counts and counts.total else ""
        message = f"{batch.id}: {batch.status}{share}"
        if noted.get(batch.id) != message:
            self._note(message)
        noted[batch.id] = message
