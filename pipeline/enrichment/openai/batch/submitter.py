"""Submitting questions: they are written to files, and each file becomes a batch. The ledger knows of a batch first."""

import json
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import IO

from pipeline.enrichment import prompt
from pipeline.enrichment.generator import Question
from pipeline.enrichment.openai.answers import OutputMode
from pipeline.enrichment.openai.batch.client import sleep
from pipeline.enrichment.openai.batch.context import BatchContext, SubmittedBatch
from pipeline.enrichment.prompt import echo
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch, BatchRequest
from pipeline.ledger.database import utc_now
from pipeline.records import record_hash


class BatchSubmitter:
    """Submits questions to one server."""

    def __init__(self, context: BatchContext) -> None:
        self._context = context
        self._settings = context.settings
        self._ledger = context.ledger
        self._client = context.client

    def submit(
        self, questions: Sequence[Question], output_mode: OutputMode, open_batches: list[SubmittedBatch]
    ) -> Sequence[Question]:
        """Submit questions as far as the budget goes; return those that are left out.

        Each batch is added to `open_batches` as soon as the server has it: none is lost where a later one fails.
        """
        limits = self._settings.batch
        with tempfile.TemporaryFile() as file:
            requests: list[BatchRequest] = []
            for number, question in enumerate(questions):
                if not self._context.reserve(question):
                    self._send(file, requests, output_mode, open_batches)
                    return questions[number:]
                line = self._line(question, output_mode)
                is_full = len(requests) >= limits.max_requests
                if requests and (is_full or file.tell() + len(line) > limits.max_bytes):
                    self._send(file, requests, output_mode, open_batches)
                    requests = []
                file.write(line)
                record = question.record
                requests.append(
                    BatchRequest(
                        line=len(requests) + 1,
                        key=question.key,
                        record_hash=record_hash(record),
                        tool_id=record.tool_id,
                        name=echo(record),
                    )
                )
            self._send(file, requests, output_mode, open_batches)
        return ()

    def earlier_batches(self) -> list[SubmittedBatch]:
        """Return the open batches of earlier builds, and of earlier stages of this one."""
        batches = []
        for batch in self._ledger.batches.unsettled(self._client.server, self._settings.model):
            batch_id = batch.batch_id or self._find_unconfirmed(batch)
            if batch_id is None:
                self._ledger.batches.mark_settled(batch.token, "not sent")
                continue
            if batch.batch_id is None:
                self._ledger.batches.mark_created(batch.token, batch_id)
            requests = self._ledger.batches.requests(batch.token)
            batches.append(SubmittedBatch(batch, batch_id, {request.key: request for request in requests}))
        return batches

    def _find_unconfirmed(self, batch: Batch) -> str | None:
        """Return the id of a batch that was created by a build that crashed before it recorded the id."""
        if batch.file_id is None or batch.asked_at is None:
            return None
        while True:
            batch_id = self._client.find(batch.token, batch.file_id)
            # The server may still be creating it, for as long as the build would have waited for its answer.
            remaining_s = self._settings.timeout_s - (utc_now() - batch.asked_at).total_seconds()
            if batch_id is not None or not 0 < remaining_s <= self._settings.timeout_s:
                return batch_id
            sleep(min(remaining_s, self._settings.batch.poll_s))

    def _line(self, question: Question, output_mode: OutputMode) -> bytes:
        row = {
            "custom_id": question.key,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": self._context.requests.body([question], output_mode),
        }
        return json.dumps(row, separators=(",", ":")).encode() + b"\n"

    def _send(
        self,
        file: IO[bytes],
        requests: Sequence[BatchRequest],
        output_mode: OutputMode,
        open_batches: list[SubmittedBatch],
    ) -> None:
        """Create a batch of the file's requests, and empty the file."""
        if not requests:
            return
        batch = Batch(uuid.uuid4().hex, int(output_mode), prompt.PROMPT_VERSION, utc_now())
        self._ledger.batches.put(self._client.server, self._settings.model, batch, requests)
        file_id = self._client.upload(batch.token, file)
        self._ledger.batches.mark_uploaded(batch.token, file_id)
        try:
            batch_id = self._client.create(batch.token, file_id)
        except Unavailable:
            raise  # the server may have created it all the same
        except RunAborted:
            self._ledger.batches.mark_settled(batch.token, "not sent")
            raise
        self._ledger.batches.mark_created(batch.token, batch_id)
        requests_by_key = {request.key: request for request in requests}
        open_batches.append(SubmittedBatch(replace(batch, file_id=file_id), batch_id, requests_by_key))
        file.seek(0)
        file.truncate()
