"""Questions asked by the Batch API: handed in together, answered within a day, at a share of the price.

What is handed in is in the ledger before it is sent, and until its answers are kept: a build that ends, or is killed,
leaves its batches to the next.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai
from openai.types import Batch

from pipeline.enrichment.budget import Budget
from pipeline.enrichment.generator import GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai import answer_key
from pipeline.enrichment.openai.client import connection
from pipeline.enrichment.openai.collecting import Collecting
from pipeline.enrichment.openai.handing import Handing, Office, Purse
from pipeline.enrichment.openai.jobs import ENDS, Jobs, sleep
from pipeline.enrichment.openai.requests import Requests
from pipeline.ledger import Ledger
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord


class BatchGenerator:
    """Asks a chat model about all tools at once. What is not answered while the build waits is postponed: a later
    build finds it in the ledger, and collects it.

    Budget, patience and what was learned of the server last as long as the generator: a build's stages share one.
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
        """Nothing is sent before the first question. Raises SettingsInvalid on a key that cannot be sent.

        `note` is told how the batches stand, whenever that changes.
        """
        connection(settings)
        self.model = settings.model
        self.requests = Requests(settings)
        self.unclaimed = TokenUsage()
        self._settings = settings
        self._ledger = ledger
        self._purse = Purse(self.requests, budget or Budget(settings.max_cost_usd, settings.max_tools))
        self._note = note or (lambda _: None)
        self._waited_s = 0.0
        self._rung = 0

    def key(self, record: ToolRecord) -> dict[str, Any]:
        """The same as of questions asked one by one: an answer is an answer however it was asked."""
        return answer_key(self._settings)

    def generate(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Outcomes batch by batch, in groups. A question that an earlier batch holds is not asked again.

        Answers that nobody asks for any more are kept in the ledger, and counted in `unclaimed`. Raises RunAborted
        where no batch can be made or computed, Unavailable where the server does not answer, and whatever interrupts
        it: the batches stay open.
        """
        if not questions:
            return
        with openai.OpenAI(**connection(self._settings)) as client:
            jobs = Jobs(self._settings, client)
            office = Office(self._settings, self.requests, self._purse, jobs, self._ledger, self._note)
            collecting = Collecting(office, self.name, questions, self._rung)
            try:
                for group in self._outcomes(Handing(office), collecting, jobs, questions):
                    if group:
                        yield group
            finally:
                self._rung = collecting.rung
                self.unclaimed = self.unclaimed + collecting.unclaimed

    def _outcomes(
        self, handing: Handing, collecting: Collecting, jobs: Jobs, questions: Sequence[Question]
    ) -> Iterator[Sequence[Outcome]]:
        running = handing.earlier()
        under_way = {key for job in running for key in job.requests}
        again = {self._rung: [question for question in questions if question.key not in under_way]}
        said: dict[str, str] = {}
        patience = self._settings.batch
        while True:
            for rung, asked in again.items():
                left_out = handing.hand_in(asked, rung, running)
                reason = self._purse.reason() if left_out else ""
                yield [collecting.finish(q, GenerationFailure(q.record.tool_id, "budget", reason)) for q in left_out]
            for job in list(running):
                found = jobs.look(job.batch_id, job.batch.token, job.batch.file_id)
                if found is None or found.status in ENDS:
                    running.remove(job)
                    yield from collecting.end(job, found)
                else:
                    self._say(found, said)
            again = collecting.again()
            if again:
                continue
            if not any(collecting.needs(job) for job in running) or self._waited_s >= patience.wait_s:
                break
            pause = min(patience.poll_s, patience.wait_s - self._waited_s)
            sleep(pause)
            self._waited_s += pause
        yield collecting.waiting(running)

    def _say(self, batch: Batch, said: dict[str, str]) -> None:
        counts = batch.request_counts
        done = (counts.completed or 0) + (counts.failed or 0) if counts else 0
        of = f", {done:,} of {counts.total:,} done" if counts and counts.total else ""
        message = f"{batch.id}: {batch.status}{of}"
        if said.get(batch.id) != message:
            self._note(message)
        said[batch.id] = message
