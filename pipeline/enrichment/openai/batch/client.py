"""The Batch API of a server: upload a file, create a batch, look at it, read its results. Calls are retried."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TypeVar

import httpx2
import openai
from openai.types import Batch as ServerBatch

from pipeline.enrichment.openai.batch.results import BatchResult, read_line
from pipeline.enrichment.openai.chat import address, unusable
from pipeline.enrichment.openai.faults import TRANSIENT, Fault, fault_of
from pipeline.enrichment.openai.retry import Attempt, Retry, RetryPolicy
from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import EnrichmentSettings

T = TypeVar("T")

END_STATUSES = ("completed", "failed", "expired", "cancelled")
_TOKEN_FIELD = "quartermaster"  # noqa: S105 - the field of our mark in a batch's metadata
_PAGE_SIZE = 100
_MAX_PAGES = 100  # of batches to look through for ours: 10,000 are more than an account creates in a day
_TICK_S = 0.2  # a wait in C hears no interruption of another thread


class _NotFound(Exception):
    """The server does not know this batch or file."""


class BatchClient:
    """The batches of one server.

    Every method raises RunAborted where the server cannot be used, and Unavailable where it does not answer. Batches
    that were submitted stay there.
    """

    def __init__(self, settings: EnrichmentSettings, client: openai.OpenAI) -> None:
        self._settings = settings
        self._client = client
        self._policy = RetryPolicy.of_calls(settings)

    @property
    def server(self) -> str:
        """The server's name in the ledger."""
        return address(self._client)

    def upload(self, token: str, file: IO[bytes]) -> str:
        """Upload a file of requests and return its id. The server computes nothing before `create`."""

        def send() -> str:
            file.seek(0)
            uploaded = self._client.files.create(file=(f"{_TOKEN_FIELD}-{token}.jsonl", file), purpose="batch")
            return _id(uploaded)

        return self._checked(partial(self._retried, send))

    def create(self, token: str, file_id: str) -> str:
        """Create a batch of a file's requests and return its id.

        A retry first looks for a batch whose id got lost on the way: it would be paid for twice.
        """
        create, find = partial(self._create, token, file_id), partial(self._find, token, file_id)
        return self._checked(partial(self._retried, create, find))

    def find(self, token: str, file_id: str | None) -> str | None:
        """Return the id of the batch with this token or file; None where the server has none."""
        return self._checked(partial(self._find, token, file_id))

    def look(self, batch_id: str, token: str, file_id: str | None) -> ServerBatch | None:
        """Return a batch as it stands now; None where the server has lost it."""

        def retrieve() -> ServerBatch:
            try:
                return _batch(self._client.batches.retrieve(batch_id))
            except openai.NotFoundError as error:
                raise _NotFound from error

        try:
            return self._checked(partial(self._retried, retrieve, shortest_s=self._settings.batch.poll_s))
        except _NotFound:
            # A key of another project, or a wrong address, gives the same answer: the list of batches tells.
            listed_id = self.find(token, file_id)
            return None if listed_id is None else self._checked(partial(self._retried, retrieve))

    def results(self, batch: ServerBatch) -> Iterator[tuple[str, BatchResult] | None]:
        """Yield the lines of a batch's results, then of its errors, each in any order; None for an unreadable line."""
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with tempfile.TemporaryFile() as file:
                try:
                    self._checked(partial(self._retried, partial(self._download, file_id, file)))
                except _NotFound:
                    continue  # its lines are lost
                file.seek(0)
                yield from (read_line(line) for line in file if line.strip())

    def unusable(self, message: str) -> RunAborted:
        """Return the error for a fault that every batch would meet, with the way out."""
        return unusable(self._settings.model, self._client, message)

    def _create(self, token: str, file_id: str) -> str:
        try:
            batch = self._client.batches.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_TOKEN_FIELD: token},
            )
        except openai.BadRequestError as error:
            if "find file" in str(error):  # "Cannot find file": a new file may take a moment
                raise Fault("server", str(error)) from error
            raise
        return _id(batch)

    def _find(self, token: str, file_id: str | None) -> str | None:
        after: str | openai.Omit = openai.omit
        for _ in range(_MAX_PAGES):
            page = self._retried(partial(self._client.batches.list, limit=_PAGE_SIZE, after=after))
            batches = [_batch(batch) for batch in page.data or ()]
            for batch in batches:
                # Not every compatible server keeps metadata.
                metadata = batch.metadata if isinstance(batch.metadata, dict) else {}
                if metadata.get(_TOKEN_FIELD) == token or (file_id and batch.input_file_id == file_id):
                    return batch.id
            if not batches or not page.has_more:
                return None
            after = batches[-1].id
        return None

    def _download(self, file_id: str, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        try:
            with self._client.files.with_streaming_response.content(file_id) as response:
                for chunk in response.iter_bytes():
                    file.write(chunk)
        except openai.NotFoundError as error:
            raise _NotFound from error

    def _retried(
        self, call: Callable[[], T], instead: Callable[[], T | None] | None = None, shortest_s: float = 0.0
    ) -> T:
        """Call until the policy gives up. Raises Fault.

        `instead` is called before each retry; a result other than None is returned in the call's place. A wait takes
        `shortest_s` seconds at least.
        """
        attempt = Attempt()
        while True:
            try:
                return call()
            except openai.APIError as error:
                fault = fault_of(error, self._settings.timeout_s)
            except httpx2.HTTPError as error:  # in the middle of a file
                fault = Fault("connection", str(error) or type(error).__name__)
            except Fault as error:
                fault = error
            step = self._policy.next_step(attempt, fault)
            if not isinstance(step, Retry):
                raise fault
            attempt = attempt.after(fault)
            sleep(max(step.after_s, shortest_s))
            result = instead() if instead else None
            if result is not None:
                return result

    def _checked(self, call: Callable[[], T]) -> T:
        """Call, and raise the error that a fault means for the build."""
        try:
            return call()
        except Fault as fault:
            if fault.kind in TRANSIENT:
                raise Unavailable(
                    f"no answer from {self.server}: {fault.message}. Batches that were submitted stay there, and a "
                    "later build collects them. Check enrichment.base_url, or build with --generator lexicon"
                ) from fault
            raise self.unusable(fault.message) from fault


def sleep(seconds: float) -> None:
    """Wait in short steps, so that an interruption takes effect at once."""
    until = time.monotonic() + seconds
    while (remaining := until - time.monotonic()) > 0:
        time.sleep(min(remaining, _TICK_S))


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
