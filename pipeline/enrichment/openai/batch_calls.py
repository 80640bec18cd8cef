"""Calls of a server's Batch API: upload a file, create a batch, look at it, read its results.

The client repeats a call that failed for a passing reason, but for two: a batch that was created and not confirmed
would be paid for twice, and between two looks at a batch a build waits anyway.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from threading import Event
from typing import Any

import openai
from openai.types import Batch as ServerBatch
from openai.types.chat import ChatCompletion

from pipeline.enrichment.openai.answers import Unreadable
from pipeline.enrichment.openai.chat import Completion, address, connection, read_completion, unusable
from pipeline.enrichment.openai.faults import TRANSIENT, Fault, fault_kind, fault_of
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch
from pipeline.settings import EnrichmentSettings

END_STATUSES = ("completed", "failed", "expired", "cancelled")
_TOKEN_FIELD = "quartermaster"  # noqa: S105 - the field of our mark in a batch's metadata
_MAX_LISTED = 10_000  # batches to look through for ours: more than an account creates in a day
# Codes of a line's own error, where its request was never carried out.
_ENDED = {"batch_expired", "batch_cancelled"}
_LONGEST_MESSAGE = 500

BatchResult = Completion | Unreadable | Fault


class BatchCalls:
    """The batches of one server.

    Every method raises RunAborted where the server cannot be used, and Unavailable where it does not answer. Batches
    that were submitted stay there.
    """

    def __init__(self, settings: EnrichmentSettings, stop: Event) -> None:
        self._settings = settings
        self._stop = stop
        self._client = openai.OpenAI(**connection(settings), max_retries=settings.max_retries)
        self._once = self._client.with_options(max_retries=0)

    @property
    def server(self) -> str:
        """The server's name in the ledger."""
        return address(self._client)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def upload(self, token: str, data: bytes) -> str:
        """Upload a file of requests and return its id. The server computes nothing before `create`."""
        with self._explained():
            return _id(self._client.files.create(file=(f"{_TOKEN_FIELD}-{token}.jsonl", data), purpose="batch"))

    def create(self, batch: Batch) -> str:
        """Create a batch of an uploaded file's requests and return its id.

        Another attempt first looks for a batch whose id got lost on the way: it would be paid for twice.
        """
        retries = 0
        while True:
            try:
                with self._explained():
                    return self._create(batch)
            except Unavailable:
                if retries >= self._settings.max_retries:
                    raise
            self.sleep(min(self._settings.retry_delay_s * 2**retries, 30.0))
            retries += 1
            if (batch_id := self.find(batch)) is not None:
                return batch_id

    def find(self, batch: Batch) -> str | None:
        """Return the id of the batch with this token or file; None where the server has none."""
        with self._explained():
            for listed in map(_batch, islice(self._client.batches.list(limit=100), _MAX_LISTED)):
                # Not every compatible server keeps metadata.
                metadata = listed.metadata if isinstance(listed.metadata, dict) else {}
                if metadata.get(_TOKEN_FIELD) == batch.token or listed.input_file_id == batch.file_id:
                    return listed.id
        return None

    def look(self, batch: Batch) -> ServerBatch | None:
        """Return a batch as it stands now; None where the server has lost it."""
        with self._explained():
            try:
                return _batch(self._once.batches.retrieve(str(batch.batch_id)))
            except openai.NotFoundError:
                pass  # a key of another project, or a wrong address, gives the same answer: the list of batches tells
        listed_id = self.find(batch)
        if listed_id is None:
            return None
        with self._explained():
            return _batch(self._client.batches.retrieve(listed_id))

    def results(self, batch: ServerBatch) -> Iterator[tuple[str, BatchResult] | None]:
        """Yield the lines of a batch's results, then of its errors, each in any order; None for an unreadable line."""
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with self._explained():
                try:
                    lines = self._client.files.content(file_id).content.splitlines()
                except openai.NotFoundError:
                    continue  # its lines are lost
            yield from (read_line(line) for line in lines if line.strip())

    def unusable(self, message: str) -> RunAborted:
        """Return the error for a fault that every batch would meet, with the way out."""
        return unusable(self._settings.model, self._client, message)

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Unavailable where the build is stopped meanwhile."""
        if self._stop.wait(seconds):
            raise Unavailable("the build was stopped: batches that were submitted stay at the server")

    def _create(self, batch: Batch) -> str:
        try:
            return _id(
                self._once.batches.create(
                    input_file_id=str(batch.file_id),
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_TOKEN_FIELD: batch.token},
                )
            )
        except openai.BadRequestError as error:
            if "find file" in str(error):  # "Cannot find file": a new file may take a moment
                raise Fault("server", str(error)) from error
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise the error that a fault means for the build."""
        try:
            yield
        except (openai.APIError, Fault) as error:
            fault = error if isinstance(error, Fault) else fault_of(error, self._settings.timeout_s)
            if fault.kind in TRANSIENT:
                raise Unavailable(
                    f"no answer from {self.server}: {fault.message}. Batches that were submitted stay there, and a "
                    "later build collects them. Check enrichment.base_url, or build with --generator lexicon"
                ) from error
            raise self.unusable(fault.message) from error


def read_line(line: bytes) -> tuple[str, BatchResult] | None:
    """Return the custom id of a line and its result; None for a line that belongs to no request.

    The Fault of a request that the batch ended before is of the kind "expired".
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return None
    return row["custom_id"], _result(row)


def _result(row: dict[str, Any]) -> BatchResult:
    response = row.get("response")
    if not isinstance(response, dict):
        code, message = _error(row)
        return Fault("expired" if code in _ENDED else "server", message)
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or not isinstance(body, dict):
        return Fault("server", f"the line holds no response: {str(response)[:_LONGEST_MESSAGE]}")
    if status >= 300:
        code, message = _error(body)
        return Fault(fault_kind(status, code, message), f"Error code: {status} - {message}")
    choices = body.get("choices")
    fields: dict[str, Any] = {"choices": choices, "usage": body.get("usage")}
    completion = ChatCompletion.model_construct(**fields)
    try:
        return read_completion(completion if isinstance(choices, list) else body, {})
    except ValueError as error:
        return Unreadable("shape", str(error))


def _error(row: dict[str, Any]) -> tuple[object, str]:
    """Return the code and message of an error in OpenAI's format."""
    error = row.get("error")
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), str(fields.get("message") or f"no reason is given: {row}")
    return (code if isinstance(code, str) else None), message[:_LONGEST_MESSAGE]


def _id(response: object) -> str:
    """Return the id of a response. Raises Fault where it has none: the client validates nothing."""
    response_id = getattr(response, "id", None)
    if not isinstance(response_id, str) or not response_id:
        raise Fault("server", f"the answer holds no id: {str(response)[:200]}")
    return response_id


def _batch(response: object) -> ServerBatch:
    """Return a response that is a batch. Raises Fault where it is none."""
    _id(response)
    if not isinstance(response, ServerBatch) or not isinstance(response.status, str):
        raise Fault("server", f"the answer is not a batch: {str(response)[:200]}")
    return response
