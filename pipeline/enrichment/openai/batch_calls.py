"""Calls of a server's Batch API: upload a file, create a batch, look at it, read its results.

The client repeats a call that failed for a passing reason, with two exceptions: a batch that was created and not
confirmed would be paid for twice, and between two looks at a batch a build waits in any case.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from threading import Event
from typing import Any

import msgspec
import openai
from openai.types import Batch as ServerBatch
from openai.types import BatchError

from pipeline.enrichment.openai.chat import (
    TRANSIENT,
    Completion,
    Fault,
    address,
    connection,
    fault_kind,
    fault_of,
    read_completion,
    unusable,
)
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Batch, BatchRequest
from pipeline.ledger.database import utc_now
from pipeline.settings import EnrichmentSettings

END_STATUSES = ("completed", "failed", "expired", "cancelled")
_TOKEN_FIELD = "quartermaster"  # noqa: S105 - the field of our mark in a batch's metadata
# Codes of a failed batch that every batch would meet.
_UNUSABLE_CODES = ("model_not_found", "invalid_api_key", "mismatched_model")
_MAX_LISTED = 10_000  # batches to look through for ours: more than an account creates in a day


class BatchCalls:
    """The batches of one server.

    Every method raises RunAborted where the server cannot be used, and Unavailable where it does not answer. Batches
    that were submitted stay there.
    """

    def __init__(self, settings: EnrichmentSettings, stop: Event) -> None:
        self._settings = settings
        self.stop = stop
        self._client = openai.OpenAI(**connection(settings), max_retries=settings.max_retries)
        self.server = address(self._client)  # its name in the ledger

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

    def find_unconfirmed(self, batch: Batch) -> str | None:
        """Return the id of a batch that was created by a build that crashed before it recorded the id."""
        if batch.file_id is None or batch.asked_at is None:
            return None
        timeout_s = self._settings.timeout_s
        while True:
            batch_id = self.find(batch)
            # The server may still be creating it, for as long as the build would have waited for its answer.
            remaining_s = timeout_s - (utc_now() - batch.asked_at).total_seconds()
            if batch_id is not None or not 0 < remaining_s <= timeout_s:
                return batch_id
            self.sleep(min(remaining_s, self._settings.batch.poll_s))

    def look(self, batch: Batch) -> ServerBatch | None:
        """Return a batch as it stands now; None where the server has lost it. It asks once: a build looks again."""
        with self._explained():
            try:
                return _batch(self._client.with_options(max_retries=0).batches.retrieve(str(batch.batch_id)))
            except openai.NotFoundError:
                pass  # a key of another project, or a wrong address, gives the same answer: the list of batches tells
            batch_id = self.find(batch)
            return None if batch_id is None else _batch(self._client.batches.retrieve(batch_id))

    def results(
        self, batch: Batch, ended: ServerBatch | None, requests: Mapping[str, BatchRequest]
    ) -> tuple[dict[str, Completion | Fault], int]:
        """Return the results of a batch that has `ended` or is lost, by key, and how many lines answer no request."""
        if ended is None:
            return dict.fromkeys(requests, Fault("server", f"the server no longer knows batch {batch.batch_id}")), 0
        if ended.status == "failed":  # it was never begun and costs nothing
            fault, of_lines = read_failure(ended)
            return {key: of_lines.get(request.line, fault) for key, request in requests.items()}, 0
        kind = "server" if ended.status == "completed" else "timeout"
        missing = Fault(kind, f"batch {batch.batch_id} ({ended.status}) holds no answer")
        results: dict[str, Completion | Fault] = dict.fromkeys(requests, missing)
        strays = 0
        for file_id in filter(None, (ended.output_file_id, ended.error_file_id)):
            with self._explained():
                try:
                    lines = self._client.files.content(file_id).content.splitlines()
                except openai.NotFoundError:
                    continue  # its lines are lost
            for line in map(read_line, filter(bytes.strip, lines)):
                if line is not None and results.get(line[0]) is missing:  # of two lines of a request the first counts
                    results[line[0]] = line[1]
                else:
                    strays += 1
        return results, strays

    def unusable(self, message: str) -> RunAborted:
        """Return the error for a fault that every batch would meet, with the way out."""
        return unusable(self._settings.model, self._client, message)

    def sleep(self, seconds: float) -> None:
        """Wait. Raises Unavailable where the build is stopped meanwhile."""
        if self.stop.wait(seconds):
            raise Unavailable("the build was stopped: batches that were submitted stay at the server")

    def _create(self, batch: Batch) -> str:
        try:
            return _id(
                self._client.with_options(max_retries=0).batches.create(
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
                    "later build collects them. Check enrichment.base_url, or build with --generator none"
                ) from error
            raise self.unusable(fault.message) from error


def read_failure(batch: ServerBatch) -> tuple[Fault, dict[int, Fault]]:
    """Return the fault of a failed batch, and the faults of its lines by number where these are why it failed.

    The Fault of a batch that found the server's queue full is of the kind "queue".
    """
    data = getattr(batch.errors, "data", None)
    errors = [error for error in data if isinstance(error, BatchError)] if isinstance(data, list) else []
    messages = [str(error.message)[:300] for error in errors] or [str(batch.errors or "no reason is given")[:300]]
    summary = "; ".join(dict.fromkeys(messages[:3]))
    codes = {error.code for error in errors}
    if "token_limit_exceeded" in codes:
        return Fault("queue", summary), {}
    of_lines = {e.line: Fault("refused", text) for e, text in zip(errors, messages, strict=False) if e.line}
    if not errors or len(of_lines) < len(errors) or not codes.isdisjoint(_UNUSABLE_CODES):
        return Fault("unusable", f"batch {batch.id} failed: {summary}"), {}
    return Fault("server", f"its batch failed: {summary}"), of_lines


class _Response(msgspec.Struct):
    status_code: int
    body: dict[str, Any]


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


def read_line(line: bytes) -> tuple[str, Completion | Fault] | None:
    """Return the custom id of a line and its result; None for a line that belongs to no request.

    The Fault is of the kind "timeout" where the batch ended before the request, and "shape" where a 200 holds no
    completion.
    """
    try:
        read = msgspec.convert(json.loads(line), _Line)
    except (ValueError, RecursionError):
        return None
    if read.response is None:
        code, message = _error(read.error)
        return read.custom_id, Fault("timeout" if code in ("batch_expired", "batch_cancelled") else "server", message)
    status, body = read.response.status_code, read.response.body
    if status >= 300:
        code, message = _error(body.get("error"))
        return read.custom_id, Fault(fault_kind(status, code, message), f"Error code: {status} - {message}")
    try:
        return read.custom_id, read_completion(body)
    except ValueError as error:
        return read.custom_id, Fault("shape", str(error))


def _error(error: object) -> tuple[object, str]:
    """Return the code and message of an error in OpenAI's format."""
    fields = error if isinstance(error, dict) else {}
    message = str(fields.get("message") or f"no reason is given: {error}")[:500]
    return (fields["code"] if isinstance(fields.get("code"), str) else None), message


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
