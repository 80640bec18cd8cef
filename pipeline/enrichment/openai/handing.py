"""Questions into files, files into batches: nothing is sent before the ledger knows of it."""

import json
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import IO

from pipeline.enrichment.budget import Budget
from pipeline.enrichment.generator import Question
from pipeline.enrichment.openai.jobs import Jobs, sleep
from pipeline.enrichment.openai.requests import Requests
from pipeline.enrichment.prompt import PROMPT_VERSION, echo
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch, BatchRequest, Ledger
from pipeline.ledger.connection import utc_now
from pipeline.records import record_hash
from pipeline.settings import EnrichmentSettings


@dataclass(frozen=True, slots=True)
class Job:
    """A batch that the server has, and what was asked in it, by key."""

    batch: Batch
    batch_id: str
    requests: dict[str, BatchRequest]


class Purse:
    """The budget, by question: money is set aside once for each, however often it is handed in."""

    def __init__(self, requests: Requests, budget: Budget) -> None:
        self._requests = requests
        self._budget = budget
        self._reserved: dict[str, float] = {}

    def reserve(self, question: Question) -> bool:
        """Whether the budget has room for a question."""
        if question.key in self._reserved:
            return True
        bound = self._requests.bound([question], batch=True)
        if not self._budget.reserve(bound):
            return False
        self._reserved[question.key] = bound
        return True

    def settle(self, key: str, cost_usd: float | None) -> None:
        """What a question has cost; as much as was set aside, where nobody knows. One that an earlier build asked was
        in that build's budget."""
        reserved = self._reserved.pop(key, None)
        if reserved is not None:
            self._budget.settle(reserved, reserved if cost_usd is None else cost_usd)

    def reason(self) -> str:
        """Why there was no room, in a sentence."""
        return self._budget.reason()


@dataclass(frozen=True)
class Office:
    """What handing in and collecting share. `note` hears how the batches stand."""

    settings: EnrichmentSettings
    requests: Requests
    purse: Purse
    jobs: Jobs
    ledger: Ledger
    note: Callable[[str], None]


class Handing:
    """Hands questions in to one server."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._ledger = office.ledger
        self._jobs = office.jobs

    def hand_in(self, questions: Sequence[Question], rung: int, running: list[Job]) -> Sequence[Question]:
        """Have questions answered in the structured output of a rung, as far as the budget goes; those that it leaves
        out. Each batch is added to `running` as soon as the server has it."""
        limits = self._office.settings.batch
        with tempfile.TemporaryFile() as file:
            requests: list[BatchRequest] = []
            for number, question in enumerate(questions):
                if not self._office.purse.reserve(question):
                    self._send(file, requests, rung, running)
                    return questions[number:]
                line = self._line(question, rung)
                full = len(requests) >= limits.max_requests
                if requests and (full or file.tell() + len(line) > limits.max_bytes):
                    self._send(file, requests, rung, running)
                    requests = []
                file.write(line)
                record = question.record
                said = (question.key, record_hash(record), record.tool_id, echo(record))
                requests.append(BatchRequest(len(requests) + 1, *said))
            self._send(file, requests, rung, running)
        return ()

    def earlier(self) -> list[Job]:
        """The batches that earlier builds, or an earlier stage of this one, left at the server."""
        jobs = []
        for batch in self._ledger.unsettled_batches(self._jobs.server, self._office.settings.model):
            batch_id = batch.batch_id or self._made(batch)
            if batch_id is None:
                self._ledger.mark_settled(batch.token, "not sent")
                continue
            if batch.batch_id is None:
                self._ledger.mark_created(batch.token, batch_id)
            requests = self._ledger.batch_requests(batch.token)
            jobs.append(Job(batch, batch_id, {request.key: request for request in requests}))
        return jobs

    def _made(self, batch: Batch) -> str | None:
        """The id of a batch that was asked for by a build that did not live to hear the answer."""
        if batch.file_id is None or batch.asked_at is None:
            return None
        while True:
            found = self._jobs.find(batch.token, batch.file_id)
            # The server may be at it still, for as long as the build would have waited for its answer.
            left = self._office.settings.timeout_s - (utc_now() - batch.asked_at).total_seconds()
            if found is not None or not 0 < left <= self._office.settings.timeout_s:
                return found
            sleep(min(left, self._office.settings.batch.poll_s))

    def _line(self, question: Question, rung: int) -> bytes:
        row = {
            "custom_id": question.key,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": self._office.requests.body([question], rung),
        }
        return json.dumps(row, separators=(",", ":")).encode() + b"\n"

    def _send(self, file: IO[bytes], requests: Sequence[BatchRequest], rung: int, running: list[Job]) -> None:
        if not requests:
            return
        batch = Batch(uuid.uuid4().hex, rung, PROMPT_VERSION, utc_now())
        self._ledger.put_batch(self._jobs.server, self._office.settings.model, batch, requests)
        file_id = self._jobs.upload(batch.token, file)
        self._ledger.mark_uploaded(batch.token, file_id)
        try:
            batch_id = self._jobs.create(batch.token, file_id)
        except Unavailable:
            raise  # the server may have made it all the same
        except RunAborted:
            self._ledger.mark_settled(batch.token, "not sent")
            raise
        self._ledger.mark_created(batch.token, batch_id)
        running.append(Job(replace(batch, file_id=file_id), batch_id, {request.key: request for request in requests}))
        file.seek(0)
        file.truncate()
